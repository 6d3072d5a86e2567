#include "ui/head_survey.h"

#include "ui/workspace.h"

#include <algorithm>
#include <cmath>

namespace headscope {

bool restsOnSpecial(const HeadSummary& head, const Scenario& scenario) {
    const std::vector<Token>& keys = scenario.keyTokens().tokens;
    return (head.metrics.label == "first" && keys.front().special) ||
           (head.metrics.label == "separator" && std::ranges::any_of(keys, &Token::special));
}

const HeadSummary* mostTelling(const Survey& survey) {
    const HeadSummary* best = nullptr;
    double most = 0;
    for (const HeadSummary& head : survey.heads) {
        if (!head.strongest)
            continue;
        const bool ownWords =
            head.metrics.label == "none" || head.metrics.label == "same word" || head.metrics.label == "induction";
        const double telling = static_cast<double>(head.strongestWeight) * (ownWords ? 1 : 0.5);
        if (telling > most) {
            most = telling;
            best = &head;
        }
    }
    return best;
}

Survey surveyHeads(const SharedTrace& trace, std::optional<CellRef> pinned, const SharedSurvey& before,
                   const std::stop_token& stop, const Progress& progress) {
    Survey survey;
    survey.trace = trace;
    survey.pinned = pinned;
    const std::int64_t cells = static_cast<std::int64_t>(trace->scenario.queries()) * trace->scenario.keys();
    if (cells > HeadSurvey::mostCells)
        return survey;
    if (before && before->trace == trace) {
        survey.heads = before->heads;
        pinCell(survey.heads, *trace, pinned, stop);
    } else {
        survey.heads = summariesOf(*trace, HeadSurvey::thumbnailCells, pinned, stop, progress);
    }
    return survey;
}

double Survey::worstRowSum() const {
    double worst = 0;
    for (const HeadSummary& head : heads)
        worst = std::max({worst, std::abs(head.leastRowSum - 1), std::abs(head.mostRowSum - 1)});
    return worst;
}

const HeadSummary& Survey::at(LayerIndex layer, HeadIndex head) const {
    return heads[static_cast<std::size_t>(layer.value * trace->config().heads + head.value)];
}

HeadSurvey::HeadSurvey(Workspace& workspace, QObject* parent) : QObject(parent), m_workspace(workspace) {
    m_patience.setSingleShot(true);
    m_patience.setInterval(patienceMilliseconds);
    connect(&m_patience, &QTimer::timeout, this, [this] {
        if (m_current && m_current->trace != m_workspace.trace()) {
            m_current = nullptr;
            emit changed();
        }
    });
    connect(&workspace, &Workspace::traceChanged, this, &HeadSurvey::refresh);
    connect(&workspace, &Workspace::viewChanged, this, [this] {
        const View& view = m_workspace.view();
        const bool isPresent = m_current && m_current->trace == m_workspace.trace(); // else one is on its way
        if (isPresent && isTokenByToken(view.stage) && m_current->pinned != view.cell)
            refresh();
    });
}

void HeadSurvey::refresh() {
    const SharedTrace trace = m_workspace.trace();
    const View& view = m_workspace.view();
    if (!trace)
        return;
    const std::optional<CellRef> pinned = isTokenByToken(view.stage) ? view.cell : std::nullopt;
    // The destructor waits for a running job, so `this` outlives it.
    const auto progress = [this](double fraction) {
        QMetaObject::invokeMethod(
            this, [this, fraction] { emit progressed(fraction); }, Qt::QueuedConnection);
    };
    const auto work = [trace, pinned, before = m_current, progress](const std::stop_token& stop) {
        return std::make_shared<const Survey>(surveyHeads(trace, pinned, before, stop, progress));
    };
    m_jobs.submit(work, [this](const Outcome<SharedSurvey>& outcome) {
        if (const auto* survey = std::get_if<SharedSurvey>(&outcome))
            take(*survey);
        emit busyChanged();
    });
    m_patience.start();
    emit busyChanged();
}

void HeadSurvey::take(const SharedSurvey& survey) {
    m_current = survey;
    const bool isPresent =
        m_current->trace == m_workspace.trace() && m_current->trace->scenario == m_workspace.scenario();
    if (const HeadSummary* head = isPresent ? mostTelling(*m_current) : nullptr)
        m_workspace.offerHead(head->metrics.layer, head->metrics.head, head->strongest);
    emit changed();
    const View& view = m_workspace.view();
    if (isPresent && !busy() && isTokenByToken(view.stage) && m_current->pinned != view.cell)
        refresh(); // another cell was pinned meanwhile
    m_workspace.tellNotes();
}

void HeadSurvey::cancel() {
    m_jobs.cancel();
}

} // namespace headscope
