#include "ui/widgets/heatmap_private.h"

#include <algorithm>
#include <cmath>

namespace headscope {

// Every label counts, also those that thinning leaves out: zoom and the pointer bring them up, in bold.
void HeatmapView::Private::measureLabels() {
    const QStringList &rowLabels = contents().rowLabels, &colLabels = contents().colLabels;
    if (measured.rows == rowLabels && measured.cols == colLabels && measured.font == labelFont)
        return;
    QFont bold = labelFont;
    bold.setBold(true);
    const QFontMetricsF boldMetrics(bold, plot), metrics(labelFont, plot);
    const auto widest = [](const QStringList& labels, const QFontMetricsF& in) {
        double w = 0;
        for (qsizetype i = 0; i < std::min<qsizetype>(labels.size(), 4096); ++i)
            w = std::max(w, in.horizontalAdvance(labels[i]));
        return w + 1;
    };
    measured = {rowLabels,
                colLabels,
                labelFont,
                widest(rowLabels, boldMetrics),
                widest(colLabels, boldMetrics),
                widest(colLabels, metrics)};
}

// Labels take what they need, up to a share of the widget; margins are shown when their numbers fit; what is left is
// for the cells: square where both axes are of similar length, wider than high where their numbers would not fit else.
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
    const double sumWidth = sumColumn(small) + 12;
    const double rowMarginWidth = sumWidth + 72 + small.horizontalAdvance(QStringLiteral("0.00")) + 16;
    const double colSumHeight = lineOf(small) + 6, titleLeft = line + heatmapGap, titleTop = line + heatmapGap;
    const bool tokens = rows() <= 2.5 * cols() && cols() <= 2.5 * rows();
    measureLabels();
    const double widestRow = measured.row, widestCol = measured.col, widestFlat = measured.flat;
    const double captionWidth = std::min(220.0, small.horizontalAdvance(contents().rangeCaption)) + 2 * sumWidth + 92;
    const double largestCell = std::max(96.0, std::min(width, height) / 9); // two words need not fill a wall
    QSizeF pitch;
    showRowMargins = showColSums = false;
    const double bars = contents().weightMargins && height >= 20 * line ? 2.0 * line : 0;
    barsHeight = 0;
    bool legendBeside = false; // at the left of the cells instead of below
    double left = 0, top = 0;
    rowLabelRoom = std::min(widestRow, 0.26 * width);
    colLabelRoom = line; // flat, unless that turns out too narrow
    for (int round = 0; round < 6; ++round) {
        left = 6 + titleLeft + rowLabelRoom + heatmapGap;
        top = 4 + titleTop + colLabelRoom + heatmapGap;
        const double right = showRowMargins ? rowMarginWidth : 10,
                     bottom = (legendBeside ? 4 : line + 18) + (showColSums ? colSumHeight : 0) + bars;
        const double w = std::max(20.0, width - left - right), h = std::max(20.0, height - top - bottom);
        pitch = QSizeF(std::min(w / cols(), largestCell), std::min(h / rows(), largestCell));
        if (tokens) {
            const double side = std::min(pitch.width(), pitch.height());
            pitch = QSizeF(std::min(pitch.width(), std::max(side, std::min(2 * side, 2.4 * line))), side);
        }
        if (round == 2) {
            const double spare = w - cols() * pitch.width();
            legendBeside = tokens && rows() * largestCell > h && spare / 2 > captionWidth + 2 * rows();
        }
        if (round == 3 && widestFlat + 0.4 * line > pitch.width())
            colLabelRoom = std::min(widestCol, 0.26 * height) * (pitch.width() < 0.9 * line ? 0.75 : 1);
        if (round == 3 && pitch.height() < 0.9 * line) // labels shrink; only a long one under the pointer is elided
            rowLabelRoom = 0.75 * std::min(widestRow, 0.26 * width);
        const bool margins = contents().weightMargins;
        const bool sumsFit = margins && pitch.width() >= small.horizontalAdvance(QStringLiteral("0.00")) + 4;
        showColSums = sumsFit && (round < 5 || showColSums);
        if (round < 5)
            showRowMargins = margins && pitch.height() >= 0.4 * lineOf(small) && rowMarginWidth < 0.35 * width;
    }
    cells = QRectF(left, top, std::max(1.0, std::floor(pitch.width() * cols())),
                   std::max(1.0, std::floor(pitch.height() * rows())));
    // In the middle of what is left over, with everything that belongs to it.
    const double spare = width - cells.right() - (showRowMargins ? rowMarginWidth : 10);
    cells.translate(std::floor(std::max(0.0, spare / 2)), 0);
    if (legendBeside)
        legend.setRight(std::max(legend.left() + 60,
                                 cells.left() - std::max(left, small.horizontalAdvance(tr("column sum")) + 16) - 8));
    barsHeight = bars;
    if (!legendBeside) // close beneath, where the cells leave much room
        legend.moveTop(std::min(legend.top(), cells.bottom() + bars + (showColSums ? colSumHeight : 0) + 1.5 * line));
    const QRect rect = cells.toRect();
    plot->axisRect()->setMargins(
        QMargins(rect.left(), rect.top(), plot->width() - rect.right() - 1, plot->height() - rect.bottom() - 1));
    setWindow(window);
}

} // namespace headscope
