// The trained models inside the program, and GGUF files, against float64 numbers of an outside implementation.
#include "core/attention/head_stages.h"
#include "core/model/checkpoint.h"
#include "tests/support/checkpoints.h"
#include "tests/support/golden.h"

#include <nlohmann/json.hpp>

#include <fstream>

namespace headscope {

namespace {

using namespace testing;

nlohmann::json casesOf(const std::string& folder) {
    std::ifstream in(sharedData(folder + "/cases.json"));
    return nlohmann::json::parse(in);
}

Scenario typed(const std::string& model, const nlohmann::json& one) {
    ScenarioRequest request;
    request.source.name = model;
    request.text = one["text"].get<std::string>();
    if (one.contains("pair") && !one["pair"].is_null())
        request.pair = one["pair"].get<std::string>();
    return makeScenario(request);
}

std::vector<std::int64_t> idsOf(const TokenSequence& tokens) {
    std::vector<std::int64_t> ids;
    for (const Token& t : tokens.tokens)
        ids.push_back(t.id);
    return ids;
}

TEST(Mini, GivesTheAttentionOfItsDequantisedWeights) {
    HEADSCOPE_NEEDS_SHARED_DATA("mini");
    const auto cases = casesOf("mini");
    const Arrays expected(sharedData("mini/expected.npz").string());
    int index = 0;
    for (const auto& one : cases) {
        const Scenario s = typed("mini", one);
        EXPECT_EQ(idsOf(s.query), one["ids"].get<std::vector<std::int64_t>>()) << one["text"];
        const SharedTrace t = trace(s, backendByName("auto"));
        const std::string prefix = std::to_string(index++) + ".";
        std::vector<float> weights;
        for (int l = 0; l < 6; ++l) {
            const std::vector<float> layer = perHead(*t, l, Stage::Weights);
            weights.insert(weights.end(), layer.begin(), layer.end());
        }
        EXPECT_LE(farthest(weights, expected.at(prefix + "weights")), 2e-5) << one["text"];
        const std::vector<float> hidden = expected.at(prefix + "hidden");
        EXPECT_LE(farthest(t->hidden->values(), hidden) / largestFinite(hidden), 1e-4) << one["text"];
    }
}

TEST(Story, GivesTheAttentionAndTheNextTokensOfTheReference) {
    HEADSCOPE_NEEDS_SHARED_DATA("story");
    const auto cases = casesOf("story");
    const Arrays expected(sharedData("story/expected.npz").string());
    int index = 0;
    for (const auto& one : cases) {
        const Scenario s = typed("story", one);
        EXPECT_EQ(idsOf(s.query), one["ids"].get<std::vector<std::int64_t>>()) << one["text"];
        const SharedTrace t = trace(s, backendByName("auto"));
        const std::string prefix = std::to_string(index++) + ".";
        for (int l = 0; l < 3; ++l)
            EXPECT_LE(farthest(perHead(*t, l, Stage::Weights),
                               expected.at(prefix + "layers." + std::to_string(l) + ".self.weights")),
                      2e-5)
                << one["text"];
        const std::vector<float> logits = expected.at(prefix + "logits");
        const Matrix ours = logitsOf(*t);
        EXPECT_LE(farthest(ours.values(), logits) / largestFinite(logits), 1e-4) << one["text"];
        // The likeliest next tokens, with their probabilities as printed.
        const auto last = ours.row(ours.rows() - 1);
        double sum = 0;
        for (const float v : last)
            sum += std::exp(static_cast<double>(v));
        for (const auto& next : one["next"]) {
            const auto id = s.model->tokenizer().idOf(next[0].get<std::string>());
            ASSERT_TRUE(id.has_value()) << next;
            const double probability = std::exp(static_cast<double>(last[static_cast<std::size_t>(*id)])) / sum;
            EXPECT_NEAR(probability, next[1].get<double>(), 0.5e-4 + 1e-5) << one["text"] << next;
        }
    }
}

TEST(Gguf, QuantisedFilesAgreeWithTheReference) {
    HEADSCOPE_NEEDS_SHARED_DATA("reference/gguf");
    for (const auto& file : casesOf("reference/gguf"))
        for (const auto& one : file["cases"]) {
            ScenarioRequest request;
            request.source.name = sharedData("reference/gguf/" + file["file"].get<std::string>()).string();
            request.ids = one["ids"].get<std::vector<std::int64_t>>();
            const SharedTrace t = trace(makeScenario(request), backendByName("auto"));
            const Arrays expected(sharedData("reference/gguf/" + one["expected"].get<std::string>()).string());
            for (int l = 0; l < t->config().layers; ++l) {
                const std::string prefix = "layers." + std::to_string(l) + ".self.";
                const double largest = largestFinite(perHead(*t, l, Stage::Masked));
                EXPECT_LE(farthest(perHead(*t, l, Stage::Weights), expected.at(prefix + "weights")) /
                              std::max(1.0, largest / 50),
                          2e-5)
                    << file["file"];
            }
            const std::vector<float> logits = expected.at("logits");
            EXPECT_LE(farthest(logitsOf(*t).values(), logits) / largestFinite(logits), 1e-4) << file["file"];
        }
}

// The hub keeps the rows of q and k in half-split order, GGUF in interleaved pairs.
TEST(Stories260K, BothRowOrdersGiveEqualAttention) {
    HEADSCOPE_NEEDS_SHARED_DATA("checkpoints/stories260K");
    const Arrays expected(sharedData("checkpoints/stories260K/ref_attention_once-upon-a-time.npz").string());
    std::vector<std::int64_t> ids;
    for (const float id : expected.at("ids"))
        ids.push_back(static_cast<std::int64_t>(id));
    for (const char* file : {"model.safetensors", "stories260K-f32.gguf", "stories260K-f16.gguf"}) {
        const std::string folder = sharedData("checkpoints/stories260K").string();
        const bool hub = std::string(file) == "model.safetensors";
        const SharedTrace t = hub ? trace(scenarioOf(modelOfIds(folder), ids), backendByName("auto")) : [&] {
            ScenarioRequest request;
            request.source.name = folder + "/" + file;
            request.ids = ids;
            return trace(makeScenario(request), backendByName("auto"));
        }();
        std::vector<float> weights;
        for (int l = 0; l < 5; ++l) {
            const std::vector<float> layer = perHead(*t, l, Stage::Weights);
            weights.insert(weights.end(), layer.begin(), layer.end());
        }
        const double bound = std::string(file).find("f16") == std::string::npos ? 2e-5 : 2e-3; // f16 rounds the weights
        EXPECT_LE(farthest(weights, expected.at("attention")), bound) << file;
    }
}

} // namespace

} // namespace headscope
