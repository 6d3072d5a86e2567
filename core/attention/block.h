// What a transformer layer does beside its attention: norms and the MLP. Called by the tracer; sums in double, rounded
// to float once per step, like the reference backend.
#pragma once

#include "core/backend/backend.h"
#include "core/model/model.h"

namespace headscope {

// (n, d) -> (n, d); without a gain x itself comes back.
SharedMatrix normalized(const SharedMatrix& x, const NormWeights& weights, Norm norm, double epsilon);

// down(act(up(x))), or down(act(gate(x)) * up(x)) where there is a gate. (n, d) -> (n, d).
Matrix feedForward(const Backend& backend, const Matrix& x, const BlockWeights& weights, Activation activation);

// hidden (n, d_model) after the final norm -> (n, vocabulary).
Matrix logits(const Backend& backend, const OutputLayer& output, const Matrix& hidden, const ModelConfig& config);

} // namespace headscope
