// Where the matrices of a walk stand, and the painting of them: the walk figure and the walk in the window do the same.
// Not here: what the matrices are (walk.h).
#pragma once

#include "ui/render/walk.h"

namespace headscope {

struct WalkLayout {
    struct Place {
        QPointF topLeft; // of the cells
        QSizeF pitch;    // of a cell
        PanelRoom room;
        QPointF symbol, sign;
        bool namesRows = true, endsLine = false;
        std::optional<QFont> numbers{}; // of its cells; nothing where they have no room
        QRectF area(const Panel& panel) const {
            return {topLeft, QSizeF(pitch.width() * panel.colCount(), pitch.height() * panel.rowCount())};
        }
    };
    std::vector<Place> places; // one per matrix
    double bottom = 0;         // below all
};

// height: of all matrices together; without one it is chosen. Nothing when there is no room beside the labels.
std::optional<WalkLayout> layOutWalk(Sheet& sheet, const Walk& walk, QPointF topLeft, double width,
                                     std::optional<double> height);
// Matrices with their symbols, shapes, signs, ranges and marks.
void drawWalk(Sheet& sheet, const Walk& walk, const WalkLayout& layout, double right);
// The marks alone, over a walk that was drawn without them; ground: what lies behind its labels.
void drawWalkMarks(Sheet& sheet, const Walk& walk, const WalkLayout& layout, const QColor& ground);
// Sentence, sum and the steps after it, for one cell. Returns the height. compact: the steps in running text.
double drawWalkArithmetic(Sheet& sheet, const Walk& walk, WalkCell cell, QPointF topLeft, double width, bool compact);

struct WalkHit {
    int matrix, row, col;
};
std::optional<WalkHit> walkHit(const Walk& walk, const WalkLayout& layout, QPointF position);

} // namespace headscope
