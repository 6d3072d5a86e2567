// Short ways to say what tokens are expected.
#pragma once

#include "core/text/tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headscope::testing {

inline std::vector<std::int64_t> idsOf(const TokenSequence& sequence) {
    std::vector<std::int64_t> out;
    for (const Token& token : sequence.tokens)
        out.push_back(token.id);
    return out;
}

inline std::vector<std::string> piecesOf(const TokenSequence& sequence) {
    std::vector<std::string> out;
    for (const Token& token : sequence.tokens)
        out.push_back(token.piece);
    return out;
}

inline std::vector<std::string> textsOf(const TokenSequence& sequence) {
    std::vector<std::string> out;
    for (const Token& token : sequence.tokens)
        out.push_back(token.text);
    return out;
}

// Bytes [start, end); nothing where a token was added.
using Range = std::optional<std::pair<std::size_t, std::size_t>>;
inline std::vector<Range> rangesOf(const TokenSequence& sequence) {
    std::vector<Range> out;
    for (const Token& token : sequence.tokens)
        out.push_back(token.range ? Range({token.range->start, token.range->end}) : std::nullopt);
    return out;
}

// Where character number `characters` of a text begins, in bytes.
inline std::size_t byteOfCharacter(const std::string& text, std::size_t characters) {
    std::size_t at = 0;
    const auto continues = [&] { return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
    for (; characters > 0; --characters)
        for (++at; continues();)
            ++at;
    return at;
}

inline std::string bytesOfFile(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace headscope::testing
