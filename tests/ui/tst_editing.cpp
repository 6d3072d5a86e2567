// Editing with the hand: painting the mask, following a factor to where it stands, all heads of a matrix at once, the
// list of changes, the mirror on another screen, and what is said while there is no picture.
#include "core/attention/tensor_edit.h"
#include "core/exchange/scenario_file.h"
#include "tests/support/scenarios.h"
#include "ui/document_session.h"
#include "ui/main_window.h"
#include "ui/mirror_window.h"
#include "ui/screenshot.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/widgets/card_title.h"
#include "ui/widgets/cell_inspector.h"
#include "ui/widgets/heatmap_panel.h"
#include "ui/widgets/mask_brush.h"
#include "ui/widgets/message_strip.h"
#include "ui/widgets/picture_stack.h"
#include "ui/widgets/stage_panel.h"
#include "ui/widgets/stage_stepper.h"
#include "ui/widgets/weight_delegate.h"
#include "ui/widgets/weight_editor.h"
#include "ui/widgets/weight_model.h"

#include <QAccessible>
#include <QApplication>
#include <QDockWidget>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <QUndoView>

#include <cmath>

using namespace headscope;
using namespace headscope::testing;

namespace {

constexpr const char* text = "one two three four five";

Document sentence() {
    ToyOptions options;
    options.dModel = 24;
    options.heads = 4;
    options.kvHeads = 2;
    return {toy(options, text), View()};
}

std::unique_ptr<MainWindow> shownWindow() {
    auto window = std::make_unique<MainWindow>(sentence(), false);
    window->resize(1366, 768);
    window->show();
    waitUntilSettled();
    return window;
}

QAction* actionOf(MainWindow& window, const QString& begins) {
    for (QAction* action : window.findChildren<QAction*>())
        if (action->text().remove(u'&').startsWith(begins))
            return action;
    return nullptr;
}

Matrix weightsOf(MainWindow& window) {
    return *stageMatrix(*window.workspace().trace(), LayerIndex{0}, HeadIndex{0}, Stage::Weights);
}

// Presses on the first cell, moves over the others, lets go.
void drag(HeatmapView& view, const std::vector<CellRef>& cells) {
    QWidget* plot = view.childAt(view.cellCentre(cells.front()).toPoint());
    const auto send = [&](QEvent::Type type, CellRef cell, Qt::MouseButton button, Qt::MouseButtons buttons) {
        const QPointF at = plot->mapFrom(&view, view.cellCentre(cell).toPoint());
        QMouseEvent event(type, at, plot->mapToGlobal(at.toPoint()), button, buttons, {});
        QApplication::sendEvent(plot, &event);
    };
    send(QEvent::MouseButtonPress, cells.front(), Qt::LeftButton, Qt::LeftButton);
    for (const CellRef cell : cells)
        send(QEvent::MouseMove, cell, Qt::NoButton, Qt::LeftButton);
    send(QEvent::MouseButtonRelease, cells.back(), Qt::LeftButton, {});
    waitUntilSettled();
}

} // namespace

class TestEditing : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { applyTheme(makeTheme(false, false)); }

    // --- the mask

    void oneStrokeClosesItsCellsAndIsOneStep() {
        const auto window = shownWindow();
        const Matrix before = weightsOf(*window);
        actionOf(*window, QStringLiteral("Paint the mask"))->trigger();
        drag(*window->stagePanel().heatmap()->view(), {{1, 1}, {1, 3}}); // a quick hand: the cell between counts
        const Matrix after = weightsOf(*window);
        for (int c = 0; c < after.cols(); ++c)
            QCOMPARE(after(1, c) == 0.0F, c >= 1 && c <= 3);
        QCOMPARE(window->workspace().undoStack()->count(), 1);
        QCOMPARE(window->workspace().undoStack()->undoText(), QStringLiteral("Close 3 cells in the mask"));
        window->workspace().undoStack()->undo();
        waitUntilSettled();
        QCOMPARE(weightsOf(*window), before);
    }

    void aStrokeThatBeginsOnAClosedCellOpens() {
        const auto window = shownWindow();
        HeatmapView& view = *window->stagePanel().heatmap()->view();
        actionOf(*window, QStringLiteral("Paint the mask"))->trigger();
        drag(view, {{2, 0}, {2, 1}});
        drag(view, {{2, 1}});
        QCOMPARE(weightsOf(*window)(2, 0), 0.0F);
        QVERIFY(weightsOf(*window)(2, 1) > 0);
        QCOMPARE(window->workspace().undoStack()->undoText(), QStringLiteral("Open three → two in the mask"));
    }

    void escapePutsTheBrushAway() {
        const auto window = shownWindow();
        HeatmapView& view = *window->stagePanel().heatmap()->view();
        QAction* brush = actionOf(*window, QStringLiteral("Paint the mask"));
        brush->trigger();
        QTest::keyClick(&view, Qt::Key_Escape);
        QVERIFY(!brush->isChecked());
        drag(view, {{1, 1}});
        QCOMPARE(window->workspace().undoStack()->count(), 0);
    }

    void theSpaceBarPaintsTheKeyboardsCell() {
        const auto window = shownWindow();
        HeatmapView& view = *window->stagePanel().heatmap()->view();
        actionOf(*window, QStringLiteral("Paint the mask"))->trigger();
        view.setCurrentCell(CellRef{3, 2});
        QTest::keyClick(&view, Qt::Key_Space);
        waitUntilSettled();
        QCOMPARE(weightsOf(*window)(3, 2), 0.0F);
    }

    void mergedWordsAreNotPaintedAndTheWayOutIsOffered() {
        const auto window = shownWindow();
        View view = window->workspace().view();
        view.words = true;
        view.figure = FigureKind::Heatmap;
        window->workspace().setView(view);
        QAction* brush = actionOf(*window, QStringLiteral("Paint the mask"));
        brush->trigger();
        QVERIFY(!brush->isChecked());
        QVERIFY(window->messages().sentence().contains(QStringLiteral("merged")));
        auto* wayOut = window->messages().findChild<QToolButton*>(QStringLiteral("wayOut"));
        QVERIFY(wayOut->isVisible());
        QTest::mouseClick(wayOut, Qt::LeftButton);
        QVERIFY(brush->isChecked());
        QVERIFY(!window->workspace().view().words);
        QVERIFY(window->messages().sentence().isEmpty());
        // Merged while the brush is in hand: a stroke paints nothing, and says so.
        waitUntilSettled();
        view = window->workspace().view();
        view.words = true;
        window->workspace().setView(view);
        waitUntilSettled();
        drag(*window->stagePanel().heatmap()->view(), {{1, 1}});
        QCOMPARE(window->workspace().undoStack()->count(), 0);
        QVERIFY(window->messages().sentence().contains(QStringLiteral("merged")));
    }

    // --- following a factor

    void aFactorLeadsToItsCellAndBack() {
        const auto window = shownWindow();
        auto* inspector = window->findChild<CellInspector*>();
        const View before = window->workspace().view();
        const CellSource source = *inspector->sheet()->sum.terms.front().leftFrom;
        inspector->setFocus();
        QTest::keyClick(inspector, Qt::Key_Tab); // the first link: the left factor of the largest term
        QTest::keyClick(inspector, Qt::Key_Return);
        QCOMPARE(window->workspace().view().stage, Stage::Q);
        QCOMPARE(window->workspace().view().cell, std::optional(CellRef{source.row, source.col}));
        inspector->goBack();
        QCOMPARE(window->workspace().view(), before);
    }

    void aFactorThatIsAWeightLeadsToTheTable() {
        const auto window = shownWindow();
        auto* inspector = window->findChild<CellInspector*>();
        View view = window->workspace().view();
        view.stage = Stage::K;
        view.cell = CellRef{1, 2};
        window->workspace().setView(view);
        const PrintedTerm& term = inspector->sheet()->sum.terms.front();
        emit inspector->weightWanted({LayerIndex{0}, *term.rightFrom->weight}, term.rightFrom->row,
                                     term.rightFrom->col);
        auto* table = window->findChild<WeightTable*>();
        QCOMPARE(window->findChild<WeightEditor*>()->shown(), WeightEditor::Shown::WK);
        const auto* model = static_cast<const WeightModel*>(table->model());
        QCOMPARE(model->value(table->currentIndex()),
                 (*window->workspace().scenario().model->tensor({LayerIndex{0}, WeightKind::WK}))(term.rightFrom->row,
                                                                                                  term.rightFrom->col));
    }

    // --- the whole matrix, and minus zero

    void allHeadsShowTheWholeMatrixAndCellsAreNamedByTheirHead() {
        const auto window = shownWindow();
        window->findChild<QToolButton*>(QStringLiteral("allHeads"))->click();
        auto* table = window->findChild<WeightTable*>();
        QCOMPARE(table->model()->columnCount(), 24);
        const auto* model = static_cast<const WeightModel*>(table->model());
        QCOMPARE(model->headBeginning(model->index(0, 12), Qt::Horizontal), std::optional(BandHead{2, false}));
        table->setCurrentIndex(model->index(5, 13));
        QTest::keyClick(table, Qt::Key_2);
        QTest::keyClick(table->findChild<QLineEdit*>(), Qt::Key_Return);
        QTRY_COMPARE(window->workspace().undoStack()->undoText(), QStringLiteral("Set W_Q[5, 1] of L0 H2 to 2"));
    }

    void minusZeroIsAnEditAndIsSaved() {
        const QTemporaryDir folder;
        Document document = sentence();
        const TensorId id{LayerIndex{0}, WeightKind::BQ};
        document.scenario = withBlock(document.scenario, id, {0, 1, 0, 24}, 0, 3, Matrix(1, 1, 0.0F));
        const Scenario zero = document.scenario;
        document.scenario = withBlock(zero, id, {0, 1, 0, 24}, 0, 3, Matrix(1, 1, -0.0F));
        QVERIFY(document.scenario != zero);
        const std::string path = toUtf8(folder.filePath(QStringLiteral("a.headscope")));
        saveScenario(document, path);
        const float value = (*openScenario(path).scenario.model->tensor(id))(0, 3);
        QVERIFY(value == 0 && std::signbit(value));
    }

    // --- the list of changes

    void theListOfChangesGoesBack() {
        const auto window = shownWindow();
        Workspace& workspace = window->workspace();
        const Scenario opened = workspace.scenario();
        for (const float value : {1.0F, 2.0F})
            workspace.edit(QStringLiteral("step"), withBlock(workspace.scenario(), {LayerIndex{0}, WeightKind::WQ},
                                                             {0, 24, 0, 6}, 0, 0, Matrix(1, 1, value)));
        auto* list = window->findChild<QUndoView*>();
        QVERIFY(list);
        list->setCurrentIndex(list->model()->index(0, 0));
        QVERIFY(workspace.scenario() == opened);
    }

    // --- docks

    void everyDockHasAnEdgeToDragAndCanBeHidden() {
        const auto window = shownWindow();
        for (QDockWidget* dock : window->findChildren<QDockWidget*>()) {
            QVERIFY2(qobject_cast<CardTitle*>(dock->titleBarWidget()), qPrintable(dock->objectName()));
            QVERIFY(!dock->isVisible() || dock->titleBarWidget()->height() >= 5);
            QVERIFY(dock->features() & QDockWidget::DockWidgetMovable);
        }
        auto* found = window->findChild<QDockWidget*>(QStringLiteral("found"));
        QTest::mouseClick(found->titleBarWidget()->findChild<QToolButton*>(), Qt::LeftButton);
        QVERIFY(!found->isVisible());
        window->arrangeDocks();
        QVERIFY(found->isVisible());
    }

    void resettingTheLayoutBringsAFloatingDockHome() {
        const auto window = shownWindow();
        auto* heads = window->findChild<QDockWidget*>(QStringLiteral("heads"));
        heads->setFloating(true);
        window->arrangeDocks();
        QVERIFY(!heads->isFloating());
        QVERIFY(heads->isVisible());
    }

    // --- the mirror

    void theMirrorShowsWhatTheWindowShows() {
        const auto window = shownWindow();
        actionOf(*window, QStringLiteral("Mirror on another screen"))->trigger();
        auto* mirror = window->findChild<MirrorWindow*>();
        QVERIFY(mirror && mirror->isVisible());
        waitUntilSettled();
        QCOMPARE(mirror->pictures()->currentWidget(), mirror->pictures()->heatmap()); // at once, not at the next change
        View view = window->workspace().view();
        view.heads = {HeadIndex{2}};
        window->workspace().setView(view);
        waitUntilSettled();
        const SharedMatrix shown = mirror->pictures()->heatmap()->view()->contents().matrix;
        QCOMPARE(*shown, *window->stagePanel().heatmap()->view()->contents().matrix);
    }

    // --- states

    void aFailureBeforeTheFirstResultSaysWhyAndOffersToGoOn() {
        Workspace workspace;
        PictureStack pictures(workspace);
        pictures.resize(500, 400);
        pictures.show();
        Scenario broken = sentence().scenario;
        MaskPart part;
        part.kind = MaskPart::Kind::Matrix;
        part.additive = share(Matrix(2, 3));
        broken.mask.parts = {part};
        workspace.reset(broken);
        waitUntilSettled();
        QVERIFY(pictures.note().contains(QStringLiteral("2 x 3")));
        QVERIFY(pictures.findChild<QPushButton*>()->isVisible());
        workspace.edit(QStringLiteral("no mask"), sentence().scenario);
        waitUntilSettled();
        QVERIFY(pictures.note().isEmpty());
    }

    void openingIsSaidAndCanBeStopped() {
        const auto window = shownWindow();
        const Scenario before = window->workspace().scenario();
        QStringList tasks;
        connect(&window->session(), &DocumentSession::taskChanged, this, [&](const QString& t) { tasks << t; });
        ModelSource mini;
        mini.name = "mini";
        window->session().useModel(mini);
        window->session().stopTask();
        waitUntilSettled();
        QCOMPARE(tasks.first(), QStringLiteral("Opening mini"));
        QCOMPARE(tasks.last(), QString());
        QVERIFY(window->workspace().scenario() == before);
    }

    void playingGoesOnAtItsPace() {
        const auto window = shownWindow();
        StageStepper* stepper = window->stagePanel().stepper();
        View view = window->workspace().view();
        view.stage = Stage::Q;
        window->workspace().setView(view);
        stepper->setPace(20);
        stepper->setPlaying(true);
        QTRY_VERIFY(window->workspace().view().stage > Stage::Scores);
        stepper->setPlaying(false);
    }

    // --- a screen reader

    void cellsOfTheWeightsAreReadAloud() {
        const auto window = shownWindow();
        auto* table = window->findChild<WeightTable*>();
        QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(table);
        QVERIFY(interface && interface->tableInterface());
        QAccessibleInterface* cell = interface->tableInterface()->cellAt(1, 2);
        QVERIFY(cell);
        QCOMPARE(cell->text(QAccessible::Name), table->model()->index(1, 2).data().toString());
    }
};

QTEST_MAIN(TestEditing)
#include "tst_editing.moc"
