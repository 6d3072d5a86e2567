// The commands on attention that was captured elsewhere.
#include "core/exchange/dump.h"
#include "tests/app/cli_test.h"

#include <limits>

namespace headscope::test {

namespace {

using Json = nlohmann::ordered_json;

class CapturedFile : public ::testing::Test {
protected:
    CapturedFile() : path(folder / "cat.npz") {
        std::vector<float> values{1, 0, 0, 0.25F, 0.5F, 0.25F, 0, 0.5F, 0.5F, 0, 1, 0, 0, 0, 1, 0.5F, 0.25F, 0.25F};
        std::ofstream out(path, std::ios::binary);
        writeNpz(out,
                 {{"weights", {1, 2, 3, 3}, values}, {"tokens", {3}, std::vector<std::string>{"the", "black", "cat"}}});
    }
    TemporaryFolder folder;
    std::string path;
};

TEST_F(CapturedFile, IsDumpedAsItIs) {
    expectDone({"dump", "--model", path, "--out", folder / "a.csv", "--stage", "weights", "--head", "1"});
    EXPECT_EQ(readFile(folder / "a.csv"), ",the,black,cat\nthe,0,1,0\nblack,0,0,1\ncat,0.5,0.25,0.25\n");
    expectDone({"dump", "--model", path, "--out", folder / "a.json"});
    const Json all = Json::parse(readFile(folder / "a.json"));
    EXPECT_EQ(all["layers.0.self.weights"][0][1], Json::parse("[0.25, 0.5, 0.25]"));
    EXPECT_EQ(all["tokens.query"], Json::parse(R"(["the", "black", "cat"])"));
    EXPECT_FALSE(all.contains("layers.0.self.scores"));
}

TEST_F(CapturedFile, OfAScenarioIsTheSame) {
    expectDone({"dump", "--model", path, "--out", folder / "a.json"});
    const std::string scenario = Json::parse(readFile(folder / "a.json"))["scenario"].get<std::string>();
    const std::string saved = folder.write("s.headscope", scenario);
    expectDone({"dump", "--scenario", saved, "--out", folder / "b.json"});
    EXPECT_EQ(readFile(folder / "b.json"), readFile(folder / "a.json"));
    expectRefused({"dump", "--scenario", saved, "--text", "the cat", "--out", folder / "c.json"},
                  {"--text", "cat.npz"});
}

TEST_F(CapturedFile, HasMetricsAndAnInfo) {
    const Json heads = Json::parse(expectDone({"heads", "--model", path, "--json"}).out);
    EXPECT_EQ(heads.size(), 2U);
    EXPECT_DOUBLE_EQ(heads[1]["next"].get<double>(), 1.0);
    const Json info = Json::parse(expectDone({"info", path, "--json"}).out);
    EXPECT_EQ(info["kind"], "captured attention");
    EXPECT_EQ(info["heads"], 2);
    EXPECT_EQ(info["stages"], Json::parse(R"(["weights"])"));
    EXPECT_TRUE(contains(expectDone({"info", path}).out, "3 x 3"));
}

TEST_F(CapturedFile, WhatDoesNotOpenIsNoModelToInfoEither) {
    const std::string bad = folder / "bad.npz";
    std::ofstream out(bad, std::ios::binary);
    writeNpz(out, {{"weights", {1, 1, 1, 2}, std::vector<float>{1, std::numeric_limits<float>::quiet_NaN()}}});
    out.close();
    expectRefused({"heads", "--model", bad}, {"bad.npz", "nan"});
    EXPECT_TRUE(contains(expectDone({"info", bad}).out, "no model: "));
}

TEST_F(CapturedFile, RefusesWhatItCannotGive) {
    const auto refused = [&](cli::Arguments more, const std::vector<std::string>& parts) {
        cli::Arguments all{"dump", "--model", path, "--out", folder / "no.npz"};
        all.insert(all.end(), more.begin(), more.end());
        expectRefused(all, parts);
    };
    refused({"--stage", "scores"}, {"scores is not in cat.npz", "weights only"});
    refused({"--text", "the cat"}, {"--text", "cat.npz"});
    refused({"--mask", "causal"}, {"--mask", "cat.npz"});
    refused({"--temperature", "2"}, {"--temperature", "cat.npz"});
    refused({"--ablate", "0:1"}, {"--ablate", "cat.npz"});
    refused({"--rule", "no-scale"}, {"--rule", "cat.npz"});
    refused({"--heads", "2"}, {"--heads", "cat.npz"});
    refused({"--weights"}, {"--weights", "cat.npz"});
    refused({"--hidden"}, {"--hidden", "cat.npz"});
    refused({"--logits"}, {"--logits", "cat.npz"});
}

TEST_F(CapturedFile, SaysWhichRowsDoNotSumToOne) {
    std::ofstream out(path, std::ios::binary);
    writeNpz(out, {{"weights", {2, 2}, std::vector<float>{1, 0, 0.5F, 0.2F}}});
    out.close();
    const Result result = headscope({"heads", "--model", path});
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.err, "headscope: note: cat.npz: 1 of 2 rows do not sum to 1, the first L0 H0, row 1, to 0.7; they "
                          "are shown as they are\n");
}

} // namespace

} // namespace headscope::test
