#include "core/attention/trace.h"

#include "core/attention/block.h"
#include "core/attention/captured.h"
#include "core/attention/head_problem.h"
#include "core/tensor/arithmetic.h"
#include "core/tensor/errors.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

namespace headscope {

// Rotary positions (Su et al. 2021) on half-split pairs: in every head the columns c and c + dims/2 of the first `dims`
// turn by position * theta^(-2c/dims), and YaRN makes them longer.
Matrix rotated(const Matrix& all, const ModelConfig& config) {
    Matrix out = all;
    const int dims = config.ropeDims > 0 ? config.ropeDims : config.dK, half = dims / 2;
    for (int c = 0; c < half; ++c) {
        const double frequency = config.ropeFrequencies.empty() ? std::pow(config.ropeTheta, -2.0 * c / dims)
                                                                : config.ropeFrequencies[static_cast<std::size_t>(c)];
        for (int i = 0; i < out.rows(); ++i) {
            const double cosine = config.ropeMagnitude * std::cos(i * frequency),
                         sine = config.ropeMagnitude * std::sin(i * frequency);
            for (int band = 0; band < out.cols(); band += config.dK) {
                const double a = all(i, band + c), b = all(i, band + c + half);
                out(i, band + c) = static_cast<float>(a * cosine - b * sine);
                out(i, band + c + half) = static_cast<float>(a * sine + b * cosine);
            }
        }
    }
    return out;
}

namespace {

bool isEmbeddingEdit(const Intervention& i, Stage stage) {
    return i.kind == Intervention::Kind::SetCell && i.stage == stage;
}

std::vector<Intervention> selected(const Scenario& s, const auto& predicate) {
    std::vector<Intervention> out;
    std::ranges::copy_if(s.interventions, std::back_inserter(out), predicate);
    return out;
}

// X or Y of layer 0, with the user's cells; `before` is given back when nothing that it depends on has changed.
Embedding embedded(const Scenario& s, const TokenSequence& tokens, const SharedMatrix& own, Stage stage,
                   const Scenario* beforeScenario, const TokenSequence* beforeTokens, const SharedMatrix* beforeOwn,
                   const Embedding* before) {
    const auto edits = selected(s, [&](const Intervention& i) { return isEmbeddingEdit(i, stage); });
    if (before && &beforeScenario->model->embedder() == &s.model->embedder() && *beforeTokens == tokens &&
        *beforeOwn == own &&
        selected(*beforeScenario, [&](const Intervention& i) { return isEmbeddingEdit(i, stage); }) == edits)
        return *before;
    Embedding e;
    if (own)
        e = {{{"given", own}}, own, own};
    else
        e = s.model->embedder().embed(tokens);
    if (!edits.empty()) {
        Matrix changed = *e.x;
        for (const Intervention& i : edits)
            changed(i.row, i.col) = i.value;
        e.x = share(std::move(changed));
    }
    return e;
}

// Everything beside x, y, the weights and the layer's own interventions that decides a layer.
bool sameArithmetic(const Scenario& a, const Scenario& b) {
    const ModelConfig &ca = a.model->config(), &cb = b.model->config();
    const auto inMask = [](const Intervention& i) { return i.kind == Intervention::Kind::MaskCell; };
    return a.model->transformer() == b.model->transformer() && a.mask == b.mask && a.rules == b.rules &&
           a.temperature == b.temperature && scaleFactor(a) == scaleFactor(b) && a.queries() == b.queries() &&
           a.keys() == b.keys() && ca.heads == cb.heads && ca.kvHeads == cb.kvHeads && ca.dK == cb.dK &&
           ca.dV == cb.dV && ca.position == cb.position && ca.ropeTheta == cb.ropeTheta && ca.causal == cb.causal &&
           ca.softcap == cb.softcap && ca.residual == cb.residual && selected(a, inMask) == selected(b, inMask);
}

// Those of a layer, or of one head of it.
std::vector<Intervention> interventionsIn(const Scenario& s, LayerIndex l, std::optional<HeadIndex> head = {}) {
    return selected(s, [&](const Intervention& i) {
        return i.kind != Intervention::Kind::MaskCell && i.layer == l && (!head || i.head == *head) &&
               !isEmbeddingEdit(i, Stage::Embedding) && !isEmbeddingEdit(i, Stage::EmbeddingKey);
    });
}

// What an earlier trace has of the same layer, where it was computed with the same arithmetic.
struct Earlier {
    const Scenario& scenario;
    const LayerTrace& layer;
    const LayerWeights& weights;
};

// A projection of the same x, as it was.
struct EarlierProjection {
    SharedMatrix projection, w, b;
};

bool sameBits(std::span<const float> a, std::span<const float> b) {
    return std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

bool sameBits(const SharedMatrix& a, const SharedMatrix& b, int head, int width) {
    if (a == b)
        return true;
    const MatrixView x = headBand(*a, head, width), y = headBand(*b, head, width);
    for (int r = 0; r < x.rows; ++r)
        if (!sameBits(x.row(r), y.row(r)))
            return false;
    return true;
}

// The columns in which two matrices of equal shape differ.
std::vector<int> changedColumns(const Matrix& a, const Matrix& b) {
    std::vector<bool> changed(static_cast<std::size_t>(a.cols()));
    for (int r = 0; r < a.rows(); ++r) {
        if (sameBits(a.row(r), b.row(r)))
            continue;
        for (std::size_t c = 0; c < changed.size(); ++c)
            changed[c] = changed[c] || !sameBits(a.row(r).subspan(c, 1), b.row(r).subspan(c, 1));
    }
    std::vector<int> columns;
    for (int c = 0; c < a.cols(); ++c)
        if (changed[static_cast<std::size_t>(c)])
            columns.push_back(c);
    return columns;
}

class Tracer {
public:
    Tracer(const Scenario& s, const Backend& backend, const KeyMask& mask, std::stop_token stop)
        : m_scenario(s), m_config(s.model->config()), m_backend(backend), m_mask(mask), m_stop(std::move(stop)) {}

    // y: the embedded key text in cross-attention, else null: keys and values come from x. What is as in `earlier`, or
    // null, is taken from it.
    std::shared_ptr<const LayerTrace> layer(LayerIndex l, SharedMatrix stream, SharedMatrix y,
                                            const Earlier* earlier) const {
        const LayerWeights& w = m_scenario.model->layer(l);
        const ModelConfig& c = m_config;
        LayerTrace t;
        t.stream = std::move(stream);
        const bool normFirst = c.block == BlockForm::PreNorm || c.block == BlockForm::Parallel;
        const LayerTrace* old = earlier ? &earlier->layer : nullptr;
        t.x = !normFirst                       ? t.stream
              : old && old->stream == t.stream ? old->x
                                               : normalized(t.stream, block(l).norm1, c.norm, c.normEpsilon);
        t.y = y ? std::move(y) : t.x;
        const LayerWeights* was = earlier ? &earlier->weights : nullptr;
        const bool sameX = old && old->x == t.x, sameY = old && old->y == t.y;
        const auto from = [&](bool sameInput, SharedMatrix LayerTrace::*projection, SharedMatrix LayerWeights::*weight,
                              SharedMatrix LayerWeights::*bias) -> std::optional<EarlierProjection> {
            if (!sameInput)
                return {};
            return EarlierProjection{old->*projection, was->*weight, was->*bias};
        };
        using T = LayerTrace;
        using W = LayerWeights;
        t.projectionQ = project(*t.x, w.wQ, w.bQ, c.heads, from(sameX, &T::projectionQ, &W::wQ, &W::bQ));
        t.projectionK = project(*t.y, w.wK, w.bK, c.kvHeads, from(sameY, &T::projectionK, &W::wK, &W::bK));
        t.projectionV = project(*t.y, w.wV, w.bV, c.kvHeads, from(sameY, &T::projectionV, &W::wV, &W::bV));
        const bool rope = c.position == Position::Rope;
        t.q = !rope                                      ? t.projectionQ
              : old && old->projectionQ == t.projectionQ ? old->q
                                                         : share(rotated(*t.projectionQ, c));
        t.k = !rope                                      ? t.projectionK
              : old && old->projectionK == t.projectionK ? old->k
                                                         : share(rotated(*t.projectionK, c));
        t.v = t.projectionV;
        for (int i = 0; i < t.x->rows(); ++i)
            t.emptyRows.push_back(isEmptyRow(i));
        if (has(m_scenario.rules, Rule::AverageHeads))
            t.meanWeights = share(meanWeights(m_backend, m_scenario, m_mask, t, l, m_stop));
        t.concat = share(concat(t, l, earlier));
        const bool projected = w.wO && !has(m_scenario.rules, Rule::NoOutputProjection);
        // Scrambled heads cancel each other: sums in double keep the arithmetic of a cell as exact as that of any
        // other.
        const bool scrambled = has(m_scenario.rules, Rule::ConcatReshape) && c.heads > 1;
        const Backend& summing = scrambled ? referenceBackend() : m_backend;
        t.output = projected ? share(summing.linear(*t.concat, w.wO, w.bO.get())) : t.concat;
        t.hidden = leave(t, l);
        return std::make_shared<const LayerTrace>(std::move(t));
    }

private:
    const BlockWeights& block(LayerIndex l) const {
        return m_scenario.model->transformer()->blocks[static_cast<std::size_t>(l.value)];
    }

    // The residual stream behind the layer: attention's output and the MLP, as the block's form has them (BlockForm).
    SharedMatrix leave(const LayerTrace& t, LayerIndex l) const {
        const ModelConfig& c = m_config;
        if (c.block == BlockForm::Attention)
            return c.residual ? share(sum(*t.stream, *t.output)) : t.output;
        const BlockWeights& b = block(l);
        const bool hasMlp = b.up.w != nullptr; // a decoder's own attention leaves it to the attention to the source
        SharedMatrix attended = share(sum(*t.stream, *t.output));
        const auto mlp = [&](const SharedMatrix& x) { return feedForward(m_backend, *x, b, c.activation); };
        const auto normed = [&](const SharedMatrix& x, const NormWeights& w) {
            return normalized(x, w, c.norm, c.normEpsilon);
        };
        if (c.block == BlockForm::PostNorm) {
            SharedMatrix middle = normed(attended, b.norm1);
            if (!hasMlp)
                return middle;
            return normed(share(sum(*middle, mlp(middle))), b.norm2);
        }
        if (!hasMlp)
            return attended;
        const SharedMatrix& input = c.block == BlockForm::Parallel ? t.stream : attended;
        return share(sum(*attended, mlp(normed(input, b.norm2))));
    }

    SharedMatrix project(const Matrix& x, const SharedMatrix& w, const SharedMatrix& b, int heads,
                         const std::optional<EarlierProjection>& earlier) const {
        if (earlier && earlier->w == w && earlier->b == b)
            return earlier->projection;
        if (m_stop.stop_requested())
            throw Cancelled();
        if (has(m_scenario.rules, Rule::SplitInput))
            return share(m_backend.linear(x, blockDiagonal(*w, heads), b.get()));
        if (earlier)
            if (SharedMatrix changed = projectChanges(x, *w, b, *earlier))
                return changed;
        return share(m_backend.linear(x, w, b.get()));
    }

    // The earlier projection with the columns whose weights or bias have changed; null where they are too many to pay.
    SharedMatrix projectChanges(const Matrix& x, const Matrix& w, const SharedMatrix& b,
                                const EarlierProjection& earlier) const {
        if (!m_backend.columnsStandAlone() || !b != !earlier.b)
            return nullptr;
        std::vector<int> columns = changedColumns(w, *earlier.w);
        if (b && b != earlier.b)
            std::ranges::copy(changedColumns(*b, *earlier.b), std::back_inserter(columns));
        if (static_cast<int>(columns.size()) > w.cols() / 16)
            return nullptr;
        Matrix out = *earlier.projection;
        for (const int c : columns) {
            const Matrix bias(1, 1, b ? (*b)(0, c) : 0.0F);
            m_backend.linearInto(x, MatrixView(w).colRange(c, c + 1), b ? &bias : nullptr,
                                 MatrixWindow(out).colRange(c, c + 1));
        }
        return share(std::move(out));
    }

    bool isEmptyRow(int i) const {
        const KeyMask::Range open = m_mask.open[static_cast<std::size_t>(i)];
        if (!m_mask.additive)
            return open.begin >= open.end;
        for (int j = open.begin; j < open.end; ++j)
            if (m_mask.isOpen(i, j))
                return false;
        return true;
    }

    // Whether the head's output is the earlier one: nothing that it is made of has changed.
    bool isAsBefore(const LayerTrace& t, LayerIndex l, HeadIndex head, const Earlier& earlier) const {
        const int kv = m_config.kvHeadOf(head);
        return interventionsIn(earlier.scenario, l, head) == interventionsIn(m_scenario, l, head) &&
               sameBits(t.q, earlier.layer.q, head.value, m_config.dK) &&
               sameBits(t.k, earlier.layer.k, kv, m_config.dK) && sameBits(t.v, earlier.layer.v, kv, m_config.dV);
    }

    Matrix concat(const LayerTrace& t, LayerIndex l, const Earlier* earlier) const {
        const int n = t.x->rows(), heads = m_config.heads, dV = m_config.dV;
        // Where each head's output stands: its band of concat; heads that are off stay 0.
        const bool reshaped = has(m_scenario.rules, Rule::ConcatReshape);
        std::vector<Matrix> outputs(reshaped ? static_cast<std::size_t>(heads) : 0, Matrix(n, dV));
        Matrix all(reshaped ? 0 : n, heads * dV);
        std::vector<HeadInputs> inputs;
        std::vector<HeadTarget> targets;
        for (int h = 0; h < heads; ++h) {
            const HeadIndex head{h};
            if (m_scenario.headIsOff(l, head))
                continue;
            if (earlier && !reshaped && !t.meanWeights && isAsBefore(t, l, head, *earlier)) {
                copyInto(headBand(*earlier->layer.concat, h, dV), MatrixWindow(all).colRange(h * dV, (h + 1) * dV));
                continue;
            }
            HeadInputs in = headInputs(m_scenario, m_mask, t, l, head);
            const MatrixWindow output = reshaped ? MatrixWindow(outputs[static_cast<std::size_t>(h)])
                                                 : MatrixWindow(all).colRange(h * dV, (h + 1) * dV);
            if (t.meanWeights) {
                m_backend.linearInto(*t.meanWeights, in.problem.v, nullptr, output);
                continue;
            }
            inputs.push_back(std::move(in));
            targets.emplace_back().output = output;
        }
        runHeads(m_backend, inputs, targets, {}, m_stop);
        return reshaped ? concatByReshape(outputs) : all;
    }

    const Scenario& m_scenario;
    const ModelConfig& m_config;
    const Backend& m_backend;
    const KeyMask& m_mask;
    std::stop_token m_stop;
};

// The next layer of a trace, from the last one where nothing that it depends on has changed. Gives the stream behind
// it.
SharedMatrix addLayer(AttentionTrace& t, const Tracer& tracer, const AttentionTrace* previous,
                      const SharedMatrix& stream, const SharedMatrix& y) {
    const LayerIndex l{static_cast<int>(t.layers.size())};
    const bool isComparable = previous && l.value < static_cast<int>(previous->layers.size()) &&
                              previous->backend == t.backend && sameArithmetic(previous->scenario, t.scenario);
    if (!isComparable) {
        t.layers.push_back(tracer.layer(l, stream, y, nullptr));
        return t.layers.back()->hidden;
    }
    const Earlier earlier{previous->scenario, previous->layer(l), previous->scenario.model->layer(l)};
    if (earlier.layer.stream == stream && (!y || earlier.layer.y == y) &&
        earlier.weights == t.scenario.model->layer(l) &&
        interventionsIn(previous->scenario, l) == interventionsIn(t.scenario, l)) {
        t.layers.push_back(previous->layers[static_cast<std::size_t>(l.value)]);
        ++t.reusedLayers;
    } else {
        t.layers.push_back(tracer.layer(l, stream, y, &earlier));
    }
    return t.layers.back()->hidden;
}

// A trace before its layers.
AttentionTrace begun(const Scenario& s, const Backend& backend) {
    AttentionTrace t;
    t.scenario = s;
    t.mask = maskOf(s);
    t.backend = &backend;
    return t;
}

// X of layer 0 and, where the keys are from another text, Y.
void embedTexts(AttentionTrace& t, const AttentionTrace* previous) {
    const Scenario& s = t.scenario;
    const Scenario* before = previous ? &previous->scenario : nullptr;
    t.embedding = embedded(s, s.query, s.x, Stage::Embedding, before, before ? &before->query : nullptr,
                           before ? &before->x : nullptr, previous ? &previous->embedding : nullptr);
    const bool reuseKey = before && before->key.has_value();
    t.embeddingKey = s.key ? embedded(s, *s.key, s.y, Stage::EmbeddingKey, reuseKey ? before : nullptr,
                                      reuseKey ? &*before->key : nullptr, reuseKey ? &before->y : nullptr,
                                      reuseKey ? &previous->embeddingKey : nullptr)
                           : t.embedding;
}

SharedMatrix afterFinalNorm(const SharedMatrix& stream, const Model& model, const SharedMatrix& streamBefore,
                            const SharedMatrix& normedBefore) {
    if (streamBefore == stream && normedBefore)
        return normedBefore; // the same object, so that what is made of it can be kept too
    const Transformer* transformer = model.transformer();
    return transformer ? normalized(stream, transformer->finalNorm, model.config().norm, model.config().normEpsilon)
                       : stream;
}

// The three sites of an encoder-decoder: the encoder's layers, then the decoder's, each of which attends to the target
// and then to the encoder's output.
std::shared_ptr<AttentionTrace> traceSites(const Scenario& s, const Backend& backend, const AttentionTrace* previous,
                                           const std::stop_token& stop, const Progress& progress) {
    const auto before = previous ? previous->sites.lock() : nullptr;
    const auto old = [&](Site site) { return before ? &before->traces[static_cast<std::size_t>(site)] : nullptr; };
    auto all = std::make_shared<SiteTraces>();
    for (const Site site : allSites) {
        AttentionTrace& t = all->traces[static_cast<std::size_t>(site)];
        t = begun(atSite(s, site), backend);
        t.sites = all;
    }
    AttentionTrace &encoder = all->traces[0], &self = all->traces[1], &cross = all->traces[2];
    const int encoderLayers = encoder.config().layers, decoderLayers = self.config().layers;
    int done = 0;
    const auto step = [&] {
        if (progress)
            progress(static_cast<double>(++done) / (encoderLayers + decoderLayers));
        if (stop.stop_requested())
            throw Cancelled();
    };
    const auto lastStream = [](const AttentionTrace* t) {
        return t && !t->layers.empty() ? t->layers.back()->hidden : nullptr;
    };

    embedTexts(encoder, old(Site::EncoderSelf));
    const Tracer encode(encoder.scenario, backend, encoder.mask, stop);
    SharedMatrix stream = encoder.embedding.x;
    for (int l = 0; l < encoderLayers; ++l, step())
        stream = addLayer(encoder, encode, old(Site::EncoderSelf), stream, nullptr);
    encoder.hidden = afterFinalNorm(stream, *encoder.scenario.model, lastStream(old(Site::EncoderSelf)),
                                    before ? before->traces[0].hidden : nullptr);

    embedTexts(self, old(Site::DecoderSelf));
    const Tracer attendSelf(self.scenario, backend, self.mask, stop),
        attendSource(cross.scenario, backend, cross.mask, stop);
    stream = self.embedding.x;
    for (int l = 0; l < decoderLayers; ++l, step()) {
        stream = addLayer(self, attendSelf, old(Site::DecoderSelf), stream, nullptr);
        stream = addLayer(cross, attendSource, old(Site::DecoderCross), stream, encoder.hidden);
    }
    cross.hidden = self.hidden = afterFinalNorm(stream, *cross.scenario.model, nullptr, nullptr);
    const SharedMatrix& x = cross.layers.front()->x;
    cross.embedding = {{{"decoder", x}}, x, x};
    cross.embeddingKey = {{{"encoder", encoder.hidden}}, encoder.hidden, encoder.hidden};
    return {all, &all->traces[static_cast<std::size_t>(*s.model->config().site)]};
}

std::shared_ptr<AttentionTrace> traceStream(const Scenario& s, const Backend& backend, const AttentionTrace* previous,
                                            const std::stop_token& stop, const Progress& progress) {
    auto t = std::make_shared<AttentionTrace>(begun(s, backend));
    embedTexts(*t, previous);
    const Tracer tracer(t->scenario, backend, t->mask, stop);
    const int layers = s.model->config().layers;
    SharedMatrix stream = t->embedding.x;
    for (int l = 0; l < layers; ++l) {
        if (stop.stop_requested())
            throw Cancelled();
        stream = addLayer(*t, tracer, previous, stream, s.key ? t->embeddingKey.x : nullptr);
        if (progress)
            progress(static_cast<double>(l + 1) / layers);
    }
    t->hidden = afterFinalNorm(stream, *s.model, nullptr, nullptr);
    return t;
}

} // namespace

SharedTrace trace(const Scenario& s, const Backend& backend, const AttentionTrace* previous, std::stop_token stop,
                  const Progress& progress) {
    const auto start = std::chrono::steady_clock::now();
    validate(s);
    if (s.model->captured())
        return capturedTrace(s, backend);
    const auto t = s.model->config().site ? traceSites(withTarget(s, backend, stop), backend, previous, stop, progress)
                                          : traceStream(s, backend, previous, stop, progress);
    t->milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return t;
}

SharedTrace atSite(const AttentionTrace& t, Site site) {
    const auto all = t.sites.lock();
    return {all, &all->traces[static_cast<std::size_t>(site)]};
}

Matrix logitsOf(const AttentionTrace& t, int firstRow) {
    const SharedTrace decoder = t.config().site ? atSite(t, Site::DecoderCross) : nullptr;
    const Matrix& hidden = decoder ? *decoder->hidden : *t.hidden;
    return logits(*t.backend, *t.scenario.model->outputLayer(),
                  copy(MatrixView(hidden).rowRange(firstRow, hidden.rows())), t.config());
}

Scenario withTarget(const Scenario& scenario, const Backend& backend, const std::stop_token& stop) {
    using Author = SiteTexts::Author;
    if (!scenario.texts || scenario.texts->author != Author::ModelLater)
        return scenario;
    const Site site = *scenario.model->config().site;
    Scenario s = atSite(scenario, Site::DecoderCross);
    const TargetRules& rules = s.model->targetRules();
    const Tokenizer& tokenizer = s.model->tokenizer();
    const int most = std::min(s.model->config().maxTokens, 2 * s.keys() + 16);
    TokenSequence& target = s.texts->target;
    s.texts->author = Author::Model;
    std::vector<std::int64_t> written;
    for (SharedTrace t; s.model->outputLayer() && target.size() < most;) {
        t = trace(s, backend, t.get(), stop);
        Matrix row = logitsOf(*t, target.size() - 1);
        for (const std::int64_t id : rules.never)
            if (id >= 0 && id < row.cols())
                row(0, static_cast<int>(id)) = -std::numeric_limits<float>::infinity();
        const std::int64_t likeliest = std::ranges::max_element(row.values()) - row.values().begin();
        const std::int64_t next = written.empty() ? rules.first.value_or(likeliest) : likeliest;
        if (next == rules.end)
            break;
        written.push_back(next);
        target.tokens.push_back(tokenizer.tokenOf(next));
        s = atSite(s, Site::DecoderCross); // the query is the longer target now
    }
    // The same tokens with their places in the text, where the text leads back to them.
    try {
        const std::string text = tokenizer.textOf(written);
        TokenSequence typed = targetTokens(*s.model, text);
        if (idsOfSegment(typed, 0) == idsOfSegment(target, 0))
            target = std::move(typed);
        target.source = text;
    } catch (const InputError&) { // a model without tokenizer: ids alone
    }
    return atSite(s, site);
}

} // namespace headscope
