#include "core/tensor/matrix.h"

#include <algorithm>

namespace headscope {

Matrix copy(MatrixView view) {
    Matrix out(view.rows, view.cols);
    for (int r = 0; r < view.rows; ++r)
        std::ranges::copy(view.row(r), out.row(r).begin());
    return out;
}

Matrix transposed(MatrixView view) {
    Matrix out(view.cols, view.rows);
    for (int r = 0; r < view.rows; ++r)
        for (int c = 0; c < view.cols; ++c)
            out(c, r) = view(r, c);
    return out;
}

Matrix identity(int rows, int cols) {
    Matrix out(rows, cols);
    for (int i = 0; i < std::min(rows, cols); ++i)
        out(i, i) = 1.0F;
    return out;
}

} // namespace headscope
