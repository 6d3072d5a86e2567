// Panel: one labelled matrix as every figure shows it, and the colour bar that belongs to it. Not here: where panels
// stand (the figures) and how cells are painted (matrix_painter).
#pragma once

#include "core/attention/view.h"
#include "ui/render/axis_labels.h"
#include "ui/render/head_colors.h"
#include "ui/render/sheet.h"

#include <QStringList>
#include <optional>
#include <vector>

namespace headscope {

struct Panel {
    SharedPicture picture;
    QString title, note;         // over the labels: bold, and muted beside it
    QStringList rows, cols;      // one per cell; empty: no labels on that side
    QString rowTitle, colTitle;  // "queries", "d_k of head 3" (a formula); empty: none
    std::vector<bool> emptyRows; // fully masked; may be empty
    QStringList rowNotes;        // a number beside each row, under rowNotesTitle; empty: none
    QString rowNotesTitle;
    std::vector<int> bandStarts;     // columns where a head's band begins
    std::vector<BandHead> bandHeads; // one per band: a strip above it in the head's colour; may be empty
    std::optional<int> markedRow, markedCol;
    std::optional<CellRef> markedCell; // also marked where both of the above are
    bool numbers = false;
    std::optional<QFont> numberFont; // of its numbers; nothing: as large as they fit
    bool numbersOfMarks = false;     // what is marked has its number, though the other cells have none
    bool isPlain = false;            // numbers without colours
    bool elides = false;             // long labels are elided, as many matrices share a line; else only above 64

    int rowCount() const { return picture->matrix().rows(); }
    int colCount() const { return picture->matrix().cols(); }
};

// Row and column names of n tokens or dimensions.
QStringList dimensionLabels(int count);

// How small labels may become before they are thinned: up to 64 none is left out, whatever its size.
double leastLabel(const Sheet& sheet, int count);

// What stands around the cells of a panel, worked out for one cell size.
struct PanelRoom {
    LabelPlan rows, cols;
    double left = 0, top = 0; // of the cells' upper left corner, from the panel's
    double right = 0;         // the flags of fully masked rows, and the notes
    double notes = 0;         // of `right`, its outer part
};
// pitch: the size of a cell. withTitle, withRows, withCols: what this panel really shows (a grid shows labels once).
struct PanelShows {
    bool title = true, rows = true, cols = true;
};
PanelRoom roomFor(Sheet& sheet, const Panel& panel, QSizeF pitch, QSizeF maxLabels, PanelShows shows);
// topLeft: of the cells. Labels, titles, marks and flags stand around them as `room` says.
void drawPanel(Sheet& sheet, const Panel& panel, QPointF topLeft, QSizeF pitch, const PanelRoom& room,
               PanelShows shows);
// The marks alone, over a panel that was drawn without them; ground: what lies behind its labels.
void drawPanelMarks(Sheet& sheet, const Panel& panel, QPointF topLeft, QSizeF pitch, const PanelRoom& room,
                    const QColor& ground);

// How many finite numbers lie below and above the range.
struct CutCount {
    std::int64_t below = 0, above = 0;
    CutCount& operator+=(const CutCount& o) {
        below += o.below;
        above += o.above;
        return *this;
    }
};
CutCount countCut(const CellPicture& picture);

// The bar with its two ends and a caption that says what is meant; arrows at an end that cuts numbers off. Returns the
// height. low, high: what stands at the ends instead of the range's numbers ("min"); empty: the numbers.
struct BarText {
    QString caption, low, high;
};
double drawColorBar(Sheet& sheet, QPointF topLeft, double width, const ColorScale& scale, const BarText& text,
                    CutCount cut);
// The range under a matrix among others, small: lo, bar, hi; without the bar where the width is less than
// smallBarWidth.
double smallBarWidth(const Sheet& sheet, const ColorScale& scale);
void drawSmallBar(Sheet& sheet, QPointF topLeft, double width, const ColorScale& scale, CutCount cut);
QString rangeNumber(double value); // four significant digits

} // namespace headscope
