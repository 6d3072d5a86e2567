// Any bytes as a vocab.txt, and the same ones as a tokenizer_config.json.
#include "core/text/tokenizer_files.h"
#include "tests/fuzz/fuzz_tokenizer.h"

using namespace headscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes = fuzzing::asText(data, size);
    try {
        parseTokenizerConfig(bytes, "fuzzed");
    } catch (const LoadError&) {
    }
    return fuzzing::tryTokenizer([&] { return parseWordPieceVocabulary(bytes, "fuzzed"); });
}
