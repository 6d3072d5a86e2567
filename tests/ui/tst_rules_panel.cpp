// The class rules as switches: each one undo step, scale rules exclude each other, what cannot apply says why.
#include "tests/support/scenarios.h"
#include "ui/widgets/rules_panel.h"
#include "ui/workspace.h"

#include <QCheckBox>
#include <QTest>

using namespace headscope;
using namespace headscope::testing;

class RulesPanelTest : public QObject {
    Q_OBJECT

    static QCheckBox* boxOf(const RulesPanel& panel, Rule rule) {
        const std::string_view name = ruleInfo(rule).name;
        return panel.findChild<QCheckBox*>(
            QStringLiteral("rule-%1").arg(QString::fromUtf8(name.data(), qsizetype(name.size()))));
    }
    static Scenario someToy() { return toy(ToyOptions{}, "The cat sat on the mat"); }

private slots:
    void everyRuleHasASwitchThatTurnsItOnAndUndoesIt() {
        Workspace workspace;
        workspace.reset(someToy());
        const RulesPanel panel(workspace);
        for (const RuleInfo& info : ruleTable()) {
            QCheckBox* box = boxOf(panel, info.rule);
            QVERIFY(box && box->isEnabled());
            box->click();
            QVERIFY(has(workspace.scenario().rules, info.rule));
            QVERIFY(box->isChecked());
            workspace.undoStack()->undo();
            QVERIFY(workspace.scenario().rules.none());
            QVERIFY(!box->isChecked());
        }
    }

    void scaleRulesReplaceEachOtherInOneStep() {
        Workspace workspace;
        workspace.reset(someToy());
        const RulesPanel panel(workspace);
        boxOf(panel, Rule::ScaleDk)->click();
        boxOf(panel, Rule::NoScale)->click();
        QCOMPARE(workspace.scenario().rules, with({}, Rule::NoScale));
        QVERIFY(!boxOf(panel, Rule::ScaleDk)->isChecked());
        QCOMPARE(workspace.undoStack()->count(), 2);
    }

    void whatCannotApplySaysWhy() {
        Workspace workspace;
        workspace.reset(workedExample()); // one head
        const RulesPanel panel(workspace);
        QVERIFY(!boxOf(panel, Rule::AverageHeads)->isEnabled());
        QVERIFY(boxOf(panel, Rule::AverageHeads)->toolTip().contains(QStringLiteral("single head")));

        Scenario scaled = someToy();
        scaled.scale = {Scale::Kind::Number, 0.3};
        QVERIFY(ruleObstacle(scaled, Rule::NoScale).contains(QStringLiteral("0.3")));
    }

    void aRuleWithoutObstacleIsAccepted() {
        for (const Scenario& scenario : {someToy(), workedExample(), patterns("The cat sat")})
            for (const RuleInfo& info : ruleTable()) {
                if (!ruleObstacle(scenario, info.rule).isEmpty())
                    continue;
                Scenario next = scenario;
                next.rules = switchedRule({}, info.rule, true);
                validate(next); // throws where it does not fit
            }
    }
};

QTEST_MAIN(RulesPanelTest)
#include "tst_rules_panel.moc"
