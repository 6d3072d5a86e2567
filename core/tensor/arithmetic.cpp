#include "core/tensor/arithmetic.h"

#include "core/tensor/eigen.h"

#include <cmath>

namespace headscope {

namespace {

// (x - shift) / sqrt(mean of (x - shift)^2 + eps) * gain + bias, one row at a time.
Matrix scaledRows(const Matrix& x, const Matrix& gain, const Matrix* bias, double epsilon, bool subtractMean) {
    const int d = x.cols();
    Matrix out(x.rows(), d);
    for (int r = 0; r < x.rows(); ++r) {
        double mean = 0, square = 0;
        if (subtractMean) {
            for (const float v : x.row(r))
                mean += v;
            mean /= d;
        }
        for (const float v : x.row(r))
            square += (v - mean) * (v - mean);
        const double scale = 1.0 / std::sqrt(square / d + epsilon);
        for (int c = 0; c < d; ++c)
            out(r, c) = static_cast<float>((x(r, c) - mean) * scale * gain(0, c) + (bias ? (*bias)(0, c) : 0.0F));
    }
    return out;
}

} // namespace

Matrix linear(MatrixView x, MatrixView w, const Matrix* bias) {
    assert(x.cols == w.rows);
    DoubleMatrix y;
    y.noalias() = toDouble(x) * toDouble(w);
    if (bias)
        y.rowwise() += toDouble(*bias).row(0);
    return toFloat(y);
}

Matrix sum(const Matrix& a, const Matrix& b) {
    assert(a.rows() == b.rows() && a.cols() == b.cols());
    Matrix out = a;
    for (std::size_t i = 0; i < out.size(); ++i)
        out.values()[i] += b.values()[i];
    return out;
}

Matrix scaled(const Matrix& a, float factor) {
    Matrix out = a;
    for (float& v : out.values())
        v *= factor;
    return out;
}

Matrix layerNorm(const Matrix& x, const Matrix& gain, const Matrix* bias, double epsilon) {
    return scaledRows(x, gain, bias, epsilon, true);
}

Matrix rmsNorm(const Matrix& x, const Matrix& gain, double epsilon) {
    return scaledRows(x, gain, nullptr, epsilon, false);
}

} // namespace headscope
