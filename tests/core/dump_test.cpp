// dump: names and shapes of the file contract, and the three formats.
#include "core/exchange/dump.h"

#include "core/model/tensor_file.h"
#include "core/tensor/errors.h"
#include "tests/support/files.h"
#include "tests/support/scenarios.h"

#include <nlohmann/json.hpp>

namespace headscope {
namespace {

using testing::TemporaryFolder;

Scenario grouped() {
    ToyOptions options;
    options.dModel = 12;
    options.heads = 4;
    options.kvHeads = 2;
    options.dK = 3;
    options.dV = 5;
    return testing::toy(options, "one two three");
}

std::vector<std::int64_t> shapeOf(const std::vector<NamedArray>& arrays, const std::string& name) {
    const auto it = std::ranges::find(arrays, name, &NamedArray::name);
    return it == arrays.end() ? std::vector<std::int64_t>{-1} : it->shape;
}

using Shape = std::vector<std::int64_t>;

TEST(Dump, ArraysHaveTheNamesAndShapesOfTheContract) {
    DumpOptions options;
    options.weights = options.hidden = true;
    const auto arrays = dumpArrays(*testing::run(grouped()), options);
    EXPECT_EQ(shapeOf(arrays, "layers.0.self.embedding"), (Shape{3, 12}));
    EXPECT_EQ(shapeOf(arrays, "layers.0.self.embedding_key"), (Shape{-1}));
    EXPECT_EQ(shapeOf(arrays, "layers.0.self.projection_k"), (Shape{3, 6}));
    EXPECT_EQ(shapeOf(arrays, "layers.0.self.q"), (Shape{4, 3, 3}));
    EXPECT_EQ(shapeOf(arrays, "layers.0.self.k"), (Shape{2, 3, 3}));
    EXPECT_EQ(shapeOf(arrays, "layers.0.self.v"), (Shape{2, 3, 5}));
    EXPECT_EQ(shapeOf(arrays, "layers.0.self.weights"), (Shape{4, 3, 3}));
    EXPECT_EQ(shapeOf(arrays, "layers.0.self.head_output"), (Shape{4, 3, 5}));
    EXPECT_EQ(shapeOf(arrays, "layers.0.self.concat"), (Shape{3, 20}));
    EXPECT_EQ(shapeOf(arrays, "layers.0.self.contribution"), (Shape{4, 3, 12}));
    EXPECT_EQ(shapeOf(arrays, "layers.0.self.W_O"), (Shape{20, 12}));
    EXPECT_EQ(shapeOf(arrays, "layers.0.self.b_V"), (Shape{10}));
    EXPECT_EQ(shapeOf(arrays, "layers.0.self.empty_rows"), (Shape{3}));
    EXPECT_EQ(shapeOf(arrays, "hidden"), (Shape{3, 12}));
    EXPECT_EQ(shapeOf(arrays, "tokens.key"), (Shape{3}));
    EXPECT_EQ(shapeOf(arrays, "ids.query"), (Shape{3}));
    EXPECT_EQ(shapeOf(arrays, "scenario"), (Shape{}));
    EXPECT_EQ(shapeOf(arrays, "heads"), (Shape{-1}));
}

TEST(Dump, ChosenHeadsCutOnlyArraysWithAQueryHeadAxis) {
    DumpOptions options;
    options.heads = {HeadIndex{3}, HeadIndex{1}};
    const SharedTrace t = testing::run(grouped());
    const auto arrays = dumpArrays(*t, options);
    EXPECT_EQ(shapeOf(arrays, "layers.0.self.weights"), (Shape{2, 3, 3}));
    EXPECT_EQ(shapeOf(arrays, "layers.0.self.k"), (Shape{2, 3, 3}));
    const auto at = [&](const char* name) -> const NamedArray& {
        return *std::ranges::find(arrays, name, &NamedArray::name);
    };
    EXPECT_EQ(std::get<std::vector<std::int64_t>>(at("heads").data), (std::vector<std::int64_t>{3, 1}));
    const Matrix third = testing::stageOf(t, Stage::Weights, 3);
    const auto& data = std::get<std::vector<float>>(at("layers.0.self.weights").data);
    EXPECT_TRUE(std::ranges::equal(third.values(), std::span(data).first(9)));
}

TEST(Dump, NpzReadsBackEqualAndHasTheSameBytesEveryTime) {
    const TemporaryFolder folder;
    Scenario s = grouped();
    s.mask = parseMask("causal");
    const auto arrays = dumpArrays(*testing::run(s), {});
    testing::writeArrays(folder / "a.npz", arrays);
    testing::writeArrays(folder / "b.npz", dumpArrays(*testing::run(s), {}));
    EXPECT_EQ(testing::readFile(folder / "a.npz"), testing::readFile(folder / "b.npz"));
    const auto file = openTensorFile(folder / "a.npz");
    ASSERT_EQ(file->entries().size(), arrays.size());
    for (const NamedArray& array : arrays) {
        const TensorEntry* entry = file->find(array.name);
        ASSERT_TRUE(entry) << array.name;
        EXPECT_EQ(entry->shape, array.shape) << array.name;
        if (const auto* floats = std::get_if<std::vector<float>>(&array.data)) {
            EXPECT_EQ(file->read(*entry), Floats(floats->begin(), floats->end())) << array.name;
        }
        if (const auto* texts = std::get_if<std::vector<std::string>>(&array.data)) {
            EXPECT_EQ(file->readStrings(*entry), *texts) << array.name;
        }
    }
    EXPECT_EQ(file->countNonFinite(*file->find("layers.0.self.masked")), 4 * 3); // the upper triangle of every head
}

TEST(Dump, AClassRuleComesWithItsRightTwinAndTheDifference) {
    const auto arrays = dumpArrays(*testing::run(testing::withRule(grouped(), Rule::NoScale)), {});
    const auto data = [&](const std::string& name) {
        return std::get<std::vector<float>>(std::ranges::find(arrays, name, &NamedArray::name)->data);
    };
    const auto wrong = data("layers.0.self.weights"), right = data("right.layers.0.self.weights");
    const auto difference = data("difference.layers.0.self.weights");
    EXPECT_NE(wrong, right);
    for (std::size_t i = 0; i < wrong.size(); ++i) {
        EXPECT_EQ(difference[i], wrong[i] - right[i]);
    }
    EXPECT_EQ(shapeOf(arrays, "right.layers.0.self.output"), (Shape{-1})); // token-by-token stages only
}

// 144 heads with maps of 16,000 x 16,000: asked for before anything is traced, and refused with the figure.
TEST(Dump, WhatDoesNotFitIntoMemoryIsRefusedFirst) {
    ToyOptions options;
    options.dModel = 24;
    options.heads = 12;
    options.layers = 12;
    std::string text;
    for (int i = 0; i < 16000; ++i) {
        text += "a ";
    }
    const Scenario s = testing::toy(options, text);
    try {
        requireDumpable(s, {});
        FAIL() << "800 GB are not refused";
    } catch (const InputError& e) {
        EXPECT_NE(std::string(e.what()).find(" GiB, but "), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find("--stage"), std::string::npos) << e.what();
    }
    DumpOptions one;
    one.layers = {LayerIndex{0}};
    one.heads = {HeadIndex{3}};
    one.stages = {Stage::Embedding};
    EXPECT_NO_THROW(requireDumpable(s, one));
}

TEST(Dump, JsonSpellsNonFiniteNumbersAsTexts) {
    std::ostringstream out;
    writeJson(out, {{"m", {2, 2}, std::vector<float>{0.1F, -INFINITY, NAN, 1e-7F}},
                    {"s", {}, std::vector<std::string>{"a\"b"}},
                    {"b", {2}, std::vector<bool>{true, false}},
                    {"e", {0, 3}, std::vector<float>{}}});
    const auto json = nlohmann::json::parse(out.str());
    EXPECT_EQ(json.at("m"), nlohmann::json::parse(R"([[0.1, "-inf"], ["nan", 1e-7]])"));
    EXPECT_EQ(json.at("s"), "a\"b");
    EXPECT_EQ(json.at("b"), nlohmann::json::parse("[true, false]"));
    EXPECT_EQ(json.at("e"), nlohmann::json::array());
}

TEST(Dump, CsvQuotesAsRfc4180Says) {
    Matrix m(2, 2, 0.5F);
    m(0, 1) = -INFINITY;
    std::ostringstream out;
    writeCsv(out, {m, {"a,b", "say \"hi\""}, {"x", "line\nbreak"}});
    EXPECT_EQ(out.str(), ",x,\"line\nbreak\"\n\"a,b\",0.5,-inf\n\"say \"\"hi\"\"\",0.5,0.5\n");
}

} // namespace
} // namespace headscope
