// The 256 characters that byte-level vocabularies write bytes with: printable ones stand for themselves, the others
// follow from U+0100 on (a space is U+0120). Called by the byte-level step and by what shows pieces to people.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headscope {

std::string_view byteLetter(unsigned char byte);            // UTF-8 of its character
std::optional<unsigned char> byteOfLetter(char32_t letter); // empty: no letter of this alphabet
// The bytes that a piece stands for; characters outside the alphabet stand for their own UTF-8.
std::string bytesOfLetters(std::string_view piece);

} // namespace headscope
