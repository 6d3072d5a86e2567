#include "core/model/model.h"

#include "core/tensor/errors.h"

#include <algorithm>
#include <string_view>

namespace headscope {

namespace {

constexpr std::array<std::string_view, 6> positionNames{"none", "sinusoidal", "learned", "rope", "alibi", "relative"};
constexpr std::array<std::string_view, 3> siteNames{"encoder.self", "decoder.self", "decoder.cross"};
constexpr std::array<std::string_view, 8> weightNames{"W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V", "b_O"};

// The tensor of each kind, by member: the one list that withTensor, tensor and the checks share.
constexpr std::array<SharedMatrix LayerWeights::*, 8> members{&LayerWeights::wQ, &LayerWeights::wK, &LayerWeights::wV,
                                                              &LayerWeights::wO, &LayerWeights::bQ, &LayerWeights::bK,
                                                              &LayerWeights::bV, &LayerWeights::bO};

struct Shape {
    int rows, cols;
};

Shape expectedShape(const ModelConfig& c, WeightKind kind) {
    switch (kind) {
    case WeightKind::WQ:
        return {c.dModel, c.heads * c.dK};
    case WeightKind::WK:
        return {c.dModelKey, c.kvHeads * c.dK};
    case WeightKind::WV:
        return {c.dModelKey, c.kvHeads * c.dV};
    case WeightKind::WO:
        return {c.heads * c.dV, c.dOut};
    case WeightKind::BQ:
        return {1, c.heads * c.dK};
    case WeightKind::BK:
        return {1, c.kvHeads * c.dK};
    case WeightKind::BV:
        return {1, c.kvHeads * c.dV};
    case WeightKind::BO:
        return {1, c.dOut};
    }
    return {};
}

std::string text(Shape s) {
    return std::to_string(s.rows) + " x " + std::to_string(s.cols);
}

} // namespace

std::string_view positionName(Position p) {
    return positionNames[static_cast<std::size_t>(p)];
}

std::optional<Position> positionFromName(std::string_view name) {
    const auto it = std::ranges::find(positionNames, name);
    if (it == positionNames.end() || name == positionName(Position::Relative))
        return std::nullopt;
    return static_cast<Position>(it - positionNames.begin());
}

std::string_view siteName(Site site) {
    return siteNames[static_cast<std::size_t>(site)];
}

std::optional<Site> siteFromName(std::string_view name) {
    const auto it = std::ranges::find(siteNames, name);
    if (it == siteNames.end())
        return std::nullopt;
    return static_cast<Site>(it - siteNames.begin());
}

std::string_view weightName(WeightKind kind) {
    return weightNames[static_cast<std::size_t>(kind)];
}

std::optional<WeightKind> weightFromName(std::string_view name) {
    const auto it = std::ranges::find(weightNames, name);
    if (it == weightNames.end())
        return std::nullopt;
    return static_cast<WeightKind>(it - weightNames.begin());
}

TensorBand headBandOf(const ModelConfig& c, WeightKind kind, HeadIndex head) {
    const Shape all = expectedShape(c, kind);
    const auto columns = [&](int index, int width) {
        return TensorBand{0, all.rows, index * width, (index + 1) * width};
    };
    switch (kind) {
    case WeightKind::WQ:
    case WeightKind::BQ:
        return columns(head.value, c.dK);
    case WeightKind::WK:
    case WeightKind::BK:
        return columns(c.kvHeadOf(head), c.dK);
    case WeightKind::WV:
    case WeightKind::BV:
        return columns(c.kvHeadOf(head), c.dV);
    case WeightKind::WO:
        return {head.value * c.dV, (head.value + 1) * c.dV, 0, all.cols};
    case WeightKind::BO:
        break;
    }
    return {0, all.rows, 0, all.cols};
}

Model::Model(ModelConfig config, std::vector<LayerWeights> layers, std::shared_ptr<const Tokenizer> tokenizer,
             std::shared_ptr<const Embedder> embedder, std::shared_ptr<const Transformer> transformer,
             std::shared_ptr<const CapturedAttention> captured)
    : m_config(std::move(config)), m_layers(std::move(layers)), m_tokenizer(std::move(tokenizer)),
      m_embedder(std::move(embedder)), m_transformer(std::move(transformer)), m_captured(std::move(captured)) {
    assert(m_config.layers == static_cast<int>(m_layers.size()) && m_config.kvHeads > 0 &&
           m_config.heads % m_config.kvHeads == 0);
    for (int l = 0; l < m_config.layers && !m_captured; ++l)
        for (const WeightKind kind : allWeightKinds) {
            const SharedMatrix& tensor = this->tensor({LayerIndex{l}, kind});
            const std::string entry = "layers." + std::to_string(l) + "." + std::string(weightName(kind));
            const Shape expected = expectedShape(m_config, kind);
            if (!tensor) {
                if (kind == WeightKind::WQ || kind == WeightKind::WK || kind == WeightKind::WV)
                    throw LoadError(m_config.name, entry, text(expected), "nothing");
                continue;
            }
            const Shape found{tensor->rows(), tensor->cols()};
            if (found.rows != expected.rows || found.cols != expected.cols)
                throw LoadError(m_config.name, entry, text(expected), text(found));
        }
}

const SharedMatrix& Model::tensor(TensorId id) const {
    return layer(id.layer).*members[static_cast<std::size_t>(id.kind)];
}

SharedModel Model::withTensor(TensorId id, SharedMatrix value) const {
    assert(value && tensor(id) && value->rows() == tensor(id)->rows() && value->cols() == tensor(id)->cols());
    if (const auto sites = m_sites.lock()) {
        std::array<Model, 3> models = sites->models;
        const auto here = static_cast<std::size_t>(*m_config.site);
        models[here].m_sites.reset(); // one of the three, without the others
        models[here] = *models[here].withTensor(id, std::move(value));
        return joined(std::move(models), sites->rules)->atSite(*m_config.site);
    }
    auto edited = std::make_shared<Model>(*this);
    edited->m_layers[static_cast<std::size_t>(id.layer.value)].*members[static_cast<std::size_t>(id.kind)] =
        std::move(value);
    return edited;
}

SharedModel Model::withCross(bool cross) const {
    auto changed = std::make_shared<Model>(*this);
    changed->m_config.cross = cross;
    return changed;
}

SharedModel Model::joined(std::array<Model, 3> models, TargetRules rules) {
    auto sites = std::make_shared<Sites>(Sites{std::move(models), std::move(rules)});
    for (Model& model : sites->models)
        model.m_sites = sites;
    return sites->models.back().atSite(Site::DecoderCross);
}

SharedModel Model::atSite(Site site) const {
    const auto sites = m_sites.lock();
    return {sites, &sites->models[static_cast<std::size_t>(site)]};
}

const TargetRules& Model::targetRules() const {
    return m_sites.lock()->rules;
}

const OutputLayer* Model::outputLayer() const {
    const SharedModel decoder = m_config.site ? atSite(Site::DecoderCross) : nullptr;
    const Transformer* const transformer = decoder ? decoder->transformer() : m_transformer.get();
    return transformer && transformer->output ? &*transformer->output : nullptr;
}

std::int64_t Model::parameterCount() const {
    std::int64_t count = 0;
    for (int l = 0; l < m_config.layers; ++l)
        for (const WeightKind kind : allWeightKinds)
            if (const SharedMatrix& t = tensor({LayerIndex{l}, kind}))
                count += static_cast<std::int64_t>(t->size());
    return count;
}

} // namespace headscope
