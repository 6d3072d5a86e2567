// The heatmap figure: one panel per head with one shared range; under class rules wrong, right and their difference.
#include "ui/render/figure_parts.h"
#include "ui/render/figure_text.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headscope {
namespace {

constexpr double panelGap = 16, largestCell = 72;

// The panels of a figure in reading order, with the scales they share.
struct Contents {
    std::vector<Panel> panels;
    int columns = 0; // fixed number of panels in a row; 0: whatever fits best
    ColorScale scale, differenceScale;
    QString caption, differenceCaption;
    bool hasDifference = false, dimensions = false; // dimensions: columns are no tokens
    QString heading, formula, remark, ruleNote, emptyNote, shownNote;
};

// The heads whose matrices differ: one for stages of all heads, one per KV head for K and V.
std::vector<HeadIndex> distinctHeads(const AttentionTrace& trace, const View& view) {
    const StageScope scope = stageInfo(view.stage).scope;
    if (scope == StageScope::AllHeads)
        return {view.heads.front()};
    std::vector<HeadIndex> out;
    for (HeadIndex h : view.heads) {
        const auto same = [&](HeadIndex o) {
            return scope == StageScope::KvHead ? trace.config().kvHeadOf(o) == trace.config().kvHeadOf(h) : o == h;
        };
        if (std::none_of(out.begin(), out.end(), same))
            out.push_back(h);
    }
    return out;
}

QString ruleList(const RuleSet& rules) {
    QStringList names;
    for (const RuleInfo& info : ruleTable())
        if (has(rules, info.rule))
            names << QString::fromUtf8(info.name.data(), static_cast<qsizetype>(info.name.size()));
    return names.join(QStringLiteral(", "));
}

Contents readContents(const FigureSource& source, const FigureSpec& spec, const QFont& font) {
    const AttentionTrace& trace = *source.trace;
    const View& view = spec.view;
    const StageInfo& info = stageInfo(view.stage);
    const ValueKind kind = kindOf(view.stage);
    Contents out;
    out.dimensions = info.cols == StageAxis::Dimensions;

    std::vector<HeadIndex> heads = distinctHeads(trace, view);
    const bool combines = view.combine != Combine::None && heads.size() > 1;
    const auto stagesOf = [&](const AttentionTrace& of) {
        std::vector<ShownStage> stages;
        if (combines) {
            View together = view;
            together.heads = heads;
            stages.push_back(shownHeads(of, together));
        } else {
            for (HeadIndex h : heads)
                stages.push_back(shownStage(of, view.layer, h, view.stage, view));
        }
        return stages;
    };
    const StageShape whole = stageShape(trace.config(), view.stage, trace.scenario.queries(), trace.scenario.keys());
    constexpr std::int64_t mostCells = std::int64_t{1} << 26; // of all panels: 256 MiB
    if (const std::int64_t cells = std::int64_t{whole.rows} * whole.cols;
        !combines && cells * std::ssize(heads) > mostCells)
        throw InputError(std::to_string(heads.size()) + " maps of " + std::to_string(whole.rows) + " x " +
                         std::to_string(whole.cols) + " are more than one figure holds; choose at most " +
                         std::to_string(std::max<std::int64_t>(1, mostCells / cells)) + ", or shorten the text");
    std::vector<ShownStage> shown = stagesOf(trace);
    std::vector<ShownStage> right;
    if (source.rightTrace && stageAvailable(*source.rightTrace, view.stage))
        right = stagesOf(*source.rightTrace);
    out.shownNote = shownRemark(shown, view.stage, view);
    QString combinedTitle;
    if (combines) {
        View together = view;
        together.heads = heads;
        combinedTitle = combinedHeads(trace.config(), together);
        heads.resize(1);
    }

    std::vector<ShownStage> both = shown, all;
    both.insert(both.end(), right.begin(), right.end());
    if (view.range.kind == RangeSpec::Kind::Shared)
        all = rangedHeads(trace, view);
    const ResolvedRange range = shownRange(view, view.stage, both, all);
    out.scale = ColorScale(view.colors, kind.isSigned, range.range, view.curve);
    const QString shape = shapeText(*shown.front().matrix);
    if (spec.region)
        for (std::vector<ShownStage>* stages : {&shown, &right})
            for (ShownStage& stage : *stages)
                stage = cropped(stage, *spec.region);
    const QString id = QString::fromUtf8(info.id.data(), static_cast<qsizetype>(info.id.size()));
    out.caption = id + QStringLiteral(", ") + range.caption;

    const auto panel = [&](const ShownStage& stage, HeadIndex head, const ColorScale& scale) {
        Panel p;
        p.picture = shownPicture(stage, scale);
        p.rows = axisLabels(stage.rows, font);
        p.cols = axisLabels(stage.cols, font);
        p.rowTitle = stageAxisTitle(trace, view.stage, head, true);
        p.colTitle = stageAxisTitle(trace, view.stage, head, false);
        if (heads.size() > 1 && info.cols == StageAxis::Dimensions && info.scope != StageScope::AllHeads)
            p.colTitle = p.colTitle.section(u' ', 0, 0); // the panels' own titles name the heads
        if (!spec.region)
            p.bandStarts = stageBands(trace, view.stage, *stage.matrix);
        p.bandHeads = bandHeads(trace.config(), view.stage, p.bandStarts.size());
        p.numbers = view.values;
        if (view.cell) {
            const int row = stage.rows.placeOf(view.cell->row), col = stage.cols.placeOf(view.cell->col);
            if (row >= 0 && col >= 0) {
                p.markedRow = row;
                p.markedCol = col;
            }
        }
        return p;
    };
    const QString rules = ruleList(trace.scenario.rules);
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const bool allHeads = info.scope == StageScope::AllHeads;
        const QString title = combines   ? combinedTitle
                              : allHeads ? FigureText::tr("L%1, all heads").arg(view.layer.value)
                                         : headTitle(view.layer, heads[i]);
        const QString name = combines || allHeads ? QString() : headName(trace, view.layer, heads[i]);
        if (shown.size() == 1)
            out.heading = sitePrefix(trace) + (name.isEmpty() ? title : title + u' ' + name);
        Panel p = panel(shown[i], heads[i], out.scale);
        p.emptyRows = shown[i].emptyRows;
        if (!shown[i].removed.empty())
            p.rowNotesTitle = FigureText::tr("removed");
        for (const double mass : shown[i].removed)
            p.rowNotes << QString::number(mass, 'f', 2);
        if (std::find(p.emptyRows.begin(), p.emptyRows.end(), true) != p.emptyRows.end())
            out.emptyNote = FigureText::tr("∅ fully masked row: no key is open to it, so all its weights are 0");
        if (right.empty()) {
            p.title = shown.size() > 1 ? title : QString();
            p.note = name;
            out.panels.push_back(std::move(p));
            continue;
        }
        const QString whose = shown.size() > 1 ? title : QString();
        p.title = FigureText::tr("wrong");
        p.note = whose;
        out.panels.push_back(std::move(p));
        Panel good = panel(right[i], heads[i], out.scale);
        good.title = FigureText::tr("right");
        good.note = whose;
        out.panels.push_back(std::move(good));
        out.columns = 2;
        const Matrix &wrong = *shown[i].matrix, &correct = *right[i].matrix;
        if (wrong.rows() != correct.rows() || wrong.cols() != correct.cols())
            continue;
        out.columns = 3;
        out.hasDifference = true;
        ShownStage differs = shown[i];
        differs.matrix = share(difference(wrong, correct));
        Panel change = panel(differs, heads[i], out.scale);
        change.title = FigureText::tr("wrong − right");
        change.note = whose;
        out.panels.push_back(std::move(change));
    }
    if (out.hasDifference) { // one scale for all differences
        std::vector<MatrixView> changes;
        for (std::size_t i = 2; i < out.panels.size(); i += 3)
            changes.emplace_back(out.panels[i].picture->matrix());
        const ResolvedRange change = resolveRange({RangeSpec::Kind::Head}, {}, {false, true}, changes);
        out.differenceScale = ColorScale(view.colors, true, change.range);
        out.differenceCaption = FigureText::tr("wrong − right, plus or minus the largest difference");
        for (std::size_t i = 2; i < out.panels.size(); i += 3)
            out.panels[i].picture =
                std::make_shared<const CellPicture>(out.panels[i].picture->shared(), out.differenceScale);
    }
    if (!rules.isEmpty())
        out.ruleNote = FigureText::tr("class rule: %1, wrong on purpose").arg(rules);
    if (out.heading.isEmpty())
        out.heading = sitePrefix(trace) + QStringLiteral("L%1").arg(view.layer.value);
    out.formula = QString::fromUtf8(info.formula.data(), static_cast<qsizetype>(info.formula.size()));
    out.remark = id + QStringLiteral(", ") + shape;
    if (spec.region)
        out.remark += QStringLiteral(", of it rows %1 to %2, columns %3 to %4")
                          .arg(spec.region->rowBegin)
                          .arg(spec.region->rowEnd - 1)
                          .arg(spec.region->colBegin)
                          .arg(spec.region->colEnd - 1);
    return out;
}

struct Arrangement {
    int columns = 1, rows = 1;
    QSizeF pitch;
    PanelRoom room;  // of the first panel: the labels that all share
    PanelRoom title; // of the others: their titles alone
    double score = -1;
};

// The cell size for a number of panel columns: square cells for tokens by tokens, flat ones where one side is much
// longer, rows as high as their labels for tokens by dimensions. Labels depend on the cell size and the other way
// round: three rounds settle it, and the last one only lets cells shrink.
Arrangement arrange(Sheet& sheet, const Contents& contents, int columns, double width, double heightLimit,
                    bool exactHeight) {
    Arrangement a;
    const int count = static_cast<int>(contents.panels.size());
    const Panel& panel = contents.panels.front();
    a.columns = columns;
    a.rows = (count + columns - 1) / columns;
    const int n = panel.rowCount(), m = panel.colCount();
    const bool dimensions = contents.dimensions;
    const double line = sheet.lineHeight(sheet.font());
    const QSizeF maxLabels(0.4 * width, 0.4 * std::min(width, heightLimit));
    a.pitch = QSizeF(largestCell, largestCell);
    double left = 0, top = 0, right = 0;
    for (int round = 0; round < 4; ++round) {
        a.room = roomFor(sheet, panel, a.pitch, maxLabels, {true, true, true});
        a.title = roomFor(sheet, panel, a.pitch, maxLabels, {true, false, false});
        left = round < 3 ? a.room.left : std::max(left, a.room.left);
        top = round < 3 ? a.room.top : std::max(top, a.room.top);
        right = a.room.right;
        const double availableWidth = width - left - columns * right - (columns - 1) * panelGap;
        const double availableHeight = heightLimit - top - (a.rows - 1) * (panelGap + a.title.top);
        if (availableWidth < 4 * columns || availableHeight < 4 * a.rows)
            return a;
        const double widest = availableWidth / (columns * m), highest = availableHeight / (a.rows * n);
        double x = std::min(widest, largestCell), y = std::min(highest, largestCell);
        if (dimensions) {
            x = std::min(x, 4 * line);
            y = exactHeight ? y : std::min(y, std::max(1.25 * line, std::min(x, largestCell)));
        } else if (m > 2.5 * n) {
            y = std::min({y, std::max(x, line * 1.2), largestCell});
        } else if (n > 2.5 * m) {
            x = std::min({x, std::max(y, line * 1.6), largestCell});
        } else {
            x = y = std::min(x, y);
        }
        a.pitch = QSizeF(x, y);
    }
    // Labels of the final cell size, in no more room than was set aside for them.
    const double rowTitle = panel.rowTitle.isEmpty() ? 0 : line + 4, colTitle = panel.colTitle.isEmpty() ? 0 : line + 4;
    const QSizeF reserved(left - rowTitle - 4, top - colTitle - (panel.title.isEmpty() ? 0 : line + 4) - 4);
    a.room = roomFor(sheet, panel, a.pitch, reserved, {true, true, true});
    a.room.left = left;
    a.room.top = top;
    // Large cells are good, empty places in the grid are not.
    a.score = std::min(a.pitch.width(), a.pitch.height()) * std::sqrt(static_cast<double>(count) / (a.rows * columns));
    return a;
}

} // namespace

double drawHeatmapFigure(Sheet& sheet, const FigureSource& source, const FigureSpec& spec, double width,
                         std::optional<double> height) {
    const Contents contents = readContents(source, spec, sheet.font());
    const double inner = width - 2 * figurePad, line = sheet.lineHeight(sheet.font());
    CutCount cut;
    for (std::size_t i = 0; i < contents.panels.size(); ++i)
        if (!contents.hasDifference || i % 3 != 2)
            cut += countCut(*contents.panels[i].picture);

    // Above and below the panels.
    double y = figurePad;
    y += drawHeading(sheet, {figurePad, y}, inner, spec, contents.heading, contents.formula, contents.remark);
    if (!contents.ruleNote.isEmpty())
        y += sheet.paragraph({figurePad, y}, inner, contents.ruleNote, sheet.font(1, true), sheet.theme().text) + 4;
    const auto footer = [&](Sheet& on, double top) {
        double at = top;
        at += drawColorBar(on, {figurePad, at}, inner, contents.scale, {contents.caption, {}, {}}, cut);
        if (contents.hasDifference)
            at += 6 + drawColorBar(on, {figurePad, at + 6}, inner, contents.differenceScale,
                                   {contents.differenceCaption, {}, {}}, {});
        if (!contents.shownNote.isEmpty())
            at += 4 + on.paragraph({figurePad, at + 4}, inner, contents.shownNote, on.font(), on.theme().muted);
        if (!contents.emptyNote.isEmpty())
            at += 4 + on.paragraph({figurePad, at + 4}, inner, contents.emptyNote, on.font(), on.theme().muted);
        return at - top;
    };
    Sheet measure(nullptr, spec.dark, sheet.pointSize());
    const double footerHeight = footer(measure, 0);

    const double limit =
        height ? *height - y - 12 - footerHeight - figurePad : std::max(1.35 * width, 64 * line * 0.6) - y;
    Arrangement best;
    const int count = static_cast<int>(contents.panels.size());
    for (int columns = 1; columns <= std::min(count, 16); ++columns) {
        if (contents.columns > 0 && columns != (width >= 240 ? contents.columns : 1))
            continue;
        const Arrangement a = arrange(measure, contents, columns, inner, limit, height.has_value());
        if (a.score > best.score)
            best = a;
    }
    if (!height && best.columns == 1 && best.rows > 1) // below each other: each may be as high as one alone
        best = arrange(measure, contents, 1, inner, limit * best.rows, false);
    if (best.score <= 0)
        refuseSize(spec);

    const Panel& first = contents.panels.front();
    const QSizeF cells(best.pitch.width() * first.colCount(), best.pitch.height() * first.rowCount());
    const double used =
        best.room.left + best.columns * (cells.width() + best.room.right) + (best.columns - 1) * panelGap;
    const double left = figurePad + std::max(0.0, (inner - used) / 2); // what is left over is left on both sides
    for (int i = 0; i < count; ++i) {
        const int row = i / best.columns, col = i % best.columns;
        const PanelShows shows{true, col == 0, row == 0};
        PanelRoom room = best.room;
        const QPointF topLeft(left + best.room.left + col * (cells.width() + best.room.right + panelGap),
                              y + best.room.top + row * (cells.height() + best.title.top + panelGap));
        Panel panel = contents.panels[static_cast<std::size_t>(i)];
        // Titles of neighbouring panels must not run into each other: the note goes first.
        const double titleRoom = best.columns > 1 ? cells.width() + best.room.right + panelGap - 6
                                                  : figurePad + inner - left - best.room.left;
        if (sheet.width(panel.title, sheet.font(1, true)) + 6 + sheet.width(panel.note, sheet.font()) > titleRoom)
            panel.note.clear();
        if (sheet.width(panel.title, sheet.font(1, true)) > titleRoom)
            panel.title = panel.title.section(u' ', -1);                  // "H3": the heading names the layer
        if (sheet.formulaWidth(panel.colTitle, sheet.font()) > titleRoom) // the first panel names the axis for all
            panel.colTitle = col > 0 ? QString() : panel.colTitle.section(u' ', 0, 0);
        drawPanel(sheet, panel, topLeft, best.pitch, room, shows);
    }
    y += best.room.top + best.rows * cells.height() + (best.rows - 1) * (best.title.top + panelGap) + 12;
    y += footer(sheet, y);
    return y + figurePad;
}

} // namespace headscope
