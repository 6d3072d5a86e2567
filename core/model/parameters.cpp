#include "core/model/parameters.h"

#include <set>
#include <vector>

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

// Of an encoder-decoder the model of every site, of any other one itself.
static std::vector<const Model*> sitesOf(const Model& model, std::vector<SharedModel>& keep) {
    if (!model.config().site)
        return {&model};
    std::vector<const Model*> all;
    all.reserve(allSites.size());
    for (const Site site : allSites) {
        keep.push_back(model.atSite(site));
        all.push_back(keep.back().get());
    }
    return all;
}

ParameterCounts countParameters(const Model& model) {
    ParameterCounts counts;
    std::vector<SharedModel> keep;
    std::set<SharedMatrix> tables; // source and target often share one
    for (const Model* site : sitesOf(model, keep)) {
        counts.attention += site->parameterCount();
        for (const Embedding::Part& part : site->embedder().tensors())
            if (tables.insert(part.values).second)
                counts.embeddings += sizeOf(part.values);
        const Transformer* transformer = site->transformer();
        if (!transformer)
            continue;
        for (const BlockWeights& block : transformer->blocks) {
            counts.mlp += sizeOf(block.up) + sizeOf(block.gate) + sizeOf(block.down);
            counts.norms += sizeOf(block.norm1) + sizeOf(block.norm2);
        }
        counts.norms += sizeOf(transformer->finalNorm);
        counts.embeddings += sizeOf(transformer->relativeBias);
    }
    if (const OutputLayer* output = model.outputLayer()) {
        counts.output = sizeOf(output->dense) + sizeOf(output->norm) + sizeOf(output->bias);
        if (!outputIsTied(model))
            counts.output += sizeOf(output->vocabulary);
    }
    return counts;
}

bool outputIsTied(const Model& model) {
    const OutputLayer* output = model.outputLayer();
    const std::vector<Embedding::Part> tables =
        model.config().site ? model.atSite(Site::DecoderSelf)->embedder().tensors() : model.embedder().tensors();
    if (!output || tables.empty())
        return false;
    const SharedMatrix &rows = output->vocabulary, &tokens = tables.front().values;
    return rows == tokens || *rows == *tokens;
}

} // namespace headscope
