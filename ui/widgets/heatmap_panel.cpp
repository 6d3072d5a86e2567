#include "ui/widgets/heatmap_panel.h"

#include "core/attention/head_stages.h"
#include "ui/stage_text.h"
#include "ui/widgets/cell_menu.h"
#include "ui/workspace.h"

#include <QLabel>
#include <QMenu>
#include <QStackedLayout>

namespace headscope {

static QStringList axisLabels(StageAxis axis, const Scenario& scenario, int count) {
    if (axis == StageAxis::QueryTokens)
        return tokenTexts(scenario.query);
    if (axis == StageAxis::KeyTokens)
        return tokenTexts(scenario.keyTokens());
    QStringList numbers;
    for (int i = 0; i < count; ++i)
        numbers << QString::number(i);
    return numbers;
}

static QString axisTitle(StageAxis axis, bool columns) {
    if (axis == StageAxis::QueryTokens)
        return HeatmapPanel::tr("queries");
    if (axis == StageAxis::KeyTokens)
        return columns ? HeatmapPanel::tr("keys (attended to)") : HeatmapPanel::tr("keys");
    return HeatmapPanel::tr("dimensions");
}

// Columns where the band of a head begins, in matrices of all heads side by side.
static std::vector<int> bandStarts(const ModelConfig& config, Stage stage) {
    int heads = config.heads;
    int width = 0;
    if (stage == Stage::ProjectionQ)
        width = config.dK;
    else if (stage == Stage::Concat)
        width = config.dV;
    else if (stage == Stage::ProjectionK || stage == Stage::ProjectionV) {
        heads = config.kvHeads;
        width = stage == Stage::ProjectionK ? config.dK : config.dV;
    }
    std::vector<int> starts;
    for (int h = 0; width > 0 && h < heads; ++h)
        starts.push_back(h * width);
    return starts;
}

static ResolvedRange rangeOf(const AttentionTrace& trace, const View& view, const Matrix& shown) {
    const StageInfo& info = stageInfo(view.stage);
    const ValueKind kind{view.stage == Stage::Weights, info.isSigned};
    const MatrixView one(shown);
    std::vector<SharedMatrix> kept; // keeps the views below alive
    std::vector<MatrixView> all;
    if (view.range.kind == RangeSpec::Kind::Shared && info.scope != StageScope::AllHeads)
        for (int h = 0; h < trace.config().heads; ++h) {
            kept.push_back(stageMatrix(trace, view.layer, HeadIndex{h}, view.stage));
            all.emplace_back(*kept.back());
        }
    return resolveRange(view.range, view.curve, kind, {&one, 1}, all);
}

HeatmapContents heatmapContents(const AttentionTrace& trace, const View& view) {
    const StageInfo& info = stageInfo(view.stage);
    const Scenario& scenario = trace.scenario;
    const StageShape shape = stageShape(trace.config(), view.stage, scenario.queries(), scenario.keys());
    if (static_cast<std::int64_t>(shape.rows) * shape.cols > mostHeatmapCells)
        throw InputError("The heatmap shows up to 4096 x 4096 cells and this stage has " + std::to_string(shape.rows) +
                         " x " + std::to_string(shape.cols) +
                         "; shorten the text, or write the numbers with `headscope dump`.");
    HeatmapContents contents;
    contents.matrix = stageMatrix(trace, view.layer, view.heads.front(), view.stage);
    contents.rowLabels = axisLabels(info.rows, scenario, shape.rows);
    contents.colLabels = axisLabels(info.cols, scenario, shape.cols);
    contents.rowTitle = axisTitle(info.rows, false);
    contents.colTitle = axisTitle(info.cols, true);
    const ResolvedRange range = rangeOf(trace, view, *contents.matrix);
    contents.scale = ColorScale(view.colors, info.isSigned, range.range, view.curve);
    contents.rangeCaption = range.caption;
    contents.weightMargins = view.stage == Stage::Weights;
    contents.numbers = view.values;
    if (isTokenByToken(view.stage))
        contents.emptyRows = trace.layer(view.layer).emptyRows;
    contents.bandStarts = bandStarts(trace.config(), view.stage);
    return contents;
}

HeatmapPanel::HeatmapPanel(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
    m_layers = new QStackedLayout(this);
    m_view = new HeatmapView;
    m_view->setAccessibleName(tr("Heatmap"));
    m_problem = new QLabel;
    m_problem->setAlignment(Qt::AlignCenter);
    m_problem->setWordWrap(true);
    m_layers->addWidget(m_view);
    m_layers->addWidget(m_problem);
    connect(m_view, &HeatmapView::cellPinned, this, &HeatmapPanel::pin);
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

void HeatmapPanel::showMenu(CellRef cell, QPoint globalPosition) {
    pin(cell);
    QMenu menu(this);
    fillCellMenu(menu, m_workspace, cell, window());
    menu.exec(globalPosition);
}

void HeatmapPanel::refresh() {
    const SharedTrace trace = m_workspace.trace();
    if (!trace || !isVisible())
        return;
    const View view = clampedView(m_workspace.view(), trace->scenario);
    m_view->setPinnedCell(view.cell); // at once; the numbers follow
    const auto work = [trace, view](const std::stop_token&) { return heatmapContents(*trace, view); };
    const auto show = [this, view](const Outcome<HeatmapContents>& outcome) {
        if (const auto* contents = std::get_if<HeatmapContents>(&outcome)) {
            m_view->setContents(*contents);
            m_view->setPinnedCell(view.cell);
            m_layers->setCurrentWidget(m_view);
        } else if (const auto* failure = std::get_if<Failure>(&outcome)) {
            m_problem->setText(failure->sentence);
            m_layers->setCurrentWidget(m_problem);
        }
    };
    m_jobs.submit(work, show, true);
}

} // namespace headscope
