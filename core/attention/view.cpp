#include "core/attention/view.h"

#include "core/tensor/errors.h"
#include "core/tensor/number_text.h"

#include <algorithm>
#include <array>

namespace headscope {

namespace {

constexpr std::array<std::string_view, 5> colorMapNames{"viridis", "cividis", "magma", "inferno", "gray"};
constexpr std::array<std::string_view, 5> figureKindNames{"heatmap", "grid", "links", "stages", "walk"};

constexpr std::array<std::string_view, 4> specialNames{"show", "hide", "unranged", "drop"};

template<class Enum, std::size_t N>
std::optional<Enum> fromName(const std::array<std::string_view, N>& names, std::string_view name) {
    const auto it = std::ranges::find(names, name);
    if (it == names.end())
        return std::nullopt;
    return static_cast<Enum>(it - names.begin());
}

} // namespace

std::string_view colorMapName(ColorMap map) {
    return colorMapNames[static_cast<std::size_t>(map)];
}
std::optional<ColorMap> colorMapFromName(std::string_view name) {
    return fromName<ColorMap>(colorMapNames, name);
}
std::string_view specialName(Special special) {
    return specialNames[static_cast<std::size_t>(special)];
}
std::optional<Special> specialFromName(std::string_view name) {
    return fromName<Special>(specialNames, name);
}
std::string_view figureKindName(FigureKind kind) {
    return figureKindNames[static_cast<std::size_t>(kind)];
}
std::optional<FigureKind> figureKindFromName(std::string_view name) {
    return fromName<FigureKind>(figureKindNames, name);
}

RangeSpec parseRange(std::string_view text) {
    using enum RangeSpec::Kind;
    for (const auto& [kind, word] : {std::pair{Auto, "auto"}, {Head, "head"}, {Shared, "shared"}})
        if (text == word)
            return {kind, 0, 1};
    const std::size_t colon = text.find(':');
    const auto number = [&](std::string_view part) {
        const auto value = parseFinite(part);
        if (!value)
            throw InputError("range '" + std::string(text) +
                             "': expected auto, head, shared or LO:HI with two numbers, found '" + std::string(part) +
                             "'");
        return *value;
    };
    if (colon == std::string_view::npos)
        throw InputError("range '" + std::string(text) + "' is unknown: expected auto, head, shared or LO:HI");
    const RangeSpec range{Fixed, number(text.substr(0, colon)), number(text.substr(colon + 1))};
    if (range.lo >= range.hi)
        throw InputError("range '" + std::string(text) + "': expected LO below HI, found " + shortest(range.lo) +
                         " and " + shortest(range.hi));
    return range;
}

std::string rangeName(const RangeSpec& range) {
    switch (range.kind) {
    case RangeSpec::Kind::Auto:
        return "auto";
    case RangeSpec::Kind::Head:
        return "head";
    case RangeSpec::Kind::Shared:
        return "shared";
    case RangeSpec::Kind::Fixed:
        break;
    }
    return shortest(range.lo) + ":" + shortest(range.hi);
}

Curve parseCurve(std::string_view text) {
    if (text == "linear")
        return {};
    if (text == "row")
        return {Curve::Kind::Row, 1};
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    // 0, which no curve takes, where there is no number.
    const double value = colon == std::string_view::npos ? 0 : parseFinite(text.substr(colon + 1)).value_or(0);
    if (name == "gamma") {
        if (value <= 0)
            throw InputError("curve '" + std::string(text) + "': expected gamma:G with a number G > 0");
        return {Curve::Kind::Gamma, value};
    }
    if (name == "percentile") {
        if (value <= 0 || value > 100)
            throw InputError("curve '" + std::string(text) + "': expected percentile:P with 0 < P <= 100");
        return {Curve::Kind::Percentile, value};
    }
    throw InputError("curve '" + std::string(text) + "' is unknown: expected linear, gamma:G, percentile:P or row");
}

std::string curveName(const Curve& curve) {
    switch (curve.kind) {
    case Curve::Kind::Linear:
        return "linear";
    case Curve::Kind::Gamma:
        return "gamma:" + shortest(curve.parameter);
    case Curve::Kind::Percentile:
        return "percentile:" + shortest(curve.parameter);
    case Curve::Kind::Row:
        break;
    }
    return "row";
}

} // namespace headscope
