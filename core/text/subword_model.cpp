#include "core/text/subword_model.h"

#include <charconv>

namespace headscope {

std::string bytePiece(unsigned char byte) {
    static constexpr char digits[] = "0123456789ABCDEF";
    return {'<', '0', 'x', digits[byte >> 4], digits[byte & 15], '>'};
}

std::optional<unsigned char> byteOfPiece(std::string_view piece) {
    if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>')
        return std::nullopt;
    unsigned value = 0;
    const auto [end, error] = std::from_chars(piece.data() + 3, piece.data() + 5, value, 16);
    if (error != std::errc() || end != piece.data() + 5)
        return std::nullopt;
    return static_cast<unsigned char>(value);
}

} // namespace headscope
