// The inspector: what it prints adds up and ends in the number that the other views show; masks, rows without an open
// key and extreme temperatures are said in words.
#include "core/analysis/shown.h"
#include "tests/support/scenarios.h"
#include "ui/widgets/cell_inspector.h"
#include "ui/workspace.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QTest>

#include <cmath>

using namespace headscope;
using namespace headscope::testing;

class CellInspectorTest : public QObject {
    Q_OBJECT

    static ToyOptions small() {
        ToyOptions o;
        o.dModel = 24;
        o.heads = 2;
        return o;
    }
    static View pinned(Stage stage, int row, int col) {
        View view;
        view.stage = stage;
        view.cell = CellRef{row, col};
        return view;
    }
    static void open(Workspace& workspace, const Scenario& scenario, const View& view) {
        workspace.reset(scenario, view);
        QTRY_VERIFY(!workspace.busy() && workspace.trace());
    }

private slots:
    void saysWhatToDoWithoutACell() {
        Workspace workspace;
        const CellInspector inspector(workspace);
        QVERIFY(!inspector.sheet());
        QCOMPARE(inspector.toPlainText(), QStringLiteral("Click a cell to see its arithmetic"));
    }

    void everyStageEndsInTheNumberThatIsShown() {
        for (const Scenario& scenario : {toy(small(), "The cat sat"), crossToy(small(), "The cat", "Le chat noir"),
                                         workedExample(), patterns("The cat sat")}) {
            Workspace workspace;
            open(workspace, scenario, {});
            const CellInspector inspector(workspace);
            for (const Stage stage : availableStages(scenario)) {
                workspace.setView(pinned(stage, 1, 1));
                QVERIFY(inspector.sheet());
                const CellExplanation& e = inspector.sheet()->explanation;
                const float shown = (*workspace.stageMatrix({}, {}, stage))(1, 1);
                QCOMPARE(e.value, shown);
                QVERIFY(!inspector.toPlainText().contains(QStringLiteral("nan")));
            }
        }
    }

    void aMergedWordOpensItsOwnArithmetic() {
        ScenarioRequest request;
        request.source.name = "mini";
        request.text = "The antidisestablishmentarian cat";
        Workspace workspace;
        View view = pinned(Stage::Weights, 3, 4);
        view.words = true;
        open(workspace, makeScenario(std::move(request)), view);
        const CellInspector inspector(workspace);
        const ShownStage shown = shownHeads(*workspace.trace(), workspace.view());
        QCOMPARE(inspector.sheet()->explanation.value, (*shown.matrix)(shown.rows.placeOf(3), shown.cols.placeOf(4)));
        QVERIFY(inspector.sheet()->explanation.terms.size() > 1);
        QCOMPARE(inspector.sheet()->query, QStringLiteral("antidisestablishmentarian"));
    }

    void termsAreFewUntilAllAreAskedFor() {
        Workspace workspace;
        open(workspace, toy(small(), "The cat sat"), pinned(Stage::Scores, 1, 1));
        CellInspector inspector(workspace);
        QCOMPARE(inspector.sheet()->sum.terms.size(), std::size_t(6));
        QVERIFY(inspector.toPlainText().contains(QStringLiteral("6 smaller terms")));
        inspector.setShowAll(true);
        QCOMPARE(inspector.sheet()->sum.terms.size(), std::size_t(12)); // d_k
    }

    void theHeadlineNamesQueryAndKey() {
        Workspace workspace;
        open(workspace, toy(small(), "The cat sat"), pinned(Stage::Weights, 2, 1));
        const CellInspector inspector(workspace);
        const QString weight = QString::fromStdString(
            printNumber(static_cast<double>((*workspace.stageMatrix({}, {}, Stage::Weights))(2, 1))));
        QVERIFY(inspector.toPlainText().startsWith(QStringLiteral("sat (query) attends %1 to cat (key)").arg(weight)));
    }

    void aMaskedCellAndAnEmptyRowAreSaidInWords() {
        Workspace workspace;
        Scenario scenario = toy(small(), "The cat sat");
        scenario.mask = parseMask("causal");
        scenario.interventions.push_back({Intervention::Kind::MaskCell, {}, {}, Stage::Scores, 0, 0, -INFINITY});
        open(workspace, scenario, pinned(Stage::Weights, 1, 2));
        const CellInspector inspector(workspace);
        QVERIFY(inspector.toPlainText().contains(QStringLiteral("This key is masked")));
        workspace.setView(pinned(Stage::Weights, 0, 0));
        QVERIFY(inspector.toPlainText().contains(QStringLiteral("Every key of this row is masked")));
    }

    void extremeTemperaturesAreSaidInWords() {
        for (const auto& [temperature, words] :
             {std::pair(0.0, QStringLiteral("Temperature 0")), std::pair(double(INFINITY), QStringLiteral("1/3"))}) {
            Workspace workspace;
            Scenario scenario = toy(small(), "The cat sat");
            scenario.temperature = temperature;
            open(workspace, scenario, pinned(Stage::Weights, 1, 2));
            const CellInspector inspector(workspace);
            QVERIFY2(inspector.toPlainText().contains(words), qPrintable(inspector.toPlainText()));
        }
    }

    // What the note says is so: without b_K every score of the row is smaller by that number, and no weight moves.
    void whatTheKeyBiasAddsIsSaidAndCancels() {
        const LayerIndex layer{0};
        const Scenario with = toy(small(), "the cat sat");
        const Scenario without =
            edited(with, {layer, WeightKind::BK}, [](Matrix& b) { b = Matrix(1, b.cols(), 0.0F); });
        const SharedTrace a = run(with), b = run(without);
        const CellSheet sheet = cellSheet(*a, layer, HeadIndex{1}, Stage::Weights, 2, 1, 6);
        const QString note = sheet.notes.filter(QStringLiteral("b_K")).value(0);
        const double said = note.section(u'=', 1, 1).trimmed().section(u' ', 0, 0).toDouble();
        QVERIFY(std::abs(said) > 1e-3);
        for (int c = 0; c < 3; ++c) {
            const auto difference = [&](Stage stage) {
                return static_cast<double>(stageOf(a, stage, 1)(2, c) - stageOf(b, stage, 1)(2, c));
            };
            QVERIFY2(std::abs(difference(Stage::Scores) - said) < 1e-2 * std::abs(said), qPrintable(note));
            QVERIFY(std::abs(difference(Stage::Weights)) < 1e-6);
        }
        QVERIFY(cellSheet(*b, layer, HeadIndex{1}, Stage::Weights, 2, 1, 6).notes.isEmpty());
        ToyOptions rotary = small();
        rotary.position = Position::Rope; // turns b_K by the place of the key: it does not cancel
        QVERIFY(
            cellSheet(*run(toy(rotary, "the cat sat")), layer, HeadIndex{1}, Stage::Weights, 2, 1, 6).notes.isEmpty());
    }

    void aWrongRuleIsNamed() {
        Workspace workspace;
        open(workspace, withRule(toy(small(), "The cat sat"), Rule::NoScale), pinned(Stage::Weights, 1, 2));
        const CellInspector inspector(workspace);
        QVERIFY(inspector.toPlainText().contains(QStringLiteral("Wrong on purpose")));
    }

    void copyAsTextHasEveryPrintedNumber() {
        Workspace workspace;
        open(workspace, toy(small(), "The cat sat"), pinned(Stage::Weights, 1, 2));
        CellInspector inspector(workspace);
        QTest::keyClick(&inspector, Qt::Key_C, Qt::ControlModifier);
        const QString text = QGuiApplication::clipboard()->text();
        for (const PrintedTerm& term : inspector.sheet()->sum.terms)
            QVERIFY(text.contains(QString::fromStdString(term.term)));
        QVERIFY(text.contains(QString::fromStdString(inspector.sheet()->sum.result)));
    }

    void aLongTokenDoesNotMakeThePanelWider() {
        Workspace workspace;
        open(workspace, toy(small(), "Donaudampfschifffahrtsgesellschaft cat"), pinned(Stage::HeadOutput, 1, 1));
        CellInspector inspector(workspace);
        inspector.resize(340, 400);
        inspector.show();
        QVERIFY(inspector.document()->idealWidth() <= 340);
    }
};

QTEST_MAIN(CellInspectorTest)
#include "tst_cell_inspector.moc"
