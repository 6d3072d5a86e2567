// Any bytes as a SentencePiece model.
#include "core/text/sentencepiece_tokenizer.h"
#include "tests/fuzz/fuzz_tokenizer.h"

using namespace headscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return fuzzing::tryTokenizer([&] { return parseSentencePiece(fuzzing::asText(data, size), "fuzzed"); });
}
