// The embedding of trained models: rows of a token table, plus position and segment rows, then a norm and a projection
// where the family has them.
#pragma once

#include "core/model/model.h"

namespace headscope {

struct TableEmbedding {
    SharedMatrix token;                // (vocabulary, width)
    float tokenScale = 1.0F;           // multiplies the token rows
    SharedMatrix position;             // (positions, width) or null
    bool positionIsComputed = false;   // by a formula: not learned
    SharedMatrix segment;              // (segments, width) or null
    int positionOffset = 0;            // rows of `position` before position 0
    std::optional<std::int64_t> padId; // RoBERTa: padding tokens keep row offset - 1 and do not count
    NormWeights norm;
    double normEpsilon = 1e-12;
    LinearWeights projection; // to d_model
};

// Throws InputError from embed() for an id outside the table.
std::shared_ptr<const Embedder> makeTableEmbedder(TableEmbedding tables);

} // namespace headscope
