// The window as a person uses it: typing, choosing, editing, undoing, saving. Every test states a law.
#include "core/attention/head_stages.h"
#include "core/model/tensor_file.h"
#include "core/tensor/errors.h"
#include "ui/copying.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/model_dialog.h"
#include "ui/document_session.h"
#include "ui/latest_wins.h"
#include "ui/main_window.h"
#include "ui/number_export.h"
#include "ui/render_command.h"
#include "ui/screenshot.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/widgets/head_grid.h"
#include "ui/widgets/long_text_bar.h"
#include "ui/widgets/message_strip.h"
#include "ui/widgets/sentence_bar.h"
#include "ui/widgets/stage_panel.h"
#include "ui/widgets/stage_stepper.h"

#include <QAbstractItemModelTester>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFile>
#include <QImage>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>

#include <memory>

using namespace headscope;

namespace {

Document documentOf(const QString& text, const std::string& model = "patterns", const QString& pair = {}) {
    ScenarioRequest request;
    request.source.name = model;
    request.source.cross = !pair.isEmpty();
    request.text = toUtf8(text);
    if (!pair.isEmpty())
        request.pair = toUtf8(pair);
    return {makeScenario(std::move(request)), View()};
}

std::unique_ptr<MainWindow> shownWindow(Document document) {
    auto window = std::make_unique<MainWindow>(std::move(document), false);
    window->show();
    waitUntilSettled();
    return window;
}

// The first example on the first head, as somebody has chosen it.
std::unique_ptr<MainWindow> windowOnFirstHead() {
    Document document = firstDocument();
    document.view.cell = CellRef{0, 1};
    return shownWindow(std::move(document));
}

QLineEdit* sentenceOf(MainWindow& window) {
    return window.sentenceBar().findChild<QLineEdit*>();
}

std::vector<Matrix> allWeights(const AttentionTrace& trace) {
    std::vector<Matrix> all;
    for (int l = 0; l < trace.config().layers; ++l)
        for (int h = 0; h < trace.config().heads; ++h)
            all.push_back(*stageMatrix(trace, LayerIndex{l}, HeadIndex{h}, Stage::Weights));
    return all;
}

} // namespace

class TestMainWindow : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { applyTheme(makeTheme(false, false)); }

    void firstWindowShowsTheFirstExampleWithAPinnedCell() {
        const auto window = shownWindow(firstDocument());
        QVERIFY(window->workspace().trace());
        QCOMPARE(window->workspace().scenario().query.source, std::string("The cat sat on the mat"));
        QCOMPARE(window->workspace().trace()->scenario.source.name, std::string(defaultModelName()));
        QVERIFY(window->workspace().view().cell.has_value());
    }

    void typingComputesAnewAndIsOneUndoStep() {
        const auto window = shownWindow(documentOf(QStringLiteral("one two")));
        QLineEdit* field = sentenceOf(*window);
        field->setFocus();
        field->end(false);
        QTest::keyClicks(field, QStringLiteral(" three four"));
        waitUntilSettled();
        QCOMPARE(window->workspace().trace()->scenario.queries(), 4);
        QCOMPARE(window->workspace().undoStack()->count(), 1);
        QCOMPARE(window->workspace().undoStack()->undoText(), QStringLiteral("Change the text"));
    }

    void theLatestOfManyTextsWins() {
        const auto window = shownWindow(documentOf(QStringLiteral("start")));
        for (int i = 1; i <= 20; ++i)
            window->sentenceBar().setText(QStringLiteral("word ").repeated(i));
        waitUntilSettled();
        QCOMPARE(window->workspace().trace()->scenario.queries(), 20);
        QCOMPARE(window->workspace().trace()->scenario, window->workspace().scenario());
    }

    void anEmptySentenceHintsAndKeepsTheLastResult() {
        const auto window = shownWindow(documentOf(QStringLiteral("one two")));
        window->sentenceBar().setText(QStringLiteral("  "));
        waitUntilSettled();
        QCOMPARE(window->workspace().trace()->scenario.queries(), 2);
        QCOMPARE(window->messages().sentence(), QString());
        window->sentenceBar().setText(QStringLiteral("three"));
        waitUntilSettled();
        QCOMPARE(window->workspace().trace()->scenario.queries(), 1);
    }

    void aTextThatIsTooLongIsExplainedWithBothNumbers() {
        const auto window = shownWindow(documentOf(QStringLiteral("one two")));
        window->sentenceBar().setText(QStringLiteral("word ").repeated(600));
        waitUntilSettled();
        const QString said = window->longText().sentence();
        QVERIFY2(said.contains(QStringLiteral("600")) && said.contains(QStringLiteral("512")), qPrintable(said));
        QCOMPARE(window->workspace().trace()->scenario.queries(), 2);
    }

    void arrowKeysMoveAmongTheHeads() {
        const auto window = windowOnFirstHead();
        auto* grid = window->findChild<HeadGrid*>();
        QAbstractItemModelTester tester(grid->model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        grid->setFocus();
        QTest::keyClick(grid, Qt::Key_Right);
        QTest::keyClick(grid, Qt::Key_Right);
        QCOMPARE(window->workspace().view().heads, std::vector<HeadIndex>{HeadIndex{2}});
        QTest::keyClick(grid, Qt::Key_Right, Qt::ShiftModifier);
        QCOMPARE(window->workspace().view().heads, (std::vector<HeadIndex>{HeadIndex{2}, HeadIndex{3}}));
    }

    void oneKeySwitchesAHeadOffAndUndoBringsItBack() {
        const auto window = windowOnFirstHead();
        auto* grid = window->findChild<HeadGrid*>();
        QTest::keyClick(grid, Qt::Key_X);
        QVERIFY(window->workspace().scenario().headIsOff(LayerIndex{0}, HeadIndex{0}));
        QCOMPARE(window->workspace().undoStack()->undoText(), QStringLiteral("Switch L0 H0 off"));
        window->workspace().undoStack()->undo();
        QVERIFY(!window->workspace().scenario().headIsOff(LayerIndex{0}, HeadIndex{0}));
    }

    void nextAndBackPassThroughEveryAvailableStage() {
        const auto window = shownWindow(firstDocument());
        StageStepper* stepper = window->stagePanel().stepper();
        View view = window->workspace().view();
        view.stage = Stage::Embedding;
        window->workspace().setView(view);
        int visited = 1;
        for (Stage before = Stage::Norms; before != window->workspace().view().stage; ++visited) {
            before = window->workspace().view().stage;
            stepper->next();
        }
        QCOMPARE(window->workspace().view().stage, Stage::Norms);
        QCOMPARE(visited - 1, stageCount - 1); // all but embedding_key, which self-attention has not
        stepper->back();
        QCOMPARE(window->workspace().view().stage, Stage::Output);
    }

    void aMaskIsOneUndoStepWithAName() {
        const auto window = shownWindow(firstDocument());
        Scenario next = window->workspace().scenario();
        next.mask = parseMask("causal");
        QVERIFY(window->workspace().edit(QStringLiteral("Mask causal"), next));
        waitUntilSettled();
        QCOMPARE(window->workspace().undoStack()->count(), 1);
        QCOMPARE(window->workspace().undoStack()->undoText(), QStringLiteral("Mask causal"));
        QCOMPARE((*stageMatrix(*window->workspace().trace(), LayerIndex{0}, HeadIndex{0}, Stage::Weights))(0, 1), 0.0F);
    }

    void anEditThatDoesNotFitIsRefusedInOneSentence() {
        const auto window = shownWindow(firstDocument());
        Scenario next = window->workspace().scenario();
        next.mask = parseMask("padding:40");
        QVERIFY(!window->workspace().edit(QStringLiteral("Mask"), next));
        QVERIFY(window->messages().sentence().contains(QStringLiteral("40")));
        QCOMPARE(window->workspace().undoStack()->count(), 0);
    }

    void everySentenceIsAStepAndCtrlZIsTheWindows() {
        const auto window = shownWindow(documentOf(QStringLiteral("one two")));
        QLineEdit* text = sentenceOf(*window);
        QUndoStack* steps = window->workspace().undoStack();
        window->activateWindow();
        const auto write = [text](const QString& sentence) {
            text->setFocus();
            text->selectAll();
            QTest::keyClicks(text, sentence);
            QTest::keyClick(text, Qt::Key_Return);
        };
        write(QStringLiteral("the first sentence"));
        write(QStringLiteral("the second sentence"));
        QCOMPARE(steps->count(), 2);
        QKeyEvent undo(QEvent::ShortcutOverride, Qt::Key_Z, Qt::ControlModifier);
        undo.ignore();
        QApplication::sendEvent(text, &undo);
        QVERIFY(!undo.isAccepted()); // the field leaves it to the window
        steps->undo();
        QCOMPARE(text->text(), QStringLiteral("the first sentence"));
        steps->undo();
        QCOMPARE(text->text(), QStringLiteral("one two"));
        steps->redo();
        QCOMPARE(text->text(), QStringLiteral("the first sentence"));
    }

    void thePinKeepsItsMeaningFromStageToStage() {
        ScenarioRequest request;
        request.source.name = "toy"; // 8 heads of 8 dimensions
        request.text = "one two three four five";
        const auto window = shownWindow({makeScenario(std::move(request)), View()});
        Workspace& workspace = window->workspace();
        View view = workspace.view();
        view.heads = {HeadIndex{3}};
        view.stage = Stage::Weights;
        view.cell = CellRef{1, 4};
        workspace.setView(view);
        workspace.showStage(Stage::K); // the row of the key
        QCOMPARE(workspace.view().cell->row, 4);
        QCOMPARE(workspace.pinnedQuery(), 1); // its row is a key's
        view = workspace.view();
        view.stage = Stage::HeadOutput;
        view.cell = CellRef{1, 6};
        workspace.setView(view);
        workspace.showStage(Stage::Concat); // the same dimension of the same head
        QCOMPARE(*workspace.view().cell, (CellRef{1, 3 * 8 + 6}));
        workspace.showStage(Stage::Output);
        workspace.showStage(Stage::Weights);
        QCOMPARE(*workspace.view().cell, (CellRef{1, 4}));
        workspace.showStage(Stage::Q);
        QCOMPARE(*workspace.view().cell, (CellRef{1, 6}));
    }

    void numbersAreExportedAsTheCommandLineWritesThem() {
        const auto window = shownWindow(documentOf(QStringLiteral("one two three")));
        const SharedTrace trace = window->workspace().trace();
        QTemporaryDir folder;
        const std::string path = toUtf8(folder.filePath(QStringLiteral("n.npz")));
        writeNumbers(*trace, window->workspace().view(), path);
        const auto file = openTensorFile(path);
        const SharedMatrix weights = stageMatrix(*trace, LayerIndex{0}, HeadIndex{0}, Stage::Weights);
        const Floats all = file->read(*file->find("layers.0.self.weights"));
        QVERIFY(std::ranges::equal(weights->values(), std::span(all).first(weights->size())));
        const std::string table = toUtf8(folder.filePath(QStringLiteral("n.csv")));
        writeNumbers(*trace, window->workspace().view(), table);
        QFile csv(fromUtf8(table));
        QVERIFY(csv.open(QIODevice::ReadOnly));
        QCOMPARE(csv.readLine().trimmed(), QByteArray(",one,two,three"));
        QVERIFY_EXCEPTION_THROWN(writeNumbers(*trace, window->workspace().view(), table + "x"), InputError);
    }

    void undoBackToTheStartGivesTheSameBits() {
        const auto window = shownWindow(documentOf(QStringLiteral("The cat sat on the mat"), "toy"));
        Workspace& workspace = window->workspace();
        const std::vector<Matrix> before = allWeights(*workspace.trace());
        Scenario next = workspace.scenario();
        Matrix w = *next.model->tensor({LayerIndex{0}, WeightKind::WQ});
        w(2, 1) = 3.0F;
        next.model = next.model->withTensor({LayerIndex{0}, WeightKind::WQ}, share(std::move(w)));
        workspace.edit(QStringLiteral("Set W_Q[2, 1]"), next);
        next.temperature = 0.3;
        workspace.edit(QStringLiteral("Temperature"), next);
        window->sentenceBar().setText(QStringLiteral("something else"));
        waitUntilSettled();
        QVERIFY(allWeights(*workspace.trace()) != before);
        while (workspace.undoStack()->canUndo())
            workspace.undoStack()->undo();
        waitUntilSettled();
        QVERIFY(allWeights(*workspace.trace()) == before);
    }

    void aSavedScenarioOpensAsTheSameWindow() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("cat.headscope"));
        const auto window = shownWindow(documentOf(QStringLiteral("The cat sat"), "toy"));
        Scenario next = window->workspace().scenario();
        next.temperature = 0.5;
        window->workspace().edit(QStringLiteral("Temperature"), next);
        View view = window->workspace().view();
        view.heads = {HeadIndex{3}};
        view.stage = Stage::Scaled;
        window->workspace().setView(view);
        waitUntilSettled();
        QVERIFY(window->session().unsaved());
        QVERIFY(window->session().saveTo(path));
        QVERIFY(!window->session().unsaved());
        const auto opened = shownWindow(openAnyFile(path, {}));
        QCOMPARE(opened->workspace().view(), view);
        QCOMPARE(opened->workspace().scenario().temperature, 0.5);
        QVERIFY(allWeights(*opened->workspace().trace()) == allWeights(*window->workspace().trace()));
    }

    void aSecondTextMakesCrossAttention() {
        const auto window = shownWindow(documentOf(QStringLiteral("The cat sat"), "toy"));
        window->sentenceBar().setSecondText(true);
        window->findChildren<QLineEdit*>(); // both fields exist
        waitUntilSettled();
        QVERIFY(window->workspace().scenario().key.has_value());
        QVERIFY(window->workspace().trace()->config().cross);
        window->sentenceBar().setSecondText(false);
        waitUntilSettled();
        QVERIFY(!window->workspace().scenario().key.has_value());
        QVERIFY(!window->workspace().trace()->config().cross);
    }

    void aModelIsChosenAsAnUndoableStep() {
        const auto window = shownWindow(firstDocument());
        ModelSource source;
        source.name = "toy";
        window->session().useModel(source);
        waitUntilSettled();
        QCOMPARE(window->workspace().trace()->config().family, std::string("toy"));
        window->workspace().undoStack()->undo();
        waitUntilSettled();
        QCOMPARE(window->workspace().trace()->config().name, std::string(defaultModelName()));
    }

    void theCommandOfAViewNamesWhatIsShown() {
        Document document = documentOf(QStringLiteral("it's here"), "toy");
        document.view.stage = Stage::Scores;
        document.view.heads = {HeadIndex{1}, HeadIndex{2}};
        document.scenario.mask = parseMask("causal+window:2");
        const QString line = renderCommand(document, {});
        QVERIFY(line.contains(QStringLiteral("--text 'it'\\''s here'")));
        QVERIFY(line.contains(QStringLiteral("--stage scores --layer 0 --head 1,2")));
        QVERIFY(line.contains(QStringLiteral("--mask causal+window:2")));
    }

    void aTableIsCopiedWithLabelsAndEveryDigit() {
        const auto window = shownWindow(documentOf(QStringLiteral("The cat sat on the mat")));
        const QStringList lines = tableText(window->workspace()).split(u'\n', Qt::SkipEmptyParts);
        QCOMPARE(lines.size(), 7);
        QCOMPARE(lines[0].split(u'\t')[2], QStringLiteral("cat"));
        const SharedMatrix weights =
            stageMatrix(*window->workspace().trace(), LayerIndex{0}, HeadIndex{0}, Stage::Weights);
        QCOMPARE(lines[3].split(u'\t')[2].toFloat(), (*weights)(2, 1));
    }

    void theExportDialogWritesWhatItShows() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("figure.pdf"));
        const auto window = shownWindow(firstDocument());
        ExportDialog dialog(figureSource(window->workspace()), figureSpec(window->workspace()));
        dialog.show();
        waitUntilSettled();
        dialog.write(path);
        waitUntilSettled();
        QCOMPARE(dialog.result(), static_cast<int>(QDialog::Accepted));
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.read(5) == "%PDF-");
    }

    void theExportDialogTakesAHeightOfItsOwn() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("figure.png"));
        const auto window = shownWindow(firstDocument());
        ExportDialog dialog(figureSource(window->workspace()), figureSpec(window->workspace()));
        QVERIFY(!dialog.spec().heightMm); // from the contents
        dialog.findChild<QDoubleSpinBox*>(QStringLiteral("height"))->setValue(210);
        waitUntilSettled();
        dialog.write(path);
        waitUntilSettled();
        QCOMPARE(QImage(path).height(), qRound(210 / 25.4 * dialog.spec().dpi));
    }

    void impossibleToySizesAreNamedBeforeTheyAreUsed() {
        ModelSource source;
        source.name = "toy";
        source.toy.dModel = 10;
        source.toy.heads = 4;
        ModelDialog dialog(source);
        dialog.show();
        QVERIFY(!dialog.findChild<QDialogButtonBox*>()->button(QDialogButtonBox::Ok)->isEnabled());
        QVERIFY(dialog.source() == source);
    }

    void aScreenshotIsTheSizeTimesTheScale() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("window.png"));
        ScreenshotSpec spec;
        spec.document = firstDocument();
        spec.size = QSize(1100, 700);
        spec.scaleFactor = 1.5;
        writeScreenshot(spec, path);
        QCOMPARE(QImage(path).size(), QSize(1650, 1050));
    }
};

QTEST_MAIN(TestMainWindow)
#include "tst_main_window.moc"
