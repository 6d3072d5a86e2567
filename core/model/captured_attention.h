// CapturedAttention: attention that another program computed and saved (.npz, .npy), with the tokens it is between;
// also Headscope's own dumps. A model without weights (Model::captured): what is in the file is shown as it is, nothing
// is computed. Not here: how a trace is made of it (core/attention/captured.h).
#pragma once

#include "core/model/builtin.h"
#include "core/model/tensor_file.h"
#include "core/text/token.h"

#include <map>

namespace headscope {

inline constexpr std::string_view capturedFamily = "captured attention";

// One array of one layer: a matrix per leading index, as shown and as saved.
struct CapturedArray {
    std::string entry;                                 // its name in the file
    std::string type = "<f4";                          // what it is exported as: "<f2", "<f4", "<f8"
    std::vector<SharedMatrix> matrices;                // heads, KV heads, or one
    std::shared_ptr<const std::vector<double>> values; // "<f8" only: the unrounded values from `first` on
    std::int64_t first = 0;
};

struct CapturedAttention {
    std::string file;                                                      // for messages: its name without folders
    std::map<std::string, std::vector<CapturedArray>, std::less<>> stages; // stage id -> one array per layer
    TokenSequence query;
    std::optional<TokenSequence> key; // cross-attention
    std::vector<std::string> remarks; // what a reader of the numbers has to know: rows that do not sum to 1

    // Null where the file has no such stage.
    const CapturedArray* find(std::string_view stage, LayerIndex layer) const;
    std::string stageList() const; // "weights only", "weights, scores and q"
};

// What the arrays' names and shapes say, before any value is read: what `info` shows.
struct CapturedLayout {
    struct Place { // of one layer's array
        const TensorEntry* entry = nullptr;
        std::int64_t first = 0;          // its first value in the entry
        std::vector<std::int64_t> shape; // (heads, rows, columns) or (rows, columns)
    };
    ModelConfig config;
    int queries = 0, keys = 0;
    std::map<std::string, std::vector<Place>, std::less<>> stages;
    const TensorEntry *tokens = nullptr, *tokensKey = nullptr, *ids = nullptr, *idsKey = nullptr;
};

// False for what is something else: an attention module, arrays of any kind.
bool holdsCapturedAttention(const TensorFile& file);
// Throws LoadError naming the entry, the expected and the found shape.
CapturedLayout capturedLayout(const TensorFile& file);
OpenedModel openCapturedAttention(ModelSource source, const TensorFile& file);

} // namespace headscope
