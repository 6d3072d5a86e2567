// The models that are inside the program, and the one way to open any model by name or path.
#pragma once

#include "core/model/model.h"
#include "core/model/watched_tensors.h"

#include <cstdint>

namespace headscope {

// Options of `toy`; each has the command line's default. Where a count is not given it follows from the others.
struct ToyOptions {
    int dModel = 64;
    int heads = 8;
    std::optional<int> kvHeads; // heads
    std::optional<int> dK, dV;  // dModel / heads, which must divide unless both are given
    int layers = 1;
    std::uint64_t seed = 1;
    bool bias = true;
    Position position = Position::None;
    bool residual = true;
    bool operator==(const ToyOptions&) const = default;
};

// `toy`: W_Q, W_K ~ N(0, 1/d_model), W_V, W_O ~ N(0, 1/fan-in), biases ~ N(0, 0.1^2), all drawn from the seed by a
// generator that is the same on every machine. A word's embedding ~ N(0, 1) depends on the word alone.
// cross: every layer attends from the query text to the embedded key text. Throws InputError naming the numbers, also
// where they do not fit in memory; Cancelled.
SharedModel makeToy(const ToyOptions& options, bool cross = false, const OpenHooks& hooks = {});

// `patterns`: seven heads built by formula; see patterns.cpp for how.
SharedModel makePatterns();

// `worked-example`: "karina is to the store", d_model 2, identity projections, one head.
SharedModel makeWorkedExample();

// What an article printed for the worked example, rounded as it printed it.
struct PrintedStage {
    std::string stage; // a stage id: "scores", "scaled", "weights", "head_output"
    Matrix values;
    int decimals = 2;
};
const std::vector<PrintedStage>& workedExamplePrinted();
std::string_view workedExampleText(); // the sentence the printed numbers belong to
std::string_view workedExampleNote(); // what is wrong with the printed ones, in two sentences

inline constexpr std::string_view attentionModuleFamily = "attention module";

struct BuiltinModel {
    std::string name, what;
};
const std::vector<BuiltinModel>& builtinModels();
std::string_view defaultModelName(); // of every command and of the window

// Where a model came from, and how to make it again: this is what a scenario file keeps.
struct ModelSource {
    std::string name = std::string(defaultModelName()); // a built-in name or a path
    std::string sha256; // of the file, where it is known already; else scenario files ask for it (checkpointSha256)
    ToyOptions toy;     // for `toy`
    std::optional<int> heads; // for attention modules whose file does not say
    bool cross = false;       // toy and modules: keys come from another text or matrix
    bool operator==(const ModelSource&) const = default;
};

// A model with what its file carried beside the weights (X, Y of an attention module).
struct OpenedModel {
    ModelSource source;
    SharedModel model;
    SharedMatrix x, y;               // null unless the file has them
    std::vector<std::string> unread; // tensors of a checkpoint that its family does not use
};
// Throws InputError (unknown name, sizes), LoadError (file), or Cancelled when the hooks' stop is requested.
OpenedModel openModel(ModelSource source, const OpenHooks& hooks = {});

} // namespace headscope
