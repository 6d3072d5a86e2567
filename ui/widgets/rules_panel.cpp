#include "ui/widgets/rules_panel.h"

#include "core/tensor/errors.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/widgets/rich_text.h"
#include "ui/workspace.h"

#include <QCheckBox>
#include <QEvent>
#include <QLabel>
#include <QMenu>
#include <QStyle>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

namespace headscope {

static constexpr std::array scaleRules{Rule::ScaleDModel, Rule::ScaleDk, Rule::NoScale};

static bool isScaleRule(Rule rule) {
    return std::ranges::find(scaleRules, rule) != scaleRules.end();
}

RuleSet switchedRule(RuleSet rules, Rule rule, bool on) {
    if (on && isScaleRule(rule))
        for (const Rule other : scaleRules)
            rules = with(rules, other, false);
    return with(rules, rule, on);
}

QString ruleObstacle(const Scenario& scenario, Rule rule) {
    const ModelConfig& config = scenario.model->config();
    if (isScaleRule(rule) && scenario.scale.kind != Scale::Kind::SqrtDk)
        return QObject::tr("The scale is set by hand to %1; set it back to 1/√d_k first.")
            .arg(QString::fromStdString(scaleName(scenario.scale)));
    if (rule == Rule::NoOutputProjection && !scenario.model->layer(LayerIndex{0}).wO)
        return QObject::tr("This model has no W_O to leave out.");
    if ((rule == Rule::AverageHeads || rule == Rule::ConcatReshape) && config.heads == 1)
        return QObject::tr("This model has a single head, so the rule changes nothing.");
    try {
        Scenario probe = scenario;
        probe.rules = switchedRule(scenario.rules, rule, true);
        validate(probe);
    } catch (const InputError& error) {
        return fromUtf8(error.what());
    }
    return {};
}

RulesPanel::RulesPanel(Workspace& workspace, QWidget* parent) : QScrollArea(parent), m_workspace(workspace) {
    setObjectName(QStringLiteral("rulesPanel"));
    setFrameShape(QFrame::NoFrame);
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* content = new QWidget(this);
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    auto* intro = new QLabel(tr("Wrong on purpose: switch one on and see the damage beside the right map."), content);
    intro->setObjectName(QStringLiteral("muted"));
    intro->setWordWrap(true);
    column->addWidget(intro);
    setWidget(content);
    content->setAutoFillBackground(false); // setWidget switched it on
    viewport()->setAutoFillBackground(false);
    for (const RuleInfo& info : ruleTable())
        addSwitch(info);
    column->addStretch(1);
    connect(&m_workspace, &Workspace::scenarioChanged, this, [this] {
        const Scenario& scenario = m_workspace.scenario();
        if (m_shown != Shown{scenario.original, scenario.rules, scenario.scale})
            refresh();
    });
    refresh();
}

void RulesPanel::addSwitch(const RuleInfo& info) {
    auto* box = new QCheckBox(fromUtf8(info.title), widget());
    box->setObjectName(QStringLiteral("rule-") + fromUtf8(info.name));
    auto* text = new QLabel(widget());
    text->setWordWrap(true);
    text->setTextFormat(Qt::RichText);
    text->setContentsMargins(style()->pixelMetric(QStyle::PM_IndicatorWidth) + 8, 0, 0, 6);
    widget()->layout()->addWidget(box);
    widget()->layout()->addWidget(text);
    // clicked, not toggled: refresh() sets the boxes too.
    connect(box, &QCheckBox::clicked, this, [this, rule = info.rule](bool on) { toggle(rule, on); });
    m_switches.append({info.rule, box, text});
}

void RulesPanel::fillMenu(QMenu& menu) {
    menu.clear();
    menu.setToolTipsVisible(true);
    for (const Switch& s : m_switches) {
        QAction* action = menu.addAction(s.box->text());
        action->setCheckable(true);
        action->setChecked(s.box->isChecked());
        action->setEnabled(s.box->isEnabled());
        action->setToolTip(s.box->toolTip());
        connect(action, &QAction::triggered, this, [this, rule = s.rule](bool on) { toggle(rule, on); });
    }
}

void RulesPanel::toggle(Rule rule, bool on) {
    Scenario next = m_workspace.scenario();
    next.rules = switchedRule(next.rules, rule, on);
    const QString title = fromUtf8(ruleInfo(rule).title);
    m_workspace.edit(on ? tr("Break it: %1").arg(title) : tr("Right again: %1").arg(title), std::move(next));
    refresh(); // a refused step leaves the box as the scenario has it
}

void RulesPanel::refresh() {
    const Scenario& scenario = m_workspace.scenario();
    m_shown = {scenario.original, scenario.rules, scenario.scale};
    for (const Switch& s : m_switches) {
        const RuleInfo& info = ruleInfo(s.rule);
        const bool on = has(scenario.rules, s.rule);
        const QString obstacle = !scenario.model ? tr("Open a model first.")
                                 : on            ? QString()
                                                 : ruleObstacle(scenario, s.rule);
        s.box->setChecked(on);
        s.box->setEnabled(obstacle.isEmpty());
        s.box->setToolTip(obstacle.isEmpty() ? tr("On the command line: --rule %1").arg(fromUtf8(info.name))
                                             : obstacle);
        const auto coloured = [](const QColor& color, const QString& words) {
            return QStringLiteral("<span style='color:%1'>%2</span>").arg(color.name(), words);
        };
        QString text = withIndices(fromUtf8(info.wrong));
        if (on)
            text = QStringLiteral("<b>%1</b> %2").arg(coloured(theme().accent, tr("Wrong on purpose.")), text);
        text += QStringLiteral("<br>") +
                coloured(theme().muted,
                         QStringLiteral("<b>%1</b> %2").arg(tr("Right:"), withIndices(fromUtf8(info.right))));
        if (!obstacle.isEmpty())
            text = coloured(theme().muted, tr("Not here: %1").arg(obstacle.toHtmlEscaped()));
        s.text->setText(text);
        s.box->setAccessibleDescription(
            obstacle.isEmpty() ? fromUtf8(info.wrong) + u' ' + tr("Right:") + u' ' + fromUtf8(info.right) : obstacle);
    }
}

void RulesPanel::changeEvent(QEvent* event) {
    QScrollArea::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange)
        refresh();
}

} // namespace headscope
