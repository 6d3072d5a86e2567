// Attention modules as PyTorch saves them: the reference modules to 2e-5, and every naming form.
#include "core/model/attention_module.h"

#include "tests/support/files.h"
#include "tests/support/json_matrix.h"
#include "tests/support/scenarios.h"

namespace headscope {
namespace {

using testing::refusal;
using testing::TemporaryFolder;

// Numbers of no pattern, so that a transposed or exchanged matrix shows.
NamedArray array(const std::string& name, std::vector<std::int64_t> shape, int salt = 0) {
    std::int64_t count = 1;
    for (const std::int64_t size : shape) {
        count *= size;
    }
    std::vector<float> data;
    for (std::int64_t i = 0; i < count; ++i) {
        data.push_back(static_cast<float>(std::sin(1.7 * static_cast<double>(i + 1) + salt)));
    }
    return {name, std::move(shape), std::move(data)};
}

std::vector<NamedArray> separate(const std::string& q, const std::string& k, const std::string& v,
                                 const std::string& out) {
    std::vector<NamedArray> arrays{array(q, {6, 6}, 1), array(k, {6, 6}, 2), array(v, {6, 6}, 3)};
    if (!out.empty()) {
        arrays.push_back(array(out, {6, 6}, 4));
    }
    return arrays;
}

OpenedModel open(const std::string& path, std::optional<int> heads = std::nullopt) {
    ModelSource source;
    source.name = path;
    source.heads = heads;
    return openModel(source);
}

// Stage `id` of all heads below each other, against an array of the expectation.
void compare(const SharedTrace& t, const TensorFile& expected, const TensorEntry& entry) {
    const StageInfo& info = stageInfo(*stageFromId(entry.name));
    testing::Expected all;
    all.cols = static_cast<int>(entry.shape.back());
    all.rows = static_cast<int>(entry.count / entry.shape.back());
    const Floats values = expected.read(entry);
    all.values.assign(values.begin(), values.end());
    const int heads = info.scope == StageScope::AllHeads ? 1 : t->config().heads;
    Matrix found(all.rows, all.cols);
    for (int h = 0; h < heads; ++h) {
        const Matrix m = testing::stageOf(t, info.stage, h);
        ASSERT_EQ(m.cols(), all.cols) << entry.name;
        std::ranges::copy(m.values(), found.row(h * m.rows()).begin());
    }
    testing::expectGolden(entry.name, found, all, 2e-5);
}

TEST(AttentionModule, EveryReferenceModuleGivesEveryArrayOfItsExpectation) {
    HEADSCOPE_NEEDS_SHARED_DATA("reference/bare-modules/cases.json");
    const nlohmann::json root = testing::readJson(testing::sharedData("reference/bare-modules/cases.json"));
    for (const nlohmann::json& c : root.at("cases")) {
        SCOPED_TRACE(c.at("file").get<std::string>());
        std::cout << "  " << c.at("file").get<std::string>() << '\n';
        ScenarioRequest request;
        request.source.name = testing::sharedData("reference/bare-modules/" + c.at("file").get<std::string>()).string();
        request.source.heads = c.at("heads").get<int>();
        const SharedTrace t = testing::run(makeScenario(std::move(request)));
        const auto expected = openTensorFile(
            testing::sharedData("reference/bare-modules/" + c.at("expected").get<std::string>()).string());
        ASSERT_FALSE(expected->entries().empty());
        for (const TensorEntry& entry : expected->entries()) {
            compare(t, *expected, entry);
        }
    }
}

TEST(AttentionModule, EveryNamingFormGivesTheSameWeights) {
    const TemporaryFolder folder;
    const auto reference =
        open(testing::writeArrays(folder / "r.npz", separate("q.weight", "k.weight", "v.weight", "out.weight")), 3);
    struct Form {
        const char *q, *k, *v, *out;
    };
    for (const Form& f :
         std::vector<Form>{{"q_linear.weight", "k_linear.weight", "v_linear.weight", "out_linear.weight"},
                           {"a.q_linear.weight", "a.k_linear.weight", "a.v_linear.weight", "a.out.weight"},
                           {"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"},
                           {"m.W_Q.weight", "m.W_K.weight", "m.W_V.weight", "m.W_O.weight"},
                           {"W_query.weight", "W_key.weight", "W_value.weight", "out_proj.weight"},
                           {"q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight"},
                           {"W_q", "W_k", "W_v", "W_o"},
                           {"query.weight", "key.weight", "value.weight", "out.weight"}}) {
        const auto opened = open(testing::writeArrays(folder / "m.npz", separate(f.q, f.k, f.v, f.out)), 3);
        const LayerWeights &a = opened.model->layer(LayerIndex{0}), &b = reference.model->layer(LayerIndex{0});
        EXPECT_EQ(*a.wQ, *b.wQ) << f.q;
        EXPECT_EQ(*a.wK, *b.wK) << f.q;
        EXPECT_EQ(*a.wV, *b.wV) << f.q;
        ASSERT_TRUE(a.wO) << f.q;
        EXPECT_EQ(*a.wO, *b.wO) << f.q;
    }
}

TEST(AttentionModule, OneSetPerHeadStandsSideBySide) {
    const TemporaryFolder folder;
    std::vector<NamedArray> arrays;
    for (const char* head : {"0", "1", "2"}) {
        for (const char* part : {"query", "key", "value"}) {
            arrays.push_back(
                array("attn.heads." + std::string(head) + "." + part + ".weight", {2, 6}, head[0] * 7 + part[0]));
        }
    }
    arrays.push_back(array("attn.proj.weight", {6, 6}));
    arrays.push_back(array("attn.proj.bias", {6}));
    const auto opened = open(testing::writeArrays(folder / "m.npz", arrays));
    const ModelConfig& c = opened.model->config();
    EXPECT_EQ(c.heads, 3);
    EXPECT_EQ(c.dK, 2);
    const auto& second = std::get<std::vector<float>>(arrays[3].data); // heads.1.query: (2, 6), as PyTorch keeps it
    EXPECT_EQ((*opened.model->layer(LayerIndex{0}).wQ)(4, 3), second[1 * 6 + 4]);
    EXPECT_THROW(open(folder / "m.npz", 2), InputError); // the file says three
}

TEST(AttentionModule, AnUncertainNumberOfHeadsIsRefusedWithTheDivisors) {
    const TemporaryFolder folder;
    const std::string path =
        testing::writeArrays(folder / "m.npz", separate("q.weight", "k.weight", "v.weight", "out.weight"));
    EXPECT_NE(refusal<InputError>([&] { open(path); }).find("1, 2, 3, 6"), std::string::npos);
    EXPECT_NE(refusal<InputError>([&] { open(path, 4); }).find("4 heads do not fit"), std::string::npos);
    const std::string single =
        testing::writeArrays(folder / "s.npz", separate("q_linear.weight", "k_linear.weight", "v_linear.weight", ""));
    EXPECT_EQ(open(single).model->config().heads, 1); // nothing would join several
    EXPECT_FALSE(open(single).model->layer(LayerIndex{0}).wO);
    EXPECT_EQ(open(single).model->config().dOut, 6);
}

TEST(AttentionModule, NarrowerKeysAreGroupsOfHeads) {
    const TemporaryFolder folder;
    const auto opened =
        open(testing::writeArrays(folder / "m.npz", {array("q.weight", {8, 6}), array("k.weight", {4, 6}),
                                                     array("v.weight", {4, 6}), array("out.weight", {6, 8})}),
             4);
    EXPECT_EQ(opened.model->config().kvHeads, 2);
    EXPECT_EQ(opened.model->config().dK, 2);
}

TEST(AttentionModule, KeysOfAnotherWidthOrAFileWithYIsCrossAttention) {
    const TemporaryFolder folder;
    EXPECT_TRUE(open(testing::writeArrays(folder / "m.npz", {array("q.weight", {6, 6}), array("k.weight", {6, 4}),
                                                             array("v.weight", {6, 4})}),
                     1)
                    .source.cross);
    auto arrays = separate("q.weight", "k.weight", "v.weight", "");
    EXPECT_FALSE(open(testing::writeArrays(folder / "s.npz", arrays), 1).source.cross);
    arrays.push_back(array("Y", {3, 6}));
    EXPECT_TRUE(open(testing::writeArrays(folder / "y.npz", arrays), 1).source.cross);
}

TEST(AttentionModule, WhatCannotBeAppliedIsRefusedByName) {
    const TemporaryFolder folder;
    const auto sentence = [&](std::vector<NamedArray> arrays) {
        const std::string path = testing::writeArrays(folder / "m.npz", arrays);
        return refusal<LoadError>([&] { open(path, 1); });
    };
    auto nan = separate("q.weight", "k.weight", "v.weight", "out.weight");
    std::get<std::vector<float>>(nan[1].data)[8] = NAN;
    EXPECT_NE(sentence(nan).find("k.weight: expected finite numbers, found nan at [1, 2]"), std::string::npos);
    EXPECT_NE(sentence({array("q.weight", {6, 6}), array("k.weight", {6, 6})}).find("v.weight"), std::string::npos);
    EXPECT_NE(sentence({array("in_proj_weight", {18, 6}), array("bias_k", {1, 1, 6})}).find("add_bias_kv"),
              std::string::npos);
    EXPECT_NE(sentence({array("something", {6, 6})}).find("in_proj_weight"), std::string::npos);
    auto two = separate("a.q.weight", "a.k.weight", "a.v.weight", "");
    for (const NamedArray& more : separate("b.q.weight", "b.k.weight", "b.v.weight", "")) {
        two.push_back(more);
    }
    EXPECT_NE(sentence(two).find("found 2 (a.q, b.q)"), std::string::npos);
    auto wide = separate("q.weight", "k.weight", "v.weight", "");
    wide.push_back(array("X", {3, 5}));
    EXPECT_NE(sentence(wide).find("X: expected 6 columns"), std::string::npos);
}

TEST(AttentionModule, TensorsOfOthersAreNotedAndNotFatal) {
    const TemporaryFolder folder;
    auto arrays = separate("enc.q.weight", "enc.k.weight", "enc.v.weight", "enc.out.weight");
    arrays.push_back(array("enc.norm.weight", {6}));
    const auto notes = open(testing::writeArrays(folder / "m.npz", arrays), 2).model->config().notes;
    EXPECT_TRUE(std::ranges::any_of(
        notes, [](const std::string& n) { return n.find("enc.norm.weight") != std::string::npos; }));
}

} // namespace
} // namespace headscope
