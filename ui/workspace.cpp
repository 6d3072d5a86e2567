#include "ui/workspace.h"

#include "core/attention/head_stages.h"
#include "core/backend/notes.h"
#include "ui/head_survey.h"
#include "ui/stage_text.h"

#include <QUndoCommand>

#include <algorithm>

namespace headscope {

// The one undo command: a scenario replaced by another. Scenarios share what they have in common, so both are cheap to
// keep.
class ReplaceScenario : public QUndoCommand {
public:
    ReplaceScenario(Workspace& workspace, const QString& name, Scenario next, int mergeId)
        : QUndoCommand(name), m_workspace(workspace), m_before(workspace.scenario()), m_after(std::move(next)),
          m_mergeId(mergeId) {}

    int id() const override { return m_mergeId; }
    void undo() override { m_workspace.replace(m_before, false); }
    void redo() override { m_workspace.replace(m_after, m_mergeId >= 0); }
    bool mergeWith(const QUndoCommand* other) override {
        const auto* next = static_cast<const ReplaceScenario*>(other); // same id, so the same class
        m_after = next->m_after;
        setText(next->text());
        setObsolete(m_after == m_before);
        return true;
    }

private:
    Workspace& m_workspace;
    Scenario m_before, m_after;
    int m_mergeId;
};

// Heads of a toy are all alike; those of a trained model are not.
static bool isTrained(const Scenario& scenario) {
    return scenario.model && scenario.model->transformer();
}

View clampedView(View view, const Scenario& scenario) {
    if (!scenario.model)
        return view;
    const ModelConfig& config = scenario.model->config();
    view.layer.value = std::clamp(view.layer.value, 0, config.layers - 1);
    std::erase_if(view.heads, [&](HeadIndex h) { return h.value < 0 || h.value >= config.heads; });
    if (view.heads.empty())
        view.heads = {HeadIndex{0}};
    if (!stageAvailable(scenario, view.stage))
        view.stage = Stage::Weights;
    const StageShape shape = stageShape(config, view.stage, scenario.queries(), scenario.keys());
    if (view.cell && (view.cell->row < 0 || view.cell->col < 0 || view.cell->row >= shape.rows))
        view.cell.reset();
    if (view.cell)
        view.cell->col = std::min(view.cell->col, shape.cols - 1);
    return view;
}

Workspace::Workspace(QObject* parent) : QObject(parent) {
    connect(&m_runner, &TraceRunner::finished, this, &Workspace::accept);
    connect(&m_runner, &TraceRunner::failed, this, &Workspace::failed);
    connect(&m_runner, &TraceRunner::busyChanged, this, &Workspace::busyChanged);
    connect(&m_runner, &TraceRunner::progressChanged, this, &Workspace::progressChanged);
    connect(&m_runner, &TraceRunner::backendRefused, this, [this](const QString& why) {
        emit noted(tr("%1. The CPU computes.").arg(why.section(QStringLiteral("; use "), 0, 0)));
        emit backendChanged();
    });
}

bool Workspace::edit(const QString& name, Scenario next, int mergeId) {
    if (next == m_scenario)
        return true;
    try {
        validate(next);
    } catch (const InputError& error) {
        emit failed(QString::fromUtf8(error.what()));
        return false;
    }
    m_undo.push(new ReplaceScenario(*this, name, std::move(next), mergeId));
    return true;
}

void Workspace::reset(Scenario scenario, View view) {
    m_undo.clear();
    m_view = std::move(view);
    m_pinStrongest = !m_view.cell;
    m_pinIsOurs = false;
    const bool viewIsUsual = !m_view.cell && m_view.layer == View().layer && m_view.heads == View().heads;
    emit documentChanged();
    replace(scenario, false);
    m_headIsOpen = viewIsUsual && isTrained(scenario);
}

void Workspace::offerHead(LayerIndex layer, HeadIndex head, std::optional<CellRef> cell) {
    if (!m_headIsOpen || !isTokenByToken(m_view.stage))
        return;
    m_headIsOpen = false;
    View next = m_view;
    next.layer = layer;
    next.heads = {head};
    next.cell = cell;
    m_view = clampedView(std::move(next), m_scenario);
    m_pinStrongest = false;
    m_pinIsOurs = true;
    emit viewChanged();
}

void Workspace::keepHead() {
    m_headIsOpen = false;
}

int Workspace::pinnedQuery() const {
    PinnedPlace now = m_place;
    if (m_scenario.model)
        now.take(m_view, m_scenario.model->config());
    return now.query();
}

void Workspace::showStage(Stage stage) {
    if (stage == m_view.stage || !m_scenario.model)
        return;
    const ModelConfig& config = m_scenario.model->config();
    m_place.take(m_view, config);
    View view = m_view;
    view.stage = stage;
    if (view.cell)
        view.cell = m_place.cellIn(stage, view.heads.front(), config);
    const bool ours = m_pinIsOurs; // it is the same pin
    setView(std::move(view));
    m_pinIsOurs = ours;
}

void Workspace::showFigure(FigureKind figure) {
    if (figure == FigureKind::Links)
        showStage(Stage::Weights);
    View view = m_view;
    view.figure = figure;
    setView(std::move(view));
}

void Workspace::letPinFollow() {
    m_pinIsOurs = true;
}

void Workspace::setView(View view) {
    view = clampedView(std::move(view), m_scenario);
    if (view == m_view)
        return;
    if (view.cell != m_view.cell)
        m_pinStrongest = m_pinIsOurs = false; // pinned or unpinned by hand
    if (view.layer != m_view.layer || view.heads != m_view.heads)
        m_headIsOpen = false;
    m_view = std::move(view);
    emit viewChanged();
}

void Workspace::compute() {
    m_runner.request(m_scenario, m_traces, false);
}

void Workspace::setBackend(const QString& name) {
    if (name == backend())
        return;
    m_runner.setBackend(name);
    emit backendChanged();
    if (m_scenario.model)
        compute();
}

void Workspace::tellNotes() {
    for (const std::string& note : takeNotes())
        emit noted(fromUtf8(note));
}

void Workspace::cancel() {
    if (!m_runner.busy())
        return;
    m_runner.cancel();
    emit failed(m_traces.trace ? tr("Stopped. The picture shows the last result; F9 computes again.")
                               : tr("Stopped before the first result; F9 computes again."));
}

void Workspace::replace(const Scenario& scenario, bool letFinish) {
    if (scenario.original != m_scenario.original && m_scenario.model)
        m_headIsOpen = isTrained(scenario); // the chosen head was one of another model
    const bool otherText = scenario.query != m_scenario.query || scenario.key != m_scenario.key;
    if (otherText || scenario.original != m_scenario.original)
        m_place = {}; // its tokens and dimensions are gone
    m_scenario = scenario;
    const View fitting = clampedView(m_view, m_scenario);
    const bool viewMoved = fitting != m_view;
    const bool pinIsLost = m_view.cell && !fitting.cell; // the text has become too short for it
    m_pinStrongest = m_pinStrongest || pinIsLost || (m_pinIsOurs && otherText);
    m_view = fitting;
    emit scenarioChanged();
    if (viewMoved)
        emit viewChanged();
    m_runner.request(m_scenario, m_traces, letFinish);
}

static TracePair seenFrom(const TracePair& traces, std::optional<Site> site) {
    if (!site || !traces.trace || !traces.trace->config().site)
        return traces;
    return {atSite(*traces.trace, *site), traces.right ? atSite(*traces.right, *site) : nullptr, traces.backendRefused};
}

void Workspace::setSite(Site site) {
    const auto here = m_scenario.model->config().site;
    if (!here || site == *here)
        return;
    m_scenario = atSite(m_scenario, site);
    m_traces = seenFrom(m_traces, site);
    m_recent.clear();
    m_view.cell.reset();
    m_view = clampedView(m_view, m_scenario);
    if (const auto cell = m_traces.trace ? cellToPin() : std::nullopt) {
        m_view.cell = cell;
        m_pinIsOurs = true;
    }
    emit scenarioChanged();
    emit traceChanged();
    emit viewChanged();
}

void Workspace::adoptWrittenTarget() {
    if (!m_scenario.texts || m_scenario.texts->author != SiteTexts::Author::ModelLater)
        return;
    Scenario asked = m_traces.trace->scenario;
    if (!asked.texts || asked.texts->source != m_scenario.texts->source)
        return;
    m_scenario.texts = asked.texts;
    m_scenario = atSite(m_scenario, *m_scenario.model->config().site);
    m_view = clampedView(m_view, m_scenario);
    emit scenarioChanged();
}

void Workspace::accept(const TracePair& traces) {
    m_traces = seenFrom(traces, m_scenario.model->config().site);
    m_recent.clear();
    adoptWrittenTarget();
    const std::optional<CellRef> cell = m_pinStrongest ? cellToPin() : std::nullopt;
    m_pinStrongest = m_pinStrongest && !cell;
    const bool moved = cell && cell != m_view.cell;
    if (cell) {
        m_view.cell = cell;
        m_pinIsOurs = true;
    }
    emit traceChanged();
    if (moved)
        emit viewChanged();
    tellNotes();
}

// Looking through a large matrix would hold up the window: there the last row is pinned.
std::optional<CellRef> Workspace::cellToPin() const {
    if (m_traces.trace->scenario != m_scenario)
        return std::nullopt;
    constexpr std::int64_t mostCells = 1 << 20;
    const Stage stage = m_view.stage;
    const StageShape shape = stageShape(m_scenario.model->config(), stage, m_scenario.queries(), m_scenario.keys());
    if (static_cast<std::int64_t>(shape.rows) * shape.cols > mostCells)
        return CellRef{shape.rows - 1, 0};
    const SharedMatrix matrix = stageMatrix(m_view.layer, m_view.heads.front(), stage);
    return matrix ? strongestCell(*matrix, m_scenario, stage) : std::nullopt;
}

SharedMatrix Workspace::stageMatrix(LayerIndex layer, HeadIndex head, Stage stage) const {
    if (!isInTrace(layer, head, stage))
        return nullptr;
    for (const CachedMatrix& kept : m_recent)
        if (kept.layer == layer && kept.head == head && kept.stage == stage)
            return kept.matrix;
    SharedMatrix matrix = headscope::stageMatrix(*m_traces.trace, layer, head, stage);
    constexpr std::size_t mostKept = 6;      // what one screen shows at a time
    constexpr std::size_t largest = 1 << 20; // numbers: six maps of a long text would be half a gigabyte
    if (matrix->size() > largest)
        return matrix;
    if (m_recent.size() == mostKept)
        m_recent.erase(m_recent.begin());
    m_recent.push_back({layer, head, stage, matrix});
    return matrix;
}

std::vector<float> Workspace::weightsRow(LayerIndex layer, HeadIndex head, int row) const {
    if (!isInTrace(layer, head, Stage::Weights) || row < 0 || row >= m_traces.trace->scenario.queries())
        return {};
    return headscope::weightsRow(*m_traces.trace, layer, head, row);
}

bool Workspace::isInTrace(LayerIndex layer, HeadIndex head, Stage stage) const {
    const SharedTrace& current = m_traces.trace;
    return current && layer.value < static_cast<int>(current->layers.size()) && head.value < current->config().heads &&
           stageAvailable(*current, stage);
}

} // namespace headscope
