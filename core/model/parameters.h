// How many numbers a model has learned, by part. Not here: what they cost (core/analysis/cost.h).
// Called by `headscope info`.
#pragma once

#include "core/model/model.h"

#include <cstdint>

namespace headscope {

struct ParameterCounts {
    std::int64_t attention = 0, mlp = 0;
    std::int64_t norms = 0;      // beside attention and MLP, and the final one
    std::int64_t embeddings = 0; // tables, with their norm and projection; 0 where embeddings are computed
    std::int64_t output = 0;     // without the vocabulary's rows where they are the token table

    std::int64_t total() const { return attention + mlp + norms + embeddings + output; }
};
// What the model uses; a file may hold more (a pooler).
ParameterCounts countParameters(const Model& model);

// The output layer's rows are the rows of the token table, in one tensor or in two equal ones.
bool outputIsTied(const Model& model);

} // namespace headscope
