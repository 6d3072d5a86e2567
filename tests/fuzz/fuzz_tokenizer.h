// What every fuzz target of a tokenizer file does with one: read it, and cut a text that has something of everything. A
// file may be refused with a LoadError, a text with an InputError; any other exception, and whatever the sanitizers
// find, is a defect. Ranges must lie inside the text.
#pragma once

#include "core/tensor/errors.h"
#include "core/text/tokenizer.h"

#include <cstdint>
#include <cstdlib>

namespace headscope::fuzzing {

inline void cutTexts(const Tokenizer& tokenizer) {
    static constexpr std::string_view text = "The cat isn't  on\tthe mat: caf\u00e9, e\u0301, \u4f60\u597d \U0001F600 "
                                             "\u0130 12345 [MASK] <s>ab</s> \u2581x \ufb01\n";
    try {
        for (const TokenSequence& sequence :
             {tokenizer.tokenize(text), tokenizer.tokenize(""), tokenizer.encode({.text = "a", .pair = text})})
            for (const Token& token : sequence.tokens) {
                const std::string& own = token.segment == 0 ? sequence.source : sequence.pairSource;
                if (token.range && (token.range->start > token.range->end || token.range->end > own.size()))
                    std::abort();
            }
        tokenizer.textOf({0, 1, 2});
    } catch (const InputError&) {
    }
}

template<class Parse>
int tryTokenizer(const Parse& parse) {
    try {
        cutTexts(*parse());
    } catch (const LoadError&) {
    }
    return 0;
}

inline std::string_view asText(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

} // namespace headscope::fuzzing
