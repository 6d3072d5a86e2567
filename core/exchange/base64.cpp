#include "core/exchange/base64.h"

#include <array>
#include <bit>

namespace headscope {

namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// The value of each character, 64 for those outside the alphabet.
constexpr std::array<std::uint8_t, 256> makeValues() {
    std::array<std::uint8_t, 256> values{};
    values.fill(64);
    for (std::size_t i = 0; i < alphabet.size(); ++i)
        values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
    return values;
}
constexpr auto values = makeValues();

} // namespace

//   bytes   aaaaaaaa bbbbbbbb cccccccc
//   digits  aaaaaa aabbbb bbbbcc cccccc      one byte left: two digits and "==", two left: three digits and "="
std::string toBase64(std::span<const std::uint8_t> bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        const std::size_t left = bytes.size() - at;
        const std::uint32_t group = static_cast<std::uint32_t>(bytes[at]) << 16 |
                                    (left > 1 ? static_cast<std::uint32_t>(bytes[at + 1]) << 8 : 0U) |
                                    (left > 2 ? static_cast<std::uint32_t>(bytes[at + 2]) : 0U);
        text += alphabet[group >> 18];
        text += alphabet[(group >> 12) & 63U];
        text += left > 1 ? alphabet[(group >> 6) & 63U] : '=';
        text += left > 2 ? alphabet[group & 63U] : '=';
    }
    return text;
}

std::optional<std::vector<std::uint8_t>> fromBase64(std::string_view text) {
    if (text.size() % 4 != 0)
        return std::nullopt;
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    std::vector<std::uint8_t> bytes;
    bytes.reserve(text.size() / 4 * 3);
    for (std::size_t at = 0; at < text.size(); at += 4) {
        const std::size_t missing = at + 4 == text.size() ? padding : 0;
        std::uint32_t group = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            const std::uint8_t value = i >= 4 - missing ? 0 : values[static_cast<unsigned char>(text[at + i])];
            if (value == 64)
                return std::nullopt;
            group = group << 6 | value;
        }
        if ((group & ((1U << (8 * missing)) - 1U)) != 0) // bits that no byte holds
            return std::nullopt;
        for (std::size_t i = 0; i < 3 - missing; ++i)
            bytes.push_back(static_cast<std::uint8_t>(group >> (16 - 8 * i)));
    }
    return bytes;
}

std::string floatsToBase64(std::span<const float> floats) {
    std::vector<std::uint8_t> bytes;
    bytes.reserve(floats.size() * 4);
    for (const float f : floats)
        for (unsigned shift = 0; shift < 32; shift += 8)
            bytes.push_back(static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(f) >> shift));
    return toBase64(bytes);
}

std::optional<std::vector<float>> floatsFromBase64(std::string_view text) {
    const auto bytes = fromBase64(text);
    if (!bytes || bytes->size() % 4 != 0)
        return std::nullopt;
    std::vector<float> floats(bytes->size() / 4);
    for (std::size_t i = 0; i < floats.size(); ++i) {
        std::uint32_t bits = 0;
        for (std::size_t b = 0; b < 4; ++b)
            bits |= static_cast<std::uint32_t>((*bytes)[4 * i + b]) << (8 * b);
        floats[i] = std::bit_cast<float>(bits);
    }
    return floats;
}

} // namespace headscope
