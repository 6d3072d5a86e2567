#include "core/text/text_parts.h"

#include <algorithm>

namespace headscope {

namespace {

bool isSpace(char c) {
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

// The bytes of the tokens [begin, end), white space at the ends left out.
ByteRange bytesOf(const std::vector<ByteRange>& tokens, std::size_t begin, std::size_t end, std::string_view text) {
    ByteRange bytes{tokens[begin].start, tokens[end - 1].end};
    while (bytes.start < bytes.end && isSpace(text[bytes.start]))
        ++bytes.start;
    while (bytes.start < bytes.end && isSpace(text[bytes.end - 1]))
        --bytes.end;
    return bytes;
}

bool beginsWord(ByteRange token, std::string_view text) {
    return token.start == 0 || isSpace(text[token.start - 1]) || isSpace(text[token.start]);
}

// The end of a part that begins at `begin`: the last word's begin in its second half, else `end` as it is.
std::size_t betweenWords(const std::vector<ByteRange>& tokens, std::size_t begin, std::size_t end,
                         std::string_view text) {
    if (end == tokens.size())
        return end;
    for (std::size_t at = end; at > begin + (end - begin) / 2; --at)
        if (beginsWord(tokens[at], text))
            return at;
    return end;
}

} // namespace

std::vector<TextPart> partsOf(std::string_view text, const Tokenizer& tokenizer, int most) {
    const TokenSequence whole = tokenizer.tokenize(text);
    std::vector<ByteRange> tokens; // those that stand in the text
    for (const Token& token : whole.tokens)
        if (token.range)
            tokens.push_back(*token.range);
    const int room = most - (whole.size() - static_cast<int>(tokens.size()));
    std::vector<TextPart> parts;
    for (std::size_t begin = 0; begin < tokens.size() && room > 0;) {
        std::size_t end = std::min(begin + static_cast<std::size_t>(room), tokens.size());
        end = betweenWords(tokens, begin, end, text);
        // Alone a part may have more tokens than it had in the whole: where a piece was cut, or by its first word.
        ByteRange bytes = bytesOf(tokens, begin, end, text);
        const auto isTooLong = [&] {
            return tokenizer.tokenize(text.substr(bytes.start, bytes.end - bytes.start)).size() > most;
        };
        while (end > begin + 1 && isTooLong())
            bytes = bytesOf(tokens, begin, --end, text);
        parts.push_back({bytes, static_cast<int>(begin), static_cast<int>(end - begin)});
        begin = end;
    }
    return parts;
}

} // namespace headscope
