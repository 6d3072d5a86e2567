#include "core/analysis/extent.h"

#include "core/backend/kernels/kernels.h"
#include "core/tensor/parallel.h"

#include <algorithm>
#include <vector>

namespace headscope {

Extent finiteExtent(MatrixView matrix) {
    constexpr int rowsAtOnce = 64;
    std::vector<Extent> blocks(static_cast<std::size_t>((matrix.rows + rowsAtOnce - 1) / rowsAtOnce));
    parallelFor(
        static_cast<int>(blocks.size()),
        [&](int block) {
            Extent& e = blocks[static_cast<std::size_t>(block)];
            for (int r = block * rowsAtOnce; r < std::min(matrix.rows, (block + 1) * rowsAtOnce); ++r)
                kernels().extent(matrix.row(r).data(), matrix.cols, &e.lo, &e.hi);
        },
        static_cast<std::int64_t>(matrix.rows) * matrix.cols > 100'000);
    Extent all;
    for (const Extent& e : blocks)
        all = {std::min(all.lo, e.lo), std::max(all.hi, e.hi)};
    return all;
}

} // namespace headscope
