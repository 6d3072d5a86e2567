// Short ways to the scenarios and traces that tests need.
#pragma once

#include "core/attention/head_stages.h"
#include "core/attention/trace.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

namespace headscope::testing {

inline ScenarioRequest requestOf(const std::string& model, const std::string& text) {
    ScenarioRequest request;
    request.source.name = model;
    request.text = text;
    return request;
}

inline Scenario patterns(const std::string& text) {
    return makeScenario(requestOf("patterns", text));
}

inline Scenario workedExample() {
    return makeScenario(requestOf("worked-example", std::string(workedExampleText())));
}

inline Scenario toy(const ToyOptions& options, const std::string& text) {
    ScenarioRequest request = requestOf("toy", text);
    request.source.toy = options;
    return makeScenario(std::move(request));
}

// Cross-attention: every layer of the toy attends from `text` to `pair`.
inline Scenario crossToy(const ToyOptions& options, const std::string& text, const std::string& pair) {
    ScenarioRequest request = requestOf("toy", text);
    request.source.toy = options;
    request.source.cross = true;
    request.pair = pair;
    return makeScenario(std::move(request));
}

inline Scenario withRule(Scenario scenario, Rule rule) {
    scenario.rules = with(scenario.rules, rule);
    return scenario;
}

inline SharedTrace run(const Scenario& scenario) {
    return trace(scenario, backendByName("auto"));
}

inline Matrix stageOf(const SharedTrace& t, Stage stage, int head = 0, int layer = 0) {
    return *stageMatrix(*t, LayerIndex{layer}, HeadIndex{head}, stage);
}

// Replaces a tensor by a changed copy: an edit as a user makes it.
template<class Change>
Scenario edited(Scenario scenario, TensorId id, const Change& change) {
    Matrix w = *scenario.model->tensor(id);
    change(w);
    scenario.model = scenario.model->withTensor(id, share(std::move(w)));
    return scenario;
}

// Normally distributed numbers, the same ones for the same seed.
inline Matrix drawn(int rows, int cols, unsigned seed, float spread = 1.0F) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0F, spread);
    Matrix m(rows, cols);
    for (float& v : m.values()) {
        v = normal(random);
    }
    return m;
}

// The largest |a - b|, infinities at equal places being equal. Shapes must be equal.
inline double distance(const Matrix& a, const Matrix& b) {
    assert(a.rows() == b.rows() && a.cols() == b.cols());
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double x = a.values()[i], y = b.values()[i];
        const double d = x == y ? 0.0 : std::abs(x - y);
        largest = std::isnan(d) ? INFINITY : std::max(largest, d);
    }
    return largest;
}

inline bool hasNaN(const Matrix& m) {
    return std::ranges::any_of(m.values(), [](float v) { return std::isnan(v); });
}

inline bool isZero(const Matrix& m) {
    return std::ranges::all_of(m.values(), [](float v) { return v == 0.0F; });
}

// Every stage of a table that the scenario has.
inline std::vector<Stage> availableStages(const Scenario& scenario) {
    std::vector<Stage> stages;
    for (const StageInfo& info : stageTable()) {
        if (stageAvailable(scenario, info.stage)) {
            stages.push_back(info.stage);
        }
    }
    return stages;
}

} // namespace headscope::testing
