// Token and TokenSequence: what a tokenizer made of the text, and where in the text each token came from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headscope {

// UTF-8 byte range [start, end) in the text that the token belongs to, of whole characters.
struct ByteRange {
    std::size_t start = 0, end = 0;
    bool operator==(const ByteRange&) const = default;
};

struct Token {
    std::int64_t id = 0;
    std::string piece;                // the vocabulary's own string ("##at"); the word itself in word models; what a
                                      // SentencePiece vocabulary lacks, as its library reports it: the stretch itself
    std::string text;                 // what people read
    std::optional<ByteRange> range{}; // empty for added specials
    bool special = false;
    int segment = 0; // 0 the text, 1 the second text of a pair
    bool operator==(const Token&) const = default;
};

struct TokenSequence {
    std::string source;     // UTF-8, as typed; empty when ids or a matrix were given
    std::string pairSource; // the second text of a pair; ranges of segment 1 count its bytes
    std::vector<Token> tokens;

    int size() const { return static_cast<int>(tokens.size()); }
    bool operator==(const TokenSequence&) const = default;
};

inline std::vector<std::int64_t> idsOfSegment(const TokenSequence& sequence, int segment) {
    std::vector<std::int64_t> ids;
    for (const Token& token : sequence.tokens)
        if (token.segment == segment)
            ids.push_back(token.id);
    return ids;
}

} // namespace headscope
