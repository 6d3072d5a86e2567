#include "app/cli/numbers.h"

#include "core/tensor/errors.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace headscope::cli {

namespace {

template<class T>
std::optional<T> wholeText(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

// Digits alone, and more than every int may have.
bool isLargeNumber(std::string_view text) {
    return text.size() > 9 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

[[noreturn]] void refuse(std::string_view option, const std::string& expected, std::string_view found) {
    throw InputError(std::string(option) + ": expected " + expected + ", found '" + std::string(found) + "'");
}

void requireBelow(std::string_view option, int index, int count, std::string_view owner, std::string_view things) {
    if (index < count)
        return;
    std::string has = std::to_string(count) + " " + std::string(things);
    has += count == 1 ? ", number 0" : "s, 0 to " + std::to_string(count - 1);
    throw InputError(std::string(option) + " " + std::to_string(index) + ": " + std::string(owner) + " has " + has);
}

} // namespace

int parseInt(std::string_view option, std::string_view text, int smallest, int largest) {
    const auto value = wholeText<int>(text);
    if (!value || *value < smallest || *value > largest) {
        std::string expected = "a whole number";
        if (largest != std::numeric_limits<int>::max() || isLargeNumber(text))
            expected += " from " + std::to_string(smallest) + " to " + std::to_string(largest);
        else
            expected += " of at least " + std::to_string(smallest);
        refuse(option, expected, text);
    }
    return *value;
}

std::uint64_t parseSeed(std::string_view option, std::string_view text) {
    const auto value = wholeText<std::uint64_t>(text);
    if (!value)
        refuse(option,
               isLargeNumber(text) ? "a whole number up to " + std::to_string(std::numeric_limits<std::uint64_t>::max())
                                   : "a whole number of at least 0",
               text);
    return *value;
}

double parseNumber(std::string_view option, std::string_view text) {
    const auto value = wholeText<double>(text);
    if (!value || !std::isfinite(*value))
        refuse(option, "a finite number (with a point, as in 0.5)", text);
    return *value;
}

std::vector<std::int64_t> parseIds(std::string_view option, std::string_view text) {
    std::vector<std::int64_t> ids;
    for (const std::string& part : split(text, ',')) {
        const auto id = wholeText<std::int64_t>(part);
        if (!id || *id < 0)
            refuse(option, "token ids of at least 0 with commas between them, as in 5,8,13", text);
        ids.push_back(*id);
    }
    return ids;
}

std::vector<int> parseIndices(std::string_view option, std::string_view text, int count, std::string_view owner,
                              std::string_view things) {
    std::vector<int> indices;
    const auto add = [&](int index) {
        if (std::find(indices.begin(), indices.end(), index) == indices.end())
            indices.push_back(index);
    };
    if (text == "all") {
        for (int i = 0; i < count; ++i)
            add(i);
        return indices;
    }
    for (const std::string& part : split(text, ',')) {
        const std::size_t dash = part.find('-', 1);
        const auto first = wholeText<int>(std::string_view(part).substr(0, dash));
        const auto last = dash == std::string::npos ? first : wholeText<int>(std::string_view(part).substr(dash + 1));
        if (!first || !last || *first < 0 || *last < *first)
            refuse(option, "indices as in 0,3,5-7, or all", text);
        requireBelow(option, *last, count, owner, things);
        for (int i = *first; i <= *last; ++i)
            add(i);
    }
    return indices;
}

int parseIndex(std::string_view option, std::string_view text, int count, std::string_view owner,
               std::string_view things) {
    const int index = parseInt(option, text, 0);
    requireBelow(option, index, count, owner, things);
    return index;
}

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (;;) {
        const std::size_t end = text.find(separator);
        parts.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos)
            return parts;
        text.remove_prefix(end + 1);
    }
}

std::string fixed(double value, int decimals) {
    if (std::isnan(value))
        return "nan";
    if (std::isinf(value))
        return value < 0 ? "-inf" : "inf";
    std::array<char, 400> buffer{}; // the largest double has 309 digits before the point
    const auto end =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed, decimals).ptr;
    std::string text(buffer.data(), end);
    // "-0.00" says nothing that "0.00" does not.
    if (text.starts_with('-') && text.find_first_not_of("-0.") == std::string::npos)
        text.erase(0, 1);
    return text;
}

std::string shortest(double value) {
    if (!std::isfinite(value))
        return fixed(value, 0);
    std::array<char, 40> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    return {buffer.data(), end};
}

std::string grouped(std::int64_t value) {
    std::string text = std::to_string(value);
    const std::size_t first = value < 0 ? 1 : 0;
    for (std::size_t place = text.size(); place > first + 3;)
        text.insert(place -= 3, " ");
    return text;
}

std::string shapeText(std::int64_t rows, std::int64_t cols) {
    return std::to_string(rows) + " x " + std::to_string(cols);
}

} // namespace headscope::cli
