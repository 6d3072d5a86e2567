// Encoder-decoders: the numbers of outside implementations at every site, targets written greedily, and the laws of
// looking at one model from three sites.
#include "core/attention/relative_bias.h"
#include "core/exchange/scenario_file.h"
#include "core/model/encoder_decoder.h"
#include "core/tensor/errors.h"
#include "tests/support/checkpoints.h"
#include "tests/support/golden.h"

#include <nlohmann/json.hpp>

#include <fstream>

namespace headscope {

namespace {

using namespace testing;
using nlohmann::json;

json casesOf(const std::string& folder) {
    std::ifstream in(sharedData(folder + "/cases.json"));
    return json::parse(in);
}

Scenario translated(const std::string& model, const std::string& source, std::optional<std::string> target = {}) {
    ScenarioRequest request;
    request.source.name = model;
    request.text = source;
    request.target = std::move(target);
    return makeScenario(request);
}

std::string prefixOf(Site site, int layer) {
    const std::string side = site == Site::EncoderSelf ? "encoder" : "decoder";
    return side + ".layers." + std::to_string(layer) + (site == Site::DecoderCross ? ".cross." : ".self.");
}

// weights to 2e-5; masked, hidden and logits to 1e-4 of their largest entry.
void expectNumbers(const AttentionTrace& whole, const Arrays& expected, const std::string& before) {
    for (const Site site : allSites) {
        const SharedTrace t = atSite(whole, site);
        for (int l = 0; l < t->config().layers; ++l) {
            const std::string prefix = before + prefixOf(site, l);
            EXPECT_LE(farthest(perHead(*t, l, Stage::Weights), expected.at(prefix + "weights")), 2e-5) << prefix;
            if (const std::vector<float> masked = expected.at(prefix + "masked"); !masked.empty()) {
                EXPECT_LE(farthest(perHead(*t, l, Stage::Masked), masked) / largestFinite(masked), 1e-4) << prefix;
            }
        }
    }
    if (const std::vector<float> hidden = expected.at(before + "hidden"); !hidden.empty()) {
        const SharedTrace decoder = atSite(whole, Site::DecoderCross);
        EXPECT_LE(farthest(decoder->hidden->values(), hidden) / largestFinite(hidden), 1e-4);
    }
    const std::vector<float> logits = expected.at(before + "logits");
    EXPECT_LE(farthest(logitsOf(whole).values(), logits) / largestFinite(logits), 1e-4);
}

struct EncoderDecoders : ::testing::TestWithParam<const char*> {};

TEST_P(EncoderDecoders, GiveTheNumbersOfTheReference) {
    const std::string folder = std::string("reference/") + GetParam();
    HEADSCOPE_NEEDS_SHARED_DATA(folder);
    const json cases = casesOf(folder);
    for (const json& c : cases["cases"]) {
        const Scenario s = translated(sharedData(folder).string(), c["source"], c["target"].get<std::string>());
        EXPECT_EQ(idsOfSegment(s.texts->source, 0), c["ids.key"].get<std::vector<std::int64_t>>());
        EXPECT_EQ(idsOfSegment(s.texts->target, 0), c["ids.query"].get<std::vector<std::int64_t>>());
        expectNumbers(*trace(s, backendByName("auto")),
                      Arrays(sharedData(folder + "/" + c["expected"].get<std::string>()).string()), "");
    }
}
INSTANTIATE_TEST_SUITE_P(Reference, EncoderDecoders, ::testing::Values("bart", "marian", "t5"));

TEST(Translate, WritesTheTargetsOfTheReferenceAndAttendsAsItDoes) {
    HEADSCOPE_NEEDS_SHARED_DATA("translate");
    const json cases = casesOf("translate");
    const Arrays expected(sharedData("translate/expected.npz").string());
    int index = 0;
    for (const json& c : cases) {
        const SharedTrace t = trace(translated("translate", c["source"]), backendByName("auto"));
        const SiteTexts& texts = *t->scenario.texts;
        EXPECT_EQ(texts.target.source, c["target"].get<std::string>());
        EXPECT_EQ(texts.author, SiteTexts::Author::Model);
        EXPECT_EQ(idsOfSegment(texts.source, 0), c["ids.key"].get<std::vector<std::int64_t>>());
        EXPECT_EQ(idsOfSegment(texts.target, 0), c["ids.query"].get<std::vector<std::int64_t>>());
        expectNumbers(*t, expected, std::to_string(index++) + ".");
    }
}

// README of the data: the row that predicts "noir" looks at "black", the one that predicts "dort" at "sleeps".
TEST(Translate, CrossAttentionCrossesWhereFrenchPutsTheAdjectiveBehind) {
    const SharedTrace t = trace(translated("translate", "The black cat sleeps."), backendByName("auto"));
    const auto strongest = [&](int row) {
        const SharedMatrix a = stageMatrix(*t, LayerIndex{1}, HeadIndex{0}, Stage::Weights);
        const auto weights = a->row(row);
        const auto key = std::ranges::max_element(weights) - weights.begin();
        return t->scenario.keyTokens().tokens[static_cast<std::size_t>(key)].text;
    };
    ASSERT_EQ(t->scenario.query.tokens[3].text, "chat");
    EXPECT_EQ(strongest(2), "cat");    // Le, which predicts chat
    EXPECT_EQ(strongest(3), "black");  // chat, which predicts noir
    EXPECT_EQ(strongest(4), "sleeps"); // noir, which predicts dort
}

TEST(Translate, AWrittenTargetIsWhatTypingItGives) {
    const Scenario written = withTarget(translated("translate", "The black cat sleeps."), referenceBackend());
    const Scenario typed = translated("translate", "The black cat sleeps.", "Le chat noir dort.");
    EXPECT_EQ(written.texts->target, typed.texts->target);
    EXPECT_EQ(typed.query.tokens.front().id, typed.model->targetRules().start);
    EXPECT_TRUE(typed.query.tokens[2].range); // a typed token knows its place
    const SharedTrace a = trace(written, referenceBackend()), b = trace(typed, referenceBackend());
    EXPECT_EQ(*a->hidden, *b->hidden);
}

// Greedy: each token is the likeliest one behind those before it, and behind the last one stands the end.
TEST(Translate, EveryWrittenTokenIsTheLikeliest) {
    const SharedTrace t =
        trace(translated("translate", "Some happy students read the heavy books."), referenceBackend());
    const Matrix logits = logitsOf(*t);
    const std::vector<std::int64_t> target = idsOfSegment(t->scenario.texts->target, 0);
    for (int i = 0; i < logits.rows(); ++i) {
        const auto row = logits.row(i);
        const std::int64_t likeliest = std::ranges::max_element(row) - row.begin();
        const bool last = i + 1 == logits.rows();
        EXPECT_EQ(likeliest, last ? t->scenario.model->targetRules().end : target[static_cast<std::size_t>(i + 1)]);
    }
}

TEST(Sites, TurningBackGivesTheSameScenario) {
    Scenario s = translated("translate", "The black cat sleeps.", "Le chat");
    s.mask = parseMask("window:2");
    s.interventions.push_back({.kind = Intervention::Kind::HeadOff, .layer = LayerIndex{1}, .head = HeadIndex{2}});
    s.model = s.model->withTensor({LayerIndex{0}, WeightKind::BQ}, share(Matrix(1, 64)));
    Scenario round = s;
    for (const Site site : {Site::EncoderSelf, Site::DecoderSelf, Site::EncoderSelf, Site::DecoderCross})
        round = atSite(round, site);
    EXPECT_EQ(round, s);
    const Scenario encoder = atSite(s, Site::EncoderSelf);
    EXPECT_EQ(encoder.mask, Mask());
    EXPECT_EQ(encoder.queries(), s.keys());
    EXPECT_TRUE(encoder.edited());
}

TEST(Sites, AMaskActsAtItsOwnSiteAlone) {
    const Scenario plain = translated("translate", "The black cat sleeps.", "Le chat noir dort.");
    Scenario masked = atSite(plain, Site::EncoderSelf);
    masked.mask = parseMask("causal");
    const SharedTrace t = trace(masked, referenceBackend());
    const auto closed = [&](Site site) {
        return perHead(*atSite(*t, site), 0, Stage::Masked)[1] == KeyMask::minusInfinity; // query 0, key 1
    };
    EXPECT_TRUE(closed(Site::EncoderSelf));
    EXPECT_TRUE(closed(Site::DecoderSelf)); // by its own causal mask
    EXPECT_FALSE(closed(Site::DecoderCross));
}

TEST(Sites, AHeadSwitchedOffInTheEncoderIsFeltByTheDecoder) {
    const Scenario plain = translated("translate", "The black cat sleeps.", "Le chat noir dort.");
    Scenario off = atSite(plain, Site::EncoderSelf);
    for (int h = 0; h < 4; ++h)
        off.interventions.push_back(
            {.kind = Intervention::Kind::HeadOff, .layer = LayerIndex{0}, .head = HeadIndex{h}});
    const SharedTrace before = trace(plain, referenceBackend()), after = trace(off, referenceBackend());
    EXPECT_NE(logitsOf(*before), logitsOf(*after));
    EXPECT_EQ(*stageMatrix(*atSite(*before, Site::DecoderSelf), LayerIndex{0}, HeadIndex{1}, Stage::Weights),
              *stageMatrix(*atSite(*after, Site::DecoderSelf), LayerIndex{0}, HeadIndex{1}, Stage::Weights));
}

TEST(Sites, ReuseGivesTheSameBits) {
    const Scenario plain = translated("translate", "The black cat sleeps.", "Le chat noir dort.");
    const SharedTrace first = trace(plain, referenceBackend());
    Scenario edited = plain; // at decoder.cross
    Matrix w = *plain.model->tensor({LayerIndex{1}, WeightKind::WV});
    w(3, 5) += 0.5F;
    edited.model = plain.model->withTensor({LayerIndex{1}, WeightKind::WV}, share(std::move(w)));
    const SharedTrace again = trace(edited, referenceBackend(), first.get());
    const SharedTrace whole = trace(edited, referenceBackend());
    for (const Site site : allSites) {
        EXPECT_EQ(*atSite(*again, site)->hidden, *atSite(*whole, site)->hidden);
        EXPECT_EQ(atSite(*again, site)->reusedLayers, site == Site::DecoderCross ? 1 : 2);
    }
    EXPECT_NE(*again->hidden, *first->hidden);
}

TEST(Sites, AScenarioFileKeepsEverySite) {
    Scenario s = translated("translate", "The black cat sleeps.", "Le chat noir");
    s.mask = parseMask("window:3");
    s.model = s.model->withTensor({LayerIndex{1}, WeightKind::BV}, share(Matrix(1, 64)));
    s = atSite(s, Site::EncoderSelf);
    s.interventions.push_back({.kind = Intervention::Kind::HeadOff, .layer = LayerIndex{0}, .head = HeadIndex{3}});
    s.model = s.model->withTensor({LayerIndex{0}, WeightKind::BQ}, share(Matrix(1, 64)));
    s = atSite(s, Site::DecoderSelf);
    const std::string text = writeScenario({s, View()});
    const Document read = readScenario(text, "f", "");
    EXPECT_EQ(writeScenario(read), text);
    EXPECT_EQ(read.scenario.model->config().site, Site::DecoderSelf);
    EXPECT_EQ(read.scenario.texts, s.texts);
    EXPECT_EQ(read.scenario.otherSites, s.otherSites);
    for (const Site site : allSites)
        EXPECT_EQ(editedTensors(atSite(read.scenario, site)), editedTensors(atSite(s, site))) << siteName(site);
}

TEST(Sites, AScenarioFileRemembersWhoWroteTheTarget) {
    const Scenario s = withTarget(translated("translate", "The black cat sleeps."), referenceBackend());
    const Document read = readScenario(writeScenario({s, View()}), "f", "");
    EXPECT_EQ(read.scenario.texts, s.texts);
    EXPECT_EQ(read.scenario.texts->author, SiteTexts::Author::Model);
}

TEST(Sites, TheWindowsNewTextsKeepWhatFits) {
    Scenario s = translated("translate", "The black cat sleeps.", "Le chat noir dort.");
    s.interventions = {{.kind = Intervention::Kind::HeadOff, .layer = LayerIndex{1}, .head = HeadIndex{2}},
                       {.kind = Intervention::Kind::SetCell, .layer = {}, .head = {}, .row = 6, .col = 1, .value = 3}};
    const Scenario shorter = withTexts(s, "The cat", "Le");
    EXPECT_EQ(shorter.interventions.size(), 1U); // row 6 is gone
    EXPECT_EQ(shorter.texts->author, SiteTexts::Author::User);
    EXPECT_EQ(withTexts(s, "The cat", std::nullopt).texts->author, SiteTexts::Author::ModelLater);
}

// Buckets by the rule of the paper (Raffel et al. 2020): 32 buckets, half of them for keys behind the query when both
// ways count; up to 7 (15) exact, then logarithmic to 128.
TEST(RelativeBias, DistancesFallIntoTheBucketsOfThePaper) {
    EXPECT_EQ(relativeBucket(0, true, 32, 128), 0);
    EXPECT_EQ(relativeBucket(-7, true, 32, 128), 7);
    EXPECT_EQ(relativeBucket(-8, true, 32, 128), 8);
    EXPECT_EQ(relativeBucket(7, true, 32, 128), 23);
    EXPECT_EQ(relativeBucket(-16, true, 32, 128), 10); // 8 + log(2)/log(16) * 8
    EXPECT_EQ(relativeBucket(-1000, true, 32, 128), 15);
    EXPECT_EQ(relativeBucket(1000, true, 32, 128), 31);
    EXPECT_EQ(relativeBucket(-15, false, 32, 128), 15);
    EXPECT_EQ(relativeBucket(-32, false, 32, 128), 21); // 16 + log(2)/log(8) * 16
    EXPECT_EQ(relativeBucket(5, false, 32, 128), 0);    // keys to come have no distance of their own
}

TEST(EncoderDecoderFiles, WhatIsWrongIsNamed) {
    HEADSCOPE_NEEDS_SHARED_DATA("reference/bart");
    const std::string path = sharedData("reference/bart").string();
    CheckpointConfig config = openFolderConfig(path);
    const auto tensors = openFolderTensors(path);
    const auto message = [&](const CheckpointConfig& c) -> std::string {
        try {
            buildEncoderDecoder(c, *tensors, std::make_shared<IdsOnly>(), std::make_shared<IdsOnly>(), "m");
        } catch (const LoadError& e) {
            return e.what();
        }
        return "";
    };
    EXPECT_EQ(message(config), "");
    CheckpointConfig deep = config, noStart = config, badStart = config;
    deep.numbers["decoder_layers"] = 3;
    EXPECT_NE(message(deep).find("decoder.layers.2."), std::string::npos) << message(deep);
    noStart.numbers.erase("target_start");
    EXPECT_NE(message(noStart).find("target_start"), std::string::npos) << message(noStart);
    badStart.numbers["target_start"] = 1e9;
    EXPECT_NE(message(badStart).find("from 0 to 499"), std::string::npos) << message(badStart);
}

// Configs older than the option mean 128 (so does every published T5 of 2020).
TEST(EncoderDecoderFiles, AnOldT5ConfigHasTheUsualDistance) {
    HEADSCOPE_NEEDS_SHARED_DATA("reference/t5");
    const std::string path = sharedData("reference/t5").string();
    CheckpointConfig config = openFolderConfig(path);
    config.numbers.erase("relative_distance");
    const SharedModel model = buildEncoderDecoder(config, *openFolderTensors(path), std::make_shared<IdsOnly>(),
                                                  std::make_shared<IdsOnly>(), "t5");
    EXPECT_EQ(model->atSite(Site::EncoderSelf)->config().relativeDistance, 128);
}

TEST(EncoderDecoderFiles, NormsInFrontAreRefusedByName) {
    try {
        parseConfigJson(R"({"model_type": "bart", "normalize_before": true})", "config.json");
        FAIL();
    } catch (const LoadError& e) {
        EXPECT_EQ(e.entry(), "normalize_before");
    }
}

} // namespace

} // namespace headscope
