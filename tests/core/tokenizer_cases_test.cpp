// What reference tokenizers say about 50 awkward texts: Rust `tokenizers` 0.23.2, SentencePiece 0.1.97, llama2.c. Their
// offsets count characters, ours bytes.
#include "core/text/gguf_vocabulary.h"
#include "core/text/load_tokenizer.h"
#include "tests/support/golden.h"
#include "tests/support/llama2c_vocabulary.h"
#include "tests/support/token_lists.h"

#include <nlohmann/json.hpp>

#include <map>

namespace headscope::testing {
namespace {

using nlohmann::json;

const char* const caseFiles[] = {
    "bert-base-uncased__tokenizers-rust",
    "bert-base-uncased.nospecial__tokenizers-rust",
    "bert-wiki__tokenizers-rust",
    "bert-wiki.nospecial__tokenizers-rust",
    "gpt2__tokenizers-rust",
    "gpt2.nospecial__tokenizers-rust",
    "t5-small__tokenizers-rust",
    "t5-small.nospecial__tokenizers-rust",
    "t5-small.nospecial__sentencepiece-cpp",
    "kerashub_albert_test.nospecial__sentencepiece-cpp",
    "kerashub_llama_export.nospecial__sentencepiece-cpp",
    "sp-test_ja_model.nospecial__sentencepiece-cpp",
    "sp-test_model.nospecial__sentencepiece-cpp",
    "tftext_fast_sentencepiece.nospecial__sentencepiece-cpp",
    "toy-curated.nospecial__sentencepiece-cpp",
    "stories260K-tok512__llama2c",
};

std::map<int, std::string> readTexts() {
    std::map<int, std::string> texts;
    for (const json& input : json::parse(bytesOfFile(sharedData("tokenizer-cases/inputs.json").string())))
        texts[input["id"]] = input["text"];
    return texts;
}

std::shared_ptr<const Tokenizer> openTokenizer(const std::string& relative) {
    if (relative == "tok512.bin") {
        const std::string path = sharedData("checkpoints/stories260K/tok512.bin").string();
        return makeGgufTokenizer(readLlama2cVocabulary(path), path);
    }
    return loadTokenizer(sharedData("tokenizers/" + relative).string());
}

class PublishedTokens : public ::testing::TestWithParam<const char*> {};

TEST_P(PublishedTokens, AreOurs) {
    const std::string name = GetParam();
    HEADSCOPE_NEEDS_SHARED_DATA("tokenizer-cases/" + name + ".json");
    const json published = json::parse(bytesOfFile(sharedData("tokenizer-cases/" + name + ".json").string()));
    const auto texts = readTexts();
    const auto tokenizer = openTokenizer(published["files"].begin().key());
    const bool addSpecial = name.find(".nospecial") == std::string::npos;

    ASSERT_GE(published["cases"].size(), 49U);
    for (const json& expected : published["cases"]) {
        const std::string& text = texts.at(expected["id"]);
        SCOPED_TRACE(text);
        const TokenSequence ours = tokenizer->encode({.text = text, .addSpecial = addSpecial});
        ASSERT_EQ(idsOf(ours), expected["ids"].get<std::vector<std::int64_t>>());
        if (expected.contains("tokens")) {
            EXPECT_EQ(piecesOf(ours), expected["tokens"].get<std::vector<std::string>>());
        }
        if (!expected.contains("offsets"))
            continue;
        const auto ranges = rangesOf(ours);
        for (std::size_t i = 0; i < ranges.size(); ++i) {
            const auto [start, end] = expected["offsets"][i].get<std::pair<std::size_t, std::size_t>>();
            const bool added = expected["word_ids"][i].is_null();
            const Range range({byteOfCharacter(text, start), byteOfCharacter(text, end)});
            EXPECT_EQ(ranges[i], added ? std::nullopt : range) << "token " << i;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Reference, PublishedTokens, ::testing::ValuesIn(caseFiles), [](const auto& test) {
    std::string name = test.param;
    std::replace_if(
        name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
    return name;
});

// The library joins neighbouring unknown characters, and takes minutes for very many; ours must give the same piece.
TEST(SentencePiece, MakesOnePieceOfALongUnknownRun) {
    HEADSCOPE_NEEDS_SHARED_DATA("tokenizers/t5-small/spiece.model");
    const auto tokenizer = openTokenizer("t5-small/spiece.model");
    std::string run;
    for (int i = 0; i < 5000; ++i)
        run += "\u6211\u559c";
    const TokenSequence tokens = tokenizer->tokenize("cat " + run + " cat");
    EXPECT_EQ(piecesOf(tokens), (std::vector<std::string>{"\u2581cat", "\u2581", run, "\u2581cat", "</s>"}));
    EXPECT_EQ(rangesOf(tokens)[2], Range({4, 4 + run.size()}));
    EXPECT_EQ(tokens.tokens[2].text, run);
}

// vocab.txt and vocab.json + merges.txt hold what tokenizer.json holds: the same tokens, ranges and all.
class OlderFiles : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(OlderFiles, GiveTheTokensOfTokenizerJson) {
    const auto [older, whole] = GetParam();
    HEADSCOPE_NEEDS_SHARED_DATA(older);
    const auto a = loadTokenizer(sharedData(older).string());
    const auto b = loadTokenizer(sharedData(whole).string());
    for (const auto& [id, text] : readTexts()) {
        SCOPED_TRACE(text);
        EXPECT_EQ(a->tokenize(text).tokens, b->tokenize(text).tokens);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Reference, OlderFiles,
    ::testing::Values(std::pair{"tokenizers/bert-base-uncased/vocab.txt",
                                "tokenizers/bert-base-uncased/tokenizer.json"},
                      std::pair{"tokenizers/gpt2/merges.txt", "tokenizers/gpt2/tokenizer.json"},
                      std::pair{"reference/bert/vocab.txt", "reference/bert/tokenizer.json"},
                      std::pair{"reference/electra/vocab.txt", "reference/electra/tokenizer.json"},
                      std::pair{"reference/roberta/vocab.json", "reference/roberta/tokenizer.json"},
                      std::pair{"reference/bart/vocab.json", "reference/bart/tokenizer.json"},
                      std::pair{"reference/gpt-neox/vocab.json", "reference/gpt-neox/tokenizer.json"},
                      std::pair{"translate/vocab.json", "translate/tokenizer.json"}),
    [](const auto& test) { return "case" + std::to_string(test.index); });

} // namespace
} // namespace headscope::testing
