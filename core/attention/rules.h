// Class rules: wrong on purpose, each with its right twin, so that a class sees the damage. The right rule is the
// default.
#pragma once

#include "core/tensor/matrix.h"

#include <bitset>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headscope {

enum class Rule {
    SplitInput,
    ScaleDModel,
    ScaleDk,
    NoScale,
    SoftmaxQueries,
    MaskAfterSoftmax,
    ConcatReshape,
    NoOutputProjection,
    AverageHeads
};
inline constexpr int ruleCount = 9;
using RuleSet = std::bitset<ruleCount>;
inline bool has(const RuleSet& rules, Rule r) {
    return rules.test(static_cast<std::size_t>(r));
}
inline RuleSet with(RuleSet rules, Rule r, bool on = true) {
    return rules.set(static_cast<std::size_t>(r), on);
}

struct RuleInfo {
    Rule rule;
    std::string_view name;  // "split-input": the command line's --rule
    std::string_view title; // for a switch in the window
    std::string_view wrong; // what it does
    std::string_view right; // what is right, and why
};
std::span<const RuleInfo> ruleTable();
const RuleInfo& ruleInfo(Rule r);
std::optional<Rule> ruleFromName(std::string_view name);
std::string ruleNames();

// split-input: W with everything outside head h's own slice of X set to 0 (block diagonal); (d, heads*width).
Matrix blockDiagonal(const Matrix& w, int heads);
// concat-reshape: (h, n, d_v) read off row by row as (n, h*d_v), without the transpose.
Matrix concatByReshape(std::span<const Matrix> headOutputs);

} // namespace headscope
