#include "core/text/utf8.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

namespace headscope {

namespace {

// Negative where the bytes are no UTF-8.
UChar32 decode(std::string_view text, std::size_t& at) {
    UChar32 c = 0;
    auto i = static_cast<std::int64_t>(at);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion" // ICU's macro
    U8_NEXT(text.data(), i, static_cast<std::int64_t>(text.size()), c);
#pragma GCC diagnostic pop
    at = static_cast<std::size_t>(i);
    return c;
}

UChar32 icu(char32_t c) {
    return static_cast<UChar32>(c);
}

bool hasCategory(char32_t c, std::uint32_t mask) {
    return (U_GET_GC_MASK(icu(c)) & mask) != 0;
}

} // namespace

char32_t nextCharacter(std::string_view text, std::size_t& at) {
    const auto first = static_cast<unsigned char>(text[at]);
    if (first < 0x80) { // most text is, and this is the innermost loop
        ++at;
        return first;
    }
    const UChar32 c = decode(text, at);
    return c < 0 ? U'\uFFFD' : static_cast<char32_t>(c);
}

void appendCharacter(std::string& out, char32_t c) {
    if (c < 0x80) {
        out += static_cast<char>(c);
        return;
    }
    char buffer[U8_MAX_LENGTH];
    int length = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion" // ICU's macro
    U8_APPEND_UNSAFE(buffer, length, c);
#pragma GCC diagnostic pop
    out.append(buffer, static_cast<std::size_t>(length));
}

std::size_t characterLength(char32_t c) {
    return static_cast<std::size_t>(U8_LENGTH(icu(c)));
}

int countCharacters(std::string_view text) {
    int count = 0;
    for (const char byte : text)
        count += (static_cast<unsigned char>(byte) & 0xC0) != 0x80 ? 1 : 0;
    return count;
}

std::string showBytes(std::string_view bytes) {
    static constexpr char digits[] = "0123456789ABCDEF";
    std::string out;
    bool inHex = false;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t start = at;
        if (decode(bytes, at) >= 0) {
            out += inHex ? ">" : "";
            out += bytes.substr(start, at - start);
            inHex = false;
            continue;
        }
        for (std::size_t i = start; i < at; ++i) {
            const auto byte = static_cast<unsigned char>(bytes[i]);
            out += inHex ? ' ' : '<';
            out += digits[byte >> 4];
            out += digits[byte & 15];
            inHex = true;
        }
    }
    return inHex ? out + '>' : out;
}

bool isWhiteSpace(char32_t c) {
    return c < 0x80 ? c == ' ' || (c >= 9 && c <= 13) : u_isUWhiteSpace(icu(c)) != 0;
}

bool isPunctuationCharacter(char32_t c) {
    return hasCategory(c, U_GC_P_MASK);
}

bool isAsciiPunctuation(char32_t c) {
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
}

bool isMark(char32_t c) {
    return c >= 0x300 && hasCategory(c, U_GC_M_MASK);
}

bool isNonSpacingMark(char32_t c) {
    return c >= 0x300 && hasCategory(c, U_GC_MN_MASK);
}

bool isNumber(char32_t c) {
    return hasCategory(c, U_GC_N_MASK);
}

bool isControlOrFormat(char32_t c) {
    return hasCategory(c, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK);
}

bool isWordCharacter(char32_t c) {
    if (c < 0x80)
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    return u_hasBinaryProperty(icu(c), UCHAR_ALPHABETIC) || u_hasBinaryProperty(icu(c), UCHAR_JOIN_CONTROL) ||
           hasCategory(c, U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK);
}

bool isChineseCharacter(char32_t c) {
    // As the reference implementation has them, its 2B920 where Unicode's block begins at 2B820 included: ids must be
    // equal.
    static constexpr char32_t blocks[][2] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF},
                                             {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
                                             {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
    if (c < 0x3400)
        return false;
    for (const auto& block : blocks)
        if (c >= block[0] && c <= block[1])
            return true;
    return false;
}

std::string lowerCase(char32_t c) {
    std::string out;
    if (c == U'\u0130') // the one character whose full lower case is longer, whatever stands around it
        return "i\u0307";
    appendCharacter(out, static_cast<char32_t>(u_tolower(icu(c))));
    return out;
}

} // namespace headscope
