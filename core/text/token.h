// Token and TokenSequence: what a tokenizer made of the text, and where in the text each token came from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headscope {

// UTF-8 byte range [start, end) in the source text.
struct ByteRange {
    std::size_t start = 0, end = 0;
    bool operator==(const ByteRange&) const = default;
};

struct Token {
    std::int64_t id = 0;
    std::string piece;                // the vocabulary's own string ("##at"); the word itself in word models
    std::string text;                 // what people read
    std::optional<ByteRange> range{}; // empty for added specials
    bool special = false;
    int segment = 0;
    bool operator==(const Token&) const = default;
};

struct TokenSequence {
    std::string source; // UTF-8, as typed; empty when ids or a matrix were given
    std::vector<Token> tokens;

    int size() const { return static_cast<int>(tokens.size()); }
    bool operator==(const TokenSequence&) const = default;
};

} // namespace headscope
