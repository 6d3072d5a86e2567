#include "ui/widgets/stage_stepper.h"

#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/workspace.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QPainter>
#include <QToolButton>

#include <algorithm>
#include <cmath>

namespace headscope {

static constexpr double subtitleScale = 0.84;
static constexpr double raisedScale = 0.7; // of a superscript
static const QString playSign = QStringLiteral("▶"), pauseSign = QStringLiteral("❚❚");

StepButton::StepButton(QWidget* parent) : QAbstractButton(parent) {
    setCheckable(true);
    setAutoExclusive(true);
    setFocusPolicy(Qt::TabFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void StepButton::setSubtitle(const QString& subtitle) {
    m_subtitle = subtitle;
    updateGeometry();
    update();
}

void StepButton::setTextScale(double scale) {
    m_scale = scale;
    updateGeometry();
    update();
}

QSize StepButton::sizeAt(double scale) const {
    const QFontMetrics name(scaledFont(scale, true));
    const QFontMetrics subtitle(scaledFont(scale * subtitleScale));
    const QFontMetrics raised(scaledFont(scale * raisedScale, true));
    const int nameWidth =
        name.horizontalAdvance(text().section(u'^', 0, 0)) + raised.horizontalAdvance(text().section(u'^', 1));
    return {std::max(nameWidth, subtitle.horizontalAdvance(m_subtitle)) + 10, name.height() + subtitle.height() + 8};
}

void StepButton::paintEvent(QPaintEvent*) {
    const Theme& t = theme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF frame = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
    if (isChecked() || underMouse() || hasFocus()) {
        painter.setPen(hasFocus() ? QPen(t.selectedText) : Qt::NoPen);
        painter.setBrush(isChecked() ? t.selected : t.field);
        painter.drawRoundedRect(frame, 6, 6);
    }
    const QFont nameFont = scaledFont(m_scale, isChecked());
    const int nameHeight = QFontMetrics(nameFont).height();
    painter.setFont(nameFont);
    painter.setPen(!isEnabled()  ? palette().color(QPalette::Disabled, QPalette::WindowText)
                   : isChecked() ? t.selectedText
                                 : t.text);
    paintName(painter, QRect(0, 4, width(), nameHeight));
    painter.setFont(scaledFont(m_scale * subtitleScale));
    painter.setPen(!isEnabled()  ? palette().color(QPalette::Disabled, QPalette::WindowText)
                   : isChecked() ? t.selectedText
                                 : t.muted);
    painter.drawText(QRect(0, 4 + nameHeight, width(), height() - nameHeight - 8), Qt::AlignCenter, m_subtitle);
}

// "W^O" with a raised O.
void StepButton::paintName(QPainter& painter, const QRect& room) const {
    const QString base = text().section(u'^', 0, 0), raised = text().section(u'^', 1);
    if (raised.isEmpty()) {
        painter.drawText(room, Qt::AlignCenter, base);
        return;
    }
    const QFontMetrics metrics(painter.font());
    const QFont small = scaledFont(m_scale * raisedScale, isChecked());
    const int baseWidth = metrics.horizontalAdvance(base);
    const int x = room.center().x() - (baseWidth + QFontMetrics(small).horizontalAdvance(raised)) / 2;
    const int y = room.top() + (room.height() + metrics.ascent() - metrics.descent()) / 2;
    painter.drawText(x, y, base);
    painter.setFont(small);
    painter.drawText(x + baseWidth, y - metrics.xHeight() * 3 / 4, raised);
}

StageStepper::StageStepper(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(2);
    createSteps(row);
    m_back = createButton(QStringLiteral("‹"), tr("Back one stage (Alt+Left)"));
    m_play = createButton(playSign, tr("Play: one stage after the other; again to stop (F5)"));
    m_next = createButton(QStringLiteral("›"), tr("Next stage (Alt+Right)"));
    m_play->setCheckable(true);
    for (QToolButton* button : {m_back, m_play, m_next})
        row->addWidget(button);
    connect(m_back, &QToolButton::clicked, this, &StageStepper::back);
    connect(m_next, &QToolButton::clicked, this, &StageStepper::next);
    connect(m_play, &QToolButton::toggled, this, &StageStepper::setPlaying);
    connect(&m_timer, &QTimer::timeout, this, &StageStepper::next);
    connect(&workspace, &Workspace::scenarioChanged, this, &StageStepper::refresh);
    connect(&workspace, &Workspace::viewChanged, this, &StageStepper::refresh);
    refresh();
}

void StageStepper::createSteps(QHBoxLayout* row) {
    for (int i = 0; i < stepCount; ++i) {
        auto* button = new StepButton;
        for (const StageInfo& info : stageTable())
            if (info.step == i + 1) {
                button->setText(fromUtf8(info.stepName));
                break;
            }
        button->setAccessibleName(tr("Stage %1: %2").arg(i + 1).arg(button->text()));
        connect(button, &QAbstractButton::clicked, this, [this, i] { goToStep(i + 1); });
        m_steps[static_cast<std::size_t>(i)] = button;
        row->addWidget(button);
    }
}

QToolButton* StageStepper::createButton(const QString& text, const QString& what) {
    auto* button = new QToolButton;
    button->setText(text);
    button->setToolTip(what);
    button->setAccessibleName(what);
    button->setObjectName(QStringLiteral("small"));
    return button;
}

void StageStepper::goToStep(int step) {
    m_workspace.showStage(stageOfStep(m_workspace.scenario(), step, m_workspace.view().stage));
}

// Next and back pass through every stage that this scenario has, Q then K then V, and stop at the ends.
static Stage neighbour(const Scenario& scenario, Stage stage, int direction) {
    for (int s = static_cast<int>(stage) + direction; s >= 0 && s < stageCount; s += direction)
        if (stageAvailable(scenario, static_cast<Stage>(s)))
            return static_cast<Stage>(s);
    return stage;
}

void StageStepper::next() {
    const Stage stage = m_workspace.view().stage, following = neighbour(m_workspace.scenario(), stage, 1);
    if (following == stage)
        return setPlaying(false);
    m_workspace.showStage(following);
}

void StageStepper::back() {
    m_workspace.showStage(neighbour(m_workspace.scenario(), m_workspace.view().stage, -1));
}

void StageStepper::setPlaying(bool on) {
    if (on == playing())
        return;
    if (on) {
        if (neighbour(m_workspace.scenario(), m_workspace.view().stage, 1) == m_workspace.view().stage)
            goToStep(1); // from the end, play from the start
        m_timer.start(m_pace);
    } else {
        m_timer.stop();
    }
    m_play->setChecked(on);
    m_play->setText(on ? pauseSign : playSign);
    emit playingChanged(on);
}

void StageStepper::setPace(int milliseconds) {
    m_pace = std::max(200, milliseconds); // also what a settings file says
    m_timer.setInterval(m_pace);
}

static QString whyNoStep(const Scenario& scenario, int step) {
    for (const StageInfo& info : stageTable())
        if (info.step == step)
            return fromUtf8(whyNoStage(scenario, info.stage));
    return {};
}

void StageStepper::refresh() {
    const Scenario& scenario = m_workspace.scenario();
    if (!scenario.model)
        return;
    const int current = stageInfo(m_workspace.view().stage).step;
    for (int i = 0; i < stepCount; ++i) {
        StepButton* button = m_steps[static_cast<std::size_t>(i)];
        button->setSubtitle(stepSubtitle(scenario, i + 1));
        button->setChecked(i + 1 == current);
        const std::vector<Stage> stages = stagesOfStep(scenario, i + 1);
        button->setEnabled(!stages.empty());
        button->setToolTip(stages.empty() ? whyNoStep(scenario, i + 1) : fromUtf8(stageInfo(stages.front()).what));
    }
    fit();
}

void StageStepper::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit();
}

void StageStepper::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange)
        fit();
}

// The largest letters at which all steps stand side by side.
void StageStepper::fit() {
    const int others = m_back->sizeHint().width() + m_play->sizeHint().width() + m_next->sizeHint().width() +
                       (stepCount + 2) * layout()->spacing();
    double scale = 1;
    for (; scale > 0.7; scale -= 0.05) {
        int needed = others;
        for (const StepButton* button : m_steps)
            needed += button->sizeAt(scale).width();
        if (needed <= width())
            break;
    }
    for (StepButton* button : m_steps)
        button->setTextScale(scale);
}

void StageStepper::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Right)
        next();
    else if (event->key() == Qt::Key_Left)
        back();
    else
        QWidget::keyPressEvent(event);
}

} // namespace headscope
