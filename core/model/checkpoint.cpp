#include "core/model/checkpoint.h"

#include "core/model/families.h"
#include "core/model/table_embedding.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headscope {

namespace {

using nlohmann::json;

// One meaning, and the names it goes by in config.json.
struct ConfigKey {
    const char* meaning;
    std::vector<const char*> names;
};
const std::vector<ConfigKey>& configKeys() {
    static const std::vector<ConfigKey> keys{{"layers", {"num_hidden_layers", "n_layer", "n_layers"}},
                                             {"d_model", {"hidden_size", "n_embd", "dim"}},
                                             {"heads", {"num_attention_heads", "n_head", "n_heads"}},
                                             {"kv_heads", {"num_key_value_heads"}},
                                             {"head_dim", {"head_dim"}},
                                             {"norm_epsilon", {"layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps"}},
                                             {"positions", {"max_position_embeddings", "n_positions"}},
                                             {"rope_theta", {"rope_theta", "rotary_emb_base"}},
                                             {"rope_share", {"rotary_pct"}},
                                             {"sliding_window", {"sliding_window"}},
                                             {"use_sliding_window", {"use_sliding_window"}},
                                             {"pad_id", {"pad_token_id"}},
                                             {"parallel_residual", {"use_parallel_residual"}},
                                             {"scale_by_layer", {"scale_attn_by_inverse_layer_idx"}},
                                             {"scale_weights", {"scale_attn_weights"}}};
    return keys;
}

// Rope scaling as the hub's configs have it: how many times slower each pair turns.
std::vector<double> frequencyFactors(const json& scaling, int dims, double theta, const std::string& file) {
    const std::string type = scaling.value("rope_type", scaling.value("type", std::string("default")));
    if (type == "default")
        return {};
    const double factor = scaling.value("factor", 1.0);
    std::vector<double> factors(static_cast<std::size_t>(dims / 2), factor);
    if (type == "linear")
        return factors;
    if (type != "llama3")
        throw LoadError(file, "rope_scaling", "default, linear or llama3", type);
    // Llama 3.1: fast pairs keep their frequency, slow ones turn `factor` times slower, those between are blended.
    const double low = scaling.value("low_freq_factor", 1.0), high = scaling.value("high_freq_factor", 4.0),
                 length = scaling.value("original_max_position_embeddings", 8192.0);
    for (int c = 0; c < dims / 2; ++c) {
        const double wavelength = 2 * std::numbers::pi * std::pow(theta, 2.0 * c / dims);
        const double blend = std::clamp((length / wavelength - low) / (high - low), 0.0, 1.0);
        factors[static_cast<std::size_t>(c)] = 1.0 / ((1 - blend) / factor + blend);
    }
    return factors;
}

class Builder {
public:
    Builder(const CheckpointConfig& config, const FamilyNames& names, const TensorFile& tensors)
        : m_from(config), m_names(names), m_tensors(tensors) {
        for (const std::string_view prefix : names.prefixes)
            if (tensors.find(std::string(prefix) + std::string(names.token) + ".weight")) {
                m_prefix = prefix;
                return;
            }
        throw LoadError(tensors.path(), std::string(names.token) + ".weight",
                        "the token table of a " + config.family + " model", "no such tensor");
    }

    ModelConfig config(const std::string& name) const {
        ModelConfig c;
        c.name = name;
        c.family = m_from.family;
        c.layers = count("layers", 1, 1024);
        c.dModel = c.dModelKey = c.dOut = count("d_model", 1, 1 << 20);
        c.heads = count("heads", 1, 4096);
        c.kvHeads = m_from.numbers.contains("kv_heads") ? count("kv_heads", 1, c.heads) : c.heads;
        if (c.heads % c.kvHeads != 0)
            fail("kv_heads", "a divisor of " + std::to_string(c.heads) + " heads", std::to_string(c.kvHeads));
        if (m_from.numbers.contains("head_dim"))
            c.dK = c.dV = count("head_dim", 1, 1 << 16);
        else if (c.dModel % c.heads != 0)
            fail("heads", "a divisor of d_model " + std::to_string(c.dModel), std::to_string(c.heads));
        else
            c.dK = c.dV = c.dModel / c.heads;
        c.block = m_names.block;
        if (c.block == BlockForm::Parallel && number("parallel_residual", 1) == 0)
            c.block = BlockForm::PreNorm;
        c.norm = m_names.norm;
        c.normEpsilon = number("norm_epsilon", m_names.norm == Norm::Rms ? 1e-6 : 1e-12);
        c.causal = m_names.causal;
        c.activation = activation();
        setPositions(c);
        if (number("scale_by_layer", 0) != 0 || number("scale_weights", 1) == 0)
            fail("scale_attn_by_inverse_layer_idx", "scores divided by sqrt(d_k)", "another scale");
        if (number("sliding_window", 0) > 0 && number("use_sliding_window", 1) != 0)
            c.slidingWindow = count("sliding_window", 1, 1 << 30);
        return c;
    }

    LayerWeights attention(const ModelConfig& c, int layer) const {
        LayerWeights w;
        const std::string q = name(m_names.q, layer), o = name(m_names.o, layer);
        const int heads = c.heads * c.dK, kv = c.kvHeads * c.dK;
        if (m_names.packing == QkvPacking::Separate) {
            const std::string k = name(m_names.k, layer), v = name(m_names.v, layer);
            w.wQ = matrix(q, c.dModel, heads);
            w.wK = matrix(k, c.dModel, kv);
            w.wV = matrix(v, c.dModel, c.kvHeads * c.dV);
            w.bQ = bias(q, heads);
            w.bK = bias(k, kv);
            w.bV = bias(v, c.kvHeads * c.dV);
        } else {
            const SharedMatrix all = matrix(q, c.dModel, 3 * heads), b = bias(q, 3 * heads);
            const auto part = [&](const SharedMatrix& from, int which) {
                return from ? share(unpacked(*from, c, which)) : nullptr;
            };
            w.wQ = part(all, 0), w.wK = part(all, 1), w.wV = part(all, 2);
            w.bQ = part(b, 0), w.bK = part(b, 1), w.bV = part(b, 2);
        }
        if (m_names.ropeInterleaved) {
            w.wQ = halfSplit(w.wQ, c.dK), w.bQ = halfSplit(w.bQ, c.dK);
            w.wK = halfSplit(w.wK, c.dK), w.bK = halfSplit(w.bK, c.dK);
        }
        w.wO = matrix(o, c.heads * c.dV, c.dModel);
        w.bO = bias(o, c.dModel);
        return w;
    }

    Transformer transformer(ModelConfig& c) const {
        Transformer t;
        c.dFeedForward = feedForwardWidth(c);
        for (int l = 0; l < c.layers; ++l) {
            BlockWeights b;
            b.norm1 = norm(name(m_names.norm1, l), c.dModel);
            b.norm2 = norm(name(m_names.norm2, l), c.dModel);
            b.up = linear(name(m_names.up, l), c.dModel, c.dFeedForward);
            if (!m_names.gate.empty())
                b.gate = linear(name(m_names.gate, l), c.dModel, c.dFeedForward);
            b.down = linear(name(m_names.down, l), c.dFeedForward, c.dModel);
            t.blocks.push_back(std::move(b));
        }
        if (!m_names.finalNorm.empty())
            t.finalNorm = norm(name(m_names.finalNorm), c.dModel);
        return t;
    }

    TableEmbedding embedding(const ModelConfig& c) const {
        TableEmbedding e;
        e.token = table(name(m_names.token), -1);
        const int width = e.token->cols();
        if (!m_names.position.empty() && (!m_names.gguf || c.position == Position::Learned))
            e.position = table(name(m_names.position), width);
        if (!m_names.segment.empty())
            e.segment = table(name(m_names.segment), width);
        e.positionOffset = m_names.positionOffset;
        if (m_names.positionOffset > 0 && m_from.numbers.contains("pad_id"))
            e.padId = static_cast<std::int64_t>(number("pad_id", 0));
        if (!m_names.embeddingNorm.empty())
            e.norm = norm(name(m_names.embeddingNorm), width);
        e.normEpsilon = c.normEpsilon;
        if (!m_names.embeddingProjection.empty() && width != c.dModel)
            e.projection = linear(name(m_names.embeddingProjection), width, c.dModel);
        if (!e.projection.w && width != c.dModel)
            fail(std::string(m_names.token), "rows of d_model " + std::to_string(c.dModel), std::to_string(width));
        return e;
    }

    // Decoders have one always (tied to the token table where there is none of its own); encoders only with a masked-LM
    // head.
    std::optional<OutputLayer> output(const ModelConfig& c, const SharedMatrix& tokens) const {
        OutputLayer o;
        for (const std::string_view n : m_names.output)
            if (m_tensors.find(std::string(n) + ".weight"))
                o.vocabulary = table(std::string(n), c.dModel);
        const bool head = !m_names.outputDense.empty() && m_tensors.find(std::string(m_names.outputDense) + ".weight");
        if (!m_names.causal && !head)
            return std::nullopt;
        if (head) {
            o.dense = linear(std::string(m_names.outputDense), c.dModel, c.dModel);
            o.activation = c.activation;
            o.norm = norm(std::string(m_names.outputNorm), c.dModel);
        }
        if (!o.vocabulary)
            o.vocabulary = tokens;
        if (o.vocabulary->cols() != c.dModel)
            return std::nullopt; // tied to a narrower table: not a form that occurs
        if (!m_names.outputBias.empty())
            if (const TensorEntry* entry = m_tensors.find(m_names.outputBias))
                o.bias = row(*entry, o.vocabulary->rows());
        return o;
    }

private:
    [[noreturn]] void fail(const std::string& entry, const std::string& expected, const std::string& found) const {
        throw LoadError(m_from.file, entry, expected, found);
    }

    double number(const char* meaning, double otherwise) const {
        const auto it = m_from.numbers.find(meaning);
        return it == m_from.numbers.end() ? otherwise : it->second;
    }

    int count(const char* meaning, int least, int most) const {
        const auto it = m_from.numbers.find(meaning);
        const std::string expected = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
        if (it == m_from.numbers.end())
            fail(meaning, expected, "nothing");
        const double value = it->second;
        if (value != std::floor(value) || value < least || value > most)
            fail(meaning, expected, std::to_string(value));
        return static_cast<int>(value);
    }

    Activation activation() const {
        const auto it = m_from.strings.find("activation");
        const std::string a = it == m_from.strings.end() ? "" : it->second;
        if (a.empty())
            return m_names.norm == Norm::Rms ? Activation::Silu
                   : m_names.causal          ? Activation::GeluTanh
                                             : Activation::Gelu;
        if (a == "gelu")
            return Activation::Gelu;
        if (a == "gelu_new" || a == "gelu_pytorch_tanh" || a == "gelu_fast")
            return Activation::GeluTanh;
        if (a == "relu")
            return Activation::Relu;
        if (a == "silu" || a == "swish")
            return Activation::Silu;
        fail("activation", "gelu, gelu_new, relu or silu", a);
    }

    void setPositions(ModelConfig& c) const {
        const bool tableThere = !m_names.position.empty() && m_tensors.find(name(m_names.position) + ".weight");
        if (tableThere) {
            c.position = Position::Learned;
            const TensorEntry* entry = m_tensors.find(name(m_names.position) + ".weight");
            c.maxTokens =
                static_cast<int>(std::min<std::int64_t>(entry->shape.empty() ? 0 : entry->shape[0], 1 << 30)) -
                m_names.positionOffset;
            return;
        }
        c.position = Position::Rope;
        c.maxTokens = m_from.numbers.contains("positions") ? count("positions", 1, 1 << 30) : 16384;
        c.ropeTheta = number("rope_theta", 10000.0);
        c.ropeDims = static_cast<int>(number("rope_share", 1.0) * c.dK);
        if (m_from.numbers.contains("rope_dims"))
            c.ropeDims = count("rope_dims", 2, c.dK);
        if (c.ropeDims < 2 || c.ropeDims > c.dK || c.ropeDims % 2 != 0)
            fail("rotary dimensions", "an even number from 2 to d_k " + std::to_string(c.dK),
                 std::to_string(c.ropeDims));
        if (const double factor = number("rope_factor", 0); factor > 0)
            for (int i = 0; i < c.ropeDims / 2; ++i)
                c.ropeFrequencies.push_back(std::pow(c.ropeTheta, -2.0 * i / c.ropeDims) / factor);
        if (m_from.ropeFrequencyFactors.empty() || !c.ropeFrequencies.empty())
            return;
        if (static_cast<int>(m_from.ropeFrequencyFactors.size()) != c.ropeDims / 2)
            fail("rope scaling", std::to_string(c.ropeDims / 2) + " factors",
                 std::to_string(m_from.ropeFrequencyFactors.size()));
        for (int i = 0; i < c.ropeDims / 2; ++i)
            c.ropeFrequencies.push_back(std::pow(c.ropeTheta, -2.0 * i / c.ropeDims) /
                                        m_from.ropeFrequencyFactors[static_cast<std::size_t>(i)]);
    }

    int feedForwardWidth(const ModelConfig& c) const {
        const std::string up = name(m_names.up, 0) + ".weight";
        const TensorEntry* entry = m_tensors.find(up);
        if (!entry || entry->shape.size() != 2)
            throw LoadError(m_tensors.path(), up, "a matrix with d_model " + std::to_string(c.dModel),
                            entry ? "another rank" : "nothing");
        return static_cast<int>(entry->shape[m_names.storedAsApplied ? 1 : 0]);
    }

    std::string name(std::string_view pattern, int layer = 0) const {
        std::string n = m_prefix + std::string(pattern);
        if (const std::size_t at = n.find("{L}"); at != std::string::npos)
            n.replace(at, 3, std::to_string(layer));
        return n;
    }

    const TensorEntry& entry(const std::string& n) const {
        const TensorEntry* e = m_tensors.find(n);
        if (!e)
            throw LoadError(m_tensors.path(), n, "this tensor in a " + m_from.family + " model", "no such tensor");
        return *e;
    }

    static std::string shapeText(const std::vector<std::int64_t>& shape) {
        std::string s;
        for (const std::int64_t n : shape)
            s += (s.empty() ? "" : " x ") + std::to_string(n);
        return s.empty() ? "a scalar" : s;
    }

    void requireShape(const TensorEntry& e, const std::vector<std::int64_t>& expected) const {
        if (e.shape != expected)
            throw LoadError(m_tensors.path(), e.name, shapeText(expected), shapeText(e.shape));
    }

    // A weight as applied, (in, out), whichever way it is stored.
    SharedMatrix matrix(const std::string& n, int in, int out) const {
        const TensorEntry& e = entry(n + ".weight");
        if (m_names.storedAsApplied) {
            requireShape(e, {in, out});
            return share(m_tensors.matrix(e, true));
        }
        requireShape(e, {out, in});
        return share(transposed(m_tensors.matrix(e, true)));
    }

    SharedMatrix row(const TensorEntry& e, int width) const {
        requireShape(e, {width});
        return share(m_tensors.matrix(e, true));
    }

    SharedMatrix bias(const std::string& n, int width) const {
        const TensorEntry* e = m_tensors.find(n + ".bias");
        return e ? row(*e, width) : nullptr;
    }

    LinearWeights linear(const std::string& n, int in, int out) const { return {matrix(n, in, out), bias(n, out)}; }
    NormWeights norm(const std::string& n, int width) const {
        return {row(entry(n + ".weight"), width), bias(n, width)};
    }

    // Rows of numbers as they are; width < 0 takes what the file has.
    SharedMatrix table(const std::string& n, int width) const {
        const TensorEntry& e = entry(n + ".weight");
        if (e.shape.size() != 2 || (width >= 0 && e.shape[1] != width))
            throw LoadError(m_tensors.path(), e.name,
                            width >= 0 ? "rows of " + std::to_string(width) : "a table with two dimensions",
                            shapeText(e.shape));
        return share(m_tensors.matrix(e, true));
    }

    // Columns of q (0), k (1) or v (2) out of a packed projection.
    Matrix unpacked(const Matrix& all, const ModelConfig& c, int which) const {
        const int width = c.heads * c.dK;
        if (m_names.packing == QkvPacking::SideBySide)
            return copy(MatrixView(all).colRange(which * width, (which + 1) * width));
        Matrix out(all.rows(), width);
        for (int r = 0; r < all.rows(); ++r)
            for (int h = 0; h < c.heads; ++h)
                for (int d = 0; d < c.dK; ++d)
                    out(r, h * c.dK + d) = all(r, (h * 3 + which) * c.dK + d);
        return out;
    }

    // Interleaved rotary pairs (0,1), (2,3) ... into half-split order: 0, 2, 4 ... then 1, 3, 5 ...
    static SharedMatrix halfSplit(const SharedMatrix& w, int dK) {
        if (!w)
            return nullptr;
        Matrix out(w->rows(), w->cols());
        for (int r = 0; r < w->rows(); ++r)
            for (int c = 0; c < w->cols(); ++c) {
                const int band = c / dK * dK, d = c % dK;
                out(r, c) = (*w)(r, band + (d < dK / 2 ? 2 * d : 2 * (d - dK / 2) + 1));
            }
        return share(std::move(out));
    }

    const CheckpointConfig& m_from;
    const FamilyNames& m_names;
    const TensorFile& m_tensors;
    std::string m_prefix;
};

} // namespace

// Options that change the attention and are not computed here: refused by name, never passed over.
static void refuseUnread(const json& j, const std::string& file) {
    if (const auto it = j.find("position_embedding_type"); it != j.end() && *it != "absolute" && !it->is_null())
        throw LoadError(file, "position_embedding_type", "\"absolute\"", it->dump().substr(0, 80));
    for (const char* name : {"attn_logit_softcapping", "final_logit_softcapping"})
        if (const auto it = j.find(name); it != j.end() && !it->is_null())
            throw LoadError(file, name, "none", it->dump().substr(0, 80));
    const bool encoder = j.value("model_type", json()) == "bert" || j.value("model_type", json()) == "roberta";
    if (const auto it = j.find("is_decoder"); encoder && it != j.end() && *it == true)
        throw LoadError(file, "is_decoder", "false: an encoder", "true");
}

CheckpointConfig parseConfigJson(std::string_view text, const std::string& file) {
    const json j = json::parse(text, nullptr, false);
    if (!j.is_object())
        throw LoadError(file, "", "a JSON object", "something else");
    CheckpointConfig c;
    c.file = file;
    if (!j.contains("model_type") || !j["model_type"].is_string())
        throw LoadError(file, "model_type", "one of " + familyList(), "nothing");
    c.family = j["model_type"].get<std::string>();
    for (const ConfigKey& key : configKeys())
        for (const char* name : key.names)
            if (const auto it = j.find(name); it != j.end() && !it->is_null() && !c.numbers.contains(key.meaning)) {
                if (!it->is_number() && !it->is_boolean())
                    throw LoadError(file, name, "a number", it->type_name());
                c.numbers[key.meaning] = it->is_boolean() ? (it->get<bool>() ? 1 : 0) : it->get<double>();
            }
    for (const char* name : {"hidden_act", "activation_function", "activation"})
        if (const auto it = j.find(name); it != j.end() && it->is_string())
            c.strings["activation"] = it->get<std::string>();
    refuseUnread(j, file);
    // Newer configs keep theta and the scaling together in "rope_parameters".
    const char* const scaling = j.contains("rope_parameters") ? "rope_parameters" : "rope_scaling";
    if (const auto it = j.find(scaling); it != j.end() && it->is_object()) {
        const auto number = [&](const char* meaning, double otherwise) {
            return c.numbers.contains(meaning) ? c.numbers[meaning] : otherwise;
        };
        if (const auto theta = it->find("rope_theta"); theta != it->end() && theta->is_number())
            c.numbers["rope_theta"] = theta->get<double>();
        const double headDim =
            number("head_dim", number("heads", 0) > 0 ? number("d_model", 0) / number("heads", 1) : 0);
        const int dims = static_cast<int>(std::clamp(headDim * number("rope_share", 1), 0.0, 65536.0));
        try {
            c.ropeFrequencyFactors = frequencyFactors(*it, dims, number("rope_theta", 10000), file);
        } catch (const json::exception&) {
            throw LoadError(file, scaling, "numbers", "something else");
        }
    }
    for (const char* meaning : {"rope_theta", "norm_epsilon"})
        if (const auto it = c.numbers.find(meaning); it != c.numbers.end() && !(it->second > 0))
            throw LoadError(file, meaning, "a number above 0", std::to_string(it->second));
    return c;
}

SharedModel buildModel(const CheckpointConfig& from, const TensorFile& tensors,
                       std::shared_ptr<const Tokenizer> tokenizer, const std::string& name) {
    const FamilyNames* names = familyOf(from.family, from.gguf);
    if (!names)
        throw LoadError(from.file, from.gguf ? "general.architecture" : "model_type", "one of " + familyList(),
                        from.family);
    const Builder builder(from, *names, tensors);
    ModelConfig c = builder.config(name);
    std::vector<LayerWeights> layers;
    layers.reserve(static_cast<std::size_t>(c.layers));
    for (int l = 0; l < c.layers; ++l)
        layers.push_back(builder.attention(c, l));
    TableEmbedding embedding = builder.embedding(c);
    c.vocabulary = embedding.token->rows();
    // Encoders with a segment table join two texts; RoBERTa's has one row and still joins them.
    if (!c.causal && (embedding.segment || from.family == "distilbert"))
        c.pair = PairUse::SecondSegment;
    if (tokenizer->vocabularySize() > static_cast<std::size_t>(c.vocabulary))
        c.notes.push_back("the tokenizer knows " + std::to_string(tokenizer->vocabularySize()) +
                          " pieces, the token table has " + std::to_string(c.vocabulary) + " rows");
    auto transformer = std::make_shared<Transformer>(builder.transformer(c));
    transformer->output = builder.output(c, embedding.token);
    return std::make_shared<const Model>(c, std::move(layers), std::move(tokenizer),
                                         makeTableEmbedder(std::move(embedding)), std::move(transformer));
}

} // namespace headscope
