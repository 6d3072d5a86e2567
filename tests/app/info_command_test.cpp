#include "tests/app/cli_test.h"

namespace headscope::test {

namespace {

using Json = nlohmann::ordered_json;

Json infoJson(cli::Arguments arguments) {
    arguments.insert(arguments.begin(), "info");
    arguments.emplace_back("--json");
    return Json::parse(expectDone(arguments).out);
}

TEST(Info, SizesAndParametersAreThoseOfTheModel) {
    const Json toy = infoJson({"toy", "--d-model", "512", "--heads", "8", "--no-bias"});
    EXPECT_EQ(toy["d_model"], 512);
    EXPECT_EQ(toy["heads"], 8);
    EXPECT_EQ(toy["d_k"], 64);
    EXPECT_EQ(toy["parameters"], 4 * 512 * 512);
    EXPECT_EQ(toy["bias"], false);
}

// 4 n d^2 against 2 n^2 d: at n = 64, d = 512 the product Q K^T is n / (4 d + 2 n) = 2.9 % of the multiply-adds.
TEST(Info, CostOfQueriesTimesKeysIsAsCounted) {
    const Json parts = infoJson({"toy", "--d-model", "512", "--n", "64"})["cost"]["parts"];
    const auto product = std::find_if(parts.begin(), parts.end(), [](const Json& p) { return p["part"] == "Q K^T"; });
    ASSERT_NE(product, parts.end());
    EXPECT_NEAR((*product)["share"].get<double>(), 64.0 / (4 * 512 + 2 * 64), 1e-9);
}

TEST(Info, ManyHeadsCostTheMultiplyAddsOfOne) {
    const Json cost = infoJson({"toy", "--d-model", "512"})["cost"];
    EXPECT_EQ(cost["multiply_adds"], cost["one_head"]["multiply_adds"]);
    EXPECT_EQ(cost["map_entries"].get<int>(), 8 * cost["one_head"]["map_entries"].get<int>());
}

TEST(Info, TheWorkedExampleShowsPrintedCorrectAndDifference) {
    const Json printed = infoJson({"worked-example"})["printed"];
    const std::vector<std::pair<std::string, int>> wrong{{"weights", 25}, {"head_output", 10}};
    for (const auto& [stage, count] : wrong) {
        const auto found =
            std::find_if(printed.begin(), printed.end(), [&](const Json& p) { return p["stage"] == stage; });
        ASSERT_NE(found, printed.end()) << stage;
        EXPECT_EQ((*found)["wrong"], count) << stage;
        EXPECT_NEAR((*found)["difference"][0][0].get<double>(),
                    (*found)["printed"][0][0].get<double>() - (*found)["correct"][0][0].get<double>(), 1e-6);
    }
    const std::string text = expectDone({"info", "worked-example"}).out;
    for (const std::string part : {"printed", "correct", "difference", "karina"})
        EXPECT_TRUE(contains(text, part)) << part;
}

TEST(Info, AModuleFileIsAModel) {
    TemporaryFolder folder;
    const std::string file = folder.write("module.safetensors", attentionModule());
    const Json module = infoJson({file, "--heads", "2"});
    EXPECT_EQ(module["kind"], "model");
    EXPECT_EQ(module["d_model"], 4);
    EXPECT_EQ(module["entries"].size(), 4U);
}

TEST(Info, AnyOtherContainerIsListedWithWhyItIsNoModel) {
    TemporaryFolder folder;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::string file = folder.write("numbers.safetensors",
                                          safetensorsFile({{"a.b", {2, 2}, {1, nan, -1 / 0.0F, 2}}, {"c", {1}, {3}}}));
    const Json container = infoJson({file});
    EXPECT_EQ(container["kind"], "arrays");
    EXPECT_EQ(container["entries"][0],
              Json::parse(R"({"name": "a.b", "type": "F32", "shape": [2, 2], "non_finite": 2})"));
    EXPECT_NE(container["why_no_model"], "");
    EXPECT_TRUE(contains(expectDone({"info", file}).out, "no model: "));
}

TEST(Info, AModuleOfUncertainHeadsIsListedToo) {
    TemporaryFolder folder;
    const Json container = infoJson({folder.write("module.safetensors", attentionModule())});
    EXPECT_EQ(container["kind"], "arrays");
    EXPECT_TRUE(contains(container["why_no_model"], "--heads"));
}

TEST(Info, WhatIsNoContainerIsRefused) {
    TemporaryFolder folder;
    expectRefused({"info"}, {"name a model or a file"});
    expectRefused({"info", "nonesuch"}, {"'nonesuch'", "toy"});
    expectRefused({"info", folder.write("cut.safetensors", attentionModule().substr(0, 40))}, {"cut.safetensors"});
    expectRefused({"info", "toy", "--n", "0"}, {"--n", "at least 1", "'0'"});
}

} // namespace

} // namespace headscope::test
