// ModelConfig (what a model is), LayerWeights (what it knows), Model (both, with its tokenizer and embedding).
// A model is an immutable value: an edit makes a new one that shares every other tensor.
// Not here: computing (core/attention), reading files (the loaders beside this header).
#pragma once

#include "core/tensor/index.h"
#include "core/tensor/matrix.h"
#include "core/text/tokenizer.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headscope {

enum class Position { None, Sinusoidal, Learned, Rope, Alibi };
std::string_view positionName(Position p); // "none", "sinusoidal", "learned", "rope", "alibi"
std::optional<Position> positionFromName(std::string_view name);

struct ModelConfig {
    std::string name;   // "toy", "patterns", or the file's name
    std::string family; // "toy", "patterns", "worked-example", "attention module"
    int layers = 1;
    int dModel = 0;    // width of X
    int dModelKey = 0; // width of Y, what W_K and W_V multiply; equal to dModel unless the module says otherwise
    int dOut = 0;      // width of `output`: dModel, or h*d_v without W_O
    int heads = 0;     // h, query heads
    int kvHeads = 0;   // h_kv, divides h
    int dK = 0, dV = 0;
    Position position = Position::None;
    double ropeTheta = 10000.0;
    bool causal = false;                // the model's own mask
    bool cross = false;                 // queries from one text, keys and values from another
    bool residual = true;               // layer input + output is the next layer's input
    float softcap = 0.0F;               // scores become cap * tanh(score / cap) after the mask; 0 is none
    int maxTokens = 16384;              // a longer text is refused with both numbers
    std::vector<std::string> headNames; // one per head where the model names them (patterns), else empty
    std::vector<std::string> notes;     // what is unusual, for `info`

    int kvHeadOf(HeadIndex h) const { return h.value / (heads / kvHeads); }
};

// The tensors of one attention layer, as applied: Q = X W_Q + b_Q. Biases are (1, width); null where the model has
// none.
struct LayerWeights {
    SharedMatrix wQ; // (d_model, h*d_k)
    SharedMatrix wK; // (d_model of Y, h_kv*d_k)
    SharedMatrix wV; // (d_model of Y, h_kv*d_v)
    SharedMatrix wO; // (h*d_v, d_model); null: output = concat
    SharedMatrix bQ, bK, bV, bO;
    bool operator==(const LayerWeights&) const = default; // identity of the tensors
};

enum class WeightKind { WQ, WK, WV, WO, BQ, BK, BV, BO };
inline constexpr std::array allWeightKinds{WeightKind::WQ, WeightKind::WK, WeightKind::WV, WeightKind::WO,
                                           WeightKind::BQ, WeightKind::BK, WeightKind::BV, WeightKind::BO};
std::string_view weightName(WeightKind kind); // "W_Q" ... "b_O", as in files
std::optional<WeightKind> weightFromName(std::string_view name);

struct TensorId {
    LayerIndex layer;
    WeightKind kind = WeightKind::WQ;
    auto operator<=>(const TensorId&) const = default;
};

// The rows and columns of W (or the columns of b) that belong to one head: W_Q and b_Q: columns of the query head,
// W_K, W_V and their biases: columns of its KV head, W_O: rows of the head. b_O belongs to no head: all of it.
struct TensorBand {
    int rowBegin = 0, rowEnd = 0, colBegin = 0, colEnd = 0;
};
TensorBand headBandOf(const ModelConfig& config, WeightKind kind, HeadIndex head);

// What X of layer 0 is made of: parts of equal shape (n, d_model) whose sum is `sum`.
struct Embedding {
    struct Part {
        std::string name; // "token", "position"
        SharedMatrix values;
    };
    std::vector<Part> parts;
    SharedMatrix sum; // (n, d_model)
};

class Embedder {
public:
    virtual ~Embedder() = default;
    virtual Embedding embed(const TokenSequence& tokens) const = 0; // pure; n = tokens.size()
};

class Model {
public:
    // Validates every shape against the config; throws LoadError naming the tensor, expected and found.
    Model(ModelConfig config, std::vector<LayerWeights> layers, std::shared_ptr<const Tokenizer> tokenizer,
          std::shared_ptr<const Embedder> embedder);

    const ModelConfig& config() const { return m_config; }
    const LayerWeights& layer(LayerIndex l) const { return m_layers[static_cast<std::size_t>(l.value)]; }
    const Tokenizer& tokenizer() const { return *m_tokenizer; }
    const Embedder& embedder() const { return *m_embedder; }

    // Null where the model has no such tensor.
    const SharedMatrix& tensor(TensorId id) const;
    // The same model with one tensor replaced by one of equal shape; shares everything else.
    std::shared_ptr<const Model> withTensor(TensorId id, SharedMatrix value) const;

    // The same tensors, with keys from another text (or from the same one again).
    std::shared_ptr<const Model> withCross(bool cross) const;

    std::int64_t parameterCount() const; // attention weights and biases

private:
    ModelConfig m_config;
    std::vector<LayerWeights> m_layers;
    std::shared_ptr<const Tokenizer> m_tokenizer;
    std::shared_ptr<const Embedder> m_embedder;
};

using SharedModel = std::shared_ptr<const Model>;

} // namespace headscope
