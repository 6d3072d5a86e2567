// Inside core: one head of one layer as the backend sees it. The tracer and the derivation of a head on
// demand both go through here, so that a derived head equals its slice of concat bit for bit.
#pragma once

#include "core/attention/head_stages.h"

namespace headscope {

struct HeadInputs {
    HeadProblem problem; // views into the layer's q, k, v
    std::vector<ScoreEdit> edits;
    std::vector<float> relativeBias;
};
// layer: q, k and v must be there.
HeadInputs headInputs(const Scenario& scenario, const KeyMask& mask, const LayerTrace& layer, LayerIndex l,
                      HeadIndex h);

// Rotary positions on the columns of one or more heads (n, heads*d_k); in trace.cpp.
Matrix rotated(const Matrix& all, const ModelConfig& config);

// All rows: an n x m matrix exists only where it is wanted.
HeadStages runHead(const Backend& backend, const HeadProblem& problem, HeadWanted wanted, const std::stop_token& stop);

// Many heads at once (Backend::attendAll).
void runHeads(const Backend& backend, std::span<const HeadInputs> heads, std::span<const HeadTarget> targets,
              const Backend::VisitWeights& visit, const std::stop_token& stop);

// The class rule average-heads: the mean of all heads' weights (n, m).
Matrix meanWeights(const Backend& backend, const Scenario& scenario, const KeyMask& mask, const LayerTrace& layer,
                   LayerIndex l, const std::stop_token& stop);

} // namespace headscope
