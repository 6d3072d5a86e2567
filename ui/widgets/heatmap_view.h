// HeatmapView: a matrix on screen that can be looked into: hover, pinned cell, zoom, pan, keyboard, exact read-out,
// numbers and margins when they fit. It knows values only; whoever owns it connects it to the workspace. Axes, ranges
// and layers are QCustomPlot's; cells and labels are drawn by the same code as in figures (ui/render).
#pragma once

#include "core/analysis/shown.h"
#include "core/attention/view.h"
#include "ui/render/head_colors.h"
#include "ui/render/matrix_painter.h"

#include <QStringList>
#include <QWidget>

#include <memory>
#include <optional>

class QCustomPlot;

namespace headscope {

// What is shown: numbers, their names, and how they become colours.
struct HeatmapContents {
    SharedMatrix matrix;
    QStringList rowLabels, colLabels; // one per row and column
    QString rowTitle, colTitle;       // "queries", "keys (attended to)"
    ColorScale scale;
    QString rangeCaption;            // beside the colour bar: which range is meant
    bool weightMargins = false;      // row sum, entropy and column sum: for weights
    bool numbers = true;             // in the cells, when they fit
    std::vector<bool> emptyRows;     // fully masked; may be empty
    std::vector<bool> closed;        // cells that the mask closes, row by row: hatched; may be empty
    std::vector<double> removed;     // of each row, instead of its sum: the weight that was dropped; may be empty
    std::vector<int> bandStarts;     // columns where a head's band begins; may be empty
    std::vector<BandHead> bandHeads; // whose each is
};

class HeatmapView : public QWidget {
    Q_OBJECT
public:
    explicit HeatmapView(QWidget* parent = nullptr);
    ~HeatmapView() override;

    // Keeps zoom, hover and pin when the new matrix has the shape of the old one. Large matrices are prepared in the
    // background; the old picture stays until then.
    void setContents(HeatmapContents contents);
    const HeatmapContents& contents() const;
    void clear();

    // The pinned cell: its row and itself are framed. Out of range or nullopt: nothing is pinned. Emits nothing.
    void setPinnedCell(std::optional<CellRef> cell);
    std::optional<CellRef> pinnedCell() const;
    // The cell under the pointer or the keyboard's cell.
    std::optional<CellRef> currentCell() const;
    void setCurrentCell(std::optional<CellRef> cell);

    // What is zoomed into, to the whole cell; nothing while all of it is in sight.
    std::optional<CellRegion> zoomedPart() const;
    void zoomIn();
    void zoomOut();
    void resetZoom();

    // "sat (query), cat (key): 0.890718": what the status line and a screen reader say. Empty without a cell.
    QString describe(std::optional<CellRef> cell) const;
    // Centre of a cell in widget coordinates, and the cell there; for tests and menus.
    QPointF cellCentre(CellRef cell) const;
    std::optional<CellRef> cellAt(QPointF position) const;
    // True while a large matrix is being prepared.
    bool preparing() const;

    QSize sizeHint() const override { return {560, 520}; }
    QSize minimumSizeHint() const override { return {200, 180}; }

signals:
    void cellHovered(std::optional<headscope::CellRef> cell); // pointer or arrow keys; nothing when the pointer leaves
    void
    cellPinned(std::optional<headscope::CellRef> cell); // click or Enter; nothing: Esc or a click on the pinned cell

    // Right click on a cell, or the menu key on the keyboard's or pinned cell.
    void menuRequested(headscope::CellRef cell, QPoint globalPosition);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    struct Private;
    std::unique_ptr<Private> d;
};

} // namespace headscope
