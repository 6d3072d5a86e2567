#include "ui/render/panel.h"

#include "ui/render/figure_text.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headscope {
namespace {

constexpr double gap = 4; // between cells and what stands beside them

// Between cells and what stands above them: the strips of the heads are in it.
double gapAbove(const Panel& panel) {
    return panel.bandHeads.empty() ? gap : 2 * gap;
}

// Bands are equally wide: thinned labels stand where they begin.
void labelBands(LabelPlan& plan, const std::vector<int>& bandStarts) {
    if (bandStarts.size() < 2 || plan.step < 2)
        return;
    const int band = bandStarts[1] - bandStarts[0];
    while (plan.step % band != 0 && band % plan.step != 0)
        ++plan.step;
}

struct LabelLine {
    Side side;
    const LabelPlan& plan;
    double edge, origin, pitch;
    int count;
    std::optional<int> marked;
};

// The labels of an axis; the marked one stands among thinned ones too, in place of those that it would touch (which
// are `gone`).
std::vector<PlacedLabel> labelsWithMarked(const LabelLine& line, std::vector<PlacedLabel>* gone = nullptr) {
    const auto placed = [&](const LabelPlan& plan) {
        return placeLabels(line.side, plan, line.edge, line.origin, line.pitch, line.origin,
                           line.origin + line.count * line.pitch, figureDevice());
    };
    std::vector<PlacedLabel> labels = placed(line.plan);
    if (!line.marked || *line.marked % line.plan.step == 0)
        return labels;
    LabelPlan every = line.plan;
    every.step = 1;
    for (const PlacedLabel& label : placed(every)) {
        if (label.index != *line.marked)
            continue;
        const auto touched = std::ranges::stable_partition(
            labels, [&](const PlacedLabel& other) { return !other.rect.intersects(label.rect); });
        if (gone)
            gone->assign(touched.begin(), touched.end());
        labels.erase(touched.begin(), touched.end());
        labels.push_back(label);
        break;
    }
    return labels;
}

} // namespace

QStringList dimensionLabels(int count) {
    QStringList out;
    out.reserve(count);
    for (int i = 0; i < count; ++i)
        out << QString::number(i);
    return out;
}

double leastLabel(const Sheet& sheet, int count) {
    // Up to 64 every label is written, however small; beyond, labels stay readable and are thinned.
    return count <= 64 ? 0.5 : std::max(std::min(leastPoint, sheet.pointSize()), 0.75 * sheet.pointSize());
}

PanelRoom roomFor(Sheet& sheet, const Panel& panel, QSizeF pitch, QSizeF maxLabels, PanelShows shows) {
    PanelRoom room;
    const QFont font = sheet.font();
    const double line = sheet.lineHeight(font);
    if (shows.rows && !panel.rows.isEmpty()) {
        room.rows = planLabels(Side::Left, panel.rows, font,
                               {pitch.height(), maxLabels.width(), leastLabel(sheet, panel.rowCount()), figureDevice(),
                                panel.elides || panel.rowCount() > 64});
        room.left += room.rows.extent + gap;
    }
    if (shows.rows && !panel.rowTitle.isEmpty())
        room.left += line + gap;
    if (shows.cols && !panel.cols.isEmpty()) {
        room.cols = planLabels(Side::Top, panel.cols, font,
                               {pitch.width(), maxLabels.height(), leastLabel(sheet, panel.colCount()), figureDevice(),
                                panel.elides || panel.colCount() > 64});
        labelBands(room.cols, panel.bandStarts);
        room.top += room.cols.extent + gapAbove(panel);
    }
    if (shows.cols && !panel.colTitle.isEmpty())
        room.top += line + gap;
    if (shows.title && !panel.title.isEmpty())
        room.top += line + gap;
    if (std::find(panel.emptyRows.begin(), panel.emptyRows.end(), true) != panel.emptyRows.end())
        room.right = line + gap;
    if (!panel.rowNotes.isEmpty()) {
        room.notes = sheet.width(panel.rowNotesTitle, font) + gap;
        room.right += room.notes;
    }
    return room;
}

// A number over its cell, large enough to be read. It may stand over neighbours, but over no more than `wider` times
// its own width and `higher` times its own height; else there is none. Returns what it covers.
static std::optional<QRectF> drawMarkedNumber(Sheet& sheet, const Panel& panel, const QRectF& area, CellRef at,
                                              double wider, double higher) {
    const CellPicture& picture = *panel.picture;
    if (picture.pyramid().at(at.row, at.col) == ColorScale::masked)
        return std::nullopt;
    const QFont font = figureFont(sheet.leastNumber());
    const QString number = cellNumber(picture.matrix()(at.row, at.col), picture.decimals());
    const double line = sheet.lineHeight(font);
    const QSizeF needed(sheet.width(number, font), std::isinf(higher) ? line : 0.85 * line);
    const QRectF cell = cellRect(area, panel.rowCount(), panel.colCount(), at.row, at.col);
    if (needed.width() > wider * cell.width() || needed.height() > higher * cell.height())
        return std::nullopt;
    const QSizeF air(wider > 2 ? 3 : 0, 0);
    QRectF ground(QPointF(), (needed + air).expandedTo(cell.size()));
    ground.moveCenter(cell.center());
    ground.moveLeft(std::max(area.left(), std::min(ground.left(), area.right() - ground.width())));
    const QColor color = panel.isPlain ? sheet.theme().background : QColor::fromRgb(picture.color(at.row, at.col));
    sheet.fill(ground, color);
    sheet.number(ground, number, font, QColor::fromRgb(ColorScale::inkOn(color.rgb())));
    return ground;
}

static std::optional<CellRef> markedCellOf(const Panel& panel) {
    if (!panel.markedCell && panel.markedRow && panel.markedCol)
        return CellRef{*panel.markedRow, *panel.markedCol};
    return panel.markedCell;
}

// The numbers of a marked row or column, and the frame about them, which is wider than the cells where they are.
static void frameMarkedLine(Sheet& sheet, const Panel& panel, const QRectF& area, QRectF line, bool isRow) {
    const int count = isRow ? panel.colCount() : panel.rowCount();
    for (int i = 0; panel.numbersOfMarks && i < count; ++i) {
        const CellRef at = isRow ? CellRef{*panel.markedRow, i} : CellRef{i, *panel.markedCol};
        const auto covered = drawMarkedNumber(sheet, panel, area, at, isRow ? 0.92 : 3, isRow ? 2 : 1.15);
        if (covered && !isRow)
            line = QRectF(QPointF(std::min(line.left(), covered->left()), line.top()),
                          QPointF(std::max(line.right(), covered->right()), line.bottom()));
    }
    sheet.frame(line, sheet.theme().accent, 1);
}

static void drawMarkFrames(Sheet& sheet, const Panel& panel, const QRectF& area) {
    const double w = area.width() / panel.colCount(), h = area.height() / panel.rowCount();
    if (panel.markedRow)
        frameMarkedLine(sheet, panel, area, QRectF(area.left(), area.top() + *panel.markedRow * h, area.width(), h),
                        true);
    if (panel.markedCol)
        frameMarkedLine(sheet, panel, area, QRectF(area.left() + *panel.markedCol * w, area.top(), w, area.height()),
                        false);
    if (const std::optional<CellRef> cell = markedCellOf(panel)) {
        constexpr double any = std::numeric_limits<double>::infinity();
        std::optional<QRectF> covered;
        if (panel.numbersOfMarks)
            covered = drawMarkedNumber(sheet, panel, area, *cell, any, any);
        sheet.frame(covered.value_or(cellRect(area, panel.rowCount(), panel.colCount(), cell->row, cell->col)),
                    sheet.theme().accent, 2);
    }
}

void drawPanel(Sheet& sheet, const Panel& panel, QPointF topLeft, QSizeF pitch, const PanelRoom& room,
               PanelShows shows) {
    const FigureTheme& theme = sheet.theme();
    const QFont font = sheet.font(), bold = sheet.font(1, true);
    const double line = sheet.lineHeight(font);
    const QRectF area(topLeft, QSizeF(pitch.width() * panel.colCount(), pitch.height() * panel.rowCount()));
    std::optional<QFont> numbers;
    if (panel.numbers)
        numbers = panel.numberFont ? panel.numberFont : sheet.numbersIn(*panel.picture, pitch);
    if (panel.isPlain)
        sheet.plainCells(panel.picture, area, numbers);
    else
        sheet.cells(panel.picture, area, numbers);
    if (panel.numbers)
        sheet.countNumbered(numbers.has_value());

    double y = area.top() - gapAbove(panel);
    if (shows.cols && !panel.cols.isEmpty()) {
        for (const PlacedLabel& label : labelsWithMarked(
                 {Side::Top, room.cols, y, area.left(), pitch.width(), panel.colCount(), panel.markedCol})) {
            const QColor color = panel.markedCol == label.index ? theme.accent : theme.muted;
            if (room.cols.turned)
                sheet.textUp(label.rect, Qt::AlignLeft | Qt::AlignTop, room.cols.texts[label.index], room.cols.font,
                             color);
            else
                sheet.text(label.rect, Qt::AlignLeft | Qt::AlignTop, room.cols.texts[label.index], room.cols.font,
                           color);
        }
        y -= room.cols.extent + gap;
    }
    if (shows.cols && !panel.colTitle.isEmpty()) {
        // A narrow matrix may be shorter than its axis title: the title then begins at the cells and runs on.
        const double w = sheet.formulaWidth(panel.colTitle, font);
        const double x = w > area.width() ? area.left() : area.center().x() - w / 2;
        sheet.formula({x, y - line}, panel.colTitle, font, theme.muted);
    }
    if (shows.title && !panel.title.isEmpty()) {
        y = (shows.cols ? area.top() - room.top : area.top() - gap - line) + line; // in one line with its neighbours
        const double w = sheet.width(panel.title, bold);
        sheet.text(QRectF(area.left(), y - line, w + 1, line), Qt::AlignLeft, panel.title, bold, theme.text);
        if (!panel.note.isEmpty())
            sheet.text(QRectF(area.left() + w + 6, y - line, sheet.width(panel.note, font) + 1, line), Qt::AlignLeft,
                       panel.note, font, theme.muted);
    }
    double x = area.left() - gap;
    if (shows.rows && !panel.rows.isEmpty()) {
        for (const PlacedLabel& label : labelsWithMarked(
                 {Side::Left, room.rows, x, area.top(), pitch.height(), panel.rowCount(), panel.markedRow}))
            sheet.text(label.rect, Qt::AlignLeft | Qt::AlignTop, room.rows.texts[label.index], room.rows.font,
                       panel.markedRow == label.index ? theme.accent : theme.muted);
        x -= room.rows.extent + gap;
    }
    if (shows.rows && !panel.rowTitle.isEmpty()) {
        const double w = sheet.width(panel.rowTitle, font);
        // Longer than the matrix is high: it ends with the cells and runs on beside the column labels.
        const double bottom = w > area.height() ? area.bottom() : area.center().y() + w / 2;
        sheet.textUp(QRectF(x - line, bottom - w - 0.5, line, w + 1), Qt::AlignLeft, panel.rowTitle, font, theme.muted);
    }
    // Read on what most cells look like, whatever the theme: white where signed numbers are near 0.
    const ColorScale& scale = panel.picture->scale();
    const QColor ink = QColor::fromRgb(ColorScale::inkOn(scale.color(scale.isSigned() ? 0.0F : 0.1F)));
    for (int start : panel.bandStarts)
        if (start > 0)
            sheet.rule(area.left() + start * pitch.width(), area.top(), area.bottom(), ink, 0.8);
    for (std::size_t r = 0; r < panel.emptyRows.size(); ++r)
        if (panel.emptyRows[r])
            sheet.text(
                QRectF(area.right() + gap, area.top() + static_cast<double>(r) * pitch.height(), line, pitch.height()),
                Qt::AlignLeft | Qt::AlignVCenter, QStringLiteral("∅"),
                room.rows.font.pointSizeF() > 0 && !room.rows.texts.isEmpty() ? room.rows.font : font, theme.text);
    if (!panel.rowNotes.isEmpty()) {
        const double right = area.right() + room.right;
        sheet.text(QRectF(right - room.notes, area.top() - gap - line, room.notes, line), Qt::AlignRight,
                   panel.rowNotesTitle, font, theme.muted);
        LabelPlan notes = room.rows;
        notes.texts = panel.rowNotes;
        for (const PlacedLabel& note : placeLabels(Side::Left, notes, right, area.top(), pitch.height(), area.top(),
                                                   area.bottom(), figureDevice()))
            sheet.text(note.rect, Qt::AlignLeft | Qt::AlignTop, notes.texts[note.index], notes.font, theme.muted);
    }
    for (std::size_t b = 0; b < panel.bandHeads.size(); ++b) { // in the gap between labels and cells
        const int start = panel.bandStarts[b];
        const int end = b + 1 < panel.bandStarts.size() ? panel.bandStarts[b + 1] : panel.colCount();
        const double inset = panel.bandHeads.size() > 1 ? std::min(1.0, 0.1 * (end - start) * pitch.width()) : 0;
        sheet.fill(QRectF(area.left() + start * pitch.width() + inset, area.top() - gap,
                          (end - start) * pitch.width() - 2 * inset, gap - 0.5),
                   panel.bandHeads[b].color(sheet.isDark()));
    }
    drawMarkFrames(sheet, panel, area);
}

// Over labels that were drawn without it.
static void drawMarkedLabel(Sheet& sheet, const LabelLine& line, const QColor& ground) {
    std::vector<PlacedLabel> gone;
    for (const PlacedLabel& label : labelsWithMarked(line, &gone)) {
        if (label.index != line.marked)
            continue;
        for (const PlacedLabel& other : gone)
            sheet.fill(other.rect, ground);
        sheet.fill(label.rect, ground);
        const QString& text = line.plan.texts[label.index];
        if (line.plan.turned)
            sheet.textUp(label.rect, Qt::AlignLeft | Qt::AlignTop, text, line.plan.font, sheet.theme().accent);
        else
            sheet.text(label.rect, Qt::AlignLeft | Qt::AlignTop, text, line.plan.font, sheet.theme().accent);
    }
}

void drawPanelMarks(Sheet& sheet, const Panel& panel, QPointF topLeft, QSizeF pitch, const PanelRoom& room,
                    const QColor& ground) {
    const QRectF area(topLeft, QSizeF(pitch.width() * panel.colCount(), pitch.height() * panel.rowCount()));
    if (panel.markedCol && !panel.cols.isEmpty())
        drawMarkedLabel(sheet,
                        {Side::Top, room.cols, area.top() - gapAbove(panel), area.left(), pitch.width(),
                         panel.colCount(), panel.markedCol},
                        ground);
    if (panel.markedRow && !panel.rows.isEmpty())
        drawMarkedLabel(
            sheet,
            {Side::Left, room.rows, area.left() - gap, area.top(), pitch.height(), panel.rowCount(), panel.markedRow},
            ground);
    drawMarkFrames(sheet, panel, area);
}

CutCount countCut(const CellPicture& picture) {
    CutCount cut;
    for (int r = 0; r < picture.matrix().rows(); ++r)
        for (int c = 0; c < picture.matrix().cols(); ++c)
            if (const int side = picture.scale().cut(picture.matrix()(r, c));
                side != 0 && picture.pyramid().at(r, c) != ColorScale::masked)
                ++(side < 0 ? cut.below : cut.above);
    return cut;
}

QString rangeNumber(double value) {
    const QString text = QString::number(value, 'g', 4);
    return text == QStringLiteral("-0") ? QStringLiteral("0") : text;
}

// A colour bar without its numbers, with arrows at an end that cuts numbers off. Each step is a number inside the
// range, painted by the cell painter: the bar cannot disagree with the cells.
static void paintRamp(Sheet& sheet, const QRectF& bar, const ColorScale& scale, int steps, CutCount cut) {
    if (!sheet.paints())
        return;
    const ValueRange& range = scale.range();
    Matrix ramp(1, steps);
    for (int i = 0; i < steps; ++i)
        ramp(0, i) = static_cast<float>(range.lo + (range.hi - range.lo) * i / (steps - 1));
    CellStyle style;
    style.hairline = QColor();
    style.clipMarks = false;
    paintCells(*sheet.painter(), CellPicture(share(std::move(ramp)), scale), bar, style);
    const double middle = bar.center().y(), half = bar.height() / 2;
    const auto arrow = [&](double edge, double tip, double value) {
        sheet.painter()->setPen(Qt::NoPen);
        sheet.painter()->setBrush(QColor::fromRgb(scale.color(static_cast<float>(value))));
        sheet.painter()->drawPolygon(
            QPolygonF{QPointF(edge, middle - half), QPointF(edge, middle + half), QPointF(tip, middle)});
    };
    if (cut.below > 0)
        arrow(bar.left() - 1, bar.left() - 7, range.lo);
    if (cut.above > 0)
        arrow(bar.right() + 1, bar.right() + 7, range.hi);
}

double smallBarWidth(const Sheet& sheet, const ColorScale& scale) {
    const QFont small = sheet.font(0.8);
    return sheet.width(rangeNumber(scale.range().lo), small) + 24 + sheet.width(rangeNumber(scale.range().hi), small);
}

void drawSmallBar(Sheet& sheet, QPointF topLeft, double width, const ColorScale& scale, CutCount cut) {
    const QFont small = sheet.font(0.8);
    const double line = sheet.lineHeight(small), beside = cut.below + cut.above > 0 ? 9 : 4;
    const QString lo = rangeNumber(scale.range().lo), hi = rangeNumber(scale.range().hi);
    const double loWidth = sheet.width(lo, small), hiWidth = sheet.width(hi, small),
                 bar = std::min(width - loWidth - hiWidth - 2 * beside, 64.0);
    if (bar < 8) {
        QString ends = lo + QStringLiteral(" … ") + hi;
        if (sheet.width(ends, small) > width && scale.range().lo == -scale.range().hi)
            ends = QStringLiteral("±") + hi;
        if (sheet.width(ends, small) <= width)
            sheet.text(QRectF(topLeft, QSizeF(width, line)), Qt::AlignLeft, ends, small, sheet.theme().muted);
        return;
    }
    paintRamp(sheet, QRectF(topLeft.x() + loWidth + beside, topLeft.y() + line / 2 - 2.5, bar, 5), scale, 64, cut);
    sheet.text(QRectF(topLeft, QSizeF(loWidth + 1, line)), Qt::AlignLeft, lo, small, sheet.theme().muted);
    sheet.text(QRectF(topLeft.x() + loWidth + bar + 2 * beside, topLeft.y(), hiWidth + 1, line), Qt::AlignLeft, hi,
               small, sheet.theme().muted);
}

double drawColorBar(Sheet& sheet, QPointF topLeft, double width, const ColorScale& scale, const BarText& text,
                    CutCount cut) {
    const FigureTheme& theme = sheet.theme();
    const QFont font = sheet.font();
    const double line = sheet.lineHeight(font), thickness = 8;
    const bool byRow = scale.curve().kind == Curve::Kind::Row;
    const ValueRange& range = scale.range();
    const QString low = !text.low.isEmpty()         ? text.low
                        : byRow && scale.isSigned() ? FigureText::tr("−row max")
                                                    : rangeNumber(range.lo);
    const QString high = !text.high.isEmpty() ? text.high : byRow ? FigureText::tr("row max") : rangeNumber(range.hi);
    const double lowWidth = sheet.width(low, font), highWidth = sheet.width(high, font);
    const double barWidth =
        std::clamp(width * 0.4, 40.0, std::max(40.0, std::min(180.0, width - lowWidth - highWidth - 32)));

    constexpr int steps = 128;
    const QRectF bar(topLeft.x() + lowWidth + 12, topLeft.y() + (line - thickness) / 2, barWidth, thickness);
    paintRamp(sheet, bar, scale, steps, cut);
    sheet.text(QRectF(topLeft, QSizeF(lowWidth + 1, line)), Qt::AlignLeft, low, font, theme.text);
    sheet.text(QRectF(bar.right() + 12, topLeft.y(), highWidth + 1, line), Qt::AlignLeft, high, font, theme.text);

    QString words = text.caption;
    if (cut.below > 0)
        words += FigureText::tr("; %1 below %2").arg(cut.below).arg(low);
    if (cut.above > 0)
        words += FigureText::tr("; %1 above %2").arg(cut.above).arg(high);
    const double beside = bar.right() + 12 + highWidth + 16;
    if (beside + sheet.width(words, font) <= topLeft.x() + width) {
        sheet.text(QRectF(beside, topLeft.y(), topLeft.x() + width - beside, line), Qt::AlignLeft, words, font,
                   theme.muted);
        return line;
    }
    return line + 4 + sheet.paragraph(topLeft + QPointF(0, line + 4), width, words, font, theme.muted);
}

} // namespace headscope
