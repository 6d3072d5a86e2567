#include "core/exchange/scenario_file.h"
#include "tests/app/cli_test.h"

#include <locale>

namespace headscope::test {

namespace {

using Json = nlohmann::ordered_json;

class Dump : public testing::Test {
protected:
    Json json(cli::Arguments arguments) {
        arguments.insert(arguments.begin(), "dump");
        arguments.insert(arguments.end(), {"--out", folder / "t.json"});
        expectDone(arguments);
        return Json::parse(readFile(folder / "t.json"));
    }
    std::string csv(cli::Arguments arguments) {
        arguments.insert(arguments.begin(), "dump");
        arguments.insert(arguments.end(), {"--out", folder / "t.csv"});
        expectDone(arguments);
        return readFile(folder / "t.csv");
    }
    std::vector<std::size_t> shape(const Json& array) {
        std::vector<std::size_t> sizes;
        for (const Json* j = &array; j->is_array(); j = &(*j)[0])
            sizes.push_back(j->size());
        return sizes;
    }

    using Shape = std::vector<std::size_t>;
    TemporaryFolder folder;
    const std::string cat = "The cat sat on the mat";
};

TEST_F(Dump, ArraysHaveTheNamesAndShapesOfTheContract) {
    const Json all = json({"--model", "toy", "--d-model", "32", "--heads", "4", "--kv-heads", "2", "--d-k", "6",
                           "--d-v", "5", "--text", cat, "--weights", "--hidden"});
    const std::string at = "layers.0.self.";
    EXPECT_EQ(shape(all[at + "embedding"]), (Shape{6, 32}));
    EXPECT_EQ(shape(all[at + "projection_q"]), (Shape{6, 24}));
    EXPECT_EQ(shape(all[at + "q"]), (Shape{4, 6, 6}));
    EXPECT_EQ(shape(all[at + "k"]), (Shape{2, 6, 6}));
    EXPECT_EQ(shape(all[at + "v"]), (Shape{2, 6, 5}));
    for (const std::string stage : {"scores", "scaled", "masked", "weights", "norms"})
        EXPECT_EQ(shape(all[at + stage]), (Shape{4, 6, 6})) << stage;
    EXPECT_EQ(shape(all[at + "head_output"]), (Shape{4, 6, 5}));
    EXPECT_EQ(shape(all[at + "concat"]), (Shape{6, 20}));
    EXPECT_EQ(shape(all[at + "contribution"]), (Shape{4, 6, 32}));
    EXPECT_EQ(shape(all[at + "output"]), (Shape{6, 32}));
    EXPECT_EQ(shape(all[at + "empty_rows"]), (Shape{6}));
    EXPECT_EQ(shape(all[at + "W_Q"]), (Shape{32, 24}));
    EXPECT_EQ(shape(all[at + "W_O"]), (Shape{20, 32}));
    EXPECT_EQ(shape(all["hidden"]), (Shape{6, 32}));
    EXPECT_EQ(all["tokens.query"], Json::parse(R"(["The", "cat", "sat", "on", "the", "mat"])"));
    EXPECT_EQ(all["tokens.key"], all["tokens.query"]);
    EXPECT_EQ(all["ids.query"].size(), 6U);
    EXPECT_TRUE(all.contains("ids.key"));
    EXPECT_FALSE(all.contains(at + "embedding_key"));
}

TEST_F(Dump, CrossAttentionHasQueriesOfOneTextAndKeysOfTheOther) {
    const Json all = json({"--model", "toy", "--text", cat, "--pair", "le chat dort", "--layers", "2"});
    EXPECT_EQ(shape(all["layers.1.cross.weights"]), (Shape{8, 6, 3}));
    EXPECT_EQ(shape(all["layers.1.cross.embedding_key"]), (Shape{3, 64}));
    EXPECT_EQ(all["tokens.key"], Json::parse(R"(["le", "chat", "dort"])"));
}

TEST_F(Dump, HeadLayerAndStageCutWhatIsWritten) {
    const Json all = json({"--model", "toy", "--layers", "2", "--text", cat, "--layer", "1", "--head", "0,3,5-7",
                           "--stage", "weights,output"});
    EXPECT_EQ(shape(all["layers.1.self.weights"]), (Shape{5, 6, 6}));
    EXPECT_EQ(all["heads"], Json::parse("[0, 3, 5, 6, 7]"));
    EXPECT_TRUE(all.contains("layers.1.self.output"));
    EXPECT_FALSE(all.contains("layers.0.self.weights"));
    EXPECT_FALSE(all.contains("layers.1.self.scores"));
}

TEST_F(Dump, ClosedCellsAndEmptyRowsAreSaid) {
    const Json all = json({"--model", "toy", "--text", "a b c", "--mask",
                           folder.write("m.csv", "\xEF\xBB\xBF"
                                                 "1,1,0\n0,0,0\n1,1,1\n")});
    EXPECT_EQ(all["layers.0.self.masked"][0][0][2], "-inf");
    EXPECT_EQ(all["layers.0.self.weights"][0][1], Json::parse("[0.0, 0.0, 0.0]"));
    EXPECT_EQ(all["layers.0.self.empty_rows"], Json::parse("[false, true, false]"));
}

TEST_F(Dump, CsvIsOneMatrixWithLabels) {
    const std::string text =
        csv({"--model", "toy", "--text", "a , b", "--mask", "causal", "--head", "2", "--stage", "masked"});
    std::istringstream lines(text);
    std::string line;
    std::getline(lines, line);
    EXPECT_TRUE(contains(line, "a,\",\",b")) << line;
    std::getline(lines, line);
    EXPECT_TRUE(line.starts_with("a,")) << line;
    EXPECT_TRUE(contains(line, ",-inf,-inf")) << line;
}

TEST_F(Dump, CsvOfManyMatricesIsRefusedSayingHowToChoose) {
    const auto refused = [&](cli::Arguments arguments, const std::vector<std::string>& parts) {
        arguments.insert(arguments.begin(),
                         {"dump", "--model", "toy", "--layers", "2", "--text", cat, "--out", folder / "t.csv"});
        expectRefused(arguments, parts);
    };
    refused({}, {"exactly one matrix", "--stage"});
    refused({"--stage", "weights"}, {"2 layers", "--layer"});
    refused({"--stage", "weights", "--layer", "1"}, {"8 heads", "--head"});
    refused({"--stage", "weights,scores", "--layer", "1", "--head", "0"}, {"2 stages", "--stage"});
    refused({"--stage", "weights", "--layer", "1", "--head", "0", "--weights"}, {"--weights"});
    expectDone({"dump", "--model", "toy", "--layers", "2", "--text", cat, "--out", folder / "t.csv", "--stage",
                "concat", "--layer", "0"});
}

TEST_F(Dump, TheSameScenarioGivesTheSameBytes) {
    for (const std::string suffix : {".npz", ".json"}) {
        expectDone({"dump", "--model", "patterns", "--text", cat, "--out", folder / ("a" + suffix)});
        expectDone({"dump", "--model", "patterns", "--text", cat, "--out", folder / ("b" + suffix)});
        EXPECT_EQ(readFile(folder / ("a" + suffix)), readFile(folder / ("b" + suffix)));
    }
}

TEST_F(Dump, AFailedRunLeavesTheOldFileWhole) {
    const std::string file = folder.write("t.npz", "old");
    expectRefused({"dump", "--model", "patterns", "--text", cat, "--layer", "9", "--out", file}, {"--layer 9"});
    EXPECT_EQ(readFile(file), "old");
    EXPECT_EQ(folder.files().size(), 1U);
    expectDone({"dump", "--model", "patterns", "--text", cat, "--out", file});
    EXPECT_TRUE(readFile(file).starts_with("PK"));
    EXPECT_EQ(folder.files().size(), 1U); // nothing is left beside it
}

TEST_F(Dump, ARuleAddsTheRightMapAndTheDifference) {
    const Json all = json({"--model", "toy", "--text", "a b c", "--rule", "softmax-queries", "--head", "0"});
    const Json right = json({"--model", "toy", "--text", "a b c", "--head", "0"});
    const std::string name = "layers.0.self.weights";
    EXPECT_EQ(all["right." + name], right[name]);
    EXPECT_NE(all[name], right[name]);
    EXPECT_NEAR(all["difference." + name][0][1][2].get<double>(),
                all[name][0][1][2].get<double>() - right[name][0][1][2].get<double>(), 1e-6);
}

TEST_F(Dump, RulesCanBeRepeatedOrJoined) {
    const cli::Arguments base{"--model", "toy", "--text", "a b c", "--stage", "output"};
    cli::Arguments repeated = base, joined = base;
    repeated.insert(repeated.end(), {"--rule", "no-scale", "--rule", "concat-reshape"});
    joined.insert(joined.end(), {"--rule", "no-scale,concat-reshape"});
    EXPECT_EQ(json(repeated), json(joined));
}

TEST_F(Dump, MaskFilesMeanWhatTheirTypeSays) {
    const auto weights = [&](const std::string& mask) {
        return json({"--model", "toy", "--text", "a b", "--mask", mask, "--stage", "masked"})["layers.0.self.masked"];
    };
    const Json causal = weights("causal");
    EXPECT_EQ(weights(folder.write("flags.csv", "1,0\n1,1\n")), causal);
    EXPECT_EQ(weights(folder.write("added.csv", "0;-inf\n0;0\n")), causal);
    EXPECT_EQ(weights(folder.write("bool.npy", npyFile("|b1", "(2, 2)", std::string("\1\0\1\1", 4)))), causal);
    EXPECT_EQ(
        weights(folder.write("long.npy", npyFile("<i8", "(2, 2)", rawBytes(std::vector<std::int64_t>{1, 0, 1, 1})))),
        causal);
    // Floating point numbers are added, even when they happen to be 0 and 1.
    const std::string added =
        folder.write("float.npy", npyFile("<f4", "(2, 2)", rawBytes(std::vector<float>{1, 0, 1, 1})));
    EXPECT_NE(weights(added), causal);
    EXPECT_EQ(weights("causal+" + added)[0][0][1], "-inf");
    EXPECT_EQ(weights("none+" + added), weights(added));
}

TEST_F(Dump, IdsAreTakenAsTheyAre) {
    const Json all = json({"--model", "toy", "--ids", "5,8,13", "--pair-ids", "2"});
    EXPECT_EQ(all["ids.query"], Json::parse("[5, 8, 13]"));
    EXPECT_EQ(all["ids.key"], Json::parse("[2]"));
}

TEST_F(Dump, AModuleTakesMatricesInsteadOfTexts) {
    const std::string module = folder.write("module.safetensors", attentionModule());
    const std::string x = folder.write("x.npy", npyFile("<f4", "(3, 4)", rawBytes(std::vector<float>(12, 0.25F))));
    const Json all = json({"--model", module, "--heads", "2", "--x", x});
    EXPECT_EQ(all["layers.0.self.embedding"][2][3], 0.25);
    EXPECT_EQ(shape(json({"--model", module, "--heads", "2", "--text", cat, "--y", x})["layers.0.cross.weights"]),
              (Shape{2, 6, 3}));
    const std::string wide =
        folder.write("wide.npy", npyFile("<f4", "(3, 5)", rawBytes(std::vector<float>(15, 0.25F))));
    expectRefused({"dump", "--model", module, "--heads", "2", "--x", wide, "--out", folder / "t.npz"}, {"3 x 5", "4"});
    expectRefused({"dump", "--model", module, "--heads", "2", "--x", x, "--text", "a", "--out", folder / "t.npz"},
                  {"--x", "text"});
}

TEST_F(Dump, TheEmbeddedScenarioGivesTheSameNumbers) {
    const Json first = json({"--model", "toy", "--seed", "5", "--text", cat, "--mask", "window:2", "--temperature",
                             "0.5", "--ablate", "0:1", "--scale", "0.3"});
    const std::string scenario = folder.write("s.headscope", first["scenario"].get<std::string>());
    EXPECT_EQ(json({"--scenario", scenario}), first);
}

TEST_F(Dump, OptionsBesideAScenarioOverrideIt) {
    const Json first =
        json({"--model", "toy", "--seed", "5", "--text", cat, "--mask", "window:2", "--temperature", "0.5"});
    const std::string scenario = folder.write("s.headscope", first["scenario"].get<std::string>());
    EXPECT_EQ(json({"--scenario", scenario, "--temperature", "2"}),
              json({"--model", "toy", "--seed", "5", "--text", cat, "--mask", "window:2", "--temperature", "2"}));
    EXPECT_EQ(json({"--scenario", scenario, "--text", "a b", "--heads", "4", "--mask", "causal"}),
              json({"--model", "toy", "--seed", "5", "--heads", "4", "--text", "a b", "--mask", "causal",
                    "--temperature", "0.5"}));
    EXPECT_EQ(json({"--scenario", scenario, "--pair", "c d e"}),
              json({"--model", "toy", "--seed", "5", "--text", cat, "--pair", "c d e", "--mask", "window:2",
                    "--temperature", "0.5"}));
    EXPECT_EQ(json({"--scenario", scenario, "--model", "patterns", "--mask", "none", "--temperature", "1"}),
              json({"--model", "patterns", "--text", cat, "--mask", "none"}));
}

TEST_F(Dump, EditsOfAScenarioStayWhereTheyFit) {
    ScenarioRequest request;
    request.source.name = "toy";
    request.text = cat;
    Document document{makeScenario(std::move(request)), {}};
    const TensorId edited{LayerIndex{0}, WeightKind::WQ};
    Matrix w = *document.scenario.model->tensor(edited);
    w(2, 1) = 7.5F;
    document.scenario.model = document.scenario.model->withTensor(edited, share(std::move(w)));
    saveScenario(document, folder / "edited.headscope");
    const cli::Arguments arguments{"--scenario", folder / "edited.headscope", "--weights"};

    cli::Arguments otherText = arguments, otherSeed = arguments, otherSize = arguments;
    otherText.insert(otherText.end(), {"--text", "a b"});
    otherSeed.insert(otherSeed.end(), {"--seed", "9"});
    for (const cli::Arguments& fitting : {arguments, otherText, otherSeed})
        EXPECT_EQ(json(fitting)["layers.0.self.W_Q"][2][1], 7.5);
    const Json plain = json({"--model", "toy", "--seed", "9", "--text", cat, "--weights"});
    EXPECT_EQ(json(otherSeed)["layers.0.self.W_Q"][3], plain["layers.0.self.W_Q"][3]); // only the edited cell is kept

    otherSize.insert(otherSize.begin(), "dump");
    otherSize.insert(otherSize.end(), {"--d-model", "32", "--out", folder / "t.npz"});
    const Result noted = headscope(otherSize);
    EXPECT_EQ(noted.status, 0);
    EXPECT_TRUE(noted.err.starts_with("headscope: note: ")) << noted.err;
    EXPECT_TRUE(contains(noted.err, "L0 W_Q")) << noted.err;
}

// A comma for the point and a dot between thousands, as a German desktop has it.
class GermanNumbers : public std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};

TEST_F(Dump, NumbersHaveAPointInEveryLocale) {
    const auto everything = [&] {
        std::string text =
            csv({"--model", "toy", "--text", cat, "--stage", "scores", "--head", "0", "--temperature", "0.5"});
        text += json({"--model", "toy", "--text", cat, "--scale", "0.25"}).dump();
        text += expectDone({"heads", "--model", "patterns", "--text", cat}).out +
                expectDone({"heads", "--text", cat, "--json"}).out;
        text += expectDone({"info", "toy", "--d-model", "2048", "--heads", "4"}).out +
                expectDone({"info", "worked-example"}).out;
        return text + expectDone({"tokens", "--text", std::string(3000, 'a') + " b", "--json"}).out;
    };
    const std::string expected = everything();
    const std::locale before = std::locale::global(std::locale(std::locale::classic(), new GermanNumbers));
    std::setlocale(LC_ALL, "de_DE.UTF-8"); // where it is installed
    const std::string found = everything();
    std::locale::global(before);
    std::setlocale(LC_ALL, "C");
    EXPECT_EQ(found, expected);
}

} // namespace

} // namespace headscope::test
