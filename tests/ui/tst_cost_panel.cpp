// The cost panel shows what core computes, and its sentence is computed too.
#include "tests/support/scenarios.h"
#include "ui/widgets/cost_panel.h"
#include "ui/workspace.h"

#include <QAbstractItemModelTester>
#include <QLabel>
#include <QSpinBox>
#include <QTest>
#include <QToolButton>

using namespace headscope;
using namespace headscope::testing;

class CostPanelTest : public QObject {
    Q_OBJECT

    static void set(const CostPanel& panel, const char* field, int value) {
        panel.findChild<QSpinBox*>(QStringLiteral("cost-") + QLatin1String(field))->setValue(value);
    }
    static QString sentence(const CostPanel& panel) {
        return panel.findChild<QLabel*>(QStringLiteral("costSentence"))
            ->text()
            .replace(QStringLiteral("&nbsp;"), QStringLiteral(" "));
    }

private slots:
    void theScoresAreASmallPartUntilNIsTwiceD() {
        Workspace workspace;
        workspace.reset(toy(ToyOptions{}, "The cat sat on the mat"));
        const CostPanel panel(workspace);
        set(panel, "n", 64);
        set(panel, "d", 512);
        QVERIFY2(sentence(panel).contains(QStringLiteral("are 2.9 %")), qPrintable(sentence(panel)));
        QVERIFY2(sentence(panel).contains(QStringLiteral("n = 2d = 1024")), qPrintable(sentence(panel)));
    }

    void theCrossoverIsWhereTheQuadraticPartsOvertake() {
        for (const int d : {64, 96, 512}) {
            const auto cost = [d](std::int64_t n) { return compareHeadCounts(n, d, 8, false).many; };
            QCOMPARE(crossover(cost, 4 * d + 1), std::int64_t{2} * d);
        }
    }

    void itFollowsTheModelUntilSomebodyTypes() {
        Workspace workspace;
        workspace.reset(toy(ToyOptions{}, "The cat sat on the mat"));
        const CostPanel panel(workspace);
        auto* n = panel.findChild<QSpinBox*>(QStringLiteral("cost-n"));
        QCOMPARE(n->value(), 6);
        workspace.reset(toy(ToyOptions{}, "The cat"));
        QCOMPARE(n->value(), 2);
        n->setValue(100);
        workspace.reset(toy(ToyOptions{}, "The cat sat"));
        QCOMPARE(n->value(), 100);
        panel.findChild<QToolButton*>()->click();
        QCOMPARE(n->value(), 3);
    }

    void theTableHasTheNumbersOfCore() {
        Workspace workspace;
        workspace.reset(toy(ToyOptions{}, "The cat"));
        const CostPanel panel(workspace);
        auto* model = panel.findChild<CostModel*>();
        const QAbstractItemModelTester tester(model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        set(panel, "n", 64);
        set(panel, "d", 512);
        set(panel, "h", 8);
        const HeadCountComparison costs = compareHeadCounts(64, 512, 8, true);
        double shares = 0;
        for (int row = 0; row < 5; ++row) {
            QCOMPARE(model->index(row, CostModel::Many).data(Qt::ToolTipRole).toString(),
                     QLocale().toString(qlonglong(costs.many.parts[std::size_t(row)].multiplyAdds)));
            shares += model->index(row, CostModel::One).data(CostModel::ShareRole).toDouble();
        }
        QVERIFY(std::abs(shares - 1) < 1e-12);
    }

    void headsThatDoNotDivideTheWidthAreRefusedWithBothNumbers() {
        Workspace workspace;
        workspace.reset(toy(ToyOptions{}, "The cat"));
        const CostPanel panel(workspace);
        set(panel, "d", 100);
        set(panel, "h", 7);
        QVERIFY(sentence(panel).contains(QStringLiteral("100")) && sentence(panel).contains(QStringLiteral("7")));
        QCOMPARE(panel.findChild<CostModel*>()->rowCount(), 0);
    }

    void countsAreShortAndRight() {
        QCOMPARE(shortCount(999), QStringLiteral("999"));
        QCOMPARE(shortCount(1000), QStringLiteral("1.00 k"));
        QCOMPARE(shortCount(50331648), QStringLiteral("50.3 M"));
        QCOMPARE(shortCount(999999), QStringLiteral("1.00 M"));
    }
};

QTEST_MAIN(CostPanelTest)
#include "tst_cost_panel.moc"
