// The few operations that more than one room needs, summed in double and rounded to float once. The reference backend
// is made of them.
#pragma once

#include "core/tensor/matrix.h"

namespace headscope {

Matrix linear(MatrixView x, MatrixView w, const Matrix* bias); // x w + b: (n, a) (a, b) -> (n, b); bias (1, b) or null
Matrix sum(const Matrix& a, const Matrix& b);                  // equal shapes
Matrix scaled(const Matrix& a, float factor);
// Row by row: (x - mean) / sqrt(variance + eps) * gain + bias (Ba et al. 2016); bias may be null. gain is (1, cols).
Matrix layerNorm(const Matrix& x, const Matrix& gain, const Matrix* bias, double epsilon);
// Row by row: x / sqrt(mean x^2 + eps) * gain (Zhang and Sennrich 2019).
Matrix rmsNorm(const Matrix& x, const Matrix& gain, double epsilon);

} // namespace headscope
