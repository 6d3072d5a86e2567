// Any bytes as the arrays of a GGUF vocabulary: a line "kind pre", then one token a line: type, score, piece; a line
// that begins with a tab is a merge.
#include "core/text/gguf_vocabulary.h"
#include "tests/fuzz/fuzz_tokenizer.h"

#include <sstream>

using namespace headscope;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::istringstream in{std::string(fuzzing::asText(data, size))};
    std::string line;
    GgufVocabulary vocabulary;
    if (std::getline(in, line)) {
        const std::size_t space = std::min(line.find(' '), line.size());
        vocabulary.model = line.substr(0, space);
        vocabulary.pre = line.substr(std::min(space + 1, line.size()));
    }
    while (std::getline(in, line)) {
        if (line.starts_with('\t')) {
            vocabulary.merges.push_back(line.substr(1));
        } else if (line.size() >= 2) {
            vocabulary.types.push_back(line[0] - '0');
            vocabulary.scores.push_back(static_cast<float>(line[1]));
            vocabulary.tokens.push_back(line.substr(2));
        }
    }
    if (!vocabulary.tokens.empty())
        vocabulary.unknown = vocabulary.bos = 0;
    return fuzzing::tryTokenizer([&] { return makeGgufTokenizer(vocabulary, "fuzzed"); });
}
