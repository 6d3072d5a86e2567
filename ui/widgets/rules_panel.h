// RulesPanel: the class rules as switches, "break it": each says what it does wrong and what is right, and is one undo
// step. Not here: what a rule does (core/attention/rules and trace), the picture of the damage (comparison_view).
#pragma once

#include "core/attention/scenario.h"

#include <QScrollArea>
#include <QString>

class QCheckBox;
class QLabel;
class QMenu;

namespace headscope {

class Workspace;

// The scenario's rules with one switched; switching a scale rule on takes the other scale rules off.
RuleSet switchedRule(RuleSet rules, Rule rule, bool on);
// Why a rule cannot be switched on in this scenario; empty when it can.
QString ruleObstacle(const Scenario& scenario, Rule rule);

class RulesPanel : public QScrollArea {
    Q_OBJECT
public:
    explicit RulesPanel(Workspace& workspace, QWidget* parent = nullptr);

    void fillMenu(QMenu& menu); // with the switches as they are now

private:
    struct Switch {
        Rule rule;
        QCheckBox* box;
        QLabel* text;
    };

    void addSwitch(const RuleInfo& info);
    void toggle(Rule rule, bool on);
    void refresh();
    void changeEvent(QEvent* event) override;

    Workspace& m_workspace;
    QList<Switch> m_switches;
    // What the switches depend on, as it was last shown: a dragged weight must not check nine rules each time.
    struct Shown {
        SharedModel opened;
        RuleSet rules;
        Scale scale;
        bool operator==(const Shown&) const = default;
    };
    Shown m_shown;
};

} // namespace headscope
