// Host matrices in the order that the kernels read (kernels.cl, `product`). Inside core/backend/opencl.
#pragma once

#include "core/tensor/matrix.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace headscope::opencl {

inline int padded(int size, int unit) {
    return (size + unit - 1) / unit * unit;
}

// b (depth, cols) into panels; to: depth * padded(cols, panel) floats.
inline void packRight(MatrixView b, int panel, float* to) {
    for (int first = 0; first < b.cols; first += panel) {
        const int here = std::min(panel, b.cols - first);
        for (int k = 0; k < b.rows; ++k, to += panel) {
            std::copy_n(b.data + k * b.stride + first, here, to);
            std::fill(to + here, to + panel, 0.0F);
        }
    }
}

// The same of b^T, where rows (cols of the product) and depth are swapped: b (cols, depth).
inline void packTransposed(MatrixView b, int panel, float* to) {
    for (int first = 0; first < b.rows; first += panel, to += std::ptrdiff_t{panel} * b.cols) {
        const int here = std::min(panel, b.rows - first);
        for (int j = 0; j < panel; ++j)
            for (int k = 0; k < b.cols; ++k)
                to[std::ptrdiff_t{k} * panel + j] = j < here ? b(first + j, k) : 0.0F;
    }
}

// Rows one behind the other, then rows of 0.
inline void packLeft(MatrixView a, int paddedRows, float* to) {
    for (int r = 0; r < a.rows; ++r, to += a.cols)
        std::ranges::copy(a.row(r), to);
    std::fill_n(to, std::ptrdiff_t{paddedRows - a.rows} * a.cols, 0.0F);
}

// The largest absolute value; infinity or NaN where an entry is. Without their sign, floats are ordered like integers.
inline float largestOf(MatrixView a) {
    std::uint32_t largest = 0;
    for (int r = 0; r < a.rows; ++r)
        for (const float x : a.row(r))
            largest = std::max(largest, std::bit_cast<std::uint32_t>(x) & 0x7fffffffU);
    return std::bit_cast<float>(largest);
}

} // namespace headscope::opencl
