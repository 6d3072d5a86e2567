// What a config.json may say of rotary positions, windows, padding and tied layers; and sites of unequal width.
#include "core/attention/head_problem.h"
#include "core/attention/trace.h"
#include "core/exchange/dump.h"
#include "core/model/checkpoint.h"
#include "core/tensor/errors.h"
#include "tests/support/checkpoints.h"
#include "tests/support/hub_folders.h"

#include <cmath>

namespace headscope {
namespace {

using namespace testing;
using nlohmann::json;

// A Llama of 4 heads with d_k 16, for configs alone.
json llama() {
    return {{"model_type", "llama"},
            {"hidden_size", 64},
            {"num_hidden_layers", 2},
            {"num_attention_heads", 4},
            {"max_position_embeddings", 256}};
}

RopeScaling scalingOf(const json& rope) {
    json config = llama();
    config["rope_parameters"] = rope;
    return parseConfigJson(config.dump(), "config.json").ropeScaling;
}

std::string refusalOf(const json& config) {
    try {
        parseConfigJson(config.dump(), "config.json");
    } catch (const LoadError& e) {
        return e.what();
    }
    return "";
}

// The frequencies that Hugging Face transformers 5.24 computes for d_k 16 and theta 10000 (modeling_rope_utils).
struct RopeCase {
    json rope;
    std::vector<double> frequencies;
    double magnitude;
};

TEST(RopeScaling, GivesThePublishedFrequencies) {
    const std::vector<RopeCase> cases{
        {{{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 64}, {"rope_theta", 10000.0}},
         {1.0, 0.23717082, 0.049999997, 0.0079056947, 0.0024999999, 0.00079056947, 0.00025000001, 7.9056947e-05},
         1.138629436111989},
        {{{"rope_type", "yarn"},
          {"factor", 40.0},
          {"original_max_position_embeddings", 4096},
          {"rope_theta", 10000.0},
          {"mscale", 0.707},
          {"mscale_all_dim", 1.0},
          {"beta_fast", 24},
          {"beta_slow", 2},
          {"truncate", false}},
         {1.0, 0.31622776, 0.1, 0.029736267, 0.0048861187, 0.00011662647, 2.4999999e-05, 7.9056945e-06},
         0.9210423553163399},
        {{{"rope_type", "llama3"},
          {"factor", 8.0},
          {"low_freq_factor", 1.0},
          {"high_freq_factor", 4.0},
          {"original_max_position_embeddings", 64},
          {"rope_theta", 10000.0}},
         {1.0, 0.24438459, 0.013042256, 0.0039528473, 0.00125, 0.00039528473, 0.00012500001, 3.9528473e-05},
         1.0}};
    for (const RopeCase& c : cases) {
        const RopeScaling scaling = scalingOf(c.rope);
        ASSERT_EQ(scaling.factors.size(), 8U) << c.rope;
        for (int i = 0; i < 8; ++i) {
            const auto at = static_cast<std::size_t>(i);
            // Theirs are float32, with a difference of numbers that are nearly equal.
            EXPECT_NEAR(std::pow(10000.0, -2.0 * i / 16) / scaling.factors[at] / c.frequencies[at], 1.0, 1e-5)
                << c.rope << " pair " << i;
        }
        EXPECT_NEAR(scaling.magnitude, c.magnitude, 1e-12) << c.rope;
    }
}

TEST(RopeScaling, WhatIsNotComputedIsNamed) {
    json config = llama();
    config["rope_scaling"] = {{"rope_type", "longrope"}, {"factor", 4.0}};
    EXPECT_NE(refusalOf(config).find("longrope"), std::string::npos) << refusalOf(config);
    config["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 4.0}};
    EXPECT_NE(refusalOf(config).find("original_max_position_embeddings"), std::string::npos) << refusalOf(config);
    config["rope_scaling"] = {{"rope_type", "linear"}};
    EXPECT_NE(refusalOf(config).find("factor"), std::string::npos) << refusalOf(config);
}

TEST(RopeScaling, TheShareOfAHeadThatTurnsStandsInEitherPlace) {
    json old = llama(), now = llama();
    old["rotary_pct"] = 0.25;
    now["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 500.0}, {"partial_rotary_factor", 0.25}};
    EXPECT_EQ(parseConfigJson(old.dump(), "a").numbers.at("rope_share"), 0.25);
    EXPECT_EQ(parseConfigJson(now.dump(), "a").numbers.at("rope_share"), 0.25);
    EXPECT_EQ(parseConfigJson(now.dump(), "a").numbers.at("rope_theta"), 500.0);
}

// YaRN lengthens what turns: with a magnitude of 2 the scores of a head whose every dimension turns are 4 times as
// large.
TEST(RopeScaling, TheMagnitudeMultipliesQueriesAndKeys) {
    ModelConfig c;
    c.dK = 4;
    Matrix ones(3, 8);
    std::ranges::fill(ones.row(0), 1.0F), std::ranges::fill(ones.row(1), 0.5F), std::ranges::fill(ones.row(2), -2.0F);
    const Matrix plain = rotated(ones, c);
    c.ropeMagnitude = 2.0;
    const Matrix longer = rotated(ones, c);
    for (int i = 0; i < 3; ++i)
        for (int d = 0; d < 8; ++d)
            EXPECT_FLOAT_EQ(longer(i, d), 2 * plain(i, d));
}

TEST(SlidingWindow, CountsWhereALayerAttendsInIt) {
    json config = llama();
    config["model_type"] = "qwen2";
    config["sliding_window"] = 4;
    config["use_sliding_window"] = true;
    const auto window = [&] { return parseConfigJson(config.dump(), "a").numbers.contains("sliding_window"); };
    config["max_window_layers"] = 0;
    EXPECT_TRUE(window());
    config["max_window_layers"] = 28; // more than there are
    EXPECT_FALSE(window());
    config["max_window_layers"] = 1;
    EXPECT_NE(refusalOf(config).find("a sliding window in 1 of them"), std::string::npos) << refusalOf(config);
    config["layer_types"] = {"full_attention", "full_attention"};
    EXPECT_FALSE(window());
    config["layer_types"] = {"sliding_attention", "sliding_attention"};
    EXPECT_TRUE(window());
    config["use_sliding_window"] = false;
    EXPECT_FALSE(window());
}

// A RoBERTa whose table and padding id are moved by one row is the same model.
TEST(Roberta, PositionsBeginBehindThePaddingsRow) {
    HEADSCOPE_NEEDS_SHARED_DATA("reference/roberta");
    const TemporaryFolder folder;
    const std::string moved = changedFolder("roberta", folder / "moved", [](std::vector<RawTensor>& tensors) {
        for (RawTensor& t : tensors)
            if (t.name.ends_with("position_embeddings.weight")) {
                const std::size_t row = t.bytes.size() / t.shape[0].get<std::size_t>();
                t.bytes.insert(0, std::string(row, '\0'));
                t.shape[0] = t.shape[0].get<int>() + 1;
            }
    });
    const auto hidden = [](const std::string& path) {
        return *trace(scenarioOf(modelOfIds(path), {0, 5, 6, 7, 3}), backendByName("auto"))->hidden;
    };
    const Matrix was = hidden(sharedData("reference/roberta").string());
    json config = json::parse(readFile(moved + "/config.json"));
    config["pad_token_id"] = 2; // was 1
    config["max_position_embeddings"] = config["max_position_embeddings"].get<int>() + 1;
    for (const char* relative : {"roberta", "xlm-roberta", "camembert"}) {
        config["model_type"] = relative;
        writeFile(moved + "/config.json", config.dump());
        EXPECT_EQ(hidden(moved), was) << relative;
    }
}

// The encoder of this BART has half the heads of its decoder.
TEST(EncoderDecoders, EverySiteHasItsOwnHeads) {
    HEADSCOPE_NEEDS_SHARED_DATA("reference/bart");
    const TemporaryFolder folder;
    const std::string path = changedFolder("bart", folder / "bart", [](std::vector<RawTensor>&) {});
    json config = json::parse(readFile(path + "/config.json"));
    const int heads = config["decoder_attention_heads"];
    config["encoder_attention_heads"] = heads / 2;
    writeFile(path + "/config.json", config.dump());
    ScenarioRequest request;
    request.source.name = path;
    request.ids = std::vector<std::int64_t>{0, 5, 6, 2};
    request.targetIds = std::vector<std::int64_t>{2, 0, 5};
    const SharedTrace t = trace(makeScenario(std::move(request)), backendByName("auto"));
    const auto shapes = [&](const std::vector<HeadIndex>& chosen) {
        std::map<std::string, std::vector<std::int64_t>> out;
        DumpOptions options;
        options.heads = chosen;
        options.stages = {Stage::Weights};
        for (const NamedArray& array : dumpArrays(*t, options))
            out[array.name] = array.shape;
        return out;
    };
    auto all = shapes({}), last = shapes({HeadIndex{heads - 1}});
    EXPECT_EQ(all["encoder.layers.0.self.weights"], (std::vector<std::int64_t>{heads / 2, 4, 4}));
    EXPECT_EQ(all["decoder.layers.0.cross.weights"], (std::vector<std::int64_t>{heads, 3, 4}));
    EXPECT_EQ(last["encoder.layers.0.self.weights"], (std::vector<std::int64_t>{0, 4, 4}));
    EXPECT_EQ(last["decoder.layers.0.cross.weights"], (std::vector<std::int64_t>{1, 3, 4}));
}

} // namespace
} // namespace headscope
