#include "core/model/checkpoint_builder.h"

#include "core/tensor/arithmetic.h"
#include "core/tensor/errors.h"

#include <algorithm>
#include <cmath>

namespace headscope {

static std::string shapeText(const std::vector<std::int64_t>& shape) {
    std::string s;
    for (const std::int64_t n : shape)
        s += (s.empty() ? "" : " x ") + std::to_string(n);
    return s.empty() ? "a scalar" : s;
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

// Marian's positions (Vaswani et al. 2017, with all sines first, then all cosines): column c and c + d/2 turn with
// 10000^(-2c/d). (positions, d).
static SharedMatrix sinesThenCosines(int positions, int d) {
    Matrix out(positions, d);
    const int half = (d + 1) / 2;
    for (int i = 0; i < positions; ++i)
        for (int c = 0; c < d; ++c) {
            const double angle = i * std::pow(10000.0, -2.0 * (c < half ? c : c - half) / d);
            out(i, c) = static_cast<float>(c < half ? std::sin(angle) : std::cos(angle));
        }
    return share(std::move(out));
}

CheckpointBuilder::CheckpointBuilder(const CheckpointConfig& config, const FamilyNames& names,
                                     const TensorFile& tensors)
    : m_from(config), m_names(names), m_tensors(tensors) {
    std::vector<std::string_view> tables{names.token};
    tables.insert(tables.end(), names.tokenElsewhere.begin(), names.tokenElsewhere.end());
    for (const std::string_view table : tables)
        for (const std::string_view prefix : names.prefixes)
            if (tensors.find(std::string(prefix) + std::string(table) + ".weight")) {
                m_prefix = prefix;
                m_token = table;
                return;
            }
    throw LoadError(tensors.path(), std::string(names.token) + ".weight",
                    "the token table of a " + config.family + " model", "no such tensor");
}

ModelConfig CheckpointBuilder::config(const std::string& name) const {
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
    c.scaledByDk = m_names.scaledByDk;
    c.activation = activation();
    setPositions(c);
    if (number("scale_by_layer", 0) != 0 || number("scale_weights", 1) == 0)
        fail("scale_attn_by_inverse_layer_idx", "scores divided by sqrt(d_k)", "another scale");
    if (number("sliding_window", 0) > 0)
        c.slidingWindow = count("sliding_window", 1, 1 << 30);
    return c;
}

LayerWeights CheckpointBuilder::attention(const ModelConfig& c, int layer) const {
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

Transformer CheckpointBuilder::transformer(ModelConfig& c) const {
    Transformer t;
    c.dFeedForward = m_names.up.empty() ? 0 : feedForwardWidth(c);
    for (int l = 0; l < c.layers; ++l) {
        BlockWeights b;
        b.norm1 = norm(name(m_names.norm1, l), c.dModel);
        if (m_names.up.empty()) { // a decoder's own attention: the MLP stands behind the other one
            t.blocks.push_back(std::move(b));
            continue;
        }
        b.norm2 = norm(name(m_names.norm2, l), c.dModel);
        b.up = linear(name(m_names.up, l), c.dModel, c.dFeedForward);
        if (!m_names.gate.empty())
            b.gate = linear(name(m_names.gate, l), c.dModel, c.dFeedForward);
        b.down = linear(name(m_names.down, l), c.dFeedForward, c.dModel);
        t.blocks.push_back(std::move(b));
    }
    if (!m_names.finalNorm.empty())
        t.finalNorm = norm(name(m_names.finalNorm), c.dModel);
    if (!m_names.relativeBias.empty())
        t.relativeBias = table(name(m_names.relativeBias), c.heads);
    return t;
}

TableEmbedding CheckpointBuilder::embedding(const ModelConfig& c, SharedMatrix token) const {
    TableEmbedding e;
    e.token = token ? std::move(token) : table(name(m_token), -1);
    if (number("scale_embedding", 0) != 0)
        e.tokenScale = static_cast<float>(std::sqrt(static_cast<double>(c.dModel)));
    const int width = e.token->cols();
    if (c.position == Position::Sinusoidal) {
        e.position = sinesThenCosines(c.maxTokens, c.dModel);
        e.positionIsComputed = true;
    } else if (!m_names.position.empty() && (!m_names.gguf || c.position == Position::Learned)) {
        e.position = table(name(m_names.position), width);
    }
    if (!m_names.segment.empty())
        e.segment = table(name(m_names.segment), width);
    e.positionOffset = positionOffset();
    if (m_names.paddingHasNoPosition && m_from.numbers.contains("pad_id"))
        e.padId = count("pad_id", 0, 1 << 30);
    if (!m_names.embeddingNorm.empty())
        e.norm = norm(name(m_names.embeddingNorm), width);
    e.normEpsilon = c.normEpsilon;
    if (!m_names.embeddingProjection.empty() && width != c.dModel)
        e.projection = linear(name(m_names.embeddingProjection), width, c.dModel);
    if (!e.projection.w && width != c.dModel)
        fail(std::string(m_token), "rows of d_model " + std::to_string(c.dModel), std::to_string(width));
    return e;
}

std::optional<OutputLayer> CheckpointBuilder::output(const ModelConfig& c, const SharedMatrix& tokens) const {
    OutputLayer o;
    const TensorEntry* head =
        m_names.outputDense.empty() ? nullptr : m_tensors.find(std::string(m_names.outputDense) + ".weight");
    if (!m_names.causal && !head)
        return std::nullopt;
    int width = c.dModel; // of what the vocabulary's rows multiply
    if (head) {
        width = static_cast<int>(std::min<std::int64_t>(head->shape.empty() ? 0 : head->shape[0], 1 << 20));
        o.dense = linear(std::string(m_names.outputDense), c.dModel, width);
        o.activation = m_names.outputIsGelu ? Activation::Gelu : c.activation;
        o.norm = norm(std::string(m_names.outputNorm), width);
    }
    std::string bias(m_names.outputBias);
    for (const std::string_view n : m_names.output)
        if (const std::string own(n); m_tensors.find(own + ".weight")) {
            o.vocabulary = table(own, width);
            if (number("tied", 1) == 0 && m_tensors.find(own + ".bias"))
                bias = own + ".bias";
        }
    if (!o.vocabulary)
        o.vocabulary = tokens;
    if (m_names.scaledWhenTied && number("scale_output", number("tied", 1)) != 0)
        o.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(c.dModel)));
    if (o.vocabulary->cols() != width)
        return std::nullopt; // tied to a narrower table: not a form that occurs
    if (const TensorEntry* entry = bias.empty() ? nullptr : m_tensors.find(bias))
        o.bias = row(*entry, o.vocabulary->rows(), true);
    return o;
}

void CheckpointBuilder::fail(const std::string& entry, const std::string& expected, const std::string& found) const {
    throw LoadError(m_from.file, entry, expected, found);
}

double CheckpointBuilder::number(const char* meaning, double otherwise) const {
    const auto it = m_from.numbers.find(meaning);
    return it == m_from.numbers.end() ? otherwise : it->second;
}

int CheckpointBuilder::count(const char* meaning, int least, int most) const {
    const auto it = m_from.numbers.find(meaning);
    const std::string expected = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    if (it == m_from.numbers.end())
        fail(meaning, expected, "nothing");
    const double value = it->second;
    if (value != std::floor(value) || value < least || value > most)
        fail(meaning, expected, std::to_string(value));
    return static_cast<int>(value);
}

Activation CheckpointBuilder::activation() const {
    const auto it = m_from.strings.find("activation");
    const std::string a = it == m_from.strings.end() ? "" : it->second;
    if (a.empty())
        return !m_names.relativeBias.empty() ? Activation::Relu
               : m_names.norm == Norm::Rms   ? Activation::Silu
               : m_names.causal              ? Activation::GeluTanh
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

void CheckpointBuilder::setPositions(ModelConfig& c) const {
    const bool tableThere = !m_names.position.empty() && m_tensors.find(name(m_names.position) + ".weight");
    if (tableThere) {
        c.position = Position::Learned;
        const TensorEntry* entry = m_tensors.find(name(m_names.position) + ".weight");
        c.maxTokens = static_cast<int>(std::min<std::int64_t>(entry->shape.empty() ? 0 : entry->shape[0], 1 << 30)) -
                      positionOffset();
        return;
    }
    c.position = m_names.otherPosition;
    c.maxTokens = m_from.numbers.contains("positions") ? count("positions", 1, 1 << 30) : 16384;
    if (c.position == Position::Relative)
        c.relativeDistance = // what older configs mean by saying nothing
            m_from.numbers.contains("relative_distance") ? count("relative_distance", 1, 1 << 30) : 128;
    if (c.position != Position::Rope)
        return;
    c.ropeTheta = number("rope_theta", 10000.0);
    const double share = number("rope_share", 1.0);
    if (!(share > 0 && share <= 1))
        fail("rotary_pct", "a number above 0 and at most 1", std::to_string(share));
    c.ropeDims = static_cast<int>(share * c.dK);
    if (m_from.numbers.contains("rope_dims"))
        c.ropeDims = count("rope_dims", 2, c.dK);
    if (c.ropeDims < 2 || c.ropeDims > c.dK || c.ropeDims % 2 != 0)
        fail("rotary dimensions", "an even number from 2 to d_k " + std::to_string(c.dK), std::to_string(c.ropeDims));
    const RopeScaling scaling = ropeScaling(c);
    c.ropeMagnitude = scaling.magnitude;
    if (scaling.factors.empty())
        return;
    if (static_cast<int>(scaling.factors.size()) != c.ropeDims / 2)
        fail("rope scaling", std::to_string(c.ropeDims / 2) + " factors", std::to_string(scaling.factors.size()));
    for (int i = 0; i < c.ropeDims / 2; ++i)
        c.ropeFrequencies.push_back(std::pow(c.ropeTheta, -2.0 * i / c.ropeDims) /
                                    scaling.factors[static_cast<std::size_t>(i)]);
}

// A GGUF file names the kind of scaling and its numbers; config.json's was read with it.
RopeScaling CheckpointBuilder::ropeScaling(const ModelConfig& c) const {
    const auto kind = m_from.strings.find("rope_scaling");
    if (kind == m_from.strings.end() || kind->second == "none" || number("rope_factor", 0) <= 0)
        return m_from.ropeScaling;
    if (kind->second == "linear")
        return linearRope(number("rope_factor", 1), c.ropeDims);
    RopeScaling yarn =
        yarnRope({.factor = number("rope_factor", 1), .originalLength = number("rope_length", c.maxTokens)}, c.ropeDims,
                 c.ropeTheta);
    yarn.magnitude *= number("rope_magnitude", 1);
    return yarn;
}

// RoBERTa's positions begin behind the row of its padding token.
int CheckpointBuilder::positionOffset() const {
    return m_names.paddingHasNoPosition && m_from.numbers.contains("pad_id") ? count("pad_id", 0, 1 << 20) + 1
                                                                             : m_names.positionOffset;
}

int CheckpointBuilder::feedForwardWidth(const ModelConfig& c) const {
    const std::string up = name(m_names.up, 0) + ".weight";
    const TensorEntry* entry = m_tensors.find(up);
    if (!entry || entry->shape.size() != 2)
        throw LoadError(m_tensors.path(), up, "a matrix with d_model " + std::to_string(c.dModel),
                        entry ? "another rank" : "nothing");
    return static_cast<int>(entry->shape[m_names.storedAsApplied ? 1 : 0]);
}

std::string CheckpointBuilder::name(std::string_view pattern, int layer) const {
    std::string n = m_prefix + std::string(pattern);
    if (const std::size_t at = n.find("{L}"); at != std::string::npos)
        n.replace(at, 3, std::to_string(layer));
    return n;
}

const TensorEntry& CheckpointBuilder::entry(const std::string& n) const {
    const TensorEntry* e = m_tensors.find(n);
    if (!e)
        throw LoadError(m_tensors.path(), n, "this tensor in a " + m_from.family + " model", "no such tensor");
    return *e;
}

void CheckpointBuilder::requireShape(const TensorEntry& e, const std::vector<std::int64_t>& expected) const {
    if (e.shape != expected)
        throw LoadError(m_tensors.path(), e.name, shapeText(expected), shapeText(e.shape));
}

// A weight as applied, (in, out), whichever way it is stored.
SharedMatrix CheckpointBuilder::matrix(const std::string& n, int in, int out) const {
    const TensorEntry& e = entry(n + ".weight");
    if (m_names.storedAsApplied) {
        requireShape(e, {in, out});
        return share(m_tensors.matrix(e, true));
    }
    requireShape(e, {out, in});
    return share(transposed(m_tensors.matrix(e, true)));
}

SharedMatrix CheckpointBuilder::row(const TensorEntry& e, int width, bool orMatrix) const {
    if (!orMatrix || e.shape != std::vector<std::int64_t>{1, width})
        requireShape(e, {width});
    return share(m_tensors.matrix(e, true));
}

SharedMatrix CheckpointBuilder::bias(const std::string& n, int width) const {
    const TensorEntry* e = m_tensors.find(n + ".bias");
    return e ? row(*e, width) : nullptr;
}

NormWeights CheckpointBuilder::norm(const std::string& n, int width) const {
    return {row(entry(n + ".weight"), width), bias(n, width)};
}

// Rows of numbers as they are; width < 0 takes what the file has.
SharedMatrix CheckpointBuilder::table(const std::string& n, int width) const {
    const TensorEntry& e = entry(n + ".weight");
    if (e.shape.size() != 2 || (width >= 0 && e.shape[1] != width))
        throw LoadError(m_tensors.path(), e.name,
                        width >= 0 ? "rows of " + std::to_string(width) : "a table with two dimensions",
                        shapeText(e.shape));
    return share(m_tensors.matrix(e, true));
}

// Columns of q (0), k (1) or v (2) out of a packed projection.
Matrix CheckpointBuilder::unpacked(const Matrix& all, const ModelConfig& c, int which) const {
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

} // namespace headscope
