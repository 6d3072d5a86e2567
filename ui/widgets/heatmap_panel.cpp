#include "ui/widgets/heatmap_panel.h"

#include "ui/render/figure_parts.h"
#include "ui/render/shown_picture.h"
#include "ui/stage_text.h"
#include "ui/widgets/cell_menu.h"
#include "ui/workspace.h"

#include <QLabel>
#include <QMenu>
#include <QStackedLayout>
#include <QVBoxLayout>

namespace headscope {

static QStringList placeTexts(const ShownAxis& axis) {
    QStringList texts;
    for (const ShownAxis::Place& place : axis.places)
        texts << tokenText(place.label);
    return texts;
}

static QString axisTitle(StageAxis axis, bool columns) {
    if (axis == StageAxis::QueryTokens)
        return HeatmapPanel::tr("queries");
    if (axis == StageAxis::KeyTokens)
        return columns ? HeatmapPanel::tr("keys (attended to)") : HeatmapPanel::tr("keys");
    return HeatmapPanel::tr("dimensions");
}

ShownHeatmap shownHeatmap(const AttentionTrace& trace, const View& view) {
    const StageInfo& info = stageInfo(view.stage);
    const StageShape shape = stageShape(trace.config(), view.stage, trace.scenario.queries(), trace.scenario.keys());
    if (static_cast<std::int64_t>(shape.rows) * shape.cols > mostHeatmapCells)
        throw InputError("The heatmap shows up to 4096 x 4096 cells and this stage has " + std::to_string(shape.rows) +
                         " x " + std::to_string(shape.cols) +
                         "; shorten the text, or write the numbers with `headscope dump`.");
    const ShownStage shown = shownHeads(trace, view);
    std::vector<ShownStage> all;
    if (view.range.kind == RangeSpec::Kind::Shared && info.scope != StageScope::AllHeads)
        all = rangedHeads(trace, view);
    const ResolvedRange range = shownRange(view, view.stage, {&shown, 1}, all);
    ShownHeatmap out{{}, shown.rows, shown.cols, shownRemark({&shown, 1}, view.stage, view)};
    HeatmapContents& contents = out.contents;
    contents.matrix = shown.matrix;
    contents.rowLabels = placeTexts(shown.rows);
    contents.colLabels = placeTexts(shown.cols);
    const auto site = trace.config().site;
    contents.rowTitle = view.predicted && info.rows == StageAxis::QueryTokens && site && *site != Site::EncoderSelf
                            ? HeatmapPanel::tr("queries, by the word they predict")
                            : axisTitle(info.rows, false);
    contents.colTitle = axisTitle(info.cols, true);
    contents.scale = ColorScale(view.colors, info.isSigned, range.range, view.curve);
    contents.rangeCaption = range.caption;
    constexpr int manyKeys = 100;
    if (view.stage == Stage::Weights && shape.cols >= manyKeys && view.range.kind == RangeSpec::Kind::Auto &&
        view.curve.kind == Curve::Kind::Linear)
        contents.rangeCaption += HeatmapPanel::tr("; the mean of %1 keys is %2: gamma instead of linear shows it")
                                     .arg(shape.cols)
                                     .arg(1.0 / shape.cols, 0, 'g', 2);
    contents.weightMargins = view.stage == Stage::Weights;
    contents.numbers = view.values;
    contents.emptyRows = shown.emptyRows;
    contents.closed = shown.closed;
    contents.removed = shown.removed;
    contents.bandStarts = stageBands(trace, view.stage, *shown.matrix);
    contents.bandHeads = bandHeads(trace.config(), view.stage, contents.bandStarts.size());
    return out;
}

HeatmapPanel::HeatmapPanel(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(2);
    m_layers = new QStackedLayout;
    column->addLayout(m_layers, 1);
    m_view = new HeatmapView;
    m_view->setAccessibleName(tr("Heatmap"));
    m_problem = new QLabel;
    m_problem->setAlignment(Qt::AlignCenter);
    m_problem->setWordWrap(true);
    m_layers->addWidget(m_view);
    m_layers->addWidget(m_problem);
    m_remark = new QLabel;
    m_remark->setObjectName(QStringLiteral("muted"));
    m_remark->setWordWrap(true);
    m_remark->hide();
    column->addWidget(m_remark);
    connect(m_view, &HeatmapView::cellPinned, this,
            [this](std::optional<CellRef> cell) { pin(cell ? std::optional(tokensOf(*cell)) : std::nullopt); });
    connect(m_view, &HeatmapView::menuRequested, this, &HeatmapPanel::showMenu);
    connect(m_view, &HeatmapView::cellHovered, this,
            [this](std::optional<CellRef> cell) { emit described(m_view->describe(cell)); });
    connect(&workspace, &Workspace::traceChanged, this, &HeatmapPanel::refresh);
    connect(&workspace, &Workspace::viewChanged, this, &HeatmapPanel::refresh);
}

void HeatmapPanel::pin(std::optional<CellRef> cell) {
    View view = m_workspace.view();
    view.cell = cell;
    m_workspace.setView(view);
}

void HeatmapPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refresh();
}

void HeatmapPanel::hideEvent(QHideEvent* event) {
    QWidget::hideEvent(event);
    m_view->setCurrentCell(std::nullopt);
    emit described({}); // nothing is under the pointer any more
}

void HeatmapPanel::showMenu(CellRef cell, QPoint globalPosition) {
    const CellRef tokens = tokensOf(cell);
    pin(tokens);
    QMenu menu(this);
    fillCellMenu(menu, m_workspace, tokens, window());
    menu.exec(globalPosition);
}

// Of merged words the pair of pieces that weighs most: its arithmetic says most about the sum.
CellRef HeatmapPanel::tokensOf(CellRef place) const {
    const std::vector<int>& rows = m_rows.places[static_cast<std::size_t>(place.row)].tokens;
    const std::vector<int>& cols = m_cols.places[static_cast<std::size_t>(place.col)].tokens;
    CellRef best{rows.front(), cols.front()};
    const View& view = m_workspace.view();
    const SharedMatrix whole =
        rows.size() * cols.size() > 1 ? m_workspace.stageMatrix(view.layer, view.heads.front(), view.stage) : nullptr;
    if (!whole)
        return best;
    for (const int r : rows)
        for (const int c : cols)
            if (r < whole->rows() && c < whole->cols() && (*whole)(r, c) > (*whole)(best.row, best.col))
                best = {r, c};
    return best;
}

std::optional<CellRef> HeatmapPanel::placeOf(std::optional<CellRef> tokens) const {
    if (!tokens)
        return std::nullopt;
    const CellRef place{m_rows.placeOf(tokens->row), m_cols.placeOf(tokens->col)};
    return place.row >= 0 && place.col >= 0 ? std::optional(place) : std::nullopt;
}

void HeatmapPanel::refresh() {
    const SharedTrace trace = m_workspace.trace();
    if (!trace || !isVisible())
        return;
    const View view = clampedView(m_workspace.view(), trace->scenario);
    m_view->setPinnedCell(placeOf(view.cell)); // at once; the numbers follow
    const auto work = [trace, view](const std::stop_token&) { return shownHeatmap(*trace, view); };
    const auto show = [this, view](const Outcome<ShownHeatmap>& outcome) {
        if (const auto* shown = std::get_if<ShownHeatmap>(&outcome)) {
            m_rows = shown->rows;
            m_cols = shown->cols;
            m_view->setContents(shown->contents);
            m_view->setPinnedCell(placeOf(view.cell));
            m_layers->setCurrentWidget(m_view);
            m_remark->setText(shown->remark);
            m_remark->setVisible(!shown->remark.isEmpty());
        } else if (const auto* failure = std::get_if<Failure>(&outcome)) {
            m_problem->setText(failure->sentence);
            m_layers->setCurrentWidget(m_problem);
        }
    };
    m_jobs.submit(work, show, true);
}

} // namespace headscope
