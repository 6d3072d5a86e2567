// A scenario saved and opened is the same scenario: every array is equal bit for bit.
#include "core/exchange/scenario_file.h"

#include "core/model/mapped_file.h"
#include "core/tensor/errors.h"
#include "core/tensor/sha256.h"
#include "tests/support/files.h"
#include "tests/support/scenarios.h"

#include <nlohmann/json.hpp>

#include <clocale>
#include <cstring>

namespace headscope {
namespace {

using testing::refusal;
using testing::TemporaryFolder;

Document reread(const Document& document) {
    return readScenario(writeScenario(document), "test", "");
}

void expectSameArrays(const Scenario& a, const Scenario& b) {
    const SharedTrace before = testing::run(a), after = testing::run(b);
    for (int l = 0; l < a.model->config().layers; ++l) {
        for (int h = 0; h < a.model->config().heads; ++h) {
            for (const Stage s : testing::availableStages(a)) {
                const auto x = testing::stageOf(before, s, h, l), y = testing::stageOf(after, s, h, l);
                ASSERT_EQ(x.size(), y.size());
                EXPECT_EQ(std::memcmp(x.data(), y.data(), x.size() * sizeof(float)), 0)
                    << stageInfo(s).id << " L" << l << " H" << h;
            }
        }
    }
}

// Everything at once: two layers, GQA, edits of both kinds, interventions, a mask from a file, a rule.
Document rich() {
    ToyOptions options;
    options.dModel = 12;
    options.heads = 4;
    options.kvHeads = 2;
    options.layers = 2;
    options.seed = 0xFFFFFFFFFFFFFFFFULL;
    options.position = Position::Rope;
    options.dK = 4;
    options.dV = 3;
    Scenario s = testing::toy(options, "The \"cat\"\tsat, caf\u00e9 \U0001F63A");
    s = testing::edited(s, {LayerIndex{0}, WeightKind::WQ},
                        [](Matrix& w) { w(1, 2) = 0.1F, w(3, 4) = -1.0F / 3, w(0, 0) = 1e-42F; });
    s = testing::edited(s, {LayerIndex{1}, WeightKind::BO}, [](Matrix& w) {
        for (float& v : w.values()) {
            v = v * 1.0001F + 0.3F;
        }
    });
    Matrix additive(s.queries(), s.keys(), 0.25F);
    additive(0, 1) = KeyMask::minusInfinity;
    s.mask.parts = {{MaskPart::Kind::Causal, 0, nullptr}, {MaskPart::Kind::Matrix, 0, share(std::move(additive))}};
    s.scale = {Scale::Kind::Number, 1.0 / 3};
    s.temperature = 0.7;
    s.rules = with(s.rules, Rule::ConcatReshape);
    using enum Intervention::Kind;
    s.interventions = {{HeadOff, LayerIndex{1}, HeadIndex{2}, Stage::Scores, 0, 0, 0.0F},
                       {SetCell, LayerIndex{0}, HeadIndex{1}, Stage::Scores, 2, 1, 3.3F},
                       {SetCell, LayerIndex{0}, HeadIndex{0}, Stage::Embedding, 0, 5, -0.7F},
                       {MaskCell, LayerIndex{0}, HeadIndex{0}, Stage::Scores, 3, 0, KeyMask::minusInfinity}};
    View view;
    view.figure = FigureKind::Links;
    view.layer = LayerIndex{1};
    view.heads = {HeadIndex{0}, HeadIndex{3}};
    view.stage = Stage::Masked;
    view.cell = CellRef{2, 1};
    view.range = {RangeSpec::Kind::Fixed, -0.1, 0.9};
    view.curve = {Curve::Kind::Gamma, 0.3};
    view.topK = 2;
    view.special = Special::Drop;
    view.words = true;
    return {s, view};
}

TEST(ScenarioFile, SavedAndOpenedGivesBitIdenticalArrays) {
    const Document document = rich(), again = reread(document);
    expectSameArrays(document.scenario, again.scenario);
    EXPECT_EQ(again.view, document.view);
    EXPECT_EQ(again.scenario.interventions, document.scenario.interventions);
    EXPECT_EQ(again.scenario.temperature, document.scenario.temperature);
    EXPECT_EQ(again.scenario.scale, document.scenario.scale);
    EXPECT_EQ(again.scenario.query, document.scenario.query);
    EXPECT_EQ(again.scenario.source, document.scenario.source);
}

TEST(ScenarioFile, WrittenAgainIsTheSameText) {
    const std::string text = writeScenario(rich());
    EXPECT_EQ(writeScenario(readScenario(text, "test", "")), text);
}

TEST(ScenarioFile, CrossAttentionKeepsBothTexts) {
    ToyOptions options;
    options.dModel = 8;
    options.heads = 2;
    const Document document{testing::crossToy(options, "a b c", "d e"), {}};
    expectSameArrays(document.scenario, reread(document).scenario);
}

TEST(ScenarioFile, InfiniteTemperatureAndIdsSurvive) {
    ScenarioRequest request;
    request.source.name = "toy";
    request.ids = {0, 3, 0};
    request.temperature = INFINITY;
    const Document document{makeScenario(std::move(request)), {}};
    EXPECT_EQ(reread(document).scenario.temperature, INFINITY);
    expectSameArrays(document.scenario, reread(document).scenario);
}

TEST(ScenarioFile, SmallEditsAreCellsWithTheirNewValuesAndLargeOnesTheWhole) {
    const auto json = nlohmann::json::parse(writeScenario(rich()));
    ASSERT_EQ(json.at("edits").size(), 2U);
    EXPECT_EQ(json.at("edits")[0].at("tensor"), "layers.0.W_Q");
    EXPECT_EQ(json.at("edits")[0].at("cells")[1], nlohmann::json::parse("[1, 2, 0.1]")); // 0.1, not 0.10000000149011612
    EXPECT_TRUE(json.at("edits")[1].contains("whole"));
}

TEST(ScenarioFile, AModuleIsFoundBesideTheScenarioAndMustNotHaveChanged) {
    const TemporaryFolder folder;
    std::vector<float> w(36);
    for (std::size_t i = 0; i < w.size(); ++i) {
        w[i] = std::sin(static_cast<float>(i));
    }
    const std::vector<NamedArray> module{{"q.weight", {6, 6}, w},
                                         {"k.weight", {6, 6}, w},
                                         {"v.weight", {6, 6}, w},
                                         {"X", {2, 6}, std::vector<float>(12, 0.5F)}};
    const std::string path = testing::writeArrays(folder / "m.npz", module);
    ScenarioRequest request;
    request.source.name = path;
    request.source.heads = 2;
    const Document document{makeScenario(std::move(request)), {}};
    saveScenario(document, folder / "s.headscope");
    const auto json = nlohmann::json::parse(testing::readFile(folder / "s.headscope"));
    EXPECT_EQ(json.at("model").at("path"), "m.npz");
    EXPECT_EQ(json.at("model").at("sha256"), sha256(mapFile(path).bytes));
    expectSameArrays(document.scenario, openScenario(folder / "s.headscope").scenario);
    // A text typed over the file's own X
    const Document typed{withTexts(document.scenario, "two words", std::nullopt), {}};
    saveScenario(typed, folder / "t.headscope");
    expectSameArrays(typed.scenario, openScenario(folder / "t.headscope").scenario);

    const std::string old = sha256(mapFile(path).bytes);
    testing::writeArrays(path, {module[1], module[0], module[2], module[3]});
    const std::string sentence = refusal<LoadError>([&] { openScenario(folder / "s.headscope"); });
    EXPECT_NE(sentence.find(old), std::string::npos) << sentence;
    EXPECT_NE(sentence.find(sha256(mapFile(path).bytes)), std::string::npos) << sentence;
}

TEST(ScenarioFile, AStoppedSaveLeavesTheOldFileAndAStoppedOpeningNothing) {
    const TemporaryFolder folder;
    const std::vector<float> w(36, 0.5F);
    ScenarioRequest request;
    request.source.name = testing::writeArrays(
        folder / "m.npz", {{"q.weight", {6, 6}, w}, {"k.weight", {6, 6}, w}, {"v.weight", {6, 6}, w}});
    request.source.heads = 2;
    request.text = "two words";
    const Document document{makeScenario(std::move(request)), {}};
    saveScenario(document, folder / "s.headscope");
    const std::string before = testing::readFile(folder / "s.headscope");
    testing::writeArrays(folder / "m.npz", {{"q.weight", {6, 6}, w}, {"k.weight", {6, 6}, w}}); // another sum
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(saveScenario(document, folder / "s.headscope", {.progress = {}, .stop = stop.get_token()}), Cancelled);
    EXPECT_EQ(testing::readFile(folder / "s.headscope"), before);
    EXPECT_THROW(openScenario(folder / "s.headscope", {.progress = {}, .stop = stop.get_token()}), Cancelled);
}

TEST(ScenarioFile, WhatDoesNotFitTheModelIsRefusedWithItsPlace) {
    const std::string good = writeScenario(rich());
    const auto with = [&](const char* pointer, const char* value) {
        nlohmann::json json = nlohmann::json::parse(good);
        json[nlohmann::json::json_pointer(pointer)] = nlohmann::json::parse(value);
        return refusal<LoadError>([&] { readScenario(json.dump(), "f.headscope", ""); });
    };
    EXPECT_NE(with("/version", "2").find("newer"), std::string::npos);
    EXPECT_NE(with("/format", "\"other\"").find("another JSON file"), std::string::npos);
    EXPECT_NE(with("/edits/0/tensor", "\"layers.9.W_Q\"").find("edits[0].tensor"), std::string::npos);
    EXPECT_NE(
        with("/edits/0/cells/0/0", "12").find("edits[0].cells[0][0]: expected a whole number from 0 to 11, found 12"),
        std::string::npos);
    EXPECT_NE(with("/edits/0/cells/0/2", "1e39").find("float32"), std::string::npos);
    EXPECT_NE(with("/edits/1/whole/float32", "\"AAAA\"").find("base64"), std::string::npos);
    EXPECT_NE(with("/interventions/0/layer", "7").find("layer 7"), std::string::npos);
    EXPECT_NE(with("/interventions/1/row", "4000000000").find("interventions[1].row"), std::string::npos);
    EXPECT_NE(with("/mask", "\"causel\"").find("mask"), std::string::npos);
    EXPECT_NE(with("/mask/1/rows", "2").find("mask[1].float32"), std::string::npos);
    EXPECT_NE(with("/view/heads", "[4]").find("view.heads[0]"), std::string::npos);
    EXPECT_NE(with("/view/cell", "[99, 0]").find("view.cell[0]"), std::string::npos);
    EXPECT_NE(with("/temperature", "-1").find("temperature"), std::string::npos);
    EXPECT_NE(with("/model/options/d_model", "0").find("d_model"), std::string::npos);
    EXPECT_NE(with("/viev", "{}").find("viev"), std::string::npos);
    EXPECT_NE(refusal<LoadError>([&] { readScenario(good.substr(0, 300), "f.headscope", ""); }).find("no JSON"),
              std::string::npos);
    EXPECT_NE(refusal<LoadError>([&] { readScenario(std::string(100000, '['), "f.headscope", ""); }).find("32 levels"),
              std::string::npos);
}

// Cells of X are edited by its name, as those of a weight are.
TEST(ScenarioFile, AnEditOfXIsACellOfTheFirstLayersInput) {
    const Scenario s = readScenario(R"({"format": "headscope", "version": 1, "model": {"name": "toy"}, "text": "a b",
        "edits": [{"tensor": "X", "cells": [[1, 63, 7.5]]}]})",
                                    "x", "")
                           .scenario;
    const SharedTrace t = trace(s, referenceBackend());
    EXPECT_EQ((*t->layer(LayerIndex{0}).x)(1, 63), 7.5F);
    const std::string sentence = refusal<LoadError>([] {
        readScenario(R"({"format": "headscope", "version": 1, "model": {"name": "toy"}, "text": "a b",
            "edits": [{"tensor": "Y", "cells": [[0, 0, 1]]}]})",
                     "x", "");
    });
    EXPECT_NE(sentence.find("edits[0].tensor"), std::string::npos) << sentence;
}

TEST(ScenarioFile, OptionsOfToyBesideAnotherModelAreRefused) {
    const std::string sentence = refusal<LoadError>([] {
        readScenario(R"({"format": "headscope", "version": 1, "model": {"name": "mini", "options": {"d_model": 8}},
            "text": "a b"})",
                     "x", "");
    });
    EXPECT_NE(sentence.find("model.options: expected no options: mini"), std::string::npos) << sentence;
}

TEST(ScenarioFile, NumbersHaveAPointInEveryLocale) {
    const std::string before = writeScenario(rich());
    const char* old = std::setlocale(LC_NUMERIC, "de_DE.UTF-8");
    if (old == nullptr) {
        GTEST_SKIP() << "needs the locale de_DE.UTF-8";
    }
    const std::string after = writeScenario(rich());
    const std::string again = writeScenario(readScenario(after, "test", ""));
    std::setlocale(LC_NUMERIC, "C");
    EXPECT_EQ(after, before);
    EXPECT_EQ(again, before);
}

} // namespace
} // namespace headscope
