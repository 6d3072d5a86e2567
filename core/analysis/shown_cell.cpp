#include "core/analysis/shown_cell.h"

#include "core/attention/printed_sum.h"

#include <algorithm>
#include <cmath>

namespace headscope {

std::optional<ShownWeight> explainShownWeight(const AttentionTrace& trace, LayerIndex layer, HeadIndex head,
                                              const View& view, int row, int col) {
    if (!view.words && view.special != Special::Drop)
        return std::nullopt;
    const ShownStage shown = shownStage(trace, layer, head, Stage::Weights, view);
    const int r = shown.rows.placeOf(row), c = shown.cols.placeOf(col);
    if (r < 0 || c < 0)
        return std::nullopt;
    const ShownAxis::Place &query = shown.rows.places[static_cast<std::size_t>(r)],
                           &key = shown.cols.places[static_cast<std::size_t>(c)];
    const bool drops = view.special == Special::Drop;
    if (!drops && query.tokens.size() == 1 && key.tokens.size() == 1)
        return std::nullopt;

    const TokenSequence &queries = trace.scenario.query, &keys = trace.scenario.keyTokens();
    const SharedMatrix weights = stageMatrix(trace, layer, head, Stage::Weights);
    CellExplanation e{Stage::Weights, row, col, {}, "weight", drops ? "1 / rest of its row" : "", {}, 0, {}, 0, {}, 0};
    int counted = 0;
    for (const int i : query.tokens) {
        double left = 0; // of row i, without the special keys
        for (int j = 0; j < weights->cols(); ++j)
            left +=
                drops && keys.tokens[static_cast<std::size_t>(j)].special ? 0 : static_cast<double>((*weights)(i, j));
        if (left <= 0)
            continue; // fully masked: it has no say
        ++counted;
        for (const int j : key.tokens) {
            Term term;
            term.label = labelOf(queries.tokens[static_cast<std::size_t>(i)]) + " → " +
                         labelOf(keys.tokens[static_cast<std::size_t>(j)]);
            term.index = static_cast<int>(e.terms.size());
            term.left = (*weights)(i, j);
            term.right = drops ? static_cast<float>(1 / left) : 0.0F;
            term.product = drops ? static_cast<double>(term.left) / left : static_cast<double>(term.left);
            e.sum += term.product;
            e.terms.push_back(std::move(term));
        }
    }
    std::ranges::stable_sort(e.terms, std::greater{}, [](const Term& t) { return std::fabs(t.product); });
    e.value = (*shown.matrix)(r, c);
    if (query.tokens.size() > 1)
        e.steps.push_back({"÷ " + std::to_string(counted) + " queries of the word", e.sum / std::max(1, counted)});
    e.sentence =
        query.label + " (query) attends " + printNumber(static_cast<double>(e.value)) + " to " + key.label + " (key)";
    return ShownWeight{std::move(e), query.label, key.label, shownRule(shown, Stage::Weights, view)};
}

} // namespace headscope
