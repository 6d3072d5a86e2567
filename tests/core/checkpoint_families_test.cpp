// Every family against the float64 numbers of an outside implementation (shared/data/reference, story, checkpoints).
#include "core/attention/trace.h"
#include "core/attention/head_stages.h"
#include "core/model/checkpoint.h"
#include "tests/support/golden.h"

#include <nlohmann/json.hpp>

#include <fstream>

namespace headscope {

namespace {

using testing::sharedData;

// A tokenizer that only takes ids: text is another test's business.
class IdsOnly final : public Tokenizer {
public:
    std::string name() const override { return "ids"; }
    TokenSequence tokenize(std::string_view) const override { throw InputError("ids only"); }
    Token tokenOf(std::int64_t id) const override { return {.id = id, .piece = std::to_string(id), .text = std::to_string(id)}; }
};

Scenario scenarioOf(const SharedModel& model, const std::vector<std::int64_t>& ids, const std::vector<int>& segments) {
    Scenario s;
    s.original = s.model = model;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        Token t = model->tokenizer().tokenOf(ids[i]);
        t.segment = i < segments.size() ? segments[i] : 0;
        s.query.tokens.push_back(t);
    }
    return s;
}

// The largest |a - e| over scale; infinities must stand at the same places.
double difference(std::span<const float> actual, const std::vector<float>& expected, double scale) {
    EXPECT_EQ(actual.size(), expected.size());
    double largest = 0;
    for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i)
        if (actual[i] != expected[i])
            largest = std::max(largest, std::abs(static_cast<double>(actual[i]) - expected[i]));
    return largest / scale;
}

double largestFinite(const std::vector<float>& values) {
    double largest = 0;
    for (const float v : values)
        if (std::isfinite(v))
            largest = std::max(largest, std::abs(static_cast<double>(v)));
    return largest;
}

std::vector<float> perHead(const AttentionTrace& t, int layer, Stage stage) {
    std::vector<float> all;
    for (int h = 0; h < t.config().heads; ++h) {
        const SharedMatrix m = stageMatrix(t, LayerIndex{layer}, HeadIndex{h}, stage);
        all.insert(all.end(), m->values().begin(), m->values().end());
    }
    return all;
}

struct Family : ::testing::TestWithParam<const char*> {};

// weights to 2e-5 times max(1, largest finite |masked| / 50); masked, hidden and logits to 1e-4 of their largest entry.
TEST_P(Family, GivesTheNumbersOfTheReference) {
    const std::string folder = std::string("reference/") + GetParam();
    HEADSCOPE_NEEDS_SHARED_DATA(folder);
    const std::string path = sharedData(folder).string();
    const SharedModel model =
        buildModel(openFolderConfig(path), *openFolderTensors(path), std::make_shared<IdsOnly>(), GetParam());
    std::ifstream in(path + "/cases.json");
    for (const auto& c : nlohmann::json::parse(in)["cases"]) {
        const auto expected = openTensorFile(path + "/" + c["expected"].get<std::string>());
        const auto array = [&](const std::string& name) {
            const TensorEntry* entry = expected->find(name);
            return entry ? expected->read(*entry) : std::vector<float>();
        };
        const auto segments = c.contains("token_type_ids") ? c["token_type_ids"].get<std::vector<int>>() : std::vector<int>();
        const SharedTrace t = trace(scenarioOf(model, c["ids"].get<std::vector<std::int64_t>>(), segments), referenceBackend());
        for (int l = 0; l < model->config().layers; ++l) {
            const std::string prefix = "layers." + std::to_string(l) + ".self.";
            const std::vector<float> masked = array(prefix + "masked");
            EXPECT_LE(difference(perHead(*t, l, Stage::Masked), masked, largestFinite(masked)), 1e-4) << prefix << "masked";
            EXPECT_LE(difference(perHead(*t, l, Stage::Weights), array(prefix + "weights"),
                                 std::max(1.0, largestFinite(masked) / 50)),
                      2e-5)
                << prefix << "weights";
        }
        const std::vector<float> hidden = array("hidden"), logits = array("logits");
        EXPECT_LE(difference(t->hidden->values(), hidden, largestFinite(hidden)), 1e-4) << "hidden";
        ASSERT_EQ(model->transformer()->output.has_value(), !logits.empty());
        if (!logits.empty()) {
            EXPECT_LE(difference(logitsOf(*t).values(), logits, largestFinite(logits)), 1e-4) << "logits";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Reference, Family,
                         ::testing::Values("bert", "roberta", "distilbert", "electra", "gpt2", "gpt-neox", "llama", "mistral",
                                           "qwen2"),
                         [](const auto& p) {
                             std::string name = p.param;
                             std::erase(name, '-');
                             return name;
                         });

} // namespace

} // namespace headscope
