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

// Relative: a learned number for every bucket of distances, added to the scaled scores (T5).
enum class Position { None, Sinusoidal, Learned, Rope, Alibi, Relative };
std::string_view positionName(Position p); // "none", "sinusoidal", "learned", "rope", "alibi", "relative"
std::optional<Position> positionFromName(std::string_view name); // one that a toy can have: not "relative"

// How attention and MLP sit around the residual stream h. Attention: out, or h + out. PostNorm (BERT): h1 = norm(h +
// attention(h)), h2 = norm(h1 + MLP(h1)). PreNorm (GPT-2, Llama): h1 = h + attention(norm(h)), h2 = h1 + MLP(norm(h1)).
// Parallel (GPT-NeoX): h + attention(norm(h)) + MLP(norm'(h)).
enum class BlockForm { Attention, PostNorm, PreNorm, Parallel };
enum class Norm { Layer, Rms };
enum class Activation { Gelu, GeluTanh, Relu, Silu };

// What a second text is to a model.
enum class PairUse { None, KeyText, SecondSegment };

// The places where an encoder-decoder attends: the source to itself, the target to itself, the target to the source.
enum class Site { EncoderSelf, DecoderSelf, DecoderCross };
inline constexpr std::array allSites{Site::EncoderSelf, Site::DecoderSelf, Site::DecoderCross};
std::string_view siteName(Site site); // "encoder.self", "decoder.self", "decoder.cross"
std::optional<Site> siteFromName(std::string_view name);

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
    int ropeDims = 0;                    // the first dimensions of each head that turn; 0 is all d_k
    std::vector<double> ropeFrequencies; // per pair, where the model scales them; empty: theta^(-2c/dims)
    double ropeMagnitude = 1.0;          // multiplies the turned dimensions (YaRN)
    int relativeDistance = 0;            // Relative: from here on all distances share the last bucket
    bool scaledByDk = true;              // the model's own scale is 1/sqrt(d_k); else 1 (T5)
    int slidingWindow = 0;               // a query sees itself and the W - 1 tokens before it; 0 is no limit
    BlockForm block = BlockForm::Attention;
    Norm norm = Norm::Layer;
    double normEpsilon = 1e-5;
    Activation activation = Activation::Gelu;
    int dFeedForward = 0;     // width of the MLP; 0 is none
    std::optional<Site> site; // of an encoder-decoder
    int vocabulary = 0;       // 0: words are not numbered by the model
    bool causal = false;      // the model's own mask
    bool cross = false;       // queries from one text, keys and values from another
    PairUse pair = PairUse::None;
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

// A norm's gain and bias, (1, width) each; bias is null for RMSNorm. Without a gain there is no norm.
struct NormWeights {
    SharedMatrix gain, bias;
};
// A linear layer as applied: x W + b; b may be null. Without W there is no layer.
struct LinearWeights {
    SharedMatrix w, b;
};

// What a transformer layer has beside its attention. norm1 is the one next to the attention, norm2 next to the MLP.
struct BlockWeights {
    NormWeights norm1, norm2;
    LinearWeights up, gate, down; // (d_model, d_ff), (d_model, d_ff), (d_ff, d_model); gate only in gated MLPs
};

// Hidden states to logits: [dense, activation, norm], then times the vocabulary's rows.
struct OutputLayer {
    float scale = 1.0F;  // multiplies the hidden states (T5 with a tied table: 1/sqrt(d_model))
    LinearWeights dense; // a masked-LM head's; mostly absent
    Activation activation = Activation::Gelu;
    NormWeights norm;
    SharedMatrix vocabulary; // (vocabulary, d_model, or the width of dense): one row per token
    SharedMatrix bias;       // (1, vocabulary) or null
};

// Everything of a trained model around its attention layers; never edited.
struct Transformer {
    std::vector<BlockWeights> blocks; // one per layer
    NormWeights finalNorm;
    SharedMatrix relativeBias; // (buckets, h), Position::Relative; one table for all layers
    std::optional<OutputLayer> output;
};

// How the text that a decoder reads begins, and how what it writes ends: ids of the target's vocabulary.
struct TargetRules {
    std::int64_t start = 0; // stands before the text: the decoder's input is the target shifted right
    std::int64_t end = 0;
    std::optional<std::int64_t> first; // is always written first
    std::vector<std::int64_t> never;   // are never written
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

// What X of layer 0 is made of: parts of equal shape whose sum is `sum`.
struct Embedding {
    struct Part {
        std::string name; // "token", "position"
        SharedMatrix values;
    };
    std::vector<Part> parts;
    SharedMatrix sum; // (n, width of the parts)
    SharedMatrix x; // (n, d_model): what enters layer 0: the sum, after a norm or a projection where the model has one
};

class Embedder {
public:
    virtual ~Embedder() = default;
    virtual Embedding embed(const TokenSequence& tokens) const = 0; // pure; n = tokens.size()
    // The trained tensors that it embeds with, "token" first (rows of the vocabulary); none where it computes them.
    virtual std::vector<Embedding::Part> tensors() const { return {}; }
};

struct CapturedAttention; // captured_attention.h

// An encoder-decoder is three models in one, one per site (each with its layers, and the tokenizer and embedding of its
// queries), any of which can be looked at: atSite().
class Model {
public:
    struct Sites; // the three, and the target's rules

    // Validates every shape against the config; throws LoadError naming the tensor, expected and found. With captured
    // attention the layers have no tensors at all.
    Model(ModelConfig config, std::vector<LayerWeights> layers, std::shared_ptr<const Tokenizer> tokenizer,
          std::shared_ptr<const Embedder> embedder, std::shared_ptr<const Transformer> transformer = nullptr,
          std::shared_ptr<const CapturedAttention> captured = nullptr);

    const ModelConfig& config() const { return m_config; }
    const LayerWeights& layer(LayerIndex l) const { return m_layers[static_cast<std::size_t>(l.value)]; }
    const Tokenizer& tokenizer() const { return *m_tokenizer; }
    const Embedder& embedder() const { return *m_embedder; }
    const Transformer* transformer() const { return m_transformer.get(); } // null: attention layers alone

    const CapturedAttention* captured() const { return m_captured.get(); } // null: there are weights to compute with

    // Null where the model has no such tensor.
    const SharedMatrix& tensor(TensorId id) const;
    // The same model with one tensor replaced by one of equal shape; shares everything else.
    std::shared_ptr<const Model> withTensor(TensorId id, SharedMatrix value) const;

    // The same tensors, with keys from another text (or from the same one again).
    std::shared_ptr<const Model> withCross(bool cross) const;

    // One encoder-decoder from the models of its sites, in the order of allSites; seen at decoder.cross. Every
    // config.site is set.
    static std::shared_ptr<const Model> joined(std::array<Model, 3> sites, TargetRules rules);
    // The same encoder-decoder seen at another site: always the same object for the same site. Only where
    // config().site.
    std::shared_ptr<const Model> atSite(Site site) const;
    const TargetRules& targetRules() const; // only where config().site
    // What makes hidden states logits: of an encoder-decoder its decoder's, seen from any site. Null where there is
    // none.
    const OutputLayer* outputLayer() const;

    std::int64_t parameterCount() const; // attention weights and biases, of this site

private:
    ModelConfig m_config;
    std::vector<LayerWeights> m_layers;
    std::shared_ptr<const Tokenizer> m_tokenizer;
    std::shared_ptr<const Embedder> m_embedder;
    std::shared_ptr<const Transformer> m_transformer;
    std::shared_ptr<const CapturedAttention> m_captured;
    std::weak_ptr<const Sites> m_sites; // whoever holds one site's model holds all three
};

struct Model::Sites {
    std::array<Model, 3> models;
    TargetRules rules;
};

using SharedModel = std::shared_ptr<const Model>;

} // namespace headscope
