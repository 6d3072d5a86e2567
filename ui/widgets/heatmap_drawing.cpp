#include "ui/widgets/heatmap_private.h"

#include <algorithm>
#include <cmath>

namespace headscope {

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
    if (contents().numbers) { // larger in large cells
        QFont font = smallFont;
        const double lines = std::min(pitchX(), pitchY()) / lineOf(QFontMetricsF(font, plot));
        font.setPointSizeF(font.pointSizeF() * std::clamp(lines / 4, 1.0, 1.8));
        style.numbers = numberFont(*shown->picture, font, 6, {pitchX(), pitchY()}, plot);
    }
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
    const double titleWidth = metrics.horizontalAdvance(contents().colTitle);
    const bool named = drawBands(painter);
    painter.setFont(labelFont);
    painter.setPen(muted());
    const double middle = std::min(cells.center().x() - titleWidth / 2, plot->width() - titleWidth - 4);
    const double beside = cells.left() - titleWidth - 2 * heatmapGap; // of the names of heads
    if (!named || beside >= 2)
        painter.drawText(QPointF(named ? beside : std::max(4.0, middle),
                                 cells.top() - 2 * heatmapGap - colLabelExtent - line + metrics.ascent()),
                         contents().colTitle);
    painter.save();
    const double up = metrics.horizontalAdvance(contents().rowTitle);
    painter.translate(cells.left() - 2 * heatmapGap - rowLabelExtent - line,
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

// Over the cells of all heads a strip in each head's colour; true where their names stand in the title's place.
bool HeatmapView::Private::drawBands(QPainter& painter) {
    const std::vector<int>& starts = contents().bandStarts;
    if (starts.size() < 2)
        return false;
    bool named = false;
    constexpr double strip = 3;
    const QFontMetricsF metrics(smallFont, plot);
    const double titleLine = cells.top() - 2 * heatmapGap - colLabelExtent;
    painter.setFont(smallFont);
    for (std::size_t b = 0; b < starts.size() && b < contents().bandHeads.size(); ++b) {
        const int end = b + 1 < starts.size() ? starts[b + 1] : cols();
        const double left = std::max(cells.left(), origin().x() + starts[b] * pitchX()),
                     right = std::min(cells.right(), origin().x() + end * pitchX());
        if (right - left < 1)
            continue;
        const QColor color = contents().bandHeads[b].color(dark());
        painter.setRenderHint(QPainter::Antialiasing, false); // whole pixels, as the cells
        painter.fillRect(QRectF(left, std::floor(cells.top()) - strip - 1, right - left - 1, strip), color);
        painter.setRenderHint(QPainter::Antialiasing);
        const QString name = bandName(b);
        const double width = metrics.horizontalAdvance(name);
        if (width + 4 > right - left)
            continue;
        named = true;
        painter.setPen(color);
        painter.drawText(QPointF((left + right - width) / 2, titleLine - metrics.descent()), name);
    }
    return named;
}

// Only the labels of visible cells are measured; they start at a multiple of the thinning step, so that panning does
// not exchange one half of them for the other.
void HeatmapView::Private::drawLabels(QPainter& painter, Side side) {
    const bool left = side == Side::Left;
    std::vector<QRectF>& drawn = left ? rowLabelPlaces : colLabelPlaces;
    drawn.clear();
    const QStringList& all = left ? contents().rowLabels : contents().colLabels;
    const double pitch = left ? pitchY() : pitchX(), begin = left ? window.top() : window.left(),
                 count = left ? window.height() : window.width();
    const int step = std::max(
        1, static_cast<int>(std::ceil(smallestHeatmapLabel * lineOf(QFontMetricsF(labelFont, plot)) / pitch - 1e-6)));
    const int first = static_cast<int>(begin) / step * step,
              last = std::min<int>(static_cast<int>(all.size()), static_cast<int>(std::ceil(begin + count)));
    if (first >= last)
        return;
    const LabelPlan plan =
        planLabels(side, all.mid(first, last - first), labelFont,
                   {pitch, left ? rowLabelRoom : colLabelRoom, smallestHeatmapLabel * labelFont.pointSizeF(), plot});
    // The label under the pointer is set larger than shrunk ones, and the title stands beside it.
    const double largest =
        left || plan.turned ? plan.extent * labelFont.pointSizeF() / plan.font.pointSizeF() * 1.1 : 0;
    (left ? rowLabelExtent : colLabelExtent) =
        std::max(plan.extent, std::min(largest, left ? rowLabelRoom : colLabelRoom));
    const double start = (left ? origin().y() : origin().x()) + first * pitch;
    const auto labels =
        left ? placeLabels(side, plan, cells.left() - heatmapGap, start, pitch, cells.top(), cells.bottom(), plot)
             : placeLabels(side, plan, cells.top() - heatmapGap, start, pitch, cells.left(), cells.right(), plot);
    if (!left)
        colsTurned = plan.turned;
    (left ? rowLabelPoints : colLabelPoints) = plan.font.pointSizeF();
    painter.setFont(plan.font);
    painter.setPen(muted());
    const double ascent = QFontMetricsF(plan.font, plot).ascent();
    for (const PlacedLabel& label : labels) {
        drawn.push_back(label.rect);
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
    const double line = lineOf(metrics), x = cells.right() + 12, sumWidth = sumColumn(metrics);
    const double bar = x + sumWidth + 12, barWidth = 60, most = std::max(1.0, std::log2(std::max(2, cols())));
    painter.setFont(smallFont);
    painter.setPen(muted());
    const double headerY = cells.top() - heatmapGap - line + metrics.ascent();
    const std::vector<double>& first = contents().removed.empty() ? shown->rowSums : contents().removed;
    painter.drawText(QPointF(x, headerY), contents().removed.empty() ? tr("sum") : tr("removed"));
    painter.drawText(QPointF(bar, headerY), tr("entropy (bits)"));
    const QColor track = dark() ? QColor(0x38, 0x3e, 0x4a) : QColor(0xe2, 0xe5, 0xea);
    const double thick = std::clamp(0.6 * pitchY(), 2.0, 6.0);
    double lastNumber = -1000; // in low rows numbers are thinned like labels; bars are not
    for (int r = static_cast<int>(window.top());
         r < std::min<int>(rows(), static_cast<int>(std::ceil(window.bottom()))); ++r) {
        const double middle = rectOf({r, 0}).center().y();
        if (middle < cells.top() || middle > cells.bottom())
            continue;
        const auto i = static_cast<std::size_t>(r);
        const double base = middle - line / 2 + metrics.ascent();
        painter.setPen(muted());
        if (middle - lastNumber >= 0.9 * line) {
            lastNumber = middle;
            painter.drawText(QPointF(x, base), QString::number(first[i], 'f', 2));
            painter.drawText(QPointF(bar + barWidth + 6, base), QString::number(shown->entropies[i], 'f', 2));
        }
        painter.setPen(Qt::NoPen);
        painter.setBrush(track);
        painter.drawRoundedRect(QRectF(bar, middle - thick / 2, barWidth, thick), 2, 2);
        painter.setBrush(muted());
        const double share = std::clamp(shown->entropies[i] / most, 0.0, 1.0);
        painter.drawRoundedRect(QRectF(bar, middle - thick / 2, barWidth * share, thick), 2, 2);
    }
}

void HeatmapView::Private::drawColSums(QPainter& painter) {
    if (!showColSums)
        return;
    const QFontMetricsF metrics(smallFont, plot);
    const double base = cells.bottom() + barsHeight + 5 + metrics.ascent();
    painter.setFont(smallFont);
    painter.setPen(muted());
    for (int c = static_cast<int>(window.left());
         c < std::min<int>(cols(), static_cast<int>(std::ceil(window.right()))); ++c) {
        const QRectF cell = rectOf({0, c});
        const QString text = QString::number(shown->colSums[static_cast<std::size_t>(c)], 'f', 2);
        if (cell.left() >= cells.left() - 1 && cell.right() <= cells.right() + 1)
            painter.drawText(QPointF(cell.center().x() - metrics.horizontalAdvance(text) / 2, base), text);
    }
    for (const QString& name : {tr("column sum"), tr("sum")}) {
        const double w = metrics.horizontalAdvance(name);
        if (w < cells.left() - heatmapGap - 4)
            return painter.drawText(QPointF(cells.left() - heatmapGap - w, base), name);
    }
}

// The pinned row once more, as bars under the columns: lengths are compared more easily than colours. A full bar is 1.
void HeatmapView::Private::drawRowBars(QPainter& painter) {
    const std::optional<CellRef> row = valid(pinned) ? pinned : current;
    if (barsHeight <= 0 || !valid(row))
        return;
    const double bottom = cells.bottom() + barsHeight, full = barsHeight - 6;
    const QColor fill = valid(pinned) ? accent() : muted();
    const QColor track = dark() ? QColor(0x38, 0x3e, 0x4a) : QColor(0xe2, 0xe5, 0xea);
    painter.fillRect(QRectF(cells.left(), bottom, cells.width(), 1), track);
    for (int c = static_cast<int>(window.left());
         c < std::min<int>(cols(), static_cast<int>(std::ceil(window.right()))); ++c) {
        const double value = std::clamp(static_cast<double>((*contents().matrix)(row->row, c)), 0.0, 1.0);
        const double inset = pitchX() >= 6 ? 0.18 * pitchX() : 0;
        const QRectF cell = rectOf({row->row, c});
        painter.fillRect(QRectF(cell.left() + inset, bottom - full * value, cell.width() - 2 * inset, full * value) &
                             QRectF(cells.left(), cells.bottom(), cells.width(), barsHeight),
                         fill);
    }
    const QFontMetricsF metrics(smallFont, plot);
    const QString name =
        metrics.elidedText(contents().rowLabels.value(row->row), Qt::ElideRight, cells.left() - heatmapGap - 8);
    painter.setFont(smallFont);
    painter.setPen(fill);
    painter.drawText(QPointF(cells.left() - heatmapGap - metrics.horizontalAdvance(name), bottom - 2), name);
}

// The colour bar with its ends and the words that say which range is meant.
void HeatmapView::Private::drawLegend(QPainter& painter) {
    const ColorScale& scale = contents().scale;
    const QFontMetricsF metrics(smallFont, plot);
    const bool byRow = scale.curve().kind == Curve::Kind::Row;
    const auto number = [](double v) { return QString::number(v, 'g', 4); };
    const QString low = byRow && scale.isSigned() ? tr("−row max") : number(scale.range().lo),
                  high = byRow ? tr("row max") : number(scale.range().hi);
    const double base = legend.top() + metrics.ascent(), barWidth = std::clamp(0.3 * legend.width(), 60.0, 160.0);
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
    font.setPointSizeF(std::clamp(1.15 * (left ? rowLabelPoints : colLabelPoints), 6.0, font.pointSizeF()));
    const QFontMetricsF metrics(font, plot);
    const double room = left ? cells.left() - heatmapGap - 2 : cells.top() - heatmapGap - 2; // over the title too
    const bool turned = !left && colsTurned;
    const QString text = left || turned ? metrics.elidedText(all[index], Qt::ElideMiddle, room) : all[index];
    const double w = metrics.horizontalAdvance(text), h = lineOf(metrics);
    const QRectF cell = left ? rectOf({index, 0}) : rectOf({0, index});
    QRectF rect = left     ? QRectF(cells.left() - heatmapGap - w, cell.center().y() - h / 2, w, h)
                  : turned ? QRectF(cell.center().x() - h / 2, cells.top() - heatmapGap - w, h, w)
                           : QRectF(cell.center().x() - w / 2, cells.top() - heatmapGap - h, w, h);
    QRectF ground = rect.adjusted(-2, 0, 2, 0); // hides the plain label, which may be longer
    if (left)
        ground.setLeft(std::min(ground.left(), cells.left() - heatmapGap - rowLabelExtent));
    else if (turned)
        ground.setTop(std::min(ground.top(), cells.top() - heatmapGap - colLabelExtent));
    painter.fillRect(ground, paper());
    for (const QRectF& neighbour : left ? rowLabelPlaces : colLabelPlaces) // no half of a label beside it
        if (neighbour.intersects(ground.adjusted(1, 1, -1, -1)))
            painter.fillRect(neighbour.adjusted(-1, 0, 1, 0), paper());
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
    drawRowBars(painter);
    if (q->hasFocus()) {
        QColor focus = q->palette().color(QPalette::Highlight);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(focus, 1));
        painter.drawRect(cells.adjusted(-2, -2, 2, 2));
    }
}

} // namespace headscope
