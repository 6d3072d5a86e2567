#include "ui/widgets/heatmap_view.h"

#include "ui/render/axis_labels.h"

#include <QAccessibleWidget>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QVBoxLayout>
#include <QWheelEvent>
#include <QtConcurrent>
#include <algorithm>
#include <cmath>
#include <qcustomplot.h>

namespace headscope {
namespace {

// Everything that is derived from the contents once, in a worker for large matrices.
struct Prepared {
    HeatmapContents contents;
    SharedPicture picture;
    std::vector<double> rowSums, entropies, colSums; // only with weightMargins; entropy in bits
};
using SharedPrepared = std::shared_ptr<const Prepared>;

SharedPrepared prepare(HeatmapContents contents) {
    auto out = std::make_shared<Prepared>();
    if (!contents.matrix)
        contents.matrix = share(Matrix());
    out->picture = std::make_shared<const CellPicture>(contents.matrix, contents.scale);
    if (contents.weightMargins) {
        const Matrix& m = *contents.matrix;
        out->colSums.assign(static_cast<std::size_t>(m.cols()), 0.0);
        for (int r = 0; r < m.rows(); ++r) {
            double sum = 0, entropy = 0;
            const auto row = m.row(r);
            for (std::size_t c = 0; c < row.size(); ++c) {
                const double p = row[c];
                sum += p;
                out->colSums[c] += p;
                if (p > 0)
                    entropy -= p * std::log2(p);
            }
            out->rowSums.push_back(sum);
            out->entropies.push_back(entropy);
        }
    }
    out->contents = std::move(contents);
    return out;
}

// A layerable of the plot that calls a function to paint: labels, margins, the hover cross.
class Painted : public QCPAbstractItem {
public:
    Painted(QCustomPlot* plot, std::function<void(QCPPainter&)> paint)
        : QCPAbstractItem(plot), m_paint(std::move(paint)) {
        setClipToAxisRect(false);
        setSelectable(false);
    }
    double selectTest(const QPointF&, bool, QVariant*) const override { return -1; }

protected:
    void draw(QCPPainter* painter) override { m_paint(*painter); }

private:
    std::function<void(QCPPainter&)> m_paint;
};

// Cells of at most this many numbers are prepared at once: less than a frame.
constexpr std::size_t atOnce = 1'500'000;
constexpr double largestCell = 64, gap = 5;
constexpr double smallest = 0.68; // labels shrink to this share of the font before they are thinned

double lineOf(const QFontMetricsF& m) {
    return m.ascent() + m.descent();
}

} // namespace

struct HeatmapView::Private {
    explicit Private(HeatmapView* view) : q(view) {}

    HeatmapView* q;
    QCustomPlot* plot = nullptr;
    SharedPrepared shown = prepare({});
    int generation = 0;
    bool waiting = false;

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
    QRectF legend;
    QFont labelFont, smallFont;

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
    QColor muted() const {
        const QColor a = ink(), b = paper();
        return QColor((a.red() * 62 + b.red() * 38) / 100, (a.green() * 62 + b.green() * 38) / 100,
                      (a.blue() * 62 + b.blue() * 38) / 100);
    }
    QColor accent() const { return dark() ? QColor(0xff, 0x6b, 0x9a) : QColor(0xd6, 0x33, 0x6c); }
    bool valid(std::optional<CellRef> c) const {
        return c && c->row >= 0 && c->col >= 0 && c->row < rows() && c->col < cols();
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
    void drawRowMargins(QPainter& painter);
    void drawColSums(QPainter& painter);
    void drawLegend(QPainter& painter);
    void drawOverlay(QPainter& painter);
    void drawStrongLabel(QPainter& painter, Side side, int index, const QColor& color);

    void mousePress(QMouseEvent& e);
    void mouseMove(QMouseEvent& e);
    void mouseRelease(QMouseEvent& e);
    void wheel(QWheelEvent& e);
};

// ------------------------------------------------------------------------------------------------------------ contents

void HeatmapView::Private::build() {
    plot = new QCustomPlot(q);
    plot->setFocusPolicy(Qt::NoFocus); // the view itself takes the keyboard
    plot->setMouseTracking(true);
    plot->installEventFilter(q);
    plot->setNoAntialiasingOnDrag(false);
    plot->axisRect()->setAutoMargins(QCP::msNone);
    plot->axisRect()->setMinimumMargins(QMargins());
    for (QCPAxis* axis : plot->axisRect()->axes())
        axis->setVisible(false);
    auto* cellsItem = new Painted(plot, [this](QCPPainter& p) { drawCells(p); });
    auto* aroundItem = new Painted(plot, [this](QCPPainter& p) { drawAround(p); });
    auto* overlayItem = new Painted(plot, [this](QCPPainter& p) { drawOverlay(p); });
    cellsItem->setLayer(QStringLiteral("main"));
    aroundItem->setLayer(QStringLiteral("main"));
    overlayItem->setLayer(QStringLiteral("overlay")); // buffered on its own: hovering repaints nothing else
    auto* layout = new QVBoxLayout(q);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(plot);
}

void HeatmapView::Private::show(SharedPrepared next) {
    const bool sameShape = next->contents.matrix->rows() == rows() && next->contents.matrix->cols() == cols();
    shown = std::move(next);
    waiting = false;
    if (!sameShape || window.isEmpty()) {
        window = QRectF(0, 0, cols(), rows());
        current.reset();
        if (!valid(pinned))
            pinned.reset();
    }
    layOut();
    replot();
    if (current) // the number under the pointer may be another one now
        emit q->cellHovered(current);
}

// -------------------------------------------------------------------------------------------------------------- layout

// Labels take what they need, up to a share of the widget; margins are shown when their numbers fit; what is left is
// for the cells, square where both axes are of similar length.
void HeatmapView::Private::layOut() {
    labelFont = q->font();
    smallFont = q->font();
    smallFont.setPointSizeF(std::max(6.0, q->font().pointSizeF() * 0.9));
    const QFontMetricsF metrics(labelFont, plot), small(smallFont, plot);
    const double line = lineOf(metrics), width = plot->width(), height = plot->height();
    legend = QRectF(8, height - line - 6, width - 16, line);
    cells = QRectF();
    if (empty())
        return;
    const double sumWidth = small.horizontalAdvance(QStringLiteral("00.00")) + 12;
    const double rowMarginWidth = sumWidth + 72 + small.horizontalAdvance(QStringLiteral("0.00")) + 16;
    const double colSumHeight = lineOf(small) + 6, titleLeft = line + gap, titleTop = line + gap;
    const bool tokens = rows() <= 2.5 * cols() && cols() <= 2.5 * rows();
    // Every label counts, also those that thinning leaves out: zoom and the pointer bring them up, in bold.
    QFont bold = labelFont;
    bold.setBold(true);
    const QFontMetricsF boldMetrics(bold, plot);
    const auto widest = [](const QStringList& labels, const QFontMetricsF& in) {
        double w = 0;
        for (qsizetype i = 0; i < std::min<qsizetype>(labels.size(), 4096); ++i)
            w = std::max(w, in.horizontalAdvance(labels[i]));
        return w + 1;
    };
    const double widestRow = widest(contents().rowLabels, boldMetrics),
                 widestCol = widest(contents().colLabels, boldMetrics);
    const double widestFlat = widest(contents().colLabels, metrics);
    QSizeF pitch(40, 40);
    showRowMargins = showColSums = false;
    double left = 0, top = 0;
    for (int round = 0; round < 4; ++round) {
        rowLabelRoom = std::min(widestRow, 0.26 * width);
        const bool flat = widestFlat + 0.4 * line <= pitch.width();
        colLabelRoom = flat ? line : std::min(widestCol, 0.26 * height);
        left = 6 + titleLeft + rowLabelRoom + gap;
        top = 4 + titleTop + colLabelRoom + gap;
        const double right = showRowMargins ? rowMarginWidth : 10,
                     bottom = line + 18 + (showColSums ? colSumHeight : 0);
        const double w = std::max(20.0, width - left - right), h = std::max(20.0, height - top - bottom);
        pitch = QSizeF(std::min(w / cols(), largestCell), std::min(h / rows(), largestCell));
        if (tokens)
            pitch = QSizeF(std::min(pitch.width(), pitch.height()), std::min(pitch.width(), pitch.height()));
        const bool margins = contents().weightMargins;
        if (round < 3) {
            showRowMargins = margins && pitch.height() >= lineOf(small) && rowMarginWidth < 0.35 * width;
            showColSums = margins && pitch.width() >= small.horizontalAdvance(QStringLiteral("0.00")) + 4;
        }
    }
    cells = QRectF(left, top, std::max(1.0, std::floor(pitch.width() * cols())),
                   std::max(1.0, std::floor(pitch.height() * rows())));
    // In the middle of what is left over, with everything that belongs to it.
    const double spare = width - cells.right() - (showRowMargins ? rowMarginWidth : 10);
    cells.translate(std::floor(std::max(0.0, spare / 2)), 0);
    const QRect rect = cells.toRect();
    plot->axisRect()->setMargins(
        QMargins(rect.left(), rect.top(), plot->width() - rect.right() - 1, plot->height() - rect.bottom() - 1));
    setWindow(window);
}

void HeatmapView::Private::applyTheme() {
    plot->setBackground(QBrush(paper())); // QCustomPlot takes nothing from the palette
    layOut();
    replot();
}

// Inside the matrix, no smaller than two cells, and as wide as high in proportion to it.
void HeatmapView::Private::setWindow(QRectF next) {
    const double w =
        std::clamp(next.width(), std::min(2.0, static_cast<double>(cols())), static_cast<double>(std::max(1, cols())));
    const double h =
        std::clamp(next.height(), std::min(2.0, static_cast<double>(rows())), static_cast<double>(std::max(1, rows())));
    window = QRectF(std::clamp(next.left(), 0.0, cols() - w), std::clamp(next.top(), 0.0, rows() - h), w, h);
    plot->xAxis->setRange(window.left(), window.right());
    plot->yAxis->setRange(-window.bottom(),
                          -window.top()); // row r lies at -r: a reversed axis would mirror every frame
}

void HeatmapView::Private::zoom(double factor, QPointF at) {
    if (empty() || cells.isEmpty())
        return;
    const double fx = std::clamp((at.x() - cells.left()) / cells.width(), 0.0, 1.0);
    const double fy = std::clamp((at.y() - cells.top()) / cells.height(), 0.0, 1.0);
    const QSizeF size(std::min<double>(window.width() / factor, cols()),
                      std::min<double>(window.height() / factor, rows()));
    if (size.width() < 1.5 && size.height() < 1.5)
        return;
    // The cell under the pointer stays there.
    setWindow(QRectF(window.left() + fx * (window.width() - size.width()),
                     window.top() + fy * (window.height() - size.height()), size.width(), size.height()));
    replot();
}

void HeatmapView::Private::reveal(CellRef c) {
    QRectF next = window;
    if (c.col < next.left())
        next.moveLeft(c.col);
    if (c.col + 1 > next.right())
        next.moveRight(c.col + 1);
    if (c.row < next.top())
        next.moveTop(c.row);
    if (c.row + 1 > next.bottom())
        next.moveBottom(c.row + 1);
    if (next != window) {
        setWindow(next);
        replot();
    }
}

void HeatmapView::Private::hover(std::optional<CellRef> cell, bool tell) {
    if (!valid(cell))
        cell.reset();
    if (cell == current)
        return;
    current = cell;
    replotOverlay();
    if (tell) {
        emit q->cellHovered(current);
        QAccessibleEvent changed(q, QAccessible::DescriptionChanged);
        QAccessible::updateAccessibility(&changed);
    }
}

void HeatmapView::Private::pin(std::optional<CellRef> cell) {
    if (!valid(cell))
        cell.reset();
    if (cell == pinned)
        return;
    pinned = cell;
    replotOverlay();
    emit q->cellPinned(pinned);
}

// ------------------------------------------------------------------------------------------------------------ painting

void HeatmapView::Private::drawCells(QPainter& painter) {
    if (empty())
        return;
    CellStyle style;
    if (dark()) {
        style.hatchGround = QColor(0x2a, 0x2f, 0x38);
        style.hatchLine = QColor(0x5a, 0x62, 0x70);
    }
    style.hairline = paper();
    style.hairline.setAlpha(150);
    if (contents().numbers)
        style.numbers = numberFont(*shown->picture, smallFont, 6, {pitchX(), pitchY()}, plot);
    const QRectF area(origin(), QSizeF(pitchX() * cols(), pitchY() * rows()));
    paintCells(painter, *shown->picture, area, cells, style);
    painter.setPen(QPen(ink(), 1));
    for (int start : contents().bandStarts) {
        const double x = origin().x() + start * pitchX();
        if (start > 0 && x > cells.left() && x < cells.right())
            painter.drawLine(QPointF(x, cells.top()), QPointF(x, cells.bottom()));
    }
}

void HeatmapView::Private::drawAround(QPainter& painter) {
    if (empty()) {
        return;
    }
    painter.setRenderHint(QPainter::Antialiasing, true);
    drawLabels(painter, Side::Left);
    drawLabels(painter, Side::Top);
    const QFontMetricsF metrics(labelFont, plot);
    const double line = lineOf(metrics);
    painter.setFont(labelFont);
    painter.setPen(muted());
    const double titleWidth = metrics.horizontalAdvance(contents().colTitle);
    const double titleX = std::max(4.0, std::min(cells.center().x() - titleWidth / 2, plot->width() - titleWidth - 4));
    painter.drawText(QPointF(titleX, cells.top() - 2 * gap - colLabelRoom - line + metrics.ascent()),
                     contents().colTitle);
    painter.save();
    const double up = metrics.horizontalAdvance(contents().rowTitle);
    painter.translate(cells.left() - 2 * gap - rowLabelRoom - line,
                      std::max(cells.center().y() + up / 2, cells.top() + std::min(up, cells.height())));
    painter.rotate(-90);
    painter.drawText(QPointF(0, metrics.ascent()), contents().rowTitle);
    painter.restore();
    drawRowMargins(painter);
    drawColSums(painter);
    drawLegend(painter);
    const auto& flags = contents().emptyRows;
    painter.setPen(accent());
    painter.setFont(smallFont);
    for (int r = 0; r < rows() && r < static_cast<int>(flags.size()); ++r)
        if (flags[static_cast<std::size_t>(r)]) {
            const QRectF cell = rectOf({r, 0});
            if (cell.center().y() > cells.top() && cell.center().y() < cells.bottom() && pitchY() >= 8)
                painter.drawText(QRectF(cells.left(), cell.top(), cells.width(), cell.height()), Qt::AlignCenter,
                                 tr("fully masked: weights are 0"));
        }
}

// Only the labels of visible cells are measured; they start at a multiple of the thinning step, so that panning does
// not exchange one half of them for the other.
void HeatmapView::Private::drawLabels(QPainter& painter, Side side) {
    const bool left = side == Side::Left;
    const QStringList& all = left ? contents().rowLabels : contents().colLabels;
    const double pitch = left ? pitchY() : pitchX(), begin = left ? window.top() : window.left(),
                 count = left ? window.height() : window.width();
    const int step =
        std::max(1, static_cast<int>(std::ceil(smallest * lineOf(QFontMetricsF(labelFont, plot)) / pitch - 1e-6)));
    const int first = static_cast<int>(begin) / step * step,
              last = std::min<int>(static_cast<int>(all.size()), static_cast<int>(std::ceil(begin + count)));
    if (first >= last)
        return;
    const LabelPlan plan =
        planLabels(side, all.mid(first, last - first), labelFont,
                   {pitch, left ? rowLabelRoom : colLabelRoom, smallest * labelFont.pointSizeF(), plot});
    const double start = (left ? origin().y() : origin().x()) + first * pitch;
    const auto labels =
        left ? placeLabels(side, plan, cells.left() - gap, start, pitch, cells.top(), cells.bottom(), plot)
             : placeLabels(side, plan, cells.top() - gap, start, pitch, cells.left(), cells.right(), plot);
    painter.setFont(plan.font);
    painter.setPen(muted());
    const double ascent = QFontMetricsF(plan.font, plot).ascent();
    for (const PlacedLabel& label : labels) {
        if (!plan.turned) {
            painter.drawText(label.rect.topLeft() + QPointF(0, ascent), plan.texts[label.index]);
            continue;
        }
        painter.save();
        painter.translate(label.rect.bottomLeft());
        painter.rotate(-90);
        painter.drawText(QPointF(0, ascent), plan.texts[label.index]);
        painter.restore();
    }
}

// Beside each row: its sum, and its entropy as a bar and a number; the bar is full at log2(m) bits.
void HeatmapView::Private::drawRowMargins(QPainter& painter) {
    if (!showRowMargins)
        return;
    const QFontMetricsF metrics(smallFont, plot);
    const double line = lineOf(metrics), x = cells.right() + 12,
                 sumWidth = metrics.horizontalAdvance(QStringLiteral("00.00"));
    const double bar = x + sumWidth + 12, barWidth = 60, most = std::max(1.0, std::log2(std::max(2, cols())));
    painter.setFont(smallFont);
    painter.setPen(muted());
    const double headerY = cells.top() - gap - line + metrics.ascent();
    painter.drawText(QPointF(x, headerY), tr("sum"));
    painter.drawText(QPointF(bar, headerY), tr("entropy (bits)"));
    const QColor track = dark() ? QColor(0x38, 0x3e, 0x4a) : QColor(0xe2, 0xe5, 0xea);
    int lastLabel = -1000; // zoomed out, rows are thinned like labels; here every row fits by layOut()
    for (int r = static_cast<int>(window.top());
         r < std::min<int>(rows(), static_cast<int>(std::ceil(window.bottom()))); ++r) {
        const double middle = rectOf({r, 0}).center().y();
        if (middle < cells.top() || middle > cells.bottom() || middle - lastLabel < line * 0.9)
            continue;
        lastLabel = static_cast<int>(middle);
        const auto i = static_cast<std::size_t>(r);
        const double base = middle - line / 2 + metrics.ascent();
        painter.setPen(muted());
        painter.drawText(QPointF(x, base), QString::number(shown->rowSums[i], 'f', 2));
        painter.drawText(QPointF(bar + barWidth + 6, base), QString::number(shown->entropies[i], 'f', 2));
        painter.setPen(Qt::NoPen);
        painter.setBrush(track);
        painter.drawRoundedRect(QRectF(bar, middle - 3, barWidth, 6), 2, 2);
        painter.setBrush(muted());
        painter.drawRoundedRect(QRectF(bar, middle - 3, barWidth * std::clamp(shown->entropies[i] / most, 0.0, 1.0), 6),
                                2, 2);
    }
}

void HeatmapView::Private::drawColSums(QPainter& painter) {
    if (!showColSums)
        return;
    const QFontMetricsF metrics(smallFont, plot);
    painter.setFont(smallFont);
    painter.setPen(muted());
    for (int c = static_cast<int>(window.left());
         c < std::min<int>(cols(), static_cast<int>(std::ceil(window.right()))); ++c) {
        const QRectF cell = rectOf({0, c});
        const QString text = QString::number(shown->colSums[static_cast<std::size_t>(c)], 'f', 2);
        if (cell.left() >= cells.left() - 1 && cell.right() <= cells.right() + 1)
            painter.drawText(
                QPointF(cell.center().x() - metrics.horizontalAdvance(text) / 2, cells.bottom() + 5 + metrics.ascent()),
                text);
    }
    const QString name = tr("column sum");
    const double w = metrics.horizontalAdvance(name);
    if (w < cells.left() - gap - 4)
        painter.drawText(QPointF(cells.left() - gap - w, cells.bottom() + 5 + metrics.ascent()), name);
}

// The colour bar with its ends and the words that say which range is meant.
void HeatmapView::Private::drawLegend(QPainter& painter) {
    const ColorScale& scale = contents().scale;
    const QFontMetricsF metrics(smallFont, plot);
    const bool byRow = scale.curve().kind == Curve::Kind::Row;
    const auto number = [](double v) { return QString::number(v, 'g', 4); };
    const QString low = byRow && scale.isSigned() ? tr("−row max") : number(scale.range().lo),
                  high = byRow ? tr("row max") : number(scale.range().hi);
    const double base = legend.top() + metrics.ascent(), barWidth = std::clamp(0.22 * legend.width(), 60.0, 180.0);
    double x = legend.left();
    painter.setFont(smallFont);
    painter.setPen(ink());
    painter.drawText(QPointF(x, base), low);
    x += metrics.horizontalAdvance(low) + 8;
    Matrix ramp(1, 128);
    for (int i = 0; i < 128; ++i)
        ramp(0, i) = static_cast<float>(scale.range().lo + (scale.range().hi - scale.range().lo) * i / 127);
    CellStyle plain;
    plain.hairline = QColor();
    plain.clipMarks = false;
    paintCells(painter, CellPicture(share(std::move(ramp)), scale),
               QRectF(x, legend.top() + lineOf(metrics) / 2 - 4, barWidth, 8), plain);
    x += barWidth + 8;
    painter.drawText(QPointF(x, base), high);
    x += metrics.horizontalAdvance(high) + 16;
    painter.setPen(muted());
    painter.drawText(QPointF(x, base), metrics.elidedText(contents().rangeCaption, Qt::ElideRight, legend.right() - x));
}

// Label of one row or column, strong and on its own ground: also where thinning has left it out.
void HeatmapView::Private::drawStrongLabel(QPainter& painter, Side side, int index, const QColor& color) {
    const bool left = side == Side::Left;
    const QStringList& all = left ? contents().rowLabels : contents().colLabels;
    if (index >= all.size())
        return;
    QFont font = labelFont;
    font.setBold(true);
    const QFontMetricsF metrics(font, plot);
    const double room = (left ? rowLabelRoom : colLabelRoom), pitch = left ? pitchY() : pitchX();
    const bool turned =
        !left && planLabels(Side::Top, all.mid(index, 1), font, {pitch, room, font.pointSizeF(), plot}).turned;
    const QString text = left || turned ? metrics.elidedText(all[index], Qt::ElideMiddle, room) : all[index];
    const double w = metrics.horizontalAdvance(text), h = lineOf(metrics);
    const QRectF cell = left ? rectOf({index, 0}) : rectOf({0, index});
    QRectF rect = left     ? QRectF(cells.left() - gap - w, cell.center().y() - h / 2, w, h)
                  : turned ? QRectF(cell.center().x() - h / 2, cells.top() - gap - w, h, w)
                           : QRectF(cell.center().x() - w / 2, cells.top() - gap - h, w, h);
    QRectF ground = rect.adjusted(-2, 0, 2, 0); // hides the plain label, which may be longer
    if (left)
        ground.setLeft(std::min(ground.left(), cells.left() - gap - room));
    else if (turned)
        ground.setTop(std::min(ground.top(), cells.top() - gap - room));
    painter.fillRect(ground, paper());
    painter.setFont(font);
    painter.setPen(color);
    painter.save();
    painter.translate(turned ? rect.bottomLeft() : rect.topLeft());
    if (turned)
        painter.rotate(-90);
    painter.drawText(QPointF(0, metrics.ascent()), text);
    painter.restore();
}

// Outlines, never tinted bands: those would alter the colours that are being read.
void HeatmapView::Private::drawOverlay(QPainter& painter) {
    if (empty())
        return;
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setBrush(Qt::NoBrush);
    const auto band = [&](QRectF rect, const QColor& color, double width) {
        rect &= cells;
        if (rect.isEmpty())
            return;
        painter.setPen(QPen(color, width, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
        painter.drawRect(rect);
    };
    const auto rowBand = [&](int r) {
        return QRectF(cells.left(), rectOf({r, 0}).top(), cells.width(), std::max(pitchY(), 1.0));
    };
    const auto colBand = [&](int c) {
        return QRectF(rectOf({0, c}).left(), cells.top(), std::max(pitchX(), 1.0), cells.height());
    };
    if (valid(current)) {
        QColor cross = ink();
        cross.setAlpha(190);
        QColor halo = paper(); // dark lines vanish on dark cells, light ones on light cells
        halo.setAlpha(170);
        if (pitchY() >= 5)
            band(rowBand(current->row), halo, 3);
        if (pitchX() >= 5)
            band(colBand(current->col), halo, 3);
        band(rowBand(current->row), cross, 1);
        band(colBand(current->col), cross, 1);
        drawStrongLabel(painter, Side::Left, current->row, ink());
        drawStrongLabel(painter, Side::Top, current->col, ink());
    }
    painter.setBrush(Qt::NoBrush);
    if (valid(pinned)) {
        band(rowBand(pinned->row), accent(), 1);
        QRectF cell = rectOf(*pinned);
        cell.setSize(QSizeF(std::max(cell.width(), 4.0), std::max(cell.height(), 4.0)));
        band(cell, accent(), 2);
        drawStrongLabel(painter, Side::Left, pinned->row, accent());
        drawStrongLabel(painter, Side::Top, pinned->col, accent());
    }
    if (q->hasFocus()) {
        QColor focus = q->palette().color(QPalette::Highlight);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(focus, 1));
        painter.drawRect(cells.adjusted(-2, -2, 2, 2));
    }
}

// --------------------------------------------------------------------------------------------------------------- mouse

void HeatmapView::Private::mousePress(QMouseEvent& e) {
    q->setFocus(Qt::MouseFocusReason);
    if (e.button() != Qt::LeftButton)
        return;
    pressed = e.position();
    windowAtPress = window;
    pressedInside = cells.contains(pressed);
    dragging = false;
}

void HeatmapView::Private::mouseMove(QMouseEvent& e) {
    if ((e.buttons() & Qt::LeftButton) && pressedInside) {
        const QPointF moved = e.position() - pressed;
        dragging = dragging || std::hypot(moved.x(), moved.y()) > 4;
        if (dragging) {
            setWindow(windowAtPress.translated(-moved.x() / pitchX(), -moved.y() / pitchY()));
            replot();
            return;
        }
    }
    hover(q->cellAt(e.position()), true);
}

void HeatmapView::Private::mouseRelease(QMouseEvent& e) {
    if (e.button() != Qt::LeftButton || std::exchange(swallowRelease, false))
        return;
    if (!dragging && pressedInside) {
        pinnedBeforeClick = pinned;
        const auto cell = q->cellAt(e.position());
        pin(cell == pinned ? std::nullopt : cell);
    }
    dragging = pressedInside = false;
}

void HeatmapView::Private::wheel(QWheelEvent& e) {
    if (!cells.contains(e.position())) {
        e.ignore();
        return;
    }
    zoom(std::pow(1.25, e.angleDelta().y() / 120.0), e.position());
    hover(q->cellAt(e.position()), true);
    e.accept();
}

// ---------------------------------------------------------------------------------------------------------- the widget

namespace {

// QCustomPlot has no accessible content; the view reads its cell aloud.
class AccessibleHeatmap : public QAccessibleWidget {
public:
    explicit AccessibleHeatmap(HeatmapView* view) : QAccessibleWidget(view, QAccessible::Graphic) {}
    QString text(QAccessible::Text kind) const override {
        const auto* view = static_cast<const HeatmapView*>(widget());
        if (kind == QAccessible::Description || kind == QAccessible::Value) {
            const QString cell = view->describe(view->currentCell() ? view->currentCell() : view->pinnedCell());
            if (!cell.isEmpty())
                return cell;
            const Matrix& m = *view->contents().matrix;
            return HeatmapView::tr("Heatmap of %1 rows and %2 columns").arg(m.rows()).arg(m.cols());
        }
        return QAccessibleWidget::text(kind);
    }
};

QAccessibleInterface* accessibleHeatmap(const QString&, QObject* object) {
    auto* view = qobject_cast<HeatmapView*>(object);
    return view ? new AccessibleHeatmap(view) : nullptr;
}

} // namespace

HeatmapView::HeatmapView(QWidget* parent) : QWidget(parent), d(std::make_unique<Private>(this)) {
    static const bool installed = [] {
        QAccessible::installFactory(accessibleHeatmap);
        return true;
    }();
    Q_UNUSED(installed)
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Heatmap"));
    d->build();
    d->applyTheme();
}

HeatmapView::~HeatmapView() = default;

void HeatmapView::setContents(HeatmapContents contents) {
    const int generation = ++d->generation;
    if (!contents.matrix || contents.matrix->size() <= atOnce) {
        d->show(prepare(std::move(contents)));
        return;
    }
    d->waiting = true;
    QtConcurrent::run([contents = std::move(contents)]() mutable {
        return prepare(std::move(contents));
    }).then(this, [this, generation](SharedPrepared ready) {
        if (generation == d->generation)
            d->show(std::move(ready));
    });
}

const HeatmapContents& HeatmapView::contents() const {
    return d->contents();
}
void HeatmapView::clear() {
    setContents({});
}
bool HeatmapView::preparing() const {
    return d->waiting;
}

void HeatmapView::setPinnedCell(std::optional<CellRef> cell) {
    d->pinned = d->valid(cell) || d->waiting ? cell : std::nullopt;
    d->replotOverlay();
}
std::optional<CellRef> HeatmapView::pinnedCell() const {
    return d->pinned;
}
std::optional<CellRef> HeatmapView::currentCell() const {
    return d->current;
}
void HeatmapView::setCurrentCell(std::optional<CellRef> cell) {
    d->hover(cell, false);
}

void HeatmapView::zoomIn() {
    d->zoom(1.5, d->current ? cellCentre(*d->current) : d->cells.center());
}
void HeatmapView::zoomOut() {
    d->zoom(1 / 1.5, d->current ? cellCentre(*d->current) : d->cells.center());
}
void HeatmapView::resetZoom() {
    d->setWindow(QRectF(0, 0, d->cols(), d->rows()));
    d->replot();
}

QString HeatmapView::describe(std::optional<CellRef> cell) const {
    if (!d->valid(cell))
        return {};
    const HeatmapContents& c = d->contents();
    const QString row = c.rowLabels.value(cell->row, QString::number(cell->row)),
                  col = c.colLabels.value(cell->col, QString::number(cell->col));
    const float value = (*c.matrix)(cell->row, cell->col);
    const QString number = value == -std::numeric_limits<float>::infinity()
                               ? tr("masked (−∞)")
                               : QString::number(static_cast<double>(value), 'g', 9);
    if (c.weightMargins)
        return tr("%1 (query) attends %2 to %3 (key)").arg(row, number, col);
    return tr("row %1, column %2: %3").arg(row, col, number);
}

QPointF HeatmapView::cellCentre(CellRef cell) const {
    return d->rectOf(cell).center();
}

std::optional<CellRef> HeatmapView::cellAt(QPointF position) const {
    if (d->empty() || !d->cells.contains(position) || d->pitchX() <= 0 || d->pitchY() <= 0)
        return std::nullopt;
    const QPointF at = position - d->origin();
    const CellRef cell{static_cast<int>(std::floor(at.y() / d->pitchY())),
                       static_cast<int>(std::floor(at.x() / d->pitchX()))};
    return d->valid(cell) ? std::optional(cell) : std::nullopt;
}

bool HeatmapView::eventFilter(QObject* watched, QEvent* event) {
    if (watched != d->plot)
        return QWidget::eventFilter(watched, event);
    switch (event->type()) {
    case QEvent::MouseButtonPress:
        d->mousePress(static_cast<QMouseEvent&>(*event));
        return true;
    case QEvent::MouseMove:
        d->mouseMove(static_cast<QMouseEvent&>(*event));
        return true;
    case QEvent::MouseButtonRelease:
        d->mouseRelease(static_cast<QMouseEvent&>(*event));
        return true;
    case QEvent::MouseButtonDblClick:
        d->swallowRelease = true;
        d->pin(d->pinnedBeforeClick); // the first click of the two pinned a cell
        resetZoom();
        return true;
    case QEvent::Wheel:
        d->wheel(static_cast<QWheelEvent&>(*event));
        return true;
    case QEvent::Leave:
        d->hover(std::nullopt, true);
        return false;
    case QEvent::Resize:
    case QEvent::Show:
        // The buffer's resolution is read once by the plot, and the screen may have changed.
        d->plot->setBufferDevicePixelRatio(devicePixelRatioF());
        return false;
    default:
        return false;
    }
}

void HeatmapView::keyPressEvent(QKeyEvent* event) {
    const std::optional<CellRef> from = d->current ? d->current : d->pinned;
    const auto move = [&](int rows, int cols) {
        CellRef to = from.value_or(CellRef{0, 0});
        if (from)
            to = {std::clamp(to.row + rows, 0, d->rows() - 1), std::clamp(to.col + cols, 0, d->cols() - 1)};
        d->reveal(to);
        d->hover(to, true);
    };
    if (d->empty()) {
        QWidget::keyPressEvent(event);
        return;
    }
    const bool alt = event->modifiers().testFlag(Qt::AltModifier),
               control = event->modifiers().testFlag(Qt::ControlModifier);
    switch (alt ? 0 : event->key()) {
    case Qt::Key_Left:
        return move(0, -1);
    case Qt::Key_Right:
        return move(0, 1);
    case Qt::Key_Up:
        return move(-1, 0);
    case Qt::Key_Down:
        return move(1, 0);
    case Qt::Key_PageUp:
        return move(-10, 0);
    case Qt::Key_PageDown:
        return move(10, 0);
    case Qt::Key_Home:
        return move(control ? -d->rows() : 0, -d->cols());
    case Qt::Key_End:
        return move(control ? d->rows() : 0, d->cols());
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
        if (from)
            d->pin(from == d->pinned ? std::nullopt : from);
        return;
    case Qt::Key_Escape:
        if (!d->pinned)
            break; // not ours: a dialog may want it
        return d->pin(std::nullopt);
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        return zoomIn();
    case Qt::Key_Minus:
        return zoomOut();
    case Qt::Key_0:
        return resetZoom();
    default:
        break;
    }
    QWidget::keyPressEvent(event);
}

void HeatmapView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    d->plot->resize(size());
    d->layOut();
    d->replot();
}

void HeatmapView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange ||
        event->type() == QEvent::StyleChange)
        d->applyTheme();
}

void HeatmapView::focusInEvent(QFocusEvent* event) {
    QWidget::focusInEvent(event);
    d->replotOverlay();
}
void HeatmapView::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    d->replotOverlay();
}

} // namespace headscope
