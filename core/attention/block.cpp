#include "core/attention/block.h"

#include "core/tensor/arithmetic.h"

namespace headscope {

SharedMatrix normalized(const SharedMatrix& x, const NormWeights& w, Norm norm, double epsilon) {
    if (!w.gain)
        return x;
    return share(norm == Norm::Layer ? layerNorm(*x, *w.gain, w.bias.get(), epsilon) : rmsNorm(*x, *w.gain, epsilon));
}

static Pointwise pointwiseOf(Activation a) {
    switch (a) {
    case Activation::Gelu:
        return Pointwise::Gelu;
    case Activation::GeluTanh:
        return Pointwise::GeluTanh;
    case Activation::Relu:
        return Pointwise::Relu;
    case Activation::Silu:
        return Pointwise::Silu;
    }
    return Pointwise::Relu;
}

Matrix feedForward(const Backend& backend, const Matrix& x, const BlockWeights& w, Activation a) {
    Matrix inner = backend.linear(x, w.up.w, w.up.b.get());
    if (w.gate.w) {
        Matrix gate = backend.linear(x, w.gate.w, w.gate.b.get());
        backend.apply(pointwiseOf(a), gate.values());
        for (std::size_t i = 0; i < inner.size(); ++i)
            inner.values()[i] *= gate.values()[i];
    } else {
        backend.apply(pointwiseOf(a), inner.values());
    }
    return backend.linear(inner, w.down.w, w.down.b.get());
}

Matrix logits(const Backend& backend, const OutputLayer& o, const Matrix& hidden, const ModelConfig& config) {
    SharedMatrix x = share(o.scale == 1.0F ? hidden : scaled(hidden, o.scale));
    if (o.dense.w) {
        Matrix dense = backend.linear(*x, o.dense.w, o.dense.b.get());
        backend.apply(pointwiseOf(o.activation), dense.values());
        x = share(std::move(dense));
    }
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
