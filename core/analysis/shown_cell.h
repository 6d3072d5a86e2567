// The arithmetic of a weight as it is shown, where that is not the engine's own: pieces merged into words, special
// tokens dropped. Not here: every other cell (core/attention/explain.h), the merging itself (shown.h).
#pragma once

#include "core/analysis/shown.h"
#include "core/attention/explain.h"

#include <optional>

namespace headscope {

struct ShownWeight {
    CellExplanation arithmetic;
    std::string query, key; // the words
    std::string rule;       // what was merged or dropped, in a sentence
};
// Of the cell that shows tokens (row, col) of `weights` under the view: the weights of its pairs of pieces, each
// divided by what dropping has left of its row, their sum, and the mean over the word's queries. Nothing where the
// shown number is the weight of one pair, as it is, or where the view leaves one of the tokens out.
std::optional<ShownWeight> explainShownWeight(const AttentionTrace& trace, LayerIndex layer, HeadIndex head,
                                              const View& view, int row, int col);

} // namespace headscope
