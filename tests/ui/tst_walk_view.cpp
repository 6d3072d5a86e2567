// The walk in the window: which row meets which column is marked in every matrix, wherever the pointer is; and what the
// walk says is multiplied really gives the result.
#include "tests/support/scenarios.h"
#include "ui/screenshot.h"
#include "ui/theme.h"
#include "ui/widgets/walk_view.h"
#include "ui/workspace.h"

#include <QAccessible>
#include <QApplication>
#include <QMouseEvent>
#include <QTest>

using namespace headscope;
using namespace headscope::testing;

namespace {

struct Bench {
    Workspace workspace;
    std::unique_ptr<WalkView> view;

    explicit Bench(Stage stage, const Scenario& scenario) {
        View start;
        start.figure = FigureKind::Walk;
        start.stage = stage;
        start.heads = {HeadIndex{1}};
        start.cell = CellRef{2, 1};
        workspace.reset(scenario, start);
        view = std::make_unique<WalkView>(workspace);
        view->resize(900, 600);
        view->show();
        waitUntilSettled();
    }
    const Walk& walk() const { return *view->walk(); }
    void point(int matrix, int row, int col, QEvent::Type type = QEvent::MouseMove) {
        const std::optional<QPointF> at = view->cellCentre(matrix, row, col);
        QVERIFY(at);
        const bool press = type == QEvent::MouseButtonPress;
        QMouseEvent event(type, *at, view->mapToGlobal(at->toPoint()), press ? Qt::LeftButton : Qt::NoButton,
                          press ? Qt::LeftButton : Qt::NoButton, {});
        QApplication::sendEvent(view.get(), &event);
        view->repaint(); // marks are set where they are drawn
    }
    const Panel& panel(int matrix) const { return walk().matrices[static_cast<std::size_t>(matrix)].panel; }
};

Scenario sentence() {
    ToyOptions options;
    options.dModel = 24;
    options.heads = 4;
    options.kvHeads = 2;
    return toy(options, "the cat sat on the mat");
}

} // namespace

class TestWalkView : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { applyTheme(makeTheme(false, false)); }

    // For every stage that is a product: left times right, plus the bias, is the result, cell by cell.
    void whatIsMultipliedGivesTheResult() {
        const SharedTrace trace = run(sentence());
        int products = 0;
        for (const StageInfo& info : stageTable()) {
            if (!stageAvailable(*trace, info.stage))
                continue;
            View view;
            view.stage = info.stage;
            view.heads = {HeadIndex{3}};
            view.cell = CellRef{1, 1};
            const Walk walk = makeWalk(trace, view, figureFont(8));
            const WalkMatrix *left = nullptr, *right = nullptr, *bias = nullptr;
            for (const WalkMatrix& m : walk.matrices) {
                left = m.cols.runs == WalkMatrix::Runs::Inner ? &m : left;
                right = m.rows.runs == WalkMatrix::Runs::Inner ? &m : right;
                bias = m.symbol.startsWith(u"b_") ? &m : bias;
            }
            if (!left)
                continue;
            ++products;
            const Matrix &a = left->panel.picture->matrix(), &b = right->panel.picture->matrix(),
                         &result = walk.matrices.back().panel.picture->matrix();
            for (int r = 0; r < result.rows(); ++r)
                for (int c = 0; c < result.cols(); ++c) {
                    double sum = bias ? static_cast<double>(bias->panel.picture->matrix()(0, c)) : 0.0;
                    for (int k = 0; k < a.cols(); ++k)
                        sum += static_cast<double>(a(r, k)) * static_cast<double>(b(k, c));
                    QVERIFY2(std::abs(sum - static_cast<double>(result(r, c))) < 1e-5, info.id.data());
                }
        }
        QCOMPARE(products, 7); // three projections, scores, attend, contribution, output
    }

    void pointingAtTheResultMarksTheRowAndTheColumnThatMeet() {
        Bench bench(Stage::Scores, sentence());
        bench.point(2, 3, 4); // Q, K^T, S
        QCOMPARE(bench.panel(0).markedRow, std::optional(3));
        QCOMPARE(bench.panel(0).markedCol, std::nullopt);
        QCOMPARE(bench.panel(1).markedCol, std::optional(4));
        QCOMPARE(bench.panel(1).markedRow, std::nullopt);
        QCOMPARE(bench.panel(2).markedCell, std::optional(CellRef{3, 4}));
    }

    void pointingAtAFactorNamesTheTerm() {
        Bench bench(Stage::Scores, sentence());
        bench.point(0, 3, 5); // dimension 5 of the query of row 3; the column stays
        QCOMPARE(bench.panel(0).markedCell, std::optional(CellRef{3, 5}));
        QCOMPARE(bench.panel(1).markedCell, std::optional(CellRef{5, 1}));
        QCOMPARE(bench.panel(2).markedCell, std::optional(CellRef{3, 1}));
        QVERIFY(termText(bench.walk(), *bench.view->markedCell()).startsWith(QStringLiteral("d 5: ")));
    }

    void whatIsPointedAtIsReadAloud() {
        Bench bench(Stage::Weights, sentence());
        bench.point(3, 2, 1); // masked, exp, sums, A
        QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(bench.view.get());
        QVERIFY(interface);
        QVERIFY(interface->text(QAccessible::Description).startsWith(QStringLiteral("sat (query) attends ")));
    }

    void aClickPinsTheCell() {
        Bench bench(Stage::Scores, sentence());
        bench.point(2, 4, 0);
        bench.point(2, 4, 0, QEvent::MouseButtonPress);
        QCOMPARE(bench.workspace.view().cell, std::optional(CellRef{4, 0}));
    }

    void aClickOnThePieceOfAnotherHeadChoosesIt() {
        Bench bench(Stage::Q, sentence());
        QCOMPARE(bench.walk().matrices.size(), std::size_t{5}); // all heads, and a piece for each
        bench.point(4, 1, 2);
        bench.point(4, 1, 2, QEvent::MouseButtonPress);
        QCOMPARE(bench.workspace.view().heads.front(), HeadIndex{3});
        QCOMPARE(bench.workspace.view().cell, std::optional(CellRef{1, 2}));
    }

    void piecesAreMarkedWhereTheyAreCut() {
        Bench bench(Stage::Concat, sentence());
        bench.point(4, 1, 13); // the glued matrix: column 13 is dimension 1 of head 2
        QCOMPARE(bench.panel(2).markedCell, std::optional(CellRef{1, 1}));
        for (const int other : {0, 1, 3})
            QCOMPARE(bench.panel(other).markedCell, std::nullopt);
    }

    void arrowsMoveAndEnterPins() {
        Bench bench(Stage::Scores, sentence());
        QTest::keyClick(bench.view.get(), Qt::Key_Down);
        QTest::keyClick(bench.view.get(), Qt::Key_Right);
        QTest::keyClick(bench.view.get(), Qt::Key_Return);
        QCOMPARE(bench.workspace.view().cell, std::optional(CellRef{3, 2}));
    }

    void withoutRoomItSaysWhatToDo() {
        Bench bench(Stage::Scores, sentence());
        bench.view->resize(60, 60);
        waitUntilSettled();
        QVERIFY(!bench.view->walk());
    }

    // The marked row's frame is really drawn, in all matrices.
    void marksAreSeen() {
        Bench bench(Stage::Scores, sentence());
        bench.point(2, 3, 4);
        const QImage picture = bench.view->grab().toImage();
        for (const int matrix : {0, 2}) {
            const QPointF left = *bench.view->cellCentre(matrix, 3, 0), above = *bench.view->cellCentre(matrix, 2, 0);
            const double edge = (left.y() + above.y()) / 2;
            bool seen = false;
            for (int dy = -2; dy <= 2; ++dy) {
                const QColor colour = picture.pixelColor(qRound(left.x()), qRound(edge) + dy);
                seen = seen || colour.red() - colour.green() > 60; // half a pixel of it, at worst
            }
            QVERIFY(seen);
        }
    }
};

QTEST_MAIN(TestWalkView)
#include "tst_walk_view.moc"
