#include "core/analysis/next_word.h"

#include "core/attention/block.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headscope {

bool predictsNextWord(const Model& model) {
    const std::optional<Site> site = model.config().site;
    return model.outputLayer() && (site ? *site != Site::EncoderSelf : model.config().causal);
}

NextWords nextWords(const AttentionTrace& trace, int row, int count, double temperature) {
    const Model& model = *trace.scenario.model;
    const Matrix hidden = copy(MatrixView(*trace.hidden).rowRange(row, row + 1));
    const Matrix all = logits(*trace.backend, *model.outputLayer(), hidden, trace.config());
    const std::span<const float> row0 = all.row(0);
    const double largest = *std::ranges::max_element(row0);
    std::vector<double> p(row0.size());
    for (std::size_t i = 0; i < p.size(); ++i) {
        const double below = static_cast<double>(row0[i]) - largest;
        p[i] = temperature > 0 ? std::exp(below / temperature) : below == 0 ? 1 : 0;
    }
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    std::vector<std::int64_t> order(p.size());
    std::iota(order.begin(), order.end(), 0);
    const auto logit = [&](std::int64_t id) { return row0[static_cast<std::size_t>(id)]; };
    const std::ptrdiff_t kept = std::min<std::ptrdiff_t>(count, static_cast<std::ptrdiff_t>(order.size()));
    std::ranges::partial_sort(order, order.begin() + kept, [&](std::int64_t a, std::int64_t b) {
        return logit(a) != logit(b) ? logit(a) > logit(b) : a < b;
    });
    NextWords out;
    out.others = 1;
    for (std::ptrdiff_t i = 0; i < kept; ++i) {
        const std::int64_t id = order[static_cast<std::size_t>(i)];
        const Token token = model.tokenizer().tokenOf(id);
        const double probability = p[static_cast<std::size_t>(id)] / sum;
        out.words.push_back({id, token.text.empty() ? token.piece : token.text, logit(id), probability});
        out.others -= probability;
    }
    out.others = std::max(0.0, out.others);
    return out;
}

bool logitIsASum(const Model& model) {
    const BlockForm block = model.config().block;
    const Transformer* t = model.transformer();
    return t && t->output && !model.config().site && !t->output->dense.w && !t->output->norm.gain &&
           (block == BlockForm::PreNorm || block == BlockForm::Parallel);
}

namespace {

// The final norm at one row, held fixed, and the word's output row behind it: vector of the stream -> its part.
class Reader {
public:
    Reader(const AttentionTrace& trace, int row, std::int64_t id) {
        const Transformer& model = *trace.scenario.model->transformer();
        const ModelConfig& config = trace.config();
        const std::span<const float> word = model.output->vocabulary->row(static_cast<int>(id));
        m_direction.assign(word.begin(), word.end());
        const NormWeights& norm = model.finalNorm;
        if (norm.bias)
            for (std::size_t d = 0; d < m_direction.size(); ++d)
                m_bias += static_cast<double>((*norm.bias)(0, static_cast<int>(d))) * m_direction[d];
        if (model.output->bias)
            m_bias += static_cast<double>((*model.output->bias)(0, static_cast<int>(id)));
        if (!norm.gain)
            return;
        for (std::size_t d = 0; d < m_direction.size(); ++d)
            m_direction[d] *= static_cast<double>((*norm.gain)(0, static_cast<int>(d)));
        const std::span<const float> stream = trace.layers.back()->hidden->row(row);
        m_centred = config.norm == Norm::Layer;
        const double mean = m_centred ? meanOf(stream) : 0;
        double squares = 0;
        for (const float v : stream)
            squares += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
        m_scale = 1 / std::sqrt(squares / static_cast<double>(stream.size()) + config.normEpsilon);
    }

    template<class Vector>
    double part(const Vector& vector) const {
        const double mean = m_centred ? meanOf(vector) : 0;
        double sum = 0;
        for (std::size_t d = 0; d < m_direction.size(); ++d)
            sum += (static_cast<double>(vector[d]) - mean) * m_direction[d];
        return sum * m_scale;
    }
    double bias() const { return m_bias; }

private:
    template<class Vector>
    static double meanOf(const Vector& vector) {
        return std::accumulate(vector.begin(), vector.end(), 0.0) / static_cast<double>(vector.size());
    }

    std::vector<double> m_direction; // gain times the word's output row
    double m_scale = 1, m_bias = 0;
    bool m_centred = false;
};

// O_h W_O[h] of one query; what the head adds to the stream.
std::vector<double> headVector(const LayerTrace& t, const LayerWeights& w, bool projected, int row, int head, int dV) {
    std::vector<double> out(static_cast<std::size_t>(t.output->cols()));
    for (int k = head * dV; k < (head + 1) * dV; ++k) {
        const double o = static_cast<double>((*t.concat)(row, k));
        if (!projected)
            out[static_cast<std::size_t>(k)] = o;
        else
            for (std::size_t d = 0; d < out.size(); ++d)
                out[d] += o * static_cast<double>((*w.wO)(k, static_cast<int>(d)));
    }
    return out;
}

} // namespace

std::vector<LogitPart> logitParts(const AttentionTrace& trace, int row, std::int64_t id) {
    using Kind = LogitPart::Kind;
    const Reader reader(trace, row, id);
    const ModelConfig& config = trace.config();
    std::vector<LogitPart> parts{{Kind::Embedding, {}, {}, reader.part(trace.layers.front()->stream->row(row))}};
    for (int l = 0; l < static_cast<int>(trace.layers.size()); ++l) {
        const LayerIndex layer{l};
        const LayerTrace& t = trace.layer(layer);
        const LayerWeights& w = trace.scenario.model->layer(layer);
        const bool projected = w.wO && !has(trace.scenario.rules, Rule::NoOutputProjection);
        for (int h = 0; h < config.heads; ++h)
            parts.push_back(
                {Kind::Head, layer, HeadIndex{h}, reader.part(headVector(t, w, projected, row, h, config.dV))});
        if (projected && w.bO)
            parts.push_back({Kind::OutputBias, layer, {}, reader.part(w.bO->row(0))});
        std::vector<double> mlp; // what is left of the layer
        mlp.reserve(static_cast<std::size_t>(t.hidden->cols()));
        for (int d = 0; d < t.hidden->cols(); ++d)
            mlp.push_back(static_cast<double>((*t.hidden)(row, d)) - static_cast<double>((*t.stream)(row, d)) -
                          static_cast<double>((*t.output)(row, d)));
        parts.push_back({Kind::Mlp, layer, {}, reader.part(mlp)});
    }
    parts.push_back({Kind::NormBias, {}, {}, reader.bias()});
    return parts;
}

} // namespace headscope
