// Walk: a stage as the product that it is: the matrices that are multiplied, added or cut, in order, and how the row,
// the column and the summed index of one cell run through all of them. Values only; made in any thread. Not here: where
// the matrices stand (walk_layout.h). Used by the walk figure and by the walk in the window.
#pragma once

#include "core/attention/explain.h"
#include "core/attention/view.h"
#include "ui/render/panel.h"

namespace headscope {

// The cell that is walked to, and one term of its sum (a dimension or a key) where one is pointed at. The row and the
// column are those of the stage's matrix of all heads side by side where the stage splits or joins heads.
struct WalkCell {
    int row = 0, col = 0;
    std::optional<int> inner;
    bool operator==(const WalkCell&) const = default;
};

struct WalkMatrix {
    Panel panel;
    QString symbol;    // "Q_h", "W_O, rows of head 3"
    QString before;    // the sign in front of it: "×", "="
    int line = 0;      // matrices of one line stand side by side
    bool tall = false; // rows are dimensions: they may be small
    // What a row or a column of it is in the walk; the walk's index is the matrix's plus the offset.
    enum class Runs { Nowhere, Row, Col, Inner };
    struct Axis {
        Runs runs = Runs::Nowhere;
        int offset = 0;
    } rows, cols;
};

struct Walk {
    SharedTrace trace;
    View view; // fits the trace
    std::vector<WalkMatrix> matrices;
    int pieceWidth = 0; // columns of a head where the stage is one head's and the walk shows all; else 0
    WalkCell start;     // the pinned cell, or the largest of the last row

    // Head and cell in the stage's own matrix.
    HeadIndex headOf(WalkCell cell) const;
    CellRef cellOf(WalkCell cell) const;
};

// Throws what stageMatrix throws.
Walk makeWalk(SharedTrace trace, const View& view, const QFont& font);

// Marks the row, the column, the cell and the term in every matrix; nothing unmarks.
void markWalk(Walk& walk, std::optional<WalkCell> cell);
// The walk's cell when the pointer is over (row, col) of a matrix: what that matrix does not decide stays.
WalkCell walkCellAt(const WalkMatrix& matrix, int row, int col, WalkCell now);
// "d 24: +2.03 × +2.84 = +5.77": the pointed at term of a product; empty without one.
QString termText(const Walk& walk, WalkCell cell);
// "O_h of sat, dimension 2, is -1.3143", as a formula.
QString sentenceText(const CellExplanation& explanation, const QFont& font);
// "Q_{sat} · K_{cat} = +5.77 +4.94 ... +13.51 (26 smaller terms) = +36.37", as a formula: what is printed adds up.
QString sumText(const CellExplanation& explanation, const QFont& font);

} // namespace headscope
