#include "tests/app/cli_test.h"

namespace headscope::test {

namespace {

using Json = nlohmann::ordered_json;

Json headsJson(cli::Arguments arguments) {
    arguments.insert(arguments.begin(), "heads");
    arguments.insert(arguments.end(),
                     {"--model", "patterns", "--text", "The cat sat on the mat . The cat slept .", "--json"});
    return Json::parse(expectDone(arguments).out);
}

TEST(Heads, JsonHasExactlyTheFieldsOfTheContract) {
    const Json heads = headsJson({});
    ASSERT_EQ(heads.size(), 7U);
    const std::vector<std::string> expected{"site", "layer", "head", "entropy",       "distance", "self",    "previous",
                                            "next", "first", "same", "concentration", "label",    "strength"};
    for (const Json& head : heads) {
        std::vector<std::string> keys;
        for (const auto& [key, value] : head.items())
            keys.push_back(key);
        EXPECT_EQ(keys, expected);
        EXPECT_EQ(head["site"], "self");
    }
}

TEST(Heads, EveryHeadOfPatternsIsLabelledByWhatItDoes) {
    std::vector<std::string> labels;
    for (const Json& head : headsJson({}))
        labels.push_back(head["label"]);
    for (const std::string label : {"previous", "next", "first", "same word", "uniform", "separator"})
        EXPECT_EQ(std::count(labels.begin(), labels.end(), label), 1) << label;
}

TEST(Heads, CellIsTheWeightOfThatCellAndSortsByIt) {
    TemporaryFolder folder;
    const Json heads = headsJson({"--cell", "3,2"});
    expectDone({"dump", "--model", "patterns", "--text", "The cat sat on the mat . The cat slept .", "--stage",
                "weights", "--out", folder / "w.json"});
    const Json weights = Json::parse(readFile(folder / "w.json"))["layers.0.self.weights"];
    double last = 2;
    for (const Json& head : heads) {
        EXPECT_FLOAT_EQ(head["cell"].get<float>(), weights[head["head"].get<std::size_t>()][3][2].get<float>());
        EXPECT_LE(head["cell"].get<double>(), last);
        last = head["cell"];
    }
}

TEST(Heads, ShapesOfPicturesAreNotedToHaveNoSay) {
    const Result plain = headscope({"heads", "--text", "unbelievable", "--layer", "0"});
    const Result words = headscope({"heads", "--text", "unbelievable", "--layer", "0", "--words"});
    EXPECT_EQ(words.status, 0);
    EXPECT_EQ(words.out, plain.out);
    EXPECT_TRUE(contains(words.err, "headscope: note: --words")) << words.err;
}

TEST(Heads, NumbersAreSortedFromTheLargest) {
    for (const std::string field :
         {"entropy", "distance", "self", "previous", "next", "first", "same", "concentration", "strength"}) {
        const Json heads = headsJson({"--sort", field});
        for (std::size_t i = 1; i < heads.size(); ++i)
            EXPECT_GE(heads[i - 1][field].get<double>(), heads[i][field].get<double>()) << field;
    }
}

TEST(Heads, AnUnknownFieldListsTheKnownOnes) {
    expectRefused({"heads", "--text", "a", "--sort", "size"}, {"'size'", "entropy", "label", "concentration"});
    expectRefused({"heads", "--text", "a", "--sort", "cell"}, {"'cell'", "--cell"});
    expectRefused({"heads", "--model", "patterns", "--text", "a b", "--cell", "0,2"}, {"--cell 0,2", "2 x 2"});
    expectRefused({"heads", "--text", "a b", "--cell", "0"}, {"--cell", "ROW,COL", "'0'"});
}

TEST(Heads, HelpPrintsTheThresholdsOfTheLabels) {
    const std::string help = expectDone({"heads", "--help"}).out;
    for (const std::string label :
         {"previous", "next", "first", "self", "same word", "induction", "separator", "uniform", "none"})
        EXPECT_TRUE(contains(help, label)) << label;
}

TEST(Heads, TheTableHasOneLineForEachHeadAndATitle) {
    const std::string table =
        expectDone({"heads", "--model", "toy", "--heads", "4", "--layers", "2", "--text", "a b c"}).out;
    EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 1 + 8);
    EXPECT_TRUE(contains(table, "L1 H3"));
}

TEST(Heads, CrossAttentionSaysSo) {
    const Json heads =
        Json::parse(expectDone({"heads", "--model", "toy", "--text", "a b", "--pair", "c d e", "--json"}).out);
    EXPECT_EQ(heads[0]["site"], "cross");
}

} // namespace

} // namespace headscope::test
