#include "core/attention/rules.h"

#include <algorithm>
#include <array>

namespace headscope {

static constexpr std::array<RuleInfo, ruleCount> table{{
    {Rule::SplitInput, "split-input", "Split the input first",
     "Each head sees only its own slice of X and projects that: W_Q, W_K and W_V become block diagonal.",
     "Every head projects the whole of X and the result is split: a head may use any feature of a token."},
    {Rule::ScaleDModel, "scale-dmodel", "Divide by √d_model", "Scores are divided by sqrt(d_model).",
     "Scores are sums of d_k products, so their spread grows with sqrt(d_k): that is what they are divided by."},
    {Rule::ScaleDk, "scale-dk", "Divide by d_k", "Scores are divided by d_k.",
     "The spread of a sum of d_k products grows with sqrt(d_k); dividing by d_k flattens the softmax."},
    {Rule::NoScale, "no-scale", "No scaling", "Scores go into the softmax as they are.",
     "Without the division by sqrt(d_k) long vectors give large scores, and the softmax picks a single key."},
    {Rule::SoftmaxQueries, "softmax-queries", "Softmax over queries", "Each column sums to 1 instead of each row.",
     "The softmax runs over the keys: every query shares out exactly one unit of attention."},
    {Rule::MaskAfterSoftmax, "mask-after-softmax", "Mask after the softmax",
     "Closed cells are set to 0 after the softmax, so rows no longer sum to 1 and closed keys still take their share.",
     "Closed scores become minus infinity before the softmax, so the open keys share the whole unit."},
    {Rule::ConcatReshape, "concat-reshape", "Concat without transpose",
     "The heads' outputs (h, n, d_v) are read off in memory order as (n, h d_v): tokens and heads are scrambled.",
     "Heads are transposed first, so that row i holds the outputs of all heads for token i."},
    {Rule::NoOutputProjection, "no-output-projection", "No W_O", "The concatenated heads are the output.",
     "W_O mixes the heads; without it each head can write only into its own columns."},
    {Rule::AverageHeads, "average-heads", "All heads averaged",
     "Every head uses the mean of its layer's weights: what one head instead of many would do.",
     "Every head keeps its own weights; their average hides what each of them looks at."},
}};

std::span<const RuleInfo> ruleTable() {
    return table;
}

const RuleInfo& ruleInfo(Rule r) {
    return table[static_cast<std::size_t>(r)];
}

std::optional<Rule> ruleFromName(std::string_view name) {
    for (const RuleInfo& info : table)
        if (info.name == name)
            return info.rule;
    return std::nullopt;
}

std::string ruleNames() {
    std::string names;
    for (const RuleInfo& info : table)
        names += (names.empty() ? "" : ", ") + std::string(info.name);
    return names;
}

Matrix blockDiagonal(const Matrix& w, int heads) {
    const int slice = w.rows() / heads, width = w.cols() / heads;
    Matrix out(w.rows(), w.cols());
    for (int r = 0; r < w.rows(); ++r)
        for (int c = 0; c < w.cols(); ++c)
            out(r, c) = r / slice == c / width ? w(r, c) : 0.0F;
    return out;
}

Matrix concatByReshape(std::span<const Matrix> headOutputs) {
    const int h = static_cast<int>(headOutputs.size()), n = headOutputs[0].rows(), dV = headOutputs[0].cols();
    Matrix out(n, h * dV);
    float* to = out.data();
    for (const Matrix& o : headOutputs)
        to = std::ranges::copy(o.values(), to).out;
    return out;
}

} // namespace headscope
