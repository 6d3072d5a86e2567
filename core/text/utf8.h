// UTF-8 one character at a time, by ICU. For text that is known to be valid (requireUtf8). Called by core/text alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headscope {

// The character at byte `at`, which moves behind it. A byte that is no UTF-8 counts as U+FFFD.
char32_t nextCharacter(std::string_view text, std::size_t& at);
void appendCharacter(std::string& out, char32_t c);
std::size_t characterLength(char32_t c); // UTF-8 bytes
int countCharacters(std::string_view text);

// The valid characters of `bytes` as they are, each other byte as hexadecimal digits: "<E2 82>". What people read where
// a token holds a part of a character.
std::string showBytes(std::string_view bytes);

// The classes that the published tokenizers ask for. White space is Unicode's White_Space property.
bool isWhiteSpace(char32_t c);
bool isPunctuationCharacter(char32_t c); // general category P
bool isAsciiPunctuation(char32_t c);     // also the symbols of ASCII: $ + < = > ^ ` | ~
bool isMark(char32_t c);                 // general category M
bool isNonSpacingMark(char32_t c);       // general category Mn
bool isNumber(char32_t c);               // general category N
bool isControlOrFormat(char32_t c);      // general category Cc, Cf or Co
bool isWordCharacter(char32_t c);        // what \w matches: letters, marks, decimal digits, connectors, joiners
bool isChineseCharacter(char32_t c);     // the blocks that BERT cuts into single characters
std::string lowerCase(char32_t c);       // full mapping of one character, without context

} // namespace headscope
