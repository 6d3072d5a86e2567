#include "core/attention/block.h"

#include "core/tensor/arithmetic.h"

#include <cmath>
#include <numbers>

namespace headscope {

SharedMatrix normalized(const SharedMatrix& x, const NormWeights& w, Norm norm, double epsilon) {
    if (!w.gain)
        return x;
    return share(norm == Norm::Layer ? layerNorm(*x, *w.gain, w.bias.get(), epsilon) : rmsNorm(*x, *w.gain, epsilon));
}

static double activation(double x, Activation a) {
    switch (a) {
    case Activation::Gelu:
        return 0.5 * x * (1.0 + std::erf(x * std::numbers::sqrt2 / 2.0));
    case Activation::GeluTanh: // Hendrycks and Gimpel 2016
        return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::Relu:
        return x > 0 ? x : 0;
    case Activation::Silu:
        return x / (1.0 + std::exp(-x));
    }
    return x;
}

Matrix activated(Matrix x, Activation a) {
    for (float& v : x.values())
        v = static_cast<float>(activation(v, a));
    return x;
}

Matrix feedForward(const Backend& backend, const Matrix& x, const BlockWeights& w, Activation a) {
    Matrix inner = backend.linear(x, *w.up.w, w.up.b.get());
    if (w.gate.w) {
        const Matrix gate = activated(backend.linear(x, *w.gate.w, w.gate.b.get()), a);
        for (std::size_t i = 0; i < inner.size(); ++i)
            inner.values()[i] *= gate.values()[i];
    } else {
        inner = activated(std::move(inner), a);
    }
    return backend.linear(inner, *w.down.w, w.down.b.get());
}

Matrix logits(const Backend& backend, const OutputLayer& o, const Matrix& hidden, const ModelConfig& config) {
    SharedMatrix x = share(o.scale == 1.0F ? hidden : scaled(hidden, o.scale));
    if (o.dense.w)
        x = share(activated(backend.linear(*x, *o.dense.w, o.dense.b.get()), o.activation));
    x = normalized(x, o.norm, Norm::Layer, config.normEpsilon);
    // (E x^T)^T: the table of the vocabulary is large, the hidden states are not.
    Matrix out = transposed(backend.linear(*o.vocabulary, transposed(*x), nullptr));
    if (o.bias)
        for (int i = 0; i < out.rows(); ++i)
            for (int j = 0; j < out.cols(); ++j)
                out(i, j) += (*o.bias)(0, j);
    return out;
}

} // namespace headscope
