#include "core/tensor/number_text.h"

#include <array>
#include <charconv>
#include <cmath>

namespace headscope {

template<class Number>
static std::string shortestText(Number value) {
    if (std::isnan(value))
        return "nan"; // to_chars writes the sign of a NaN, which means nothing
    std::array<char, 64> buffer{};
    const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    return {buffer.data(), end};
}

std::string shortest(float value) {
    std::string text = shortestText(value);
    // JSON readers go through double. Rounding twice could, for a text next to the middle of two floats, end on the
    // wrong one.
    if (const auto back = parseFinite(text); back && static_cast<float>(*back) != value)
        return shortestText(static_cast<double>(value));
    return text;
}

std::string shortest(double value) {
    return shortestText(value);
}

std::optional<double> parseFinite(std::string_view text) {
    if (text.starts_with('+'))
        text.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
        return std::nullopt;
    return value;
}

} // namespace headscope
