// IndexPyramid: a matrix as colour codes, with coarser levels of 2x2 maxima, so that a picture of any size is pooled
// from about as many codes as it has pixels and no bright cell is lost. Because codes are ordered (ColorScale::Code),
// pooling codes gives the same picture as pooling numbers. Immutable: built in a worker, read by painters.
#pragma once

#include "ui/render/color_scale.h"

#include <vector>

namespace headscope {

// Which cells fall into each pixel of one axis: cells [first, last] for every pixel.
struct PixelCells {
    std::vector<int> first, last;
};
// Pixels [0, pixels) where cell c covers [origin + c*pitch, origin + (c+1)*pitch), edges rounded to whole pixels. Every
// cell that begins inside gets at least one pixel, sharing it where pitch < 1. Pixels outside all cells hold first >
// last.
PixelCells cellsPerPixel(int pixels, int cells, double origin, double pitch);

class IndexPyramid {
public:
    IndexPyramid() = default;
    // closed: one flag per cell, row by row; such cells are `masked` whatever their number. Empty: none.
    IndexPyramid(MatrixView matrix, const ColorScale& scale, const std::vector<bool>& closed = {});

    int rows() const { return m_levels.empty() ? 0 : m_levels.front().rows; }
    int cols() const { return m_levels.empty() ? 0 : m_levels.front().cols; }
    ColorScale::Code at(int row, int col) const {
        return m_levels.front()
            .codes[static_cast<std::size_t>(row) * static_cast<std::size_t>(cols()) + static_cast<std::size_t>(col)];
    }
    // The largest code of the cells of each pixel, row by row: ys.first.size() rows of xs.first.size() codes.
    // Pixels without cells are ColorScale::masked.
    std::vector<ColorScale::Code> pooled(const PixelCells& ys, const PixelCells& xs) const;

private:
    struct Level {
        int rows = 0, cols = 0;
        std::vector<ColorScale::Code, PageAllocator<ColorScale::Code>> codes;
    };
    static Level finest(MatrixView matrix, const ColorScale& scale, const std::vector<bool>& closed);
    static Level coarser(const Level& fine);

    std::vector<Level> m_levels; // level k has one code per 2^k x 2^k cells
};

} // namespace headscope
