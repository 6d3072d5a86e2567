// Checkpoints with known outputs: models that take ids alone, arrays of an expectation, and how they are compared.
#pragma once

#include "core/attention/head_stages.h"
#include "core/model/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headscope::testing {

// A tokenizer that only takes ids: text is another test's business.
class IdsOnly final : public Tokenizer {
public:
    std::string name() const override { return "ids"; }
    TokenSequence tokenize(std::string_view) const override { throw InputError("ids only"); }
    Token tokenOf(std::int64_t id) const override {
        return {.id = id, .piece = std::to_string(id), .text = std::to_string(id)};
    }
};

inline SharedModel modelOfIds(const std::string& folder) {
    return buildModel(openFolderConfig(folder), *openFolderTensors(folder), std::make_shared<IdsOnly>(), folder);
}

inline Scenario scenarioOf(const SharedModel& model, const std::vector<std::int64_t>& ids,
                           const std::vector<int>& segments = {}) {
    Scenario s;
    s.original = s.model = model;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        s.query.tokens.push_back(model->tokenizer().tokenOf(ids[i]));
        s.query.tokens.back().segment = i < segments.size() ? segments[i] : 0;
    }
    return s;
}

// An npz by name; an absent array is empty.
class Arrays {
public:
    explicit Arrays(const std::string& path) : m_file(openTensorFile(path)) {}
    std::vector<float> at(const std::string& name) const {
        const TensorEntry* entry = m_file->find(name);
        const Floats values = entry ? m_file->read(*entry) : Floats();
        return {values.begin(), values.end()};
    }

private:
    std::shared_ptr<const TensorFile> m_file;
};

// The largest |a - e|; infinities must stand at the same places, NaN is infinitely far.
inline double farthest(std::span<const float> actual, std::span<const float> expected) {
    EXPECT_EQ(actual.size(), expected.size());
    double largest = 0;
    for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i)
        if (!(actual[i] == expected[i])) {
            const double difference = std::abs(static_cast<double>(actual[i]) - expected[i]);
            largest = std::isnan(difference) ? HUGE_VAL : std::max(largest, difference);
        }
    return largest;
}

inline double largestFinite(std::span<const float> values) {
    double largest = 0;
    for (const float v : values)
        if (std::isfinite(v))
            largest = std::max(largest, std::abs(static_cast<double>(v)));
    return largest;
}

// (h, n, m): one stage of every head of a layer.
inline std::vector<float> perHead(const AttentionTrace& t, int layer, Stage stage) {
    std::vector<float> all;
    for (int h = 0; h < t.config().heads; ++h) {
        const SharedMatrix m = stageMatrix(t, LayerIndex{layer}, HeadIndex{h}, stage);
        all.insert(all.end(), m->values().begin(), m->values().end());
    }
    return all;
}

} // namespace headscope::testing
