// trace: Scenario -> AttentionTrace, layer by layer. A trace keeps only what is linear in n; the n x m matrices of a
// head are derived on demand (head_stages.h) by the same function.
#pragma once

#include "core/attention/scenario.h"

#include <functional>
#include <stop_token>

namespace headscope {

// What one layer computed. Shapes: n queries, m keys.
struct LayerTrace {
    SharedMatrix stream;      // (n, d_model): the residual stream that enters the layer
    SharedMatrix x;           // (n, d_model): what W_Q multiplies: the stream, after a pre-norm where the model has one
    SharedMatrix y;           // (m, d_model of Y): what W_K and W_V multiply; the same object as x in self-attention
    SharedMatrix projectionQ; // (n, h*d_k)
    SharedMatrix projectionK; // (m, h_kv*d_k)
    SharedMatrix projectionV; // (m, h_kv*d_v)
    SharedMatrix q;           // after RoPE; the same object as projectionQ without it
    SharedMatrix k;
    SharedMatrix v;
    SharedMatrix concat;         // (n, h*d_v), switched-off heads 0
    SharedMatrix output;         // (n, d_out), before the residual
    SharedMatrix hidden;         // (n, d_model): the next layer's input
    SharedMatrix meanWeights;    // (n, m), only under the rule average-heads; else null
    std::vector<bool> emptyRows; // n: fully masked
};

struct SiteTraces;

// Of an encoder-decoder a trace is one site's; it knows the other two (atSite).
struct AttentionTrace {
    Scenario scenario;
    Embedding embedding;    // of the query text
    Embedding embeddingKey; // of the key text; equal to `embedding` in self-attention
    std::vector<std::shared_ptr<const LayerTrace>> layers;
    SharedMatrix hidden; // (n, d_model): the last layer's output, after the final norm where there is one
    KeyMask mask;
    const Backend* backend = nullptr;
    std::weak_ptr<const SiteTraces> sites; // encoder-decoders: whoever holds one site's trace holds all three
    int reusedLayers = 0;
    double milliseconds = 0; // of computing

    const LayerTrace& layer(LayerIndex l) const { return *layers[static_cast<std::size_t>(l.value)]; }
    const ModelConfig& config() const { return scenario.model->config(); }
};
using SharedTrace = std::shared_ptr<const AttentionTrace>;

struct SiteTraces {
    std::array<AttentionTrace, 3> traces; // in the order of allSites
};
// The trace of the same encoder-decoder, looked at from another site: always the same object for the same site.
SharedTrace atSite(const AttentionTrace& trace, Site site);

// Rows from firstRow on of (n, vocabulary), of an encoder-decoder the target's: the model must have an output layer.
Matrix logitsOf(const AttentionTrace& trace, int firstRow = 0);

using Progress = std::function<void(double fraction)>;

// The scenario with the target that its encoder-decoder writes greedily (the likeliest token, again and again), to the
// end token or at most min(positions, 2 m + 16) tokens. Any other scenario comes back as it is.
Scenario withTarget(const Scenario& scenario, const Backend& backend, const std::stop_token& stop = {});

// A target that is still to be written is written first: the trace's own scenario then has it.
// previous: what is certain to come out the same is taken from it: layers and projections whose inputs are the same
// objects, heads whose q, k and v have the same bits (bitwise equal to a full run). Throws InputError when the scenario
// does not fit (validate), Cancelled when stop is requested.
SharedTrace trace(const Scenario& scenario, const Backend& backend, const AttentionTrace* previous = nullptr,
                  std::stop_token stop = {}, const Progress& progress = {});

} // namespace headscope
