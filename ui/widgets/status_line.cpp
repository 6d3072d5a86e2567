#include "ui/widgets/status_line.h"

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

static constexpr int patienceMilliseconds = 300;

StatusLine::StatusLine(Workspace& workspace, HeadSurvey& survey, QWidget* parent)
    : QStatusBar(parent), m_workspace(workspace), m_survey(survey) {
    setSizeGripEnabled(false);
    m_facts = new QLabel;
    m_facts->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_facts->setContentsMargins(8, 0, 0, 0);
    m_model = new QLabel;
    m_model->setContentsMargins(0, 0, 8, 0);
    addWidget(m_facts, 1);
    createProgress();
    addPermanentWidget(m_model);
    connect(&workspace, &Workspace::traceChanged, this, &StatusLine::refresh);
    connect(&workspace, &Workspace::scenarioChanged, this, &StatusLine::refresh);
    connect(&workspace, &Workspace::busyChanged, this, [this] {
        m_progress->setValue(0);
        showProgress();
    });
    connect(&survey, &HeadSurvey::changed, this, &StatusLine::refresh);
}

void StatusLine::createProgress() {
    m_progress = new QProgressBar;
    m_progress->setMaximumWidth(140);
    m_progress->setMaximumHeight(14);
    m_progress->setTextVisible(false);
    m_progress->setRange(0, 1000);
    m_cancel = new QToolButton;
    m_cancel->setText(tr("Cancel"));
    m_cancel->setToolTip(tr("Stop computing; the last result stays"));
    connect(m_cancel, &QToolButton::clicked, this, [this] {
        if (m_task.isEmpty())
            m_workspace.cancel();
        else
            emit taskCancelled();
    });
    m_taskLabel = new QLabel;
    addPermanentWidget(m_taskLabel);
    addPermanentWidget(m_progress);
    addPermanentWidget(m_cancel);
    for (QWidget* part :
         {static_cast<QWidget*>(m_taskLabel), static_cast<QWidget*>(m_progress), static_cast<QWidget*>(m_cancel)})
        part->hide();
    m_patience.setSingleShot(true);
    connect(&m_patience, &QTimer::timeout, this, [this] {
        m_taskLabel->setText(m_task);
        m_taskLabel->setVisible(!m_task.isEmpty());
        m_progress->setRange(0, m_task.isEmpty() ? 1000 : 0); // opening does not say how far it is
        m_progress->show();
        m_cancel->show();
    });
    connect(&m_workspace, &Workspace::progressChanged, this,
            [this](double fraction) { m_progress->setValue(static_cast<int>(fraction * 1000)); });
}

void StatusLine::showProgress() {
    if (m_workspace.busy() || !m_task.isEmpty()) {
        m_patience.start(patienceMilliseconds);
        return;
    }
    m_patience.stop();
    m_taskLabel->hide();
    m_progress->hide();
    m_cancel->hide();
}

void StatusLine::setTask(const QString& task) {
    m_task = task;
    showProgress();
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
    if (!theme().projector) // large letters leave no room for it
        facts << tr("%1 ms on %2").arg(trace->milliseconds, 0, 'f', 1).arg(fromUtf8(trace->backend->name()));
    if (!m_saved.isEmpty())
        facts << m_saved;
    m_facts->setText(facts.join(QStringLiteral(" · ")));
    m_facts->setToolTip(m_facts->text());
    QString model = fromUtf8(config.name);
    if (config.name == "mini" && !theme().projector)
        model = tr("mini, all-MiniLM-L6-v2 (Q8_0)");
    if (config.name == "patterns" && !theme().projector)
        model = tr("patterns, heads built by formula");
    if (m_workspace.scenario().edited())
        model += tr(" · weights edited");
    m_model->setText(model);
}

MessageStrip::MessageStrip(QWidget* parent) : QFrame(parent) {
    setObjectName(QStringLiteral("strip"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(14, 5, 12, 5);
    m_label = new QLabel;
    m_label->setWordWrap(true);
    m_label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    row->addWidget(m_label, 1);
    auto* close = new QToolButton;
    close->setText(QStringLiteral("✕"));
    close->setAccessibleName(tr("Close the message"));
    close->setToolTip(close->accessibleName());
    connect(close, &QToolButton::clicked, this, &QWidget::hide);
    row->addWidget(close, 0, Qt::AlignTop);
    hide();
}

void MessageStrip::say(const QString& sentence) {
    m_label->setText(sentence);
    setVisible(!sentence.isEmpty());
}

QString MessageStrip::sentence() const {
    return isHidden() ? QString() : m_label->text();
}

} // namespace headscope
