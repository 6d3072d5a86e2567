// Laws of tokenizers on vocabularies small enough to read here.
#include "core/tensor/errors.h"
#include "core/text/byte_alphabet.h"
#include "core/text/byte_level_bpe.h"
#include "core/text/gguf_vocabulary.h"
#include "core/text/pre_tokenizers.h"
#include "core/text/sentencepiece_tokenizer.h"
#include "core/text/tokenizer_files.h"
#include "core/text/tokenizer_json.h"
#include "tests/support/token_lists.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unicode/normalizer2.h>

#include <random>

namespace headscope::testing {
namespace {

using nlohmann::json;
using Strings = std::vector<std::string>;
using Ids = std::vector<std::int64_t>;

const char* const awkward =
    "Caf\u00e9 e\u0301\u0323 \ufb01 \u4f60\u597d \U0001F600\u200d\U0001F600 isn't  12345 \u0130\t\n";

json wordPieceJson() {
    return json{{"model",
                 {{"type", "WordPiece"},
                  {"unk_token", "[UNK]"},
                  {"continuing_subword_prefix", "##"},
                  {"max_input_chars_per_word", 100},
                  {"vocab", {{"[UNK]", 0}, {"a", 1}, {"##b", 2}, {"ab", 3}, {"##c", 4}, {"cafe", 5}}}}}};
}

std::shared_ptr<const Tokenizer> parsed(const json& document) {
    return parseTokenizerJson(document.dump(), "tokenizer.json");
}

// 256 letters, and what the test adds.
std::shared_ptr<const Tokenizer> byteLevel(const std::string& pattern, const std::vector<Merge>& merges = {}) {
    Vocabulary vocabulary;
    for (int byte = 0; byte < 256; ++byte)
        vocabulary.add(std::string(byteLetter(static_cast<unsigned char>(byte))), byte);
    for (const Merge& merge : merges)
        vocabulary.add(merge.left + merge.right, static_cast<std::int64_t>(vocabulary.size()));
    return makeSubwordTokenizer(
        byteLevelParts(std::move(vocabulary), merges, *byteLevelPattern(pattern), false, "test"));
}

TEST(ByteLevelTokenizer, LosesNoByte) {
    for (const char* pattern : {"gpt-2", "llama-bpe", "smollm"}) {
        const auto tokenizer = byteLevel(pattern, {{"i", "s"}, {"1", "2"}, {"\u0120", "\u0120"}});
        EXPECT_EQ(tokenizer->textOf(idsOf(tokenizer->tokenize(awkward))), awkward) << pattern;
    }
}

TEST(ByteLevelTokenizer, ShowsAPartOfACharacterAsItsBytesAndItsRangeIsTheCharacter) {
    const TokenSequence tokens = byteLevel("gpt-2")->tokenize("a \u00e9");
    EXPECT_EQ(piecesOf(tokens), (Strings{"a", "\u0120", "\u00c3", "\u00a9"}));
    EXPECT_EQ(textsOf(tokens), (Strings{"a", " ", "<C3>", "<A9>"}));
    EXPECT_EQ(rangesOf(tokens), (std::vector<Range>{{{0, 1}}, {{1, 2}}, {{2, 4}}, {{2, 4}}}));
}

TEST(ByteLevelTokenizer, ShowsNoMarkOfAWordsBeginning) {
    const auto tokenizer = byteLevel("gpt-2", {{"a", "t"}, {"\u0120", "at"}});
    EXPECT_EQ(textsOf(tokenizer->tokenize("at at")), (Strings{"at", "at"}));
    EXPECT_EQ(piecesOf(tokenizer->tokenize("at at")), (Strings{"at", "\u0120at"}));
}

TEST(MergeBpe, JoinsInTheOrderOfTheListNotOfTheText) {
    EXPECT_EQ(piecesOf(byteLevel("gpt-2", {{"b", "c"}, {"a", "b"}})->tokenize("abc")), (Strings{"a", "bc"}));
    EXPECT_EQ(piecesOf(byteLevel("gpt-2", {{"a", "b"}, {"b", "c"}})->tokenize("abc")), (Strings{"ab", "c"}));
    EXPECT_EQ(piecesOf(byteLevel("gpt-2", {{"a", "a"}})->tokenize("aaa")), (Strings{"aa", "a"})); // the left one first
}

TEST(WordPiece, TakesTheLongestPieceAndRangesPointIntoWhatWasTyped) {
    json document = wordPieceJson();
    document["normalizer"] = {{"type", "BertNormalizer"}};
    document["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
    const TokenSequence tokens = parsed(document)->tokenize("ABC Cafe\u0301\u4e00");
    EXPECT_EQ(piecesOf(tokens), (Strings{"ab", "##c", "cafe", "[UNK]"}));
    EXPECT_EQ(textsOf(tokens), (Strings{"ab", "c", "cafe", "\u4e00"}));
    EXPECT_EQ(rangesOf(tokens), (std::vector<Range>{{{0, 2}}, {{2, 3}}, {{4, 8}}, {{10, 13}}}));
    EXPECT_FALSE(tokens.tokens[3].special); // unknown is not special: somebody typed it
}

TEST(Unigram, TakesTheMostProbableSegmentation) {
    json document = json::parse(R"({"model": {"type": "Unigram", "unk_id": 0, "vocab":
        [["<unk>", 0], ["a", -1], ["b", -1], ["ab", -1.5], ["ba", -3]]}})");
    EXPECT_EQ(piecesOf(parsed(document)->tokenize("abab")), (Strings{"ab", "ab"}));
    document["model"]["vocab"][3][1] = -2.5; // now two letters are more probable than both together
    EXPECT_EQ(piecesOf(parsed(document)->tokenize("abab")), (Strings{"a", "b", "a", "b"}));
    EXPECT_EQ(textsOf(parsed(document)->tokenize("axyb")), (Strings{"a", "xy", "b"})); // unknown letters are one token
    EXPECT_EQ(idsOf(parsed(document)->tokenize("axyb")), (Ids{1, 0, 2}));
}

GgufVocabulary llamaVocabulary() {
    GgufVocabulary v;
    v.model = "llama";
    v.tokens = {"<unk>", "<s>", "</s>", "<0xC3>", "<0xA9>", "\u2581", "a", "b", "ab", "\u2581a"};
    v.types = {2, 3, 3, 6, 6, 1, 1, 1, 1, 1};
    v.scores = {0, 0, 0, 0, 0, -9, -9, -9, -1, -2};
    v.unknown = 0;
    v.bos = 1;
    v.eos = 2;
    return v;
}

TEST(GgufLlama, JoinsTheHighestScoreFirstAndWritesUnknownLettersAsBytes) {
    const TokenSequence tokens = makeGgufTokenizer(llamaVocabulary(), "v")->tokenize("ab\u00e9 a");
    EXPECT_EQ(piecesOf(tokens), (Strings{"<s>", "\u2581", "ab", "<0xC3>", "<0xA9>", "\u2581a"}));
    EXPECT_EQ(textsOf(tokens), (Strings{"<s>", " ", "ab", "<C3>", "<A9>", "a"}));
    EXPECT_EQ(rangesOf(tokens)[0], std::nullopt);
    EXPECT_EQ(rangesOf(tokens)[5], Range({4, 6}));
}

TEST(GgufLlama, CountsATypedSpecialTokenAndNeverReadsBytePiecesFromText) {
    const auto tokenizer = makeGgufTokenizer(llamaVocabulary(), "v");
    const TokenSequence typed = tokenizer->encode({.text = "</s>", .addSpecial = false});
    EXPECT_EQ(idsOf(typed), Ids{2});
    EXPECT_TRUE(typed.tokens[0].special);
    EXPECT_EQ(rangesOf(typed)[0], Range({0, 4}));
    const Strings pieces = piecesOf(tokenizer->tokenize("<0xC3>"));
    EXPECT_EQ(std::count(pieces.begin(), pieces.end(), "<0xC3>"), 0);
}

TEST(GgufBert, IsWordPieceTurnedRound) {
    GgufVocabulary v;
    v.model = "bert";
    v.tokens = {"[UNK]", "[CLS]", "[SEP]", "\u2581a", "b", "\u2581ab"};
    v.types = {3, 3, 3, 1, 1, 1};
    const auto tokenizer = makeGgufTokenizer(v, "v");
    EXPECT_EQ(piecesOf(tokenizer->tokenize("abb")), (Strings{"[CLS]", "ab", "##b", "[SEP]"}));
    const TokenSequence pair = tokenizer->encode({.text = "a", .pair = "ab"});
    EXPECT_EQ(idsOf(pair), (Ids{1, 3, 2, 5, 2}));
    EXPECT_EQ(pair.tokens[3].segment, 1);
    EXPECT_EQ(pair.tokens[4].segment, 1);
    EXPECT_EQ(rangesOf(pair)[3], Range({0, 2})); // of the second text
    EXPECT_EQ(pair.pairSource, "ab");
}

TEST(GgufVocabularies, ThatDoNotFitAreRefused) {
    const auto refused = [](GgufVocabulary v, const std::string& entry) {
        try {
            makeGgufTokenizer(std::move(v), "file.gguf");
            ADD_FAILURE() << entry;
        } catch (const LoadError& error) {
            EXPECT_EQ(error.entry(), "tokenizer.ggml." + entry) << error.what();
        }
    };
    GgufVocabulary v = llamaVocabulary();
    v.scores.pop_back();
    refused(v, "scores");
    v = llamaVocabulary();
    v.types.pop_back();
    refused(v, "token_type");
    v = llamaVocabulary();
    v.bos = 10;
    refused(v, "bos_token_id");
    v = llamaVocabulary();
    v.model = "rwkv";
    refused(v, "model");
    v.model = "gpt2";
    v.pre = "nobody-knows";
    refused(v, "pre");
}

TEST(AddedTokens, TakeTheirSpacesAndStandAloneWhereTheyMust) {
    json document = wordPieceJson();
    document["pre_tokenizer"] = {{"type", "Whitespace"}};
    document["added_tokens"] = {
        {{"id", 6}, {"content", "<m>"}, {"lstrip", true}, {"normalized", false}, {"special", true}},
        {{"id", 7}, {"content", "abc"}, {"single_word", true}, {"normalized", false}}};
    const TokenSequence tokens = parsed(document)->tokenize("a <m>abcabc abc");
    EXPECT_EQ(piecesOf(tokens), (Strings{"a", "<m>", "[UNK]", "abc"}));
    EXPECT_EQ(rangesOf(tokens)[1], Range({1, 5}));
    EXPECT_TRUE(tokens.tokens[1].special);
    EXPECT_FALSE(tokens.tokens[3].special);
}

TEST(TokenizerJson, RefusesWhatItDoesNotKnowByName) {
    for (const char* part : {"normalizer", "pre_tokenizer", "post_processor", "decoder", "model"}) {
        json document = wordPieceJson();
        document[part]["type"] = "Brandnew";
        try {
            parsed(document);
            ADD_FAILURE() << part;
        } catch (const LoadError& error) {
            EXPECT_NE(std::string(error.what()).find("\"Brandnew\""), std::string::npos) << error.what();
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
        }
    }
}

TEST(TokenizerJson, RefusesWhatCannotBeMeant) {
    const auto refused = [](const char* what, const auto& change) {
        json document = wordPieceJson();
        change(document);
        EXPECT_THROW(parsed(document), LoadError) << what;
    };
    refused("id twice", [](json& d) { d["model"]["vocab"]["zz"] = 1; });
    refused("negative id", [](json& d) { d["model"]["vocab"]["zz"] = -1; });
    refused("fraction as id", [](json& d) { d["model"]["vocab"]["zz"] = 1.5; });
    refused("pattern", [](json& d) { d["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", "("}}}}; });
    refused("special id", [](json& d) {
        d["post_processor"] = {{"type", "BertProcessing"}, {"sep", {"[SEP]", 99}}, {"cls", {"[CLS]", 98}}};
    });
    refused("character map", [](json& d) {
        d["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", "AAAAAAAA"}};
    });
    refused("nesting", [](json& d) {
        json inner{{"type", "NFC"}};
        for (int i = 0; i < 100; ++i)
            inner = {{"type", "Sequence"}, {"normalizers", json::array({inner})}};
        d["normalizer"] = inner;
    });
}

// The aligned normalizer gives what ICU gives for the whole text.
TEST(UnicodeForms, AreIcus) {
    std::mt19937 random(1);
    const std::u32string letters =
        U"ae\u0301\u0323\u0307q\u1100\u1161\u11a8\uac00\u00e9\ufb01\u0344\u0f71\u0f72\u0f80 \U0001D15E";
    UErrorCode status = U_ZERO_ERROR;
    const std::pair<UnicodeForm, const icu::Normalizer2*> forms[] = {
        {UnicodeForm::Nfc, icu::Normalizer2::getNFCInstance(status)},
        {UnicodeForm::Nfd, icu::Normalizer2::getNFDInstance(status)},
        {UnicodeForm::Nfkc, icu::Normalizer2::getNFKCInstance(status)},
        {UnicodeForm::Nfkd, icu::Normalizer2::getNFKDInstance(status)}};
    for (int i = 0; i < 2000; ++i) {
        std::u32string text;
        for (auto n = random() % 8; n > 0; --n)
            text += letters[random() % letters.size()];
        const auto utf16 = icu::UnicodeString::fromUTF32(reinterpret_cast<const UChar32*>(text.data()),
                                                         static_cast<std::int32_t>(text.size()));
        std::string utf8;
        utf16.toUTF8String(utf8);
        for (const auto& [form, icu] : forms) {
            std::string expected;
            icu->normalize(utf16, status).toUTF8String(expected);
            SplitText ours(utf8);
            normalizeForm(form)(ours);
            EXPECT_EQ(ours.splits().empty() ? "" : ours.bytesOf(ours.splits()[0]), expected) << utf8;
        }
    }
}

TEST(Delimiters, DecideWhereAMatchGoes) {
    const auto cut = [](Delimiter delimiter) {
        SplitText text("a--b-");
        cutLiteral("-", delimiter, false)(text);
        Strings out;
        for (const auto& split : text.splits())
            out.emplace_back(text.bytesOf(split));
        return out;
    };
    EXPECT_EQ(cut(Delimiter::Removed), (Strings{"a", "b"}));
    EXPECT_EQ(cut(Delimiter::Isolated), (Strings{"a", "-", "-", "b", "-"}));
    EXPECT_EQ(cut(Delimiter::MergedWithPrevious), (Strings{"a-", "-", "b-"}));
    EXPECT_EQ(cut(Delimiter::MergedWithNext), (Strings{"a", "-", "-b", "-"}));
    EXPECT_EQ(cut(Delimiter::Contiguous), (Strings{"a", "--", "b", "-"}));
}

TEST(Tokenizers, RefuseInvalidUtf8AndUnknownIds) {
    const auto tokenizer = parsed(wordPieceJson());
    EXPECT_THROW(tokenizer->tokenize("a\xC3"), InputError);
    EXPECT_THROW(tokenizer->tokenOf(99), InputError);
    EXPECT_EQ(tokenizer->tokenize("").size(), 0);
    EXPECT_EQ(tokenizer->idOf("ab"), 3);
    EXPECT_EQ(tokenizer->idOf("abc"), std::nullopt);
    EXPECT_EQ(tokenizer->vocabularySize(), 6U);
}

TEST(WordPieceVocabulary, KeepsCapitalsWhereItHasSome) {
    EXPECT_EQ(piecesOf(parseWordPieceVocabulary("[UNK]\nThe\nthe\n", "v")->tokenize("The")), Strings{"The"});
    EXPECT_EQ(piecesOf(parseWordPieceVocabulary("[UNK]\nthe\n", "v")->tokenize("The")), Strings{"the"});
}

} // namespace
} // namespace headscope::testing
