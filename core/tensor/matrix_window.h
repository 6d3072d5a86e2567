// MatrixWindow: a part of a matrix to write into; the counterpart of MatrixView. Somebody else keeps the matrix alive.
// Backends write through it, so that a head lands in its band of concat without a copy.
#pragma once

#include "core/tensor/matrix.h"

#include <algorithm>

namespace headscope {

struct MatrixWindow {
    float* data = nullptr; // null: no window
    int rows = 0, cols = 0;
    std::ptrdiff_t stride = 0;

    MatrixWindow() = default;
    MatrixWindow(Matrix& m)
        : data(m.data()), rows(m.rows()), cols(m.cols()), stride(m.cols()) {} // NOLINT: a window on the whole
    MatrixWindow(float* d, int r, int c, std::ptrdiff_t s) : data(d), rows(r), cols(c), stride(s) {}

    explicit operator bool() const { return data != nullptr; }
    std::span<float> row(int r) const { return {data + r * stride, static_cast<std::size_t>(cols)}; }
    MatrixWindow rowRange(int begin, int end) const { return {data + begin * stride, end - begin, cols, stride}; }
    MatrixWindow colRange(int begin, int end) const { return {data + begin, rows, end - begin, stride}; }
    operator MatrixView() const { return {data, rows, cols, stride}; }
};

inline void copyInto(MatrixView from, MatrixWindow to) { // equal shapes
    assert(from.rows == to.rows && from.cols == to.cols);
    for (int r = 0; r < from.rows; ++r)
        std::ranges::copy(from.row(r), to.row(r).begin());
}

} // namespace headscope
