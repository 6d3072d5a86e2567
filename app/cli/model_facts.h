// What `headscope info` says about a model: one list, which the table and the JSON both print.
// Not here: what its heads cost, and the entries of its file (info_command.cpp).
#pragma once

#include "app/cli/json_text.h"
#include "core/model/model.h"

#include <string>
#include <vector>

namespace headscope::cli {

struct ModelFact {
    std::string label, text; // a line of the table; without a label there is none
    Json json;               // an object: one or several fields
};
std::vector<ModelFact> modelFacts(const Model& model);

// What is unusual: the loader's notes, and what the sizes show.
std::vector<std::string> modelNotes(const Model& model);

bool attentionHasBias(const Model& model);

} // namespace headscope::cli
