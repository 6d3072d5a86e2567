#include "core/attention/captured.h"

#include "core/tensor/errors.h"

#include <algorithm>

namespace headscope {

namespace {

std::string shapeText(std::int64_t count, int rows, int cols) {
    return std::to_string(count) + " x " + std::to_string(rows) + " x " + std::to_string(cols);
}

void checkShapes(const Model& model, const CapturedAttention& captured) {
    const ModelConfig& c = model.config();
    for (const StageInfo& info : stageTable())
        for (int l = 0; l < c.layers; ++l)
            if (const CapturedArray* array = captured.find(info.id, LayerIndex{l})) {
                const int n = captured.query.size(), m = captured.key ? captured.key->size() : n;
                const StageShape expected = stageShape(c, info.stage, n, m);
                const Matrix& found = *array->matrices.front();
                if (array->matrices.size() != static_cast<std::size_t>(expected.count) ||
                    found.rows() != expected.rows || found.cols() != expected.cols)
                    throw LoadError(
                        captured.file, array->entry, shapeText(expected.count, expected.rows, expected.cols),
                        shapeText(static_cast<std::int64_t>(array->matrices.size()), found.rows(), found.cols()));
            }
}

} // namespace

Scenario capturedScenario(OpenedModel opened, const ScenarioRequest& r) {
    const CapturedAttention& captured = *opened.model->captured();
    const auto refuse = [&](bool given, const char* option, const char* why) {
        if (given)
            throw InputError(std::string(option) + " is not used by " + captured.file + ": " + why);
    };
    const char* const ownText = "its attention was captured between the tokens in the file";
    refuse(r.text.has_value(), "--text", ownText);
    refuse(r.ids.has_value(), "--ids", ownText);
    refuse(r.pair.has_value(), "--pair", ownText);
    refuse(r.pairIds.has_value(), "--pair-ids", ownText);
    refuse(r.target.has_value(), "--target", ownText);
    refuse(r.targetIds.has_value(), "--target-ids", ownText);
    refuse(r.x != nullptr, "--x", ownText);
    refuse(r.y != nullptr, "--y", ownText);
    refuse(r.source.heads.has_value(), "--heads", "its arrays say how many there are");
    checkShapes(*opened.model, captured);

    Scenario s;
    s.source = std::move(opened.source);
    s.source.cross = opened.model->config().cross;
    s.original = s.model = opened.model;
    s.query = captured.query;
    s.key = captured.key;
    s.mask = r.mask;
    s.scale = r.scale.value_or(Scale{});
    s.temperature = r.temperature;
    s.rules = r.rules;
    s.interventions = r.interventions;
    validateCaptured(s);
    return s;
}

void validateCaptured(const Scenario& s) {
    const std::string why = " cannot be used with " + s.model->captured()->file +
                            ": it holds attention that was captured, and nothing is computed";
    const auto refuse = [&](bool asked, const char* what) {
        if (asked)
            throw InputError(what + why);
    };
    const bool off = std::ranges::any_of(s.interventions,
                                         [](const Intervention& i) { return i.kind == Intervention::Kind::HeadOff; });
    refuse(s.mask != Mask{}, "--mask");
    refuse(s.scale != Scale{}, "--scale");
    refuse(s.temperature != 1.0, "--temperature");
    refuse(s.rules.any(), "--rule");
    refuse(off, "--ablate");
    refuse(!s.interventions.empty(), "a cell set by hand");
}

std::shared_ptr<AttentionTrace> capturedTrace(const Scenario& s, const Backend& backend) {
    auto t = std::make_shared<AttentionTrace>();
    t->scenario = s;
    t->mask = maskOf(s);
    t->backend = &backend;
    for (int l = 0; l < s.model->config().layers; ++l) {
        LayerTrace layer;
        layer.emptyRows.assign(static_cast<std::size_t>(s.queries()), true);
        for (int h = 0; h < s.model->config().heads; ++h) {
            const Matrix& weights = *capturedMatrix(s, LayerIndex{l}, HeadIndex{h}, Stage::Weights);
            for (int r = 0; r < weights.rows(); ++r)
                if (std::ranges::any_of(weights.row(r), [](float v) { return v != 0; }))
                    layer.emptyRows[static_cast<std::size_t>(r)] = false;
        }
        t->layers.push_back(std::make_shared<const LayerTrace>(std::move(layer)));
    }
    return t;
}

SharedMatrix capturedMatrix(const Scenario& s, LayerIndex layer, HeadIndex head, Stage stage) {
    const CapturedArray* array = s.model->captured()->find(stageInfo(stage).id, layer);
    if (!array)
        return nullptr;
    const StageScope scope = stageInfo(stage).scope;
    const int index = scope == StageScope::QueryHead ? head.value
                      : scope == StageScope::KvHead  ? s.model->config().kvHeadOf(head)
                                                     : 0;
    return array->matrices[static_cast<std::size_t>(index)];
}

} // namespace headscope
