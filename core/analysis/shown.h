// shownStage: a stage of a trace as a view shows it: the pieces of a word merged, special tokens left out or dropped.
// Trace and view in, matrix and labels out; called by the figures, the window and the table of one matrix. Not here:
// colours, and everything that computes: a merged or shortened matrix goes nowhere but onto screen and paper.
#pragma once

#include "core/attention/head_stages.h"
#include "core/attention/view.h"

#include <span>

namespace headscope {

// What the rows or the columns of a shown matrix stand for.
struct ShownAxis {
    struct Place {
        std::vector<int> tokens; // the tokens (or the one dimension) that were merged into it
        std::string label;       // UTF-8: the token's text, the word as typed, the dimension's number
        bool special = false;
    };
    std::vector<Place> places;

    int size() const { return static_cast<int>(places.size()); }
    int placeOf(int token) const; // -1: it is not shown
    int firstToken(int place) const { return places[static_cast<std::size_t>(place)].tokens.front(); }
};

// Which tokens belong together. Words are what lies between two word boundaries of the typed text, as in `toy`; without
// a text (ids alone) the pieces' own marks say where a word begins. Special tokens stand alone.
ShownAxis tokenAxis(const TokenSequence& tokens, Special special, bool words);

std::string labelOf(const Token& token); // its text, or its piece where it has none

struct ShownStage {
    SharedMatrix matrix; // (rows, cols); the stage's own object where the view changes nothing
    ShownAxis rows, cols;
    std::vector<bool> emptyRows; // fully masked, or nothing left after dropping; empty for stages that are not n x m
    std::vector<double> removed; // per row: the weight that dropping took away; empty unless weights were dropped
    std::vector<bool> closed;    // rows * cols: weights that the mask closes; empty without such a cell
    bool cellIsClosed(int row, int col) const {
        return !closed.empty() && closed[static_cast<std::size_t>(row) * static_cast<std::size_t>(cols.size()) +
                                         static_cast<std::size_t>(col)];
    }
};

// Cells [rowBegin, rowEnd) x [colBegin, colEnd) of a shown matrix.
struct CellRegion {
    int rowBegin = 0, rowEnd = 0, colBegin = 0, colEnd = 0;
    bool operator==(const CellRegion&) const = default;
};
// A part of a shown stage with its labels; a region that reaches beyond it is cut. At least one cell is left.
ShownStage cropped(const ShownStage& stage, const CellRegion& region);

// Weights under `words`: the sum over the keys of a word, the mean over its queries, so that rows still sum to 1 (fully
// masked rows do not count). Other stages have no such sum: their pieces stay apart. Weights under `drop`: special
// queries and keys go and each row is divided by the sum of what is left, before words are merged; other stages just
// lose them (the softmax of what is left of `masked` is what is left of the weights, divided). Throws InputError where
// every token is special and none may be shown.
ShownStage shownStage(const AttentionTrace& trace, LayerIndex layer, HeadIndex head, Stage stage, const View& view);
inline bool mergesWords(Stage stage) {
    return stage == Stage::Weights;
}

// The view's heads as one matrix: the mean or the maximum of each cell. Equal shapes, at least one.
Matrix combined(std::span<const SharedMatrix> matrices, Combine how);
// The heads of the view combined as it says, or its first one alone.
ShownStage shownHeads(const AttentionTrace& trace, const View& view);

// The cells that have a say in the colour range: under `unranged` those of ordinary tokens, else all. Empty where every
// token is special.
Matrix rangedCells(const ShownStage& shown, Special special);

// What was done to the numbers, in a sentence or two for screen and figure; empty when nothing was.
std::string shownRule(const ShownStage& shown, Stage stage, const View& view);

} // namespace headscope
