// Matrix: a dense float matrix, row-major, one token per row. A plain value.
// What it is not: a linear algebra library. Products belong to a Backend (core/backend); Eigen appears in source files
// only, so that headers stay quick to compile.
#pragma once

#include "core/tensor/page_allocator.h"

#include <cassert>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace headscope {

using Floats = std::vector<float, PageAllocator<float>>; // Floats(n): n numbers that are still to be written

class Matrix {
public:
    Matrix() = default;
    Matrix(int rows, int cols, float fill = 0.0F)
        : m_rows(rows), m_cols(cols), m_data(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols), fill) {}
    Matrix(int rows, int cols, Floats values) : m_rows(rows), m_cols(cols), m_data(std::move(values)) {
        assert(m_data.size() == static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols));
    }

    // Every number of it is still to be written.
    static Matrix unset(int rows, int cols) {
        return {rows, cols, Floats(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols))};
    }

    int rows() const { return m_rows; }
    int cols() const { return m_cols; }
    std::size_t size() const { return m_data.size(); }
    bool empty() const { return m_data.empty(); }

    float* data() { return m_data.data(); }
    const float* data() const { return m_data.data(); }
    std::span<float> values() { return m_data; }
    std::span<const float> values() const { return m_data; }

    float& operator()(int r, int c) { return m_data[offset(r, c)]; }
    float operator()(int r, int c) const { return m_data[offset(r, c)]; }
    std::span<float> row(int r) { return {m_data.data() + offset(r, 0), static_cast<std::size_t>(m_cols)}; }
    std::span<const float> row(int r) const { return {m_data.data() + offset(r, 0), static_cast<std::size_t>(m_cols)}; }

    bool operator==(const Matrix&) const = default;

private:
    std::size_t offset(int r, int c) const {
        assert(r >= 0 && r < m_rows && c >= 0 && (c < m_cols || (c == 0 && m_cols == 0)));
        return static_cast<std::size_t>(r) * static_cast<std::size_t>(m_cols) + static_cast<std::size_t>(c);
    }

    int m_rows = 0, m_cols = 0;
    Floats m_data;
};

// Published matrices are immutable and shared: between threads, undo steps and traces. Identity (the pointer) says
// "unchanged".
using SharedMatrix = std::shared_ptr<const Matrix>;
inline SharedMatrix share(Matrix m) {
    return std::make_shared<const Matrix>(std::move(m));
}

// A window into a matrix that somebody else keeps alive, for example the band of one head in Q (n, h*d_k).
struct MatrixView {
    const float* data = nullptr;
    int rows = 0, cols = 0;
    std::ptrdiff_t stride = 0; // floats from one row to the next

    MatrixView() = default;
    MatrixView(const Matrix& m)
        : data(m.data()), rows(m.rows()), cols(m.cols()), stride(m.cols()) {} // NOLINT: a view of the whole
    MatrixView(const float* d, int r, int c, std::ptrdiff_t s) : data(d), rows(r), cols(c), stride(s) {}

    std::span<const float> row(int r) const { return {data + r * stride, static_cast<std::size_t>(cols)}; }
    float operator()(int r, int c) const { return data[r * stride + c]; }
    MatrixView rowRange(int begin, int end) const { return {data + begin * stride, end - begin, cols, stride}; }
    MatrixView colRange(int begin, int end) const { return {data + begin, rows, end - begin, stride}; }
};

// Columns [head*width, (head+1)*width) of an all-heads matrix.
inline MatrixView headBand(const Matrix& all, int head, int width) {
    return MatrixView(all).colRange(head * width, (head + 1) * width);
}

Matrix copy(MatrixView view);
Matrix transposed(MatrixView view);
Matrix identity(int rows, int cols);

} // namespace headscope
