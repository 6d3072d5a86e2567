// The commands on trained models: tokens, pairs, logits, info and heads of mini and story, and of hub folders.
#include "tests/app/cli_test.h"
#include "tests/support/golden.h"

#include <set>

namespace headscope::test {

namespace {

using Json = nlohmann::ordered_json;
using testing::sharedData;

// What a field holds in every object of a list.
template<class T>
std::vector<T> column(const Json& list, const std::string& field) {
    std::vector<T> out;
    for (const Json& item : list)
        out.push_back(item[field].get<T>());
    return out;
}

Json jsonOf(cli::Arguments arguments) {
    arguments.emplace_back("--json");
    return Json::parse(expectDone(arguments).out);
}

const std::string cat = "The cat sat on the mat";

class Trained : public ::testing::Test {
protected:
    Json dump(cli::Arguments arguments) {
        arguments.insert(arguments.begin(), "dump");
        arguments.insert(arguments.end(), {"--out", folder / "t.json"});
        const Result result = headscope(arguments);
        EXPECT_EQ(result.status, 0) << result.err;
        notes = result.err;
        return Json::parse(readFile(folder / "t.json"));
    }
    void refused(cli::Arguments arguments, const std::vector<std::string>& parts) {
        arguments.insert(arguments.begin(), "dump");
        arguments.insert(arguments.end(), {"--out", folder / "no.json"});
        expectRefused(arguments, parts);
        EXPECT_FALSE(std::filesystem::exists(folder / "no.json"));
    }

    TemporaryFolder folder;
    std::string notes;
};

// ---- tokens

using TrainedTokens = Trained;

TEST_F(TrainedTokens, OfAPairAreOneSequenceWithARangeInEachText) {
    const std::string first = "Where is the cat?", second = "On the Mat";
    const Json tokens = jsonOf({"tokens", "--text", first, "--pair", second});
    EXPECT_EQ(column<std::string>(tokens, "piece"), (std::vector<std::string>{"[CLS]", "where", "is", "the", "cat", "?",
                                                                              "[SEP]", "on", "the", "mat", "[SEP]"}));
    EXPECT_EQ(column<int>(tokens, "segment"), (std::vector<int>{0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1}));
    EXPECT_EQ(column<int>(tokens, "index"), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
    for (const Json& token : tokens) {
        EXPECT_EQ(token["special"].get<bool>(), token["piece"].get<std::string>().starts_with('['));
        EXPECT_EQ(token["start"].is_null(), token["special"].get<bool>());
        if (token["special"])
            continue;
        const std::string& source = token["segment"] == 0 ? first : second;
        const std::size_t start = token["start"], end = token["end"];
        std::string typed = source.substr(start, end - start);
        std::transform(typed.begin(), typed.end(), typed.begin(),
                       [](char c) { return c < 'a' && c >= 'A' ? c + 32 : c; });
        EXPECT_EQ(token["text"], typed); // the model makes letters small
    }
}

TEST_F(TrainedTokens, WithoutSpecialOnesAreTheOthers) {
    const Json all = jsonOf({"tokens", "--text", cat}), bare = jsonOf({"tokens", "--text", cat, "--no-special"});
    std::vector<int> expected;
    for (const Json& token : all)
        if (!token["special"])
            expected.push_back(token["id"]);
    EXPECT_EQ(column<int>(bare, "id"), expected);
    EXPECT_EQ(bare.size() + 2, all.size());
}

TEST_F(TrainedTokens, ASpecialTokenThatWasTypedHasItsRange) {
    const Json tokens = jsonOf({"tokens", "--text", "the [MASK] sat"});
    EXPECT_EQ(tokens[2], Json::parse(R"({"index": 2, "id": 103, "piece": "[MASK]", "text": "[MASK]", "start": 4,
                                         "end": 10, "special": true, "segment": 0})"));
}

TEST_F(TrainedTokens, OfNoTextAreTheAddedOnes) {
    EXPECT_EQ(column<int>(jsonOf({"tokens", "--text", ""}), "id"), (std::vector<int>{101, 102}));
    EXPECT_EQ(jsonOf({"tokens", "--text", "", "--no-special"}).size(), 0U);
}

TEST_F(TrainedTokens, ATokenizerAloneGivesTheTokensOfItsModel) {
    HEADSCOPE_NEEDS_SHARED_DATA("tokenizers");
    const std::string tokenizers = sharedData("tokenizers").string();
    const std::string text = "It's 12 o'clock, na\u00efve \u732b";
    const Json mini = jsonOf({"tokens", "--text", text, "--pair", cat});
    for (const std::string file : {"bert-base-uncased", "bert-base-uncased/tokenizer.json",
                                   "bert-base-uncased/vocab.txt", "gguf-vocab/ggml-vocab-bert-bge.gguf"})
        EXPECT_EQ(column<int>(jsonOf({"tokens", "--tokenizer", tokenizers + "/" + file, "--text", text, "--pair", cat}),
                              "id"),
                  column<int>(mini, "id"))
            << file;
    const Json gpt2 = jsonOf({"tokens", "--tokenizer", tokenizers + "/gpt2", "--text", text});
    EXPECT_EQ(jsonOf({"tokens", "--tokenizer", tokenizers + "/gpt2/tokenizer.json", "--text", text}), gpt2);
    for (const Json& token : gpt2)
        EXPECT_FALSE(token["start"].is_null());
    expectRefused({"tokens", "--tokenizer", tokenizers, "--text", "a"}, {tokenizers});
    expectRefused({"tokens", "--tokenizer", tokenizers + "/gpt2", "--model", "mini", "--text", "a"},
                  {"--tokenizer", "--model"});
}

TEST_F(TrainedTokens, ADecoderTakesOneText) {
    expectRefused({"tokens", "--model", "story", "--text", "a", "--pair", "b"}, {"--pair", "story", "one text"});
    expectRefused({"tokens", "--model", "patterns", "--text", "a", "--pair", "b"}, {"--pair", "patterns", "one text"});
}

// ---- pairs, logits, masks, limits

TEST_F(Trained, APairIsOneSequenceOfSelfAttention) {
    const Json all = dump({"--text", "a cat", "--pair", "the mat", "--layer", "0", "--stage", "weights"});
    EXPECT_EQ(all["ids.query"], Json::parse("[101, 1037, 4937, 102, 1996, 13523, 102]"));
    EXPECT_EQ(all["ids.key"], all["ids.query"]);
    EXPECT_EQ(all["layers.0.self.weights"][11].size(), 7U);
    EXPECT_EQ(dump({"--ids", "101,1037,4937,102", "--pair-ids", "1996,13523,102", "--layer", "0", "--stage",
                    "weights"})["layers.0.self.weights"],
              all["layers.0.self.weights"]);
    refused({"--text", "a cat", "--pair-ids", "5"}, {"--pair-ids", "--ids"});
    refused({"--text", "a cat", "--pair", " "}, {"pair", "no visible character"});
}

TEST_F(Trained, AScenarioKeepsBothTexts) {
    for (const cli::Arguments& texts : {cli::Arguments{"--text", "a \"cat\"\t\u00e9", "--pair", "the\nmat"},
                                        cli::Arguments{"--ids", "101,1037,102", "--pair-ids", "1996,102"}}) {
        cli::Arguments arguments = texts;
        arguments.insert(arguments.end(), {"--layer", "5", "--stage", "weights", "--hidden"});
        const Json first = dump(arguments);
        const std::string scenario = folder.write("s.headscope", first["scenario"].get<std::string>());
        EXPECT_EQ(dump({"--scenario", scenario, "--layer", "5", "--stage", "weights", "--hidden"}), first);
    }
    const std::string scenario = folder.write(
        "s.headscope", dump({"--text", "a", "--pair", "b c", "--stage", "weights"})["scenario"].get<std::string>());
    EXPECT_EQ(dump({"--scenario", scenario, "--text", "x y", "--stage", "weights"})["tokens.query"],
              Json::parse(R"(["[CLS]", "x", "y", "[SEP]", "b", "c", "[SEP]"])"));
}

TEST_F(Trained, TheMostLikelyNextTokenIsTheOneOfTheReference) {
    const Json all = dump({"--model", "story", "--text",
                           "Anna has a red ball. Tom sees the ball. He wants the ball. "
                           "Anna gives the ball to",
                           "--logits", "--hidden", "--stage", "weights", "--head", "0"});
    const Json& last = all["logits"].back();
    ASSERT_EQ(last.size(), 1000U);
    EXPECT_EQ(all["logits"].size(), all["ids.query"].size());
    const auto best = std::max_element(last.begin(), last.end()) - last.begin();
    EXPECT_EQ(best, 583); // " Tom", as in the sentence
    EXPECT_EQ(all["hidden"][0].size(), 128U);
}

TEST_F(Trained, LogitsNeedAnOutputLayer) {
    refused({"--text", cat, "--logits"}, {"--logits", "output layer", "mini"});
    expectRefused({"dump", "--model", "story", "--text", cat, "--logits", "--stage", "weights", "--layer", "0",
                   "--head", "0", "--out", folder / "t.csv"},
                  {"--logits", ".npz"});
}

TEST_F(Trained, AReplacedMaskIsNoted) {
    const cli::Arguments base{"--model", "story", "--text", cat, "--stage", "weights"};
    const auto with = [&](const std::string& mask) {
        cli::Arguments arguments = base;
        arguments.insert(arguments.end(), {"--mask", mask});
        return dump(arguments);
    };
    const Json own = dump(base);
    EXPECT_EQ(own["layers.0.self.weights"][0][0][1], 0.0);
    const Json open = with("none");
    EXPECT_TRUE(notes.starts_with("headscope: note: ")) << notes;
    EXPECT_TRUE(contains(notes, "--mask none replaces the causal mask of story")) << notes;
    EXPECT_NE(open["layers.0.self.weights"][0][0][1], 0.0);
    for (const std::string kept : {"model", "causal", "model+window:2"}) {
        with(kept);
        EXPECT_EQ(notes, "") << kept;
    }
}

TEST_F(Trained, LongTextsNameBothNumbers) {
    std::string words;
    for (int i = 0; i < 600; ++i)
        words += "the ";
    refused({"--model", "mini", "--text", words}, {"602", "512", "mini"});
    refused({"--model", "story", "--text", words}, {"tokens", "512", "story"});
}

TEST_F(Trained, WordsAndSpecialTokensShapeTheTableOfOneMatrix) {
    const auto table = [&](cli::Arguments options) {
        cli::Arguments arguments{"dump", "--model", "mini", "--text", "The embeddings don't sleep", "--layer", "1"};
        arguments.insert(arguments.end(), {"--head", "2", "--stage", "weights", "--out", folder / "t.csv"});
        arguments.insert(arguments.end(), options.begin(), options.end());
        expectDone(arguments);
        return readFile(folder / "t.csv");
    };
    EXPECT_TRUE(table({}).starts_with(",[CLS],the,em,bed,")) << table({});
    EXPECT_TRUE(table({"--words", "--special", "hide"}).starts_with(",the,embeddings,don't,sleep\n"));
    EXPECT_NE(table({"--special", "hide"}), table({"--special", "drop"}));
    EXPECT_EQ(table({"--special", "unranged"}), table({}));
}

TEST_F(Trained, ArraysHoldEveryTokenAndSaySo) {
    const Result result = headscope({"dump", "--text", cat, "--words", "--layer", "0", "--out", folder / "t.json"});
    EXPECT_EQ(result.status, 0);
    EXPECT_TRUE(result.err.starts_with("headscope: note: --words")) << result.err;
}

TEST_F(Trained, OptionsWithoutUseAreNamed) {
    refused({"--text", cat, "--special", "never"}, {"--special", "never", "show, hide, unranged or drop"});
    for (const std::string option : {"--target", "--target-ids", "--site"})
        refused({"--text", cat, option, "5"}, {option + " is for encoder-decoder", "mini"});
    refused({"--model", "story", "--text", "a", "--pair", "b"}, {"--pair", "story", "a decoder takes one text"});
    refused({"--model", "story", "--ids", "5", "--pair-ids", "6"}, {"--pair-ids", "a decoder takes one text"});
    refused({"--text", cat, "--heads", "4"}, {"--heads", "mini"});
    refused({"--text", cat, "--x", "x.npy"}, {"--x", "mini"});
    refused({"--ids", "30522"}, {"30522"});
}

// Published logits of a model whose folder has no tokenizer: of every 200th token, after [0, 0, 0, 52].
TEST_F(Trained, AFolderWithoutTokenizerTakesIds) {
    HEADSCOPE_NEEDS_SHARED_DATA("checkpoints/tiny-random-gpt2");
    const std::string model = sharedData("checkpoints/tiny-random-gpt2").string();
    const Json published = Json::parse(readFile(model + "/expected.json"))["sampled_logits_every_200"][0];
    const Json all = dump({"--model", model, "--ids", "0,0,0,52", "--logits", "--stage", "weights", "--layer", "0"});
    for (std::size_t i = 0; i < published.size(); ++i)
        EXPECT_NEAR(all["logits"][i / 5][i % 5 * 200].get<double>(), published[i].get<double>(), 1e-3) << i;
    refused({"--model", model, "--text", cat}, {"has no tokenizer", "--ids"});
    refused({"--model", model, "--ids", "5,1000"}, {"1000", "0 to 999"});
    expectRefused({"tokens", "--model", model, "--text", cat}, {"has no tokenizer"});
    EXPECT_TRUE(contains(expectDone({"info", model}).out, "ids alone"));
}

// ---- heads

TEST_F(Trained, HeadsAreLabelledByWhatTheyDo) {
    const Json heads = jsonOf({"heads", "--text", cat});
    ASSERT_EQ(heads.size(), 72U);
    // What is known of all-MiniLM-L6-v2 on this sentence: L0 H2 puts all of a row on the token before, L1 H8 0.58 on
    // the one after, and in layers 1 to 4 most heads rest on [CLS].
    EXPECT_EQ(heads[2]["label"], "previous");
    EXPECT_NEAR(heads[2]["previous"].get<double>(), 1.00, 0.005);
    EXPECT_EQ(heads[1 * 12 + 8]["label"], "next");
    EXPECT_NEAR(heads[1 * 12 + 8]["next"].get<double>(), 0.58, 0.005);
    const auto labels = column<std::string>(heads, "label");
    EXPECT_GT(std::count(labels.begin() + 12, labels.begin() + 60, "first"), 24);
    EXPECT_GE(std::count(labels.begin(), labels.end(), "separator"), 1); // [CLS] and [SEP] together

    // A text of invented words that repeats: one head of story finds what came after them the last time.
    const Json story = jsonOf({"heads", "--model", "story", "--text", "pim tako lu pim tako lu pim"});
    ASSERT_EQ(story.size(), 12U);
    const auto induction = column<std::string>(story, "label");
    EXPECT_GE(std::count(induction.begin(), induction.end(), "induction"), 1);
    for (const Json& head : story)
        EXPECT_EQ(head["next"], 0.0); // causal

    const Json cell = jsonOf({"heads", "--text", cat, "--cell", "3,2"}); // sat -> cat
    EXPECT_EQ(cell[0]["cell"].get<double>(),
              std::max_element(cell.begin(), cell.end(), [](const Json& a, const Json& b) {
                  return a["cell"] < b["cell"];
              })->at("cell"));
    expectRefused({"heads", "--text", cat, "--cell", "8,0"}, {"--cell 8,0", "8 x 8"});
}

// ---- info

TEST_F(Trained, InfoSaysWhatTheConfigSays) {
    const Json mini = jsonOf({"info", "mini"});
    EXPECT_EQ(mini["family"], "bert");
    EXPECT_EQ(mini["block"], "post-norm");
    EXPECT_EQ(mini["norm"], "LayerNorm");
    EXPECT_EQ(mini["d_ff"], 1536);
    EXPECT_EQ(mini["activation"], "gelu");
    EXPECT_EQ(mini["vocabulary"], 30522);
    EXPECT_EQ(mini["max_tokens"], 512);
    EXPECT_TRUE(mini["output_layer"].is_null());
    EXPECT_EQ(mini["pair"], "second segment");

    const Json story = jsonOf({"info", "story"});
    EXPECT_EQ(story["family"], "llama");
    EXPECT_EQ(story["block"], "pre-norm");
    EXPECT_EQ(story["norm"], "RMSNorm");
    EXPECT_EQ(story["activation"], "silu");
    EXPECT_TRUE(story["gated"]);
    EXPECT_TRUE(story["causal"]);
    EXPECT_EQ(story["rope"], Json::parse(R"({"theta": 10000.0, "dims": 32, "scaled": false})"));
    EXPECT_EQ(story["output_layer"], "tied");
    EXPECT_EQ(story["max_tokens"], 512);
    // 1000 rows; per layer four d x d, three d x d_ff and two gains; the last gain.
    EXPECT_EQ(story["parameters"], 1000 * 128 + 3 * (4 * 128 * 128 + 3 * 128 * 256 + 2 * 128) + 128);

    const std::string text = expectDone({"info", "story"}).out;
    for (const std::string part : {"RMSNorm", "SwiGLU", "theta 10000", "causal", "tied", "512 tokens", "1 000"})
        EXPECT_TRUE(contains(text, part)) << part;
    EXPECT_FALSE(contains(text, "no MLP"));
}

TEST_F(Trained, InfoOfAFolderIsTheModelAndEveryEntry) {
    HEADSCOPE_NEEDS_SHARED_DATA("reference");
    const auto info = [](const std::string& name) {
        return jsonOf({"info", sharedData("reference/" + name).string()});
    };
    const Json mistral = info("mistral");
    EXPECT_EQ(mistral["kind"], "model");
    EXPECT_EQ(mistral["sliding_window"], 4);
    EXPECT_EQ(mistral["kv_heads"], 2);
    EXPECT_EQ(mistral["d_k"], 16);
    EXPECT_EQ(mistral["output_layer"], "own");
    EXPECT_EQ(mistral["entries"].size(), 3U + 2 * 9);
    const Json neox = info("gpt-neox");
    EXPECT_EQ(neox["block"], "parallel");
    EXPECT_EQ(neox["rope"]["dims"], 4);
    EXPECT_EQ(info("gpt2")["position"], "learned");
    EXPECT_EQ(info("gpt2")["max_tokens"], 96);
    EXPECT_EQ(info("llama")["entries"].size(), 3U + 2 * 9); // of all five files
    EXPECT_EQ(info("qwen2")["output_layer"], "tied");
    expectRefused({"info", sharedData("reference/bert").string(), "--heads", "3"}, {"--heads", "bert"});

    const Json t5 = info("t5");
    EXPECT_EQ(t5["kind"], "model");
    EXPECT_EQ(t5["sites"]["encoder.self"]["position"], "relative");
    EXPECT_EQ(t5["sites"]["decoder.cross"]["layers"], 2);
    EXPECT_EQ(t5["output_layer"], "tied");
}

TEST_F(Trained, InfoOfATensorFileAloneSaysWhyItIsNoModel) {
    HEADSCOPE_NEEDS_SHARED_DATA("reference/bert");
    const std::string file = sharedData("reference/bert/model.safetensors").string();
    const std::string alone = folder.write("model.safetensors", readFile(file));
    EXPECT_EQ(jsonOf({"info", alone})["kind"], "arrays");
    EXPECT_TRUE(contains(jsonOf({"info", file})["why_no_model"], "name the folder"));
}

TEST_F(Trained, InfoOfAGgufFileIsEveryEntryAndTheModel) {
    HEADSCOPE_NEEDS_SHARED_DATA("reference/gguf");
    const Json qwen = jsonOf({"info", sharedData("reference/gguf/qwen2-k-quants.gguf").string()});
    EXPECT_EQ(qwen["kind"], "model");
    EXPECT_EQ(qwen["family"], "qwen2");
    EXPECT_EQ(qwen["metadata"]["qwen2.block_count"], qwen["layers"].get<double>());
    EXPECT_EQ(qwen["metadata"]["tokenizer.ggml.tokens"]["count"], qwen["vocabulary"]);
    std::set<std::string> types;
    for (const Json& entry : qwen["entries"])
        types.insert(entry["type"].get<std::string>());
    for (const std::string type : {"Q4_K", "Q6_K", "Q3_K"})
        EXPECT_TRUE(types.contains(type)) << type;
}

// Two seconds are for a machine of its own; the test's own limit finds what hangs.
TEST_F(Trained, InfoOfEveryMalformedGgufFileIsAsItsManifestSays) {
    HEADSCOPE_NEEDS_SHARED_DATA("malformed/manifest.json");
    const Json manifest = Json::parse(readFile(sharedData("malformed/manifest.json").string()));
    for (const auto& [name, about] : manifest.items()) {
        if (!name.starts_with("gguf/"))
            continue;
        const Result result = headscope({"info", sharedData("malformed/" + name).string()});
        if (result.status != 0)
            expectFailure(result, 2, {name.substr(5)});
        if (about["expect"] != "either") {
            EXPECT_EQ(result.status, about["expect"] == "load" ? 0 : 2) << name << ": " << about["what"];
        }
    }
}

} // namespace

} // namespace headscope::test
