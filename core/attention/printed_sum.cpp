#include "core/attention/printed_sum.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace headscope {

namespace {

// How a column is written: a number x is units * 10^(exponent - decimals).
struct Column {
    int decimals = 4;
    int exponent = 0; // other than 0 only where plain decimals would be unreadable
};

// Four significant digits of the largest entry; a common power of ten for the very small and the very large.
Column columnFor(double largest) {
    if (!(largest > 0))
        return {};
    const int magnitude = static_cast<int>(std::floor(std::log10(largest)));
    if (magnitude < -6 || magnitude > 8)
        return {3, magnitude};
    return {std::clamp(3 - magnitude, 0, 9), 0};
}

long long unitsOf(double value, Column column) {
    // Two steps, since 10^(decimals - exponent) alone can overflow.
    return std::llround(value * std::pow(10.0, column.decimals) * std::pow(10.0, -column.exponent));
}

std::string write(long long units, Column column) {
    std::string digits = std::to_string(std::llabs(units));
    const std::size_t wanted = static_cast<std::size_t>(column.decimals) + 1;
    if (digits.size() < wanted)
        digits.insert(0, wanted - digits.size(), '0');
    if (column.decimals > 0)
        digits.insert(digits.size() - static_cast<std::size_t>(column.decimals), ".");
    std::string text = (units < 0 ? "-" : "+") + digits;
    if (column.exponent != 0)
        text += "e" + std::to_string(column.exponent);
    return text;
}

} // namespace

std::string printNumber(double value, bool withSign) {
    if (std::isnan(value))
        return "nan";
    if (std::isinf(value))
        return value < 0 ? "-inf" : withSign ? "+inf" : "inf";
    const double size = std::fabs(value);
    char buffer[400];
    const auto format =
        (size != 0 && size < 0.001) || size >= 1e7 ? std::chars_format::scientific : std::chars_format::fixed;
    const int before = size >= 1 ? static_cast<int>(std::floor(std::log10(size))) + 1 : 0;
    const int decimals = format == std::chars_format::scientific ? 2 : std::clamp(4 - before, 0, 4);
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, size, format, decimals).ptr;
    std::string text(buffer, end);
    if (std::signbit(value) && size != 0)
        text.insert(0, "-");
    else if (withSign)
        text.insert(0, "+");
    return text;
}

PrintedSum printTerms(const CellExplanation& explanation, int shown) {
    const auto& terms = explanation.terms;
    const std::size_t count = shown < 0 ? terms.size() : std::min(terms.size(), static_cast<std::size_t>(shown));
    // Where the sum is the number itself, print the number that every other view shows.
    const double result = explanation.steps.empty() ? static_cast<double>(explanation.value) : explanation.sum;
    const bool hasConstant = !explanation.constantName.empty();
    const bool hasFactors = !explanation.leftName.empty() && !explanation.rightName.empty();

    PrintedSum printed;
    double largestTerm = 0;
    bool finite = std::isfinite(result) && (!hasConstant || std::isfinite(explanation.constant));
    for (const Term& term : terms) {
        finite = finite && std::isfinite(term.product);
        largestTerm = std::max(largestTerm, std::fabs(term.product));
    }
    double largest = std::max(largestTerm, std::fabs(result));
    if (hasConstant)
        largest = std::max(largest, std::fabs(explanation.constant));
    const Column column = columnFor(finite ? largest : 0);
    printed.addsUp = finite;

    long long left = finite ? unitsOf(result, column) : 0; // what is not shown yet
    printed.result = finite ? write(left, column) : printNumber(result, true);
    for (std::size_t i = 0; i < count; ++i) {
        const Term& term = terms[i];
        PrintedTerm line{
            term.label,    {}, {}, {}, finite && largestTerm > 0 ? term.product / largestTerm : 0, term.leftFrom,
            term.rightFrom};
        if (hasFactors) {
            line.left = printNumber(term.left, true);
            line.right = printNumber(term.right, true);
        }
        if (finite) {
            const long long units = unitsOf(term.product, column);
            left -= units;
            line.term = write(units, column);
        } else {
            line.term = printNumber(term.product, true);
        }
        printed.terms.push_back(std::move(line));
    }
    if (hasConstant) {
        printed.constantName = explanation.constantName;
        printed.constant = printNumber(explanation.constant, true);
        if (finite) {
            const long long units = unitsOf(explanation.constant, column);
            left -= units;
            printed.constant = write(units, column);
        }
    }
    printed.smaller = static_cast<int>(terms.size() - count);
    if (printed.smaller > 0)
        printed.restName =
            std::to_string(printed.smaller) + (printed.smaller == 1 ? " smaller term" : " smaller terms");
    else if (left != 0)
        printed.restName = "rounding";
    if (!printed.restName.empty() && finite)
        printed.rest = write(left, column);
    return printed;
}

} // namespace headscope
