// printTerms: the terms of a cell as they are printed, so that the printed column adds up. Terms are rounded; the row
// "k smaller terms" is the shown result minus the shown terms. Decimal arithmetic, no Qt.
// Not here: the layout of the panel (ui/widgets/cell_inspector), the arithmetic itself (explain.h).
#pragma once

#include "core/attention/explain.h"

#include <string>
#include <vector>

namespace headscope {

struct PrintedTerm {
    std::string label;       // "d 24" or a token's text
    std::string left, right; // the factors, rounded each on its own; empty where a term is one number
    std::string term;        // the product, with a sign
    double share = 0;        // product / largest |product|, for a bar: -1..1
    std::optional<CellSource> leftFrom, rightFrom;
};

// Every string of the column has the same number of decimals and the same power of ten, so that they add up as printed:
// terms + constant + rest = result.
struct PrintedSum {
    std::vector<PrintedTerm> terms;     // the shown ones, largest first
    int smaller = 0;                    // how many are not shown
    std::string rest;                   // result minus what is shown; empty when nothing is left over
    std::string restName;               // "26 smaller terms", or "rounding" when all terms are shown
    std::string constantName, constant; // empty when the sum has no constant
    std::string result;
    bool addsUp = true; // false only where a term or the result is not finite
};

// At most `shown` terms (a negative number shows all). The result is the engine's value where the sum is the last step,
// else the sum.
PrintedSum printTerms(const CellExplanation& explanation, int shown);

// One number by itself: four significant digits, at most four decimals, scientific when it would print as zero.
std::string printNumber(double value, bool withSign = false);

} // namespace headscope
