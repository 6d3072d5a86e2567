#include "core/text/byte_alphabet.h"

#include "core/text/utf8.h"

#include <array>

namespace headscope {

namespace {

struct Alphabet {
    std::array<std::string, 256> letters;
    std::array<int, 0x144> bytes{}; // of each letter; -1: none

    Alphabet() {
        bytes.fill(-1);
        char32_t next = 0x100;
        for (unsigned byte = 0; byte < 256; ++byte) {
            const bool printable =
                (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
            const char32_t letter = printable ? byte : next++;
            appendCharacter(letters[byte], letter);
            bytes[letter] = static_cast<int>(byte);
        }
    }
};

const Alphabet& alphabet() {
    static const Alphabet table;
    return table;
}

} // namespace

std::string_view byteLetter(unsigned char byte) {
    return alphabet().letters[byte];
}

std::optional<unsigned char> byteOfLetter(char32_t letter) {
    const auto& bytes = alphabet().bytes;
    if (letter >= bytes.size() || bytes[letter] < 0)
        return std::nullopt;
    return static_cast<unsigned char>(bytes[letter]);
}

std::string bytesOfLetters(std::string_view piece) {
    std::string out;
    for (std::size_t at = 0; at < piece.size();) {
        const std::size_t start = at;
        if (const auto byte = byteOfLetter(nextCharacter(piece, at)))
            out += static_cast<char>(*byte);
        else
            out += piece.substr(start, at - start);
    }
    return out;
}

} // namespace headscope
