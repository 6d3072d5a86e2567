// The ids and tokens that transformers gives for the texts of every checkpoint folder.
#include "core/text/load_tokenizer.h"
#include "tests/support/golden.h"
#include "tests/support/token_lists.h"

#include <nlohmann/json.hpp>

namespace headscope::testing {
namespace {

using nlohmann::json;

std::vector<json> casesOf(const std::string& folder) {
    const json document = json::parse(bytesOfFile(sharedData(folder + "/cases.json").string()));
    return document.is_object() ? document["cases"] : document;
}

void expectTokens(const TokenSequence& ours, const json& ids, const json& pieces) {
    EXPECT_EQ(idsOf(ours), ids.get<std::vector<std::int64_t>>());
    EXPECT_EQ(piecesOf(ours), pieces.get<std::vector<std::string>>());
}

class CheckpointTokens : public ::testing::TestWithParam<const char*> {};

TEST_P(CheckpointTokens, AreThoseOfItsLibrary) {
    const std::string folder = GetParam();
    HEADSCOPE_NEEDS_SHARED_DATA(folder);
    const auto tokenizer = loadTokenizer(sharedData(folder).string());
    const auto targets = loadTokenizer(sharedData(folder).string(), {.target = true});
    for (const json& c : casesOf(folder)) {
        SCOPED_TRACE(c.dump());
        if (c.contains("source")) {
            expectTokens(tokenizer->tokenize(c["source"].get<std::string>()), c["ids.key"], c["tokens.key"]);
            // The decoder reads its text shifted right: a begin token in front, the end token not yet there.
            TokenSequence target = targets->tokenize(c["target"].get<std::string>());
            ASSERT_FALSE(target.tokens.empty());
            target.tokens.pop_back();
            target.tokens.insert(target.tokens.begin(), targets->tokenOf(c["ids.query"][0]));
            expectTokens(target, c["ids.query"], c["tokens.query"]);
            continue;
        }
        const std::string text = c["text"], pair = c.value("pair", "");
        const TokenSequence ours =
            c.contains("pair") ? tokenizer->encode({.text = text, .pair = pair}) : tokenizer->tokenize(text);
        expectTokens(ours, c["ids"], c["tokens"]);
        for (std::size_t i = 0; c.contains("token_type_ids") && i < ours.tokens.size(); ++i)
            EXPECT_EQ(ours.tokens[i].segment, c["token_type_ids"][i]) << "token " << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Reference, CheckpointTokens,
                         ::testing::Values("reference/bert", "reference/roberta", "reference/distilbert",
                                           "reference/electra", "reference/gpt2", "reference/gpt-neox",
                                           "reference/llama", "reference/mistral", "reference/qwen2", "reference/bart",
                                           "reference/marian", "reference/t5", "story", "translate"),
                         [](const auto& test) {
                             std::string name = test.param;
                             std::replace_if(
                                 name.begin(), name.end(), [](char c) { return c == '-' || c == '/'; }, '_');
                             return name;
                         });

// The texts of the small encoder that ships, among them a pair: offsets into each text, segments, a typed [MASK].
TEST(CheckpointTokens, OfAPairCountTheBytesOfTheirOwnText) {
    HEADSCOPE_NEEDS_SHARED_DATA("mini/cases.json");
    const auto tokenizer = loadTokenizer(sharedData("tokenizers/bert-base-uncased").string()); // the same vocabulary
    for (const json& c : casesOf("mini")) {
        SCOPED_TRACE(c.dump());
        const std::string text = c["text"];
        const std::string pair = c["pair"].is_null() ? "" : c["pair"].get<std::string>();
        const TokenSequence ours =
            c["pair"].is_null() ? tokenizer->tokenize(text) : tokenizer->encode({.text = text, .pair = pair});
        expectTokens(ours, c["ids"], c["tokens"]);
        for (std::size_t i = 0; i < ours.tokens.size(); ++i) {
            const Token& token = ours.tokens[i];
            EXPECT_EQ(token.segment, c["token_type_ids"][i]);
            const auto [start, end] = c["character_offsets"][i].get<std::pair<std::size_t, std::size_t>>();
            const std::string& own = token.segment == 0 ? text : pair;
            const Range expected =
                start == end ? Range() : Range({byteOfCharacter(own, start), byteOfCharacter(own, end)});
            EXPECT_EQ(rangesOf(ours)[i], expected) << "token " << i;
        }
    }
}

// What a decoder writes can be read again.
TEST(CheckpointTokens, TurnBackIntoTheirText) {
    for (const char* folder : {"story", "translate", "reference/gpt2", "reference/t5", "reference/marian",
                               "reference/llama/tokenizer.model"}) {
        HEADSCOPE_NEEDS_SHARED_DATA(folder);
        const auto tokenizer = loadTokenizer(sharedData(folder).string());
        const std::string text = "The black cat sleeps.";
        EXPECT_EQ(tokenizer->textOf(idsOf(tokenizer->tokenize(text))), text) << folder;
    }
}

} // namespace
} // namespace headscope::testing
