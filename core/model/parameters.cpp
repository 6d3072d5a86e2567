#include "core/model/parameters.h"

namespace headscope {

namespace {

std::int64_t sizeOf(const SharedMatrix& tensor) {
    return tensor ? static_cast<std::int64_t>(tensor->size()) : 0;
}
std::int64_t sizeOf(const LinearWeights& layer) {
    return sizeOf(layer.w) + sizeOf(layer.b);
}
std::int64_t sizeOf(const NormWeights& norm) {
    return sizeOf(norm.gain) + sizeOf(norm.bias);
}

} // namespace

ParameterCounts countParameters(const Model& model) {
    ParameterCounts counts;
    counts.attention = model.parameterCount();
    for (const Embedding::Part& part : model.embedder().tensors())
        counts.embeddings += sizeOf(part.values);
    const Transformer* transformer = model.transformer();
    if (!transformer)
        return counts;
    for (const BlockWeights& block : transformer->blocks) {
        counts.mlp += sizeOf(block.up) + sizeOf(block.gate) + sizeOf(block.down);
        counts.norms += sizeOf(block.norm1) + sizeOf(block.norm2);
    }
    counts.norms += sizeOf(transformer->finalNorm);
    if (const auto& output = transformer->output) {
        counts.output = sizeOf(output->dense) + sizeOf(output->norm) + sizeOf(output->bias);
        if (!outputIsTied(model))
            counts.output += sizeOf(output->vocabulary);
    }
    return counts;
}

bool outputIsTied(const Model& model) {
    const Transformer* transformer = model.transformer();
    const std::vector<Embedding::Part> tables = model.embedder().tensors();
    if (!transformer || !transformer->output || tables.empty())
        return false;
    const SharedMatrix &rows = transformer->output->vocabulary, &tokens = tables.front().values;
    return rows == tokens || *rows == *tokens;
}

} // namespace headscope
