#include "ui/render/index_pyramid.h"

#include "core/tensor/parallel.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace headscope {

using Code = ColorScale::Code;

PixelCells cellsPerPixel(int pixels, int cells, double origin, double pitch) {
    PixelCells out{std::vector<int>(static_cast<std::size_t>(pixels), cells),
                   std::vector<int>(static_cast<std::size_t>(pixels), -1)};
    const auto edge = [&](int cell) { return static_cast<int>(std::lround(origin + cell * pitch)); };
    const int begin = std::clamp(static_cast<int>(std::floor(-origin / pitch)) - 1, 0, cells);
    const int end = std::clamp(static_cast<int>(std::ceil((pixels - origin) / pitch)) + 1, begin, cells);
    for (int c = begin; c < end; ++c) {
        int from = edge(c), to = std::max(edge(c + 1), from + 1);
        if (from == pixels && c + 1 == cells) // the last cell of a pooled picture has no pixel of its own
            from = pixels - 1;
        for (int p = std::max(from, 0); p < std::min(to, pixels); ++p) {
            auto& first = out.first[static_cast<std::size_t>(p)];
            auto& last = out.last[static_cast<std::size_t>(p)];
            first = std::min(first, c);
            last = std::max(last, c);
        }
    }
    return out;
}

// Large matrices are shared out over the threads by blocks of rows.
static void forRowBlocks(int rows, int cols, const std::function<void(int begin, int end)>& work) {
    constexpr int rowsAtOnce = 64;
    parallelFor((rows + rowsAtOnce - 1) / rowsAtOnce,
                [&](int block) { work(block * rowsAtOnce, std::min(rows, (block + 1) * rowsAtOnce)); },
                static_cast<std::int64_t>(rows) * cols > 100'000);
}

IndexPyramid::IndexPyramid(MatrixView matrix, const ColorScale& scale, const std::vector<bool>& closed) {
    if (matrix.rows == 0 || matrix.cols == 0)
        return;
    m_levels.push_back(finest(matrix, scale, closed));
    while (m_levels.back().rows > 256 && m_levels.back().cols > 256)
        m_levels.push_back(coarser(m_levels.back()));
}

IndexPyramid::Level IndexPyramid::finest(MatrixView matrix, const ColorScale& scale, const std::vector<bool>& closed) {
    const auto width = static_cast<std::size_t>(matrix.cols);
    Level level{matrix.rows, matrix.cols, {}};
    level.codes.resize(static_cast<std::size_t>(matrix.rows) * width);
    forRowBlocks(matrix.rows, matrix.cols, [&](int begin, int end) {
        std::vector<float> masked(closed.empty() ? 0 : width);
        for (int r = begin; r < end; ++r) {
            std::span<const float> row = matrix.row(r);
            const std::size_t first = static_cast<std::size_t>(r) * width;
            if (!closed.empty()) { // as the mask would make them
                for (std::size_t c = 0; c < width; ++c)
                    masked[c] = closed[first + c] ? -std::numeric_limits<float>::infinity() : row[c];
                row = masked;
            }
            scale.codesOf(row, level.codes.data() + first);
        }
    });
    return level;
}

IndexPyramid::Level IndexPyramid::coarser(const Level& fine) {
    Level coarse{(fine.rows + 1) / 2, (fine.cols + 1) / 2, {}};
    coarse.codes.resize(static_cast<std::size_t>(coarse.rows) * static_cast<std::size_t>(coarse.cols));
    forRowBlocks(coarse.rows, coarse.cols, [&](int begin, int end) {
        for (int r = begin; r < end; ++r) {
            const Code* a = fine.codes.data() + static_cast<std::ptrdiff_t>(2 * r) * fine.cols;
            const Code* b = 2 * r + 1 < fine.rows ? a + fine.cols : a;
            Code* o = coarse.codes.data() + static_cast<std::ptrdiff_t>(r) * coarse.cols;
            const int whole = fine.cols / 2;
            for (int c = 0; c < whole; ++c)
                o[c] = std::max(std::max(a[2 * c], a[2 * c + 1]), std::max(b[2 * c], b[2 * c + 1]));
            if (whole < coarse.cols)
                o[whole] = std::max(a[2 * whole], b[2 * whole]);
        }
    });
    return coarse;
}

std::vector<Code> IndexPyramid::pooled(const PixelCells& ys, const PixelCells& xs) const {
    const std::size_t height = ys.first.size(), width = xs.first.size();
    std::vector<Code> out(height * width, ColorScale::masked);
    if (m_levels.empty())
        return out;
    // The coarsest level that still has two blocks per pixel in both directions: with fewer, a bright block would reach
    // into the neighbouring pixel as a rule rather than at most at an edge.
    const auto cellsPerOnePixel = [](const PixelCells& p) {
        int most = 1;
        for (std::size_t i = 0; i < p.first.size(); ++i)
            most = std::max(most, p.last[i] - p.first[i] + 1);
        return most;
    };
    const int density = std::min(cellsPerOnePixel(ys), cellsPerOnePixel(xs));
    std::size_t k = 0;
    while (k + 1 < m_levels.size() && (density >> (k + 1)) >= 2)
        ++k;
    const Level& level = m_levels[k];

    int usedFirst = cols(), usedLast = -1; // of all pixels: what has to be read of a row
    for (std::size_t x = 0; x < width; ++x)
        if (xs.first[x] <= xs.last[x]) {
            usedFirst = std::min(usedFirst, xs.first[x]);
            usedLast = std::max(usedLast, xs.last[x]);
        }
    if (usedFirst > usedLast)
        return out;
    const int begin = usedFirst >> k, end = (usedLast >> k) + 1;
    std::vector<Code> line(static_cast<std::size_t>(end - begin));
    int lineFirst = -1, lineLast = -1; // the rows that `line` holds: neighbouring pixels of one large cell share them
    for (std::size_t y = 0; y < height; ++y) {
        if (ys.first[y] > ys.last[y])
            continue;
        const int rowFirst = ys.first[y] >> k, rowLast = ys.last[y] >> k;
        Code* target = out.data() + y * width;
        if (rowFirst == lineFirst && rowLast == lineLast) {
            std::copy(target - width, target, target);
            continue;
        }
        for (int r = rowFirst; r <= rowLast; ++r) {
            const Code* in = level.codes.data() + static_cast<std::ptrdiff_t>(r) * level.cols + begin;
            if (r == rowFirst)
                std::copy(in, in + (end - begin), line.begin());
            else
                for (std::size_t c = 0; c < line.size(); ++c)
                    line[c] = std::max(line[c], in[c]);
        }
        lineFirst = rowFirst;
        lineLast = rowLast;
        for (std::size_t x = 0; x < width; ++x) {
            if (xs.first[x] > xs.last[x])
                continue;
            Code best = 0;
            for (int c = (xs.first[x] >> k) - begin; c <= (xs.last[x] >> k) - begin; ++c)
                best = std::max(best, line[static_cast<std::size_t>(c)]);
            target[x] = best;
        }
    }
    return out;
}

} // namespace headscope
