#include "core/tensor/matrix.h"

#include "core/tensor/parallel.h"

#include <algorithm>

namespace headscope {

Matrix copy(MatrixView view) {
    Matrix out = Matrix::unset(view.rows, view.cols);
    for (int r = 0; r < view.rows; ++r)
        std::ranges::copy(view.row(r), out.row(r).begin());
    return out;
}

Matrix transposed(MatrixView view) {
    Matrix out = Matrix::unset(view.cols, view.rows);
    constexpr int tile = 32; // that many rows of both stay in the cache
    parallelFor((view.cols + tile - 1) / tile,
                [&](int strip) {
                    const int begin = strip * tile, end = std::min(view.cols, begin + tile);
                    for (int r0 = 0; r0 < view.rows; r0 += tile)
                        for (int c = begin; c < end; ++c)
                            for (int r = r0; r < std::min(view.rows, r0 + tile); ++r)
                                out(c, r) = view(r, c);
                },
                out.size() > 100'000);
    return out;
}

Matrix identity(int rows, int cols) {
    Matrix out(rows, cols);
    for (int i = 0; i < std::min(rows, cols); ++i)
        out(i, i) = 1.0F;
    return out;
}

} // namespace headscope
