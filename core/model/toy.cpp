// `toy`: projections drawn from a seed, in any size.
#include "core/model/builtin.h"
#include "core/model/random.h"
#include "core/model/word_embedding.h"
#include "core/tensor/errors.h"
#include "core/tensor/memory.h"

#include <cmath>

namespace headscope {

namespace {

constexpr int largestWidth = 65536, mostHeads = 1024, mostLayers = 1024;
constexpr std::int64_t mostParameters = std::int64_t{1} << 31; // 8 GiB of float32

void requireRange(const char* option, int value, int most) {
    if (value < 1 || value > most)
        throw InputError(std::string(option) + ": expected 1 to " + std::to_string(most) + ", found " +
                         std::to_string(value));
}

ModelConfig configOf(const ToyOptions& o, bool cross) {
    requireRange("--d-model", o.dModel, largestWidth);
    requireRange("--heads", o.heads, mostHeads);
    requireRange("--layers", o.layers, mostLayers);
    const int kvHeads = o.kvHeads.value_or(o.heads);
    requireRange("--kv-heads", kvHeads, mostHeads);
    if (o.heads % kvHeads != 0)
        throw InputError("--kv-heads " + std::to_string(kvHeads) + " does not divide --heads " +
                         std::to_string(o.heads) + ": every KV head must serve the same number of query heads");
    if (o.dModel % o.heads != 0 && !(o.dK && o.dV))
        throw InputError("--d-model " + std::to_string(o.dModel) + " is not divisible by --heads " +
                         std::to_string(o.heads) + " (remainder " + std::to_string(o.dModel % o.heads) +
                         "): choose a multiple, or give both --d-k and --d-v");
    ModelConfig c;
    c.name = c.family = "toy";
    c.layers = o.layers;
    c.dModel = c.dModelKey = c.dOut = o.dModel;
    c.heads = o.heads;
    c.kvHeads = kvHeads;
    c.dK = o.dK.value_or(o.dModel / o.heads);
    c.dV = o.dV.value_or(o.dModel / o.heads);
    requireRange("--d-k", c.dK, largestWidth);
    requireRange("--d-v", c.dV, largestWidth);
    if (o.position == Position::Rope && c.dK % 2 != 0)
        throw InputError("--position rope turns pairs of dimensions: expected an even d_k, found " +
                         std::to_string(c.dK));
    c.position = o.position;
    c.pair = PairUse::KeyText;
    c.cross = cross;
    c.residual = o.residual;
    const std::int64_t width =
        std::int64_t{c.heads} * c.dK + std::int64_t{c.kvHeads} * (c.dK + c.dV) + std::int64_t{c.heads} * c.dV;
    if (width * c.dModel * c.layers > mostParameters)
        throw InputError("a toy of this size has " + std::to_string(width * c.dModel * c.layers) +
                         " parameters: expected at most " + std::to_string(mostParameters) +
                         "; choose a smaller --d-model, --heads, --d-k, --d-v or --layers");
    return c;
}

} // namespace

SharedModel makeToy(const ToyOptions& o, bool cross, const OpenHooks& hooks) {
    const ModelConfig c = configOf(o, cross);
    const std::int64_t columns = (std::int64_t{c.heads} + c.kvHeads) * (c.dK + c.dV); // of W_Q, W_K, W_V and W_O
    requireMemory(std::int64_t{4} * c.layers * c.dModel * columns, "a toy of these sizes",
                  "choose a smaller d_model, or fewer heads or layers");
    const double in = 1.0 / std::sqrt(c.dModel), out = 1.0 / std::sqrt(static_cast<double>(c.heads) * c.dV);
    std::vector<LayerWeights> layers;
    for (int l = 0; l < c.layers; ++l) {
        if (hooks.stop.stop_requested())
            throw Cancelled();
        if (hooks.progress)
            hooks.progress(static_cast<double>(l) / c.layers);
        // Every tensor has a stream of its own: with biases or without, W_Q stays the same.
        const auto draw = [&](WeightKind kind, int rows, int cols, double deviation) {
            Random random(o.seed * 0x9E3779B97F4A7C15ULL + static_cast<std::uint64_t>(l) * 64 +
                          static_cast<std::uint64_t>(kind) + 1);
            return share(normalMatrix(rows, cols, deviation, random));
        };
        LayerWeights w;
        w.wQ = draw(WeightKind::WQ, c.dModel, c.heads * c.dK, in);
        w.wK = draw(WeightKind::WK, c.dModel, c.kvHeads * c.dK, in);
        w.wV = draw(WeightKind::WV, c.dModel, c.kvHeads * c.dV, in);
        w.wO = draw(WeightKind::WO, c.heads * c.dV, c.dModel, out);
        if (o.bias) {
            w.bQ = draw(WeightKind::BQ, 1, c.heads * c.dK, 0.1);
            w.bK = draw(WeightKind::BK, 1, c.kvHeads * c.dK, 0.1);
            w.bV = draw(WeightKind::BV, 1, c.kvHeads * c.dV, 0.1);
            w.bO = draw(WeightKind::BO, 1, c.dModel, 0.1);
        }
        layers.push_back(std::move(w));
    }
    return std::make_shared<const Model>(c, std::move(layers), makeWordTokenizer(),
                                         makeWordEmbedder(c.dModel, o.position, o.seed));
}

} // namespace headscope
