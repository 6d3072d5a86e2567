// Any bytes as a vocab.json and, behind the first NUL, a merges.txt.
#include "core/text/tokenizer_files.h"
#include "tests/fuzz/fuzz_tokenizer.h"

using namespace headscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes = fuzzing::asText(data, size);
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    return fuzzing::tryTokenizer([&] {
        return parseByteLevelBpe(bytes.substr(0, end), "vocab.json", bytes.substr(std::min(end + 1, bytes.size())),
                                 "merges.txt");
    });
}
