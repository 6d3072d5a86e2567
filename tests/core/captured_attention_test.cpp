// Attention captured elsewhere: what is in the file is what is shown and written, and nothing else is.
#include "core/analysis/metrics.h"
#include "core/attention/explain.h"
#include "core/exchange/scenario_file.h"
#include "core/model/captured_attention.h"
#include "tests/support/files.h"

#include <cmath>
#include <numeric>

namespace headscope::testing {
namespace {

// (count, n, m): rows of different numbers that sum to 1.
template<class T>
std::vector<T> softRows(int count, int n, int m) {
    std::vector<T> out;
    for (int r = 0; r < count * n; ++r) {
        std::vector<double> row;
        for (int j = 0; j < m; ++j)
            row.push_back(1 + (r * 7 + j * 3) % 11);
        const double sum = std::accumulate(row.begin(), row.end(), 0.0);
        for (const double v : row)
            out.push_back(static_cast<T>(v / sum));
    }
    return out;
}

std::vector<std::string> words(int count) {
    const std::vector<std::string> all{"the", "cat", "sat", "on", "mat", "."};
    return {all.begin(), all.begin() + count};
}

Scenario opened(const std::string& path) {
    ScenarioRequest request;
    request.source.name = path;
    return makeScenario(request);
}

class Captured : public ::testing::Test {
protected:
    std::string write(const std::vector<NamedArray>& arrays, const std::string& name = "c.npz") {
        return writeArrays(folder / name, arrays);
    }
    void refused(const std::vector<NamedArray>& arrays, const std::vector<std::string>& parts) {
        const std::string path = write(arrays, "bad.npz");
        const std::string sentence = refusal<LoadError>([&] { opened(path); });
        for (const std::string& part : parts)
            EXPECT_NE(sentence.find(part), std::string::npos) << part << " in: " << sentence;
    }
    static void expectShown(const Scenario& s, const std::vector<float>& values) {
        const SharedTrace t = trace(s, referenceBackend());
        std::size_t at = 0;
        for (int l = 0; l < t->config().layers; ++l)
            for (int h = 0; h < t->config().heads; ++h) {
                const SharedMatrix m = stageMatrix(*t, LayerIndex{l}, HeadIndex{h}, Stage::Weights);
                ASSERT_EQ(m->rows(), s.queries());
                ASSERT_EQ(m->cols(), s.keys());
                for (const float v : m->values())
                    ASSERT_EQ(v, values.at(at++)) << "L" << l << " H" << h;
            }
        EXPECT_EQ(at, values.size());
    }
    TemporaryFolder folder;
};

TEST_F(Captured, EveryFormShowsTheSameNumbers) {
    const int L = 2, h = 3, n = 4;
    const std::vector<float> all = softRows<float>(L * h, n, n);
    const std::vector<float> first(all.begin(), all.begin() + h * n * n), second(all.begin() + h * n * n, all.end());
    const NamedArray tokens{"tokens", {n}, words(n)};
    expectShown(opened(write({{"weights", {L, h, n, n}, all}, tokens})), all);
    expectShown(opened(write({{"weights", {L, 1, h, n, n}, all}, tokens})), all);
    expectShown(opened(write({{"weights.0", {h, n, n}, first}, {"weights.1", {1, h, n, n}, second}, tokens})), all);
    expectShown(opened(write({{"weights", {h, n, n}, first}, tokens})), first);
    expectShown(opened(write({{"weights", {n, n}, {std::vector<float>(all.begin(), all.begin() + n * n)}}, tokens})),
                {all.begin(), all.begin() + n * n});
    const Scenario s = opened(write({{"weights", {L, h, n, n}, all}, {"tokens", {1, n}, words(n)}}));
    EXPECT_EQ(s.query.tokens[1].text, "cat");
    EXPECT_FALSE(s.key.has_value());
}

TEST_F(Captured, KeysOfTheirOwnAreCrossAttention) {
    const Scenario s = opened(write({{"weights", {2, 3, 5}, softRows<float>(2, 3, 5)},
                                     {"tokens", {3}, std::vector<std::string>{"<s>", "\u0120le", "\u0120chat"}},
                                     {"tokens_key", {5}, words(5)}}));
    EXPECT_EQ(s.keys(), 5);
    EXPECT_TRUE(s.model->config().cross);
    EXPECT_EQ(s.query.tokens[1].piece, "\u0120le");
    EXPECT_EQ(s.query.tokens[1].text, "le"); // as people read it
    EXPECT_TRUE(s.query.tokens[0].special);
    EXPECT_EQ(s.key->tokens[4].text, "mat");
}

TEST_F(Captured, OtherStagesSayThatTheyAreNotInTheFile) {
    const Scenario s = opened(write({{"weights", {1, 4, 4}, softRows<float>(1, 4, 4)}}));
    const SharedTrace t = trace(s, referenceBackend());
    for (const StageInfo& info : stageTable()) {
        EXPECT_EQ(stageAvailable(*t, info.stage), info.stage == Stage::Weights) << info.id;
        if (info.stage != Stage::Weights) {
            const std::string why = std::string(info.id) + " is not in c.npz: it holds weights only";
            EXPECT_EQ(whyNoStage(s, info.stage), why);
            EXPECT_EQ(refusal<InputError>([&] { stageMatrix(*t, LayerIndex{0}, HeadIndex{0}, info.stage); }), why);
        }
    }
    const CellExplanation e = explainCell(*t, LayerIndex{0}, HeadIndex{0}, Stage::Weights, 1, 2);
    EXPECT_EQ(e.value, (*stageMatrix(*t, LayerIndex{0}, HeadIndex{0}, Stage::Weights))(1, 2));
    EXPECT_TRUE(e.terms.empty());
}

TEST_F(Captured, RowsThatDoNotSumToOneStayAndAreNoted) {
    std::vector<float> values = softRows<float>(2, 3, 3);
    for (std::size_t j = 0; j < 3; ++j)
        values[9 + 3 + j] *= 0.5F; // head 1, row 1
    const Scenario s = opened(write({{"weights", {2, 3, 3}, values}, {"tokens", {3}, words(3)}}));
    expectShown(s, values);
    ASSERT_EQ(s.model->captured()->remarks.size(), 1U);
    EXPECT_NE(s.model->captured()->remarks[0].find("1 of 6 rows do not sum to 1, the first L0 H1, row 1, to 0.5"),
              std::string::npos)
        << s.model->captured()->remarks[0];
}

// What a softmax gives in float16 is off by its rounding, and is no remark.
TEST_F(Captured, RoundedRowsAreNoRemark) {
    std::vector<float> halves;
    for (const float v : softRows<float>(1, 6, 6))
        halves.push_back(std::round(v * 2048) / 2048);
    const Scenario s = opened(write({{"weights", {1, 6, 6}, halves, true}}));
    EXPECT_TRUE(s.model->captured()->remarks.empty());
}

TEST_F(Captured, ArraysAreWrittenInTheirOwnType) {
    const std::vector<double> doubles = softRows<double>(4, 3, 3);
    const auto dumped = [&](const NamedArray& weights) {
        const SharedTrace t = trace(opened(write({weights, {"tokens", {3}, words(3)}})), referenceBackend());
        DumpOptions second;
        second.heads = {HeadIndex{1}};
        writeArrays(folder / "all.npz", dumpArrays(*t, {}));
        writeArrays(folder / "second.npz", dumpArrays(*t, second));
        return openTensorFile(folder / "all.npz");
    };
    const auto file = dumped({"weights", {2, 2, 3, 3}, doubles});
    std::vector<double> back;
    for (const char* name : {"layers.0.self.weights", "layers.1.self.weights"}) {
        const TensorEntry* e = file->find(name);
        ASSERT_NE(e, nullptr);
        EXPECT_EQ(e->type, "<f8");
        EXPECT_EQ(e->shape, (std::vector<std::int64_t>{2, 3, 3}));
        const auto values = file->readDoubles(*e);
        back.insert(back.end(), values.begin(), values.end());
    }
    EXPECT_EQ(back, doubles); // to the last bit
    const auto cut = openTensorFile(folder / "second.npz");
    const auto values = cut->readDoubles(*cut->find("layers.1.self.weights"));
    EXPECT_EQ(values, std::vector<double>(doubles.begin() + 27, doubles.end()));

    std::vector<float> halves;
    for (const double v : doubles)
        halves.push_back(static_cast<float>(std::round(v * 1024) / 1024));
    halves[0] = 0x1p-24F; // the smallest float16
    const auto half = dumped({"weights", {2, 2, 3, 3}, halves, true});
    EXPECT_EQ(half->find("layers.0.self.weights")->type, "<f2");
    EXPECT_EQ(half->read(*half->find("layers.0.self.weights")), Floats(halves.begin(), halves.begin() + 18));
}

TEST_F(Captured, MetricsAreThoseOfTheWeights) {
    std::vector<float> previous(16, 0.0F);
    for (std::size_t i = 0; i < 4; ++i)
        previous[i * 4 + (i > 0 ? i - 1 : 0)] = 1;
    const Scenario s = opened(write({{"weights", {4, 4}, previous}, {"tokens", {4}, words(4)}}));
    const HeadMetrics m = headMetrics(*trace(s, referenceBackend()), LayerIndex{0}, HeadIndex{0});
    EXPECT_EQ(m.previous, 1.0);
    EXPECT_EQ(m.entropy, 0.0);
    EXPECT_TRUE(s.model->config().causal); // nothing above the diagonal
}

TEST_F(Captured, OwnDumpsShowEveryStageThatIsInThem) {
    ScenarioRequest request;
    request.source.name = "toy";
    request.source.toy.layers = 2;
    request.source.toy.kvHeads = 4;
    request.source.toy.position = Position::Rope;
    request.text = "a rose is a rose";
    const SharedTrace computed = trace(makeScenario(request), referenceBackend());
    DumpOptions weightsToo;
    weightsToo.weights = true;
    const Scenario s = opened(write(dumpArrays(*computed, weightsToo)));
    const SharedTrace shown = trace(s, referenceBackend());
    EXPECT_EQ(s.query.tokens[1].text, "rose");
    for (const StageInfo& info : stageTable()) {
        ASSERT_EQ(stageAvailable(*shown, info.stage), stageAvailable(*computed, info.stage)) << info.id;
        for (int l = 0; l < 2; ++l)
            for (int h = 0; h < 8 && stageAvailable(*computed, info.stage); ++h)
                EXPECT_EQ(*stageMatrix(*shown, LayerIndex{l}, HeadIndex{h}, info.stage),
                          *stageMatrix(*computed, LayerIndex{l}, HeadIndex{h}, info.stage))
                    << info.id;
    }
}

// As many keys as queries do not make one text of two.
TEST_F(Captured, AnOwnDumpOfCrossAttentionKeepsItsKeys) {
    ScenarioRequest request;
    request.source.name = "toy";
    request.text = "the black cat";
    request.pair = "le chat noir";
    const SharedTrace computed = trace(makeScenario(request), referenceBackend());
    const Scenario s = opened(write(dumpArrays(*computed, {})));
    ASSERT_TRUE(s.key.has_value());
    EXPECT_EQ(s.key->tokens[1].text, "chat");
    EXPECT_TRUE(stageAvailable(s, Stage::EmbeddingKey));
}

TEST_F(Captured, OfAnEncoderDecodersDumpTheCrossingAttentionIsShown) {
    const std::vector<float> cross = softRows<float>(2, 3, 5);
    const NamedArray query{"tokens.query", {3}, std::vector<std::string>{"</s>", "le", "chat"}},
        key{"tokens.key", {5}, words(5)}, encoder{"encoder.layers.0.self.weights", {2, 5, 5}, softRows<float>(2, 5, 5)},
        decoder{"decoder.layers.0.self.weights", {2, 3, 3}, softRows<float>(2, 3, 3)};
    const Scenario s =
        opened(write({encoder, decoder, {"decoder.layers.0.cross.weights", {2, 3, 5}, cross}, query, key}));
    expectShown(s, cross);
    EXPECT_EQ(s.query.tokens[2].text, "chat");
    EXPECT_EQ(s.key->tokens[2].text, "sat");
    const auto& notes = s.model->config().notes;
    EXPECT_NE(std::ranges::find(notes, "shown is decoder.cross; the file has 2 other kinds of attention"), notes.end());
    // The encoder reads the text that the decoder's keys come from.
    const Scenario alone = opened(write({encoder, query, key}));
    EXPECT_EQ(alone.query.tokens[2].text, "sat");
    EXPECT_FALSE(alone.key.has_value());
}

TEST_F(Captured, AScenarioOfItOpensAgain) {
    const std::string path = write({{"weights", {2, 3, 3}, softRows<float>(2, 3, 3)}, {"tokens", {3}, words(3)}});
    Document document;
    document.scenario = opened(path);
    document.view.heads = {HeadIndex{1}};
    saveScenario(document, folder / "c.headscope");
    const Document again = openScenario(folder / "c.headscope");
    EXPECT_EQ(again.scenario.query, document.scenario.query);
    EXPECT_EQ(again.view, document.view);
    writeFile(path, readFile(path) + " ");
    EXPECT_NE(refusal<LoadError>([&] { openScenario(folder / "c.headscope"); }).find("changed"), std::string::npos);
}

TEST_F(Captured, WhatDoesNotFitIsRefusedByName) {
    const std::vector<float> one = softRows<float>(1, 3, 3);
    refused({{"weights", {3, 3}, one}, {"tokens", {4}, words(4)}}, {"bad.npz", "tokens", "3 strings", "found 4"});
    refused({{"weights", {3, 3}, one}, {"tokens", {3}, words(3)}, {"tokens_key", {2}, words(2)}},
            {"tokens_key", "3 strings"});
    refused({{"weights", {2, 3}, softRows<float>(1, 2, 3)}, {"tokens", {2}, words(2)}},
            {"tokens_key", "3 strings", "none"});
    refused({{"weights", {9}, one}}, {"weights", "(layers, heads, queries, keys)", "found 9"});
    refused({{"weights.0", {3, 3}, one}, {"weights.2", {3, 3}, one}}, {"weights.1", "weights.2"});
    refused({{"weights.0", {3, 3}, one}, {"weights.1", {2, 3, 3}, softRows<float>(2, 3, 3)}},
            {"weights.1", "1 x 3 x 3", "2 x 3 x 3"});
    refused({{"weights", {3, 3}, std::vector<std::int64_t>(9, 1)}}, {"weights", "floating-point", "<i8"});
    std::vector<float> nan = one;
    nan[5] = NAN;
    refused({{"weights", {3, 3}, nan}}, {"weights", "finite", "nan", "row 1, column 2"});
    refused({{"weights", {3, 3}, one}, {"tokens", {3}, std::vector<std::int64_t>{1, 2, 3}}}, {"tokens", "unicode"});
    refused({{"layers.0.self.weights", {1, 3, 3}, one}, {"heads", {1}, std::vector<float>{NAN}}},
            {"heads", "whole numbers", "nan"});
    refused({{"layers.0.self.weights", {1, 3, 3}, one}, {"layers.0.self.scores", {1, 3, 2}, softRows<float>(1, 3, 2)}},
            {"layers.0.self.scores", "1 x 3 x 3", "1 x 3 x 2"});
}

// A lone array is attention only where it can be some.
TEST_F(Captured, ALoneArrayWithNegativeNumbersIsNoAttention) {
    const std::string npz = write({{"x", {2, 3}, std::vector<float>{1, 0, 0, 0.5F, 1, -0.5F}}});
    const std::string bytes = readFile(npz), magic = "\x93NUMPY";
    const std::string path = writeFile(folder / "x.npy", bytes.substr(bytes.find(magic), 128 + 24));
    const std::string sentence = refusal<LoadError>([&] { opened(path); });
    EXPECT_NE(sentence.find("x.npy: expected attention weights of 0 or more"), std::string::npos) << sentence;
}

TEST_F(Captured, WhatAsksForAComputationIsRefusedByName) {
    ScenarioRequest request;
    request.source.name = write({{"weights", {3, 3}, softRows<float>(1, 3, 3)}, {"tokens", {3}, words(3)}});
    const auto with = [&](const char* option, const auto& change) {
        ScenarioRequest changed = request;
        change(changed);
        const std::string sentence = refusal<InputError>([&] { makeScenario(changed); });
        EXPECT_TRUE(sentence.starts_with(option)) << sentence;
        EXPECT_NE(sentence.find("c.npz"), std::string::npos) << sentence;
    };
    with("--text", [](ScenarioRequest& r) { r.text = "a b c"; });
    with("--ids", [](ScenarioRequest& r) { r.ids = std::vector<std::int64_t>{1}; });
    with("--pair", [](ScenarioRequest& r) { r.pair = "a"; });
    with("--mask", [](ScenarioRequest& r) { r.mask = parseMask("causal"); });
    with("--scale", [](ScenarioRequest& r) { r.scale = parseScale("none"); });
    with("--temperature", [](ScenarioRequest& r) { r.temperature = 2; });
    with("--rule", [](ScenarioRequest& r) { r.rules = headscope::with({}, Rule::NoScale); });
    with("--ablate", [](ScenarioRequest& r) { r.interventions.push_back({}); });
    with("--heads", [](ScenarioRequest& r) { r.source.heads = 1; });
}

} // namespace
} // namespace headscope::testing
