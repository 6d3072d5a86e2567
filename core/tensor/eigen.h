// The border to Eigen: included by source files that multiply, never by headers.
#pragma once

#include "core/tensor/matrix.h"

#include <Eigen/Core>

namespace headscope {

using DoubleMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline DoubleMatrix toDouble(MatrixView view) {
    using FloatMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    return Eigen::Map<const FloatMatrix, Eigen::Unaligned, Eigen::OuterStride<>>(view.data, view.rows, view.cols,
                                                                                 Eigen::OuterStride<>(view.stride))
        .cast<double>();
}

inline Matrix toFloat(const DoubleMatrix& d) {
    Matrix out(static_cast<int>(d.rows()), static_cast<int>(d.cols()));
    for (int r = 0; r < out.rows(); ++r)
        for (int c = 0; c < out.cols(); ++c)
            out(r, c) = static_cast<float>(d(r, c));
    return out;
}

} // namespace headscope
