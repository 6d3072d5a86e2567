#include "ui/widgets/status_line.h"

#include "core/analysis/shown.h"
#include "core/backend/backend.h"
#include "ui/head_survey.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/workspace.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QToolButton>

#include <algorithm>

namespace headscope {

StatusLine::StatusLine(Workspace& workspace, HeadSurvey& survey, QWidget* parent)
    : QStatusBar(parent), m_workspace(workspace), m_survey(survey) {
    setSizeGripEnabled(false);
    m_facts = new QLabel;
    m_facts->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_facts->setContentsMargins(8, 0, 0, 0);
    m_model = new QLabel;
    m_model->setContentsMargins(0, 0, 8, 0);
    m_facts->installEventFilter(this);
    addWidget(m_facts, 1);
    createProgress();
    addPermanentWidget(m_model);
    connect(&workspace, &Workspace::traceChanged, this, &StatusLine::refresh);
    connect(&workspace, &Workspace::scenarioChanged, this, &StatusLine::refresh);
    connect(&survey, &HeadSurvey::changed, this, &StatusLine::refresh);
}

void StatusLine::createProgress() {
    m_progress = new QProgressBar;
    m_progress->setMaximumWidth(140);
    m_progress->setMaximumHeight(14);
    m_progress->setTextVisible(false);
    m_cancel = new QToolButton;
    m_cancel->setText(tr("Cancel"));
    m_cancel->setToolTip(tr("Stop it; everything stays as it is"));
    m_running = new QLabel;
    for (QWidget* part : progressParts()) {
        addPermanentWidget(part);
        part->hide();
    }
    m_patience.setSingleShot(true);
    m_patience.setInterval(patienceMilliseconds);
    connect(&m_patience, &QTimer::timeout, this, [this] {
        for (QWidget* part : progressParts())
            part->show();
    });
    connect(m_cancel, &QToolButton::clicked, this, &StatusLine::cancel);
    connect(&m_workspace, &Workspace::busyChanged, this, &StatusLine::showProgress);
    connect(&m_survey, &HeadSurvey::busyChanged, this, &StatusLine::showProgress);
    connect(&m_workspace, &Workspace::progressChanged, this,
            [this](double fraction) { setProgress(Running::Computing, fraction); });
    connect(&m_survey, &HeadSurvey::progressed, this,
            [this](double fraction) { setProgress(Running::Survey, fraction); });
}

// What has no room in a narrow window is in the tool tip.
void StatusLine::elideFacts() {
    m_facts->setText(
        m_facts->fontMetrics().elidedText(m_facts->toolTip(), Qt::ElideRight, m_facts->contentsRect().width()));
}

bool StatusLine::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_facts && event->type() == QEvent::Resize)
        elideFacts();
    return QStatusBar::eventFilter(watched, event);
}

QList<QWidget*> StatusLine::progressParts() const {
    return {m_running, m_progress, m_cancel};
}

// Of several the one that the others wait for.
StatusLine::Running StatusLine::running() const {
    if (!m_task.isEmpty())
        return Running::Task;
    if (m_workspace.busy())
        return Running::Computing;
    return m_survey.busy() ? Running::Survey : Running::Nothing;
}

void StatusLine::showProgress() {
    const Running now = running();
    if (now == m_shown && (now != Running::Task || m_running->text() == m_task))
        return;
    m_shown = now;
    m_running->setText(now == Running::Task        ? m_task
                       : now == Running::Computing ? tr("Computing")
                                                   : tr("Looking at every head"));
    m_progress->setRange(0, 0); // from side to side, until it says how far it is
    for (QWidget* part : progressParts())
        part->hide();
    now == Running::Nothing ? m_patience.stop() : m_patience.start();
}

void StatusLine::setProgress(Running of, double fraction) {
    if (of != running())
        return;
    m_progress->setRange(0, 1000);
    m_progress->setValue(static_cast<int>(1000 * fraction));
}

void StatusLine::cancel() {
    switch (running()) {
    case Running::Task:
        return emit taskCancelled();
    case Running::Computing:
        return m_workspace.cancel();
    case Running::Survey:
        return m_survey.cancel();
    case Running::Nothing:
        return;
    }
}

void StatusLine::setTask(const QString& task) {
    m_task = task;
    showProgress();
}

void StatusLine::setTaskProgress(double fraction) {
    setProgress(Running::Task, fraction);
}

void StatusLine::setSaved(const QString& state) {
    m_saved = state;
    refresh();
}

// "every row sums to 1 (worst 1.2e-7)", or the sums where a class rule breaks them.
static QString rowSums(const Survey& survey) {
    if (survey.heads.empty())
        return StatusLine::tr("row sums not surveyed: long text");
    const double closeEnough = survey.trace->scenario.model->captured() ? 1e-3 : 1e-4; // maybe kept as float16
    const double worst = survey.worstRowSum();
    const std::vector<bool>& emptyRows = survey.trace->layer(LayerIndex{0}).emptyRows; // the same in every layer
    const auto empty = std::ranges::count(emptyRows, true);
    if (empty == static_cast<std::ptrdiff_t>(emptyRows.size()))
        return StatusLine::tr("every row is fully masked: all weights are 0");
    if (worst <= closeEnough && empty > 0)
        return StatusLine::tr("open rows sum to 1 (worst %1), %2 fully masked").arg(worst, 0, 'g', 2).arg(empty);
    if (worst <= closeEnough)
        return StatusLine::tr("every row sums to 1 (worst %1)").arg(worst, 0, 'g', 2);
    double least = 1;
    double most = 1;
    for (const HeadSummary& head : survey.heads) {
        least = std::min(least, head.leastRowSum);
        most = std::max(most, head.mostRowSum);
    }
    return StatusLine::tr("rows do not sum to 1: %1 to %2").arg(least, 0, 'g', 3).arg(most, 0, 'g', 3);
}

// "12.3 ms on CPU, 2 threads"; of a device also how far its numbers were from the CPU's when it was opened.
static QString whereAndHowFast(const AttentionTrace& trace) {
    const double ms = trace.milliseconds;
    const QString time = ms < 1000 ? StatusLine::tr("%1 ms").arg(ms, 0, 'f', 1)
                                   : StatusLine::tr("%1 s").arg(ms / 1000, 0, 'f', ms < 10000 ? 2 : 1);
    QString text = StatusLine::tr("%1 on %2").arg(time, fromUtf8(trace.backend->place()));
    if (const auto difference = trace.backend->differenceFromCpu())
        text += StatusLine::tr(" (within %1 of the CPU)").arg(*difference, 0, 'g', 2);
    return text;
}

// "quantum in 6 pieces, physicist in 9": words that the model's vocabulary lacks, so that its heads see letters.
static QString wordsInPieces(const Scenario& scenario) {
    constexpr int readable = 200; // tokens: nobody wants this of a long text
    constexpr std::size_t manyPieces = 4;
    constexpr qsizetype mostWords = 2;
    QStringList words;
    const auto look = [&](const TokenSequence& tokens) {
        if (tokens.size() > readable)
            return;
        for (const ShownAxis::Place& word : tokenAxis(tokens, Special::Hide, true).places)
            if (word.tokens.size() >= manyPieces)
                words << StatusLine::tr("%1 in %2 pieces").arg(fromUtf8(word.label)).arg(word.tokens.size());
    };
    look(scenario.query);
    if (scenario.key)
        look(*scenario.key);
    words.removeDuplicates();
    if (const qsizetype more = words.size() - mostWords; more > 0)
        words = words.mid(0, mostWords) << StatusLine::tr("%1 more so").arg(more);
    return words.join(QStringLiteral(", "));
}

void StatusLine::refresh() {
    const SharedTrace& trace = m_workspace.trace();
    if (!trace)
        return;
    const ModelConfig& config = trace->config();
    const SharedSurvey& survey = m_survey.current();
    QStringList facts;
    if (survey && survey->trace == trace)
        facts << rowSums(*survey);
    const Scenario& scenario = trace->scenario;
    facts << (scenario.key ? tr("%1 × %2 tokens, %3 heads").arg(scenario.queries()).arg(scenario.keys())
                           : tr("%1 tokens, %2 heads").arg(scenario.queries()))
                 .arg(config.layers * config.heads);
    if (const QString words = wordsInPieces(scenario); !words.isEmpty())
        facts << words;
    if (!theme().projector) // large letters leave no room for it
        facts << whereAndHowFast(*trace);
    if (!m_saved.isEmpty())
        facts << m_saved;
    m_facts->setToolTip(facts.join(QStringLiteral(" · ")));
    m_facts->setAccessibleName(m_facts->toolTip());
    elideFacts();
    QString model = fromUtf8(config.name);
    if (config.name == "mini" && !theme().projector)
        model = tr("mini, all-MiniLM-L6-v2 (Q8_0)");
    if (config.name == "patterns" && !theme().projector)
        model = tr("patterns, heads built by formula");
    if (m_workspace.scenario().edited())
        model += tr(" · weights edited");
    m_model->setText(model);
}

} // namespace headscope
