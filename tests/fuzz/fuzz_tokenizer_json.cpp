// Any bytes as a tokenizer.json.
#include "core/text/tokenizer_json.h"
#include "tests/fuzz/fuzz_tokenizer.h"

using namespace headscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return fuzzing::tryTokenizer([&] { return parseTokenizerJson(fuzzing::asText(data, size), "fuzzed"); });
}
