// A hub folder is the same model however it is kept: in shards, in 16 bits, with the older tokenizer files.
#include "core/attention/trace.h"
#include "core/exchange/scenario_file.h"
#include "core/model/checkpoint.h"
#include "core/model/parameters.h"
#include "tests/support/checkpoints.h"
#include "tests/support/hub_folders.h"
#include "tests/support/json_matrix.h"
#include "tests/support/token_lists.h"

namespace headscope {
namespace {

using namespace testing;

Scenario typed(const std::string& model, const std::string& text, const std::optional<std::string>& pair = {}) {
    ScenarioRequest request;
    request.source.name = model;
    request.text = text;
    request.pair = pair;
    return makeScenario(std::move(request));
}

Matrix hiddenOf(const Scenario& scenario) {
    return *trace(scenario, backendByName("auto"))->hidden;
}

const std::string text = "The runner was tired", pair = "because she ran";

struct TypedFamily : ::testing::TestWithParam<const char*> {};

TEST_P(TypedFamily, GivesTheIdsAndTheAttentionOfTheReference) {
    const std::string folder = std::string("reference/") + GetParam();
    HEADSCOPE_NEEDS_SHARED_DATA(folder);
    const nlohmann::json cases = readJson(sharedData(folder + "/cases.json"));
    for (const auto& one : cases["cases"]) {
        const bool hasPair = one.contains("pair") && !one["pair"].is_null();
        const Scenario s = typed(sharedData(folder).string(), one["text"],
                                 hasPair ? std::optional(one["pair"].get<std::string>()) : std::nullopt);
        ASSERT_EQ(idsOf(s.query), one["ids"].get<std::vector<std::int64_t>>()) << one["text"];
        const SharedTrace t = trace(s, backendByName("auto"));
        const Arrays expected(sharedData(folder + "/" + one["expected"].get<std::string>()).string());
        const std::vector<float> hidden = expected.at("hidden");
        EXPECT_LE(farthest(t->hidden->values(), hidden) / largestFinite(hidden), 1e-4) << one["text"];
    }
}

INSTANTIATE_TEST_SUITE_P(Reference, TypedFamily,
                         ::testing::Values("bert", "roberta", "distilbert", "electra", "gpt2", "gpt-neox", "llama",
                                           "mistral", "qwen2"),
                         [](const auto& p) {
                             std::string name = p.param;
                             std::erase(name, '-');
                             return name;
                         });

TEST(HubFolder, TheSameNumbersInAnyTypeGiveTheSameBits) {
    HEADSCOPE_NEEDS_SHARED_DATA("reference/bert");
    const TemporaryFolder folder;
    const auto hidden = [&](const std::string& type) {
        return hiddenOf(typed(changedFolder("bert", folder / type,
                                            [&](std::vector<RawTensor>& tensors) {
                                                for (RawTensor& t : tensors)
                                                    convert(t, type);
                                            }),
                              text, pair));
    };
    const Matrix floats = hidden("F32");
    EXPECT_EQ(hidden("BF16"), floats);
    EXPECT_EQ(hidden("F16"), floats);
}

TEST(HubFolder, ShardsGiveTheSameBitsAsOneFile) {
    HEADSCOPE_NEEDS_SHARED_DATA("reference/bert");
    const TemporaryFolder folder;
    const std::string whole = sharedData("reference/bert").string();
    const std::string shards = changedFolder("bert", folder / "shards", [](std::vector<RawTensor>&) {});
    const std::vector<RawTensor> tensors = readSafetensors(shards + "/model.safetensors");
    std::filesystem::remove(shards + "/model.safetensors");
    nlohmann::json map;
    for (const bool second : {false, true}) {
        std::vector<RawTensor> half;
        for (std::size_t i = second ? 1 : 0; i < tensors.size(); i += 2)
            half.push_back(tensors[i]);
        const std::string name = second ? "model-00002-of-00002.safetensors" : "model-00001-of-00002.safetensors";
        writeSafetensors(shards + "/" + name, half);
        for (const RawTensor& t : half)
            map[t.name] = name;
    }
    writeFile(shards + "/model.safetensors.index.json", nlohmann::json{{"weight_map", map}}.dump());
    EXPECT_EQ(hiddenOf(typed(shards, text, pair)), hiddenOf(typed(whole, text, pair)));

    // A scenario knows a folder by its shards: one changed number in either is found.
    const Document document{typed(shards, text, pair), {}};
    const std::string saved = writeScenario(document);
    EXPECT_EQ(readScenario(saved, "test", "").scenario.query, document.scenario.query);
    std::vector<RawTensor> second = readSafetensors(shards + "/model-00002-of-00002.safetensors");
    second.front().bytes[0] = static_cast<char>(second.front().bytes[0] ^ 1);
    writeSafetensors(shards + "/model-00002-of-00002.safetensors", second);
    const std::string sentence = refusal<LoadError>([&] { readScenario(saved, "test", ""); });
    EXPECT_NE(sentence.find("it has changed since"), std::string::npos) << sentence;
}

// Also through links, as a hub cache keeps its files.
TEST(HubFolder, TheOlderTokenizerFilesCutAsTheNewOneDoes) {
    for (const std::string family : {"bert", "electra", "roberta", "gpt2"}) {
        HEADSCOPE_NEEDS_SHARED_DATA("reference/" + family);
        const TemporaryFolder folder;
        const std::filesystem::path whole = sharedData("reference/" + family), older = folder.path() / "older";
        std::filesystem::create_directory(older);
        for (const auto& entry : std::filesystem::directory_iterator(whole))
            if (entry.path().filename() != "tokenizer.json")
                std::filesystem::create_symlink(entry.path(), older / entry.path().filename());
        EXPECT_EQ(typed(older.string(), text).query, typed(whole.string(), text).query) << family;
    }
}

// models--org--name/refs/main names the snapshot, whose files are links into blobs/.
TEST(HubFolder, ACacheFolderIsTheSnapshotThatItPointsTo) {
    HEADSCOPE_NEEDS_SHARED_DATA("reference/bert");
    namespace fs = std::filesystem;
    const TemporaryFolder folder;
    const fs::path cache = folder.path() / "models--org--bert", whole = sharedData("reference/bert");
    fs::create_directories(cache / "blobs");
    fs::create_directories(cache / "refs");
    for (const char* snapshot : {"0123abcd", "older"})
        fs::create_directories(cache / "snapshots" / snapshot);
    for (const auto& entry : fs::directory_iterator(whole))
        if (entry.is_regular_file()) {
            const fs::path name = entry.path().filename();
            fs::copy_file(entry.path(), cache / "blobs" / name);
            fs::create_symlink(fs::path("../../blobs") / name, cache / "snapshots" / "0123abcd" / name);
        }
    const std::string unclear = refusal<LoadError>([&] { typed(cache.string(), text); });
    EXPECT_NE(unclear.find("snapshots: expected one folder"), std::string::npos) << unclear;
    writeFile((cache / "refs" / "main").string(), "0123abcd\n");
    EXPECT_EQ(hiddenOf(typed(cache.string(), text)), hiddenOf(typed(whole.string(), text)));
}

TEST(HubFolder, AModelLargerThanTheMemoryIsRefusedBeforeAnythingIsRead) {
    HEADSCOPE_NEEDS_SHARED_DATA("reference/bert");
    const TemporaryFolder folder;
    const std::string path = changedFolder("bert", folder / "huge", [](std::vector<RawTensor>&) {});
    const std::uint64_t rows = 100'000'000, cols = 16384, bytes = rows * cols; // of one byte each, all in a hole
    const std::string header = R"({"embeddings.word_embeddings.weight":{"dtype":"U8","shape":[)" +
                               std::to_string(rows) + "," + std::to_string(cols) + R"(],"data_offsets":[0,)" +
                               std::to_string(bytes) + "]}}";
    const std::uint64_t length = header.size();
    const std::string file = path + "/model.safetensors";
    writeFile(file, std::string(reinterpret_cast<const char*>(&length), sizeof length) + header);
    std::error_code error;
    std::filesystem::resize_file(file, sizeof length + header.size() + bytes, error);
    if (error)
        GTEST_SKIP() << "no file of " << bytes << " bytes can be made here: " << error.message();
    const std::string sentence = refusal<LoadError>([&] { typed(path, text); });
    EXPECT_NE(sentence.find("needs 18310.5 GiB, but "), std::string::npos) << sentence; // the table, read and applied
    EXPECT_NE(sentence.find("are free"), std::string::npos) << sentence;
}

TEST(HubFolder, OpeningTellsHowFarItIsAndStopsOnRequest) {
    HEADSCOPE_NEEDS_SHARED_DATA("reference/bert");
    ModelSource source;
    source.name = sharedData("reference/bert").string();
    std::vector<double> fractions;
    openModel(source, {.progress = [&](double fraction) { fractions.push_back(fraction); }, .stop = {}});
    ASSERT_GT(fractions.size(), 10U);
    EXPECT_TRUE(std::ranges::is_sorted(fractions));
    EXPECT_GT(fractions.back(), 0.9);
    EXPECT_LE(fractions.back(), 1.0);

    std::stop_source stop;
    std::size_t read = 0;
    const OpenHooks hooks{.progress =
                              [&](double) {
                                  if (++read == 3)
                                      stop.request_stop();
                              },
                          .stop = stop.get_token()};
    EXPECT_THROW(openModel(source, hooks), Cancelled);
    EXPECT_EQ(read, 3U);
}

TEST(HubFolder, TensorsThatTheFamilyDoesNotUseAreListedAndNotFatal) {
    HEADSCOPE_NEEDS_SHARED_DATA("reference/bert");
    const TemporaryFolder folder;
    ModelSource source;
    source.name = changedFolder("bert", folder / "extra", [](std::vector<RawTensor>& tensors) {
        tensors.push_back({"adapter.scale", "F32", {1}, std::string(4, '\0')});
    });
    const std::vector<std::string> unread = openModel(source).unread;
    EXPECT_NE(std::ranges::find(unread, "adapter.scale"), unread.end());
    EXPECT_TRUE(std::ranges::none_of(unread, [](const std::string& name) { return name.ends_with("query.weight"); }));
}

TEST(HubFolder, ALoneFileOfAWholeCheckpointAsksForItsConfig) {
    HEADSCOPE_NEEDS_SHARED_DATA("reference/bert");
    const TemporaryFolder folder;
    const std::string path = folder / "model.safetensors";
    writeFile(path, readFile(sharedData("reference/bert/model.safetensors").string()));
    const std::string sentence = refusal<LoadError>([&] { typed(path, text); });
    EXPECT_NE(sentence.find("config.json beside it"), std::string::npos) << sentence;
    EXPECT_NE(sentence.find("name the folder"), std::string::npos) << sentence;
}

TEST(HubFolder, AModelIsNamedAfterItsFolderWithOrWithoutASlash) {
    HEADSCOPE_NEEDS_SHARED_DATA("reference/bert");
    const std::string folder = sharedData("reference/bert").string();
    EXPECT_EQ(typed(folder + "/", text).model->config().name, "bert");
    EXPECT_EQ(typed(folder, text).model->config().name, "bert");
}

TEST(ScenarioFile, ASecondSegmentSurvives) {
    const Document document{typed("mini", "Where is the \"cat\"?\t\u00e9", "On the\nmat \U0001F63A"), {}};
    const Scenario again = readScenario(writeScenario(document), "test", "").scenario;
    EXPECT_EQ(again.query, document.scenario.query);
    EXPECT_EQ(again.query.pairSource, "On the\nmat \U0001F63A");
    EXPECT_EQ(hiddenOf(again), hiddenOf(document.scenario));
}

TEST(ScenarioFile, APairOfIdsSurvives) {
    ScenarioRequest request;
    request.source.name = "mini";
    request.ids = {101, 1996, 4937, 102};
    request.pairIds = {2938, 102};
    const Document document{makeScenario(std::move(request)), {}};
    const std::string saved = writeScenario(document);
    EXPECT_EQ(readScenario(saved, "test", "").scenario.query, document.scenario.query);
    EXPECT_EQ(nlohmann::json::parse(saved)["pair_ids"], nlohmann::json::parse("[2938, 102]"));
}

// 22 713 216 are published for all-MiniLM-L6-v2; its pooler, 384 x 384 and 384, is left out of mini.
TEST(Parameters, AreAsManyAsPublished) {
    EXPECT_EQ(countParameters(*typed("mini", text).model).total(), 22713216 - 384 * 384 - 384);
}

// Every number of a file is counted once, and no other: nothing in these files is left unread.
TEST(Parameters, OfAFolderAreTheNumbersOfItsFiles) {
    for (const char* family : {"bert", "distilbert", "electra", "gpt2", "gpt-neox", "llama", "mistral", "qwen2"}) {
        const std::string folder = std::string("reference/") + family;
        HEADSCOPE_NEEDS_SHARED_DATA(folder);
        const std::string path = sharedData(folder).string();
        std::int64_t numbers = 0;
        const auto tensors = openFolderTensors(path); // outlives the loop over its entries
        for (const TensorEntry& entry : tensors->entries())
            numbers += entry.count;
        EXPECT_EQ(countParameters(*modelOfIds(path)).total(), numbers) << family;
    }
}

} // namespace
} // namespace headscope
