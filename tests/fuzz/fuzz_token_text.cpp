// Any valid UTF-8 through every kind of tokenizer: tokens in order, ranges inside the text, and byte-level tokens that
// turn back into it.
#include "core/text/byte_alphabet.h"
#include "core/text/byte_level_bpe.h"
#include "core/text/gguf_vocabulary.h"
#include "core/text/tokenizer_files.h"
#include "tests/fuzz/fuzz_tokenizer.h"

using namespace headscope;

namespace {

std::shared_ptr<const Tokenizer> byteLevelTokenizer(std::string_view pattern) {
    Vocabulary vocabulary;
    for (int byte = 0; byte < 256; ++byte)
        vocabulary.add(std::string(byteLetter(static_cast<unsigned char>(byte))), byte);
    return makeSubwordTokenizer(byteLevelParts(std::move(vocabulary), {}, *byteLevelPattern(pattern), false, "fuzz"));
}

std::shared_ptr<const Tokenizer> scoreTokenizer() {
    GgufVocabulary v;
    v.model = "llama";
    v.tokens = {"<unk>", "\u2581", "a", "b", "ab", "\u2581a", "e\u0301", "\U0001F600"};
    v.scores = {0, -1, -2, -3, -4, -5, -6, -7};
    v.unknown = 0;
    return makeGgufTokenizer(v, "fuzz");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto gpt2 = byteLevelTokenizer("gpt-2"), llama3 = byteLevelTokenizer("llama-bpe");
    static const auto bert = parseWordPieceVocabulary("[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n##\u0301\n", "fuzz");
    static const auto llama = scoreTokenizer();
    const std::string_view text = fuzzing::asText(data, size);
    for (const auto& tokenizer : {gpt2, llama3, bert, llama}) {
        try {
            const TokenSequence sequence = tokenizer->tokenize(text);
            std::size_t last = 0;
            std::vector<std::int64_t> ids;
            for (const Token& token : sequence.tokens) {
                ids.push_back(token.id);
                if (!token.range)
                    continue;
                if (token.range->start < last || token.range->end < token.range->start ||
                    token.range->end > text.size())
                    std::abort();
                last = token.range->start;
            }
            if ((tokenizer == gpt2 || tokenizer == llama3) && tokenizer->textOf(ids) != text)
                std::abort();
        } catch (const InputError&) { // not UTF-8
        }
    }
    return 0;
}
