// The inside of HeatmapView, shared by its three files: the widget and what mouse and keys do (heatmap_view.cpp), where
// things stand (heatmap_layout.cpp), how they are painted (heatmap_drawing.cpp). Nobody else includes it.
#pragma once

#include "ui/widgets/heatmap_view.h"

#include "ui/latest_wins.h"
#include "ui/render/axis_labels.h"
#include "ui/theme.h"

#include <qcustomplot.h>

#include <algorithm>

namespace headscope {

// Everything that is derived from the contents once, in a worker for large matrices.
struct Prepared {
    HeatmapContents contents;
    SharedPicture picture;
    std::vector<double> rowSums, entropies, colSums; // only with weightMargins; entropy in bits
};
using SharedPrepared = std::shared_ptr<const Prepared>;

constexpr double heatmapGap = 5;              // between labels, titles and cells
constexpr double smallestHeatmapLabel = 0.68; // labels shrink to this share of the font before they are thinned

inline double lineOf(const QFontMetricsF& m) {
    return m.ascent() + m.descent();
}

struct HeatmapView::Private {
    explicit Private(HeatmapView* view) : q(view) {}

    HeatmapView* q;
    QCustomPlot* plot = nullptr;
    SharedPrepared shown;
    LatestWins<SharedPrepared> jobs; // preparing large ones

    // The visible part, in cells from the upper left corner.
    QRectF window;
    std::optional<CellRef> current, pinned, pinnedBeforeClick;
    QPointF pressed;
    QRectF windowAtPress;
    bool dragging = false, pressedInside = false, swallowRelease = false;

    // Where things stand, in widget coordinates; worked out by layOut().
    QRectF cells;
    double rowLabelRoom = 0, colLabelRoom = 0;
    bool showRowMargins = false, showColSums = false;
    double barsHeight = 0; // of the strip under the cells that shows the pinned row as bars; 0: no room
    double rowLabelExtent = 0, colLabelExtent = 0;      // as last drawn: the titles stand beside them
    bool colsTurned = false;                            // column labels, as last drawn
    std::vector<QRectF> rowLabelPlaces, colLabelPlaces; // of those that are drawn
    double rowLabelPoints = 0, colLabelPoints = 0;      // their size
    QRectF legend;
    QFont labelFont, smallFont;

    // Thousands of labels take longer to measure than to think about: they are the same for every head of a text.
    struct LabelWidths {
        QStringList rows, cols;
        QFont font;
        double row = 0, col = 0, flat = 0; // of the widest: in bold, in bold, as it is
    } measured;
    void measureLabels();

    const HeatmapContents& contents() const { return shown->contents; }
    int rows() const { return contents().matrix->rows(); }
    int cols() const { return contents().matrix->cols(); }
    bool empty() const { return contents().matrix->empty(); }
    double pitchX() const { return window.width() > 0 ? cells.width() / window.width() : 0; }
    double pitchY() const { return window.height() > 0 ? cells.height() / window.height() : 0; }
    QPointF origin() const { return {cells.left() - window.left() * pitchX(), cells.top() - window.top() * pitchY()}; }
    QColor ink() const { return q->palette().color(QPalette::WindowText); }
    QColor paper() const { return q->palette().color(QPalette::Base); }
    bool dark() const { return paper().lightness() < 128; }
    QColor muted() const { return theme().muted; }
    QColor accent() const { return theme().accent; }
    bool valid(std::optional<CellRef> c) const {
        return c && c->row >= 0 && c->col >= 0 && c->row < rows() && c->col < cols();
    }

    // The band of heads that a column lies in, where there are bands.
    std::size_t bandOf(int col) const {
        const std::vector<int>& starts = contents().bandStarts;
        return static_cast<std::size_t>(
            std::max<std::ptrdiff_t>(0, std::ranges::upper_bound(starts, col) - starts.begin() - 1));
    }
    QString bandName(std::size_t band) const {
        const BandHead& head = contents().bandHeads[band];
        return (head.isShared ? HeatmapView::tr("KV head %1") : QStringLiteral("H%1")).arg(head.number);
    }

    double sumColumn(const QFontMetricsF& metrics) const { // width of the first margin beside the rows
        return std::max(metrics.horizontalAdvance(QStringLiteral("00.00")),
                        contents().removed.empty() ? 0.0 : metrics.horizontalAdvance(HeatmapView::tr("removed")));
    }

    void build();
    void show(SharedPrepared next);
    void layOut();
    void applyTheme();
    void setWindow(QRectF next);
    void zoom(double factor, QPointF at);
    void reveal(CellRef cell);
    void hover(std::optional<CellRef> cell, bool tell);
    void pin(std::optional<CellRef> cell);
    void replot() { plot->replot(QCustomPlot::rpQueuedReplot); }
    void replotOverlay() { plot->layer(QStringLiteral("overlay"))->replot(); }
    QRectF rectOf(CellRef c) const {
        return {origin() + QPointF(c.col * pitchX(), c.row * pitchY()), QSizeF(pitchX(), pitchY())};
    }

    void drawCells(QPainter& painter);
    void drawAround(QPainter& painter);
    void drawLabels(QPainter& painter, Side side);
    bool drawBands(QPainter& painter);
    void drawRowMargins(QPainter& painter);
    void drawColSums(QPainter& painter);
    void drawRowBars(QPainter& painter);
    void drawLegend(QPainter& painter);
    void drawOverlay(QPainter& painter);
    void drawStrongLabel(QPainter& painter, Side side, int index, const QColor& color);

    void mousePress(QMouseEvent& e);
    void mouseMove(QMouseEvent& e);
    void mouseRelease(QMouseEvent& e);
    void wheel(QWheelEvent& e);
};

} // namespace headscope
