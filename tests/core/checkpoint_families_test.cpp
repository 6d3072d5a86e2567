// Every family against the float64 numbers of an outside implementation (shared/data/reference).
#include "tests/support/checkpoints.h"
#include "tests/support/golden.h"

#include <nlohmann/json.hpp>

#include <fstream>

namespace headscope {

namespace {

using namespace testing;

struct Family : ::testing::TestWithParam<const char*> {};

// weights to 2e-5 times max(1, largest finite |masked| / 50); masked, hidden and logits to 1e-4 of their largest entry.
TEST_P(Family, GivesTheNumbersOfTheReference) {
    const std::string folder = std::string("reference/") + GetParam();
    HEADSCOPE_NEEDS_SHARED_DATA(folder);
    const std::string path = sharedData(folder).string();
    const SharedModel model = modelOfIds(path);
    std::ifstream in(path + "/cases.json");
    const auto cases = nlohmann::json::parse(in);
    for (const auto& c : cases["cases"]) {
        const Arrays expected(path + "/" + c["expected"].get<std::string>());
        const auto segments =
            c.contains("token_type_ids") ? c["token_type_ids"].get<std::vector<int>>() : std::vector<int>();
        const SharedTrace t =
            trace(scenarioOf(model, c["ids"].get<std::vector<std::int64_t>>(), segments), backendByName("auto"));
        for (int l = 0; l < model->config().layers; ++l) {
            const std::string prefix = "layers." + std::to_string(l) + ".self.";
            const std::vector<float> masked = expected.at(prefix + "masked");
            EXPECT_LE(farthest(perHead(*t, l, Stage::Masked), masked) / largestFinite(masked), 1e-4) << prefix;
            EXPECT_LE(farthest(perHead(*t, l, Stage::Weights), expected.at(prefix + "weights")) /
                          std::max(1.0, largestFinite(masked) / 50),
                      2e-5)
                << prefix;
        }
        const std::vector<float> hidden = expected.at("hidden"), logits = expected.at("logits");
        EXPECT_LE(farthest(t->hidden->values(), hidden) / largestFinite(hidden), 1e-4);
        ASSERT_EQ(model->transformer()->output.has_value(), !logits.empty());
        if (!logits.empty()) {
            EXPECT_LE(farthest(logitsOf(*t).values(), logits) / largestFinite(logits), 1e-4);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Reference, Family,
                         ::testing::Values("bert", "roberta", "distilbert", "electra", "gpt2", "gpt-neox", "llama",
                                           "mistral", "qwen2"),
                         [](const auto& p) {
                             std::string name = p.param;
                             std::erase(name, '-');
                             return name;
                         });

} // namespace

} // namespace headscope
