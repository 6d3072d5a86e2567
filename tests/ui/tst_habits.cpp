// What people do with any program, and expect to work in this one: drop a file, open, save, print, answer the question
// about unsaved edits, find the window as they left it, type numbers as their country writes them, lose nothing in a
// crash. Every test states a law.
#include "core/attention/head_stages.h"
#include "ui/autosave.h"
#include "ui/copying.h"
#include "ui/document_session.h"
#include "ui/examples.h"
#include "ui/main_window.h"
#include "ui/mirror_window.h"
#include "ui/screenshot.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/widgets/cell_inspector.h"
#include "ui/widgets/cell_menu.h"
#include "ui/widgets/head_grid.h"
#include "ui/widgets/heatmap_panel.h"
#include "ui/widgets/message_strip.h"
#include "ui/widgets/sentence_bar.h"
#include "ui/widgets/stage_panel.h"
#include "ui/widgets/stage_stepper.h"
#include "ui/widgets/status_line.h"
#include "ui/widgets/view_controls.h"

#include <QCloseEvent>
#include <QDockWidget>
#include <QDropEvent>
#include <QFileDialog>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMessageBox>
#include <QMimeData>
#include <QPrinter>
#include <QPushButton>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <QUrl>

#include <algorithm>
#include <memory>

using namespace headscope;

namespace {

constexpr float minusInfinity = -std::numeric_limits<float>::infinity();

Document documentOf(const QString& text, const std::string& model = "toy") {
    ScenarioRequest request;
    request.source.name = model;
    request.text = toUtf8(text);
    return {makeScenario(std::move(request)), View()};
}

std::unique_ptr<MainWindow> shownWindow(Document document, bool remembers = false) {
    auto window = std::make_unique<MainWindow>(std::move(document), remembers);
    window->show();
    waitUntilSettled();
    return window;
}

void drop(MainWindow& window, const QMimeData& data) {
    QDragEnterEvent enter(QPoint(50, 50), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window, &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent event(QPointF(50, 50), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(&window, &event);
    waitUntilSettled();
}

void dropFile(MainWindow& window, const QString& path) {
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(path)});
    drop(window, data);
}

QString writeFile(const QTemporaryDir& folder, const QString& name, const QByteArray& bytes) {
    QFile file(folder.filePath(name));
    if (file.open(QIODevice::WriteOnly))
        file.write(bytes);
    return file.fileName();
}

// Answers the modal dialog that the next call opens.
template<class Dialog, class Answer>
void whenAsked(Answer answer) {
    QTimer::singleShot(50, [answer] {
        auto* dialog = qobject_cast<Dialog*>(QApplication::activeModalWidget());
        QVERIFY(dialog);
        answer(*dialog);
    });
}

void typeNext(const QString& text) {
    whenAsked<QInputDialog>([text](QInputDialog& dialog) {
        dialog.setTextValue(text);
        dialog.accept();
    });
}

void answerNext(QMessageBox::StandardButton button) {
    whenAsked<QMessageBox>([button](QMessageBox& box) { QTest::mouseClick(box.button(button), Qt::LeftButton); });
}

void chooseFileNext(const QString& path) {
    whenAsked<QFileDialog>([path](QFileDialog& dialog) {
        auto* name = dialog.findChild<QLineEdit*>(QStringLiteral("fileNameEdit"));
        QVERIFY(name);
        name->setText(path);
        QTest::keyClick(name, Qt::Key_Return);
    });
}

// The action of a menu by its beginning, as the user reads it.
void choose(QWidget& owner, const QString& begins) {
    for (QAction* action : owner.findChildren<QAction*>())
        if (action->text().remove(u'&').startsWith(begins))
            return action->trigger();
    QFAIL(qPrintable(QStringLiteral("no action ") + begins));
}

float weightAt(MainWindow& window, int row, int col) {
    return (*stageMatrix(*window.workspace().trace(), LayerIndex{0}, HeadIndex{0}, Stage::Weights))(row, col);
}

void useModel(MainWindow& window, const QString& name) {
    emit window.sentenceBar().modelRequested(name);
    waitUntilSettled();
}

QString textOf(MainWindow& window) {
    return fromUtf8(window.workspace().scenario().firstText());
}

} // namespace

class TestHabits : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        QApplication::setOrganizationName(QStringLiteral("Headscope"));
        QApplication::setApplicationName(QStringLiteral("habits"));
        QApplication::setAttribute(Qt::AA_DontUseNativeDialogs);
        applyTheme(makeTheme(false, false));
    }
    void init() { QSettings().clear(); }
    void cleanup() { QLocale::setDefault(QLocale::c()); }

    // --- at first sight

    void theFirstResultPinsTheStrongestCell() {
        const auto window = shownWindow(documentOf(QStringLiteral("one two three four")));
        const SharedMatrix weights =
            stageMatrix(*window->workspace().trace(), LayerIndex{0}, HeadIndex{0}, Stage::Weights);
        QVERIFY(window->workspace().view().cell);
        const CellRef cell = *window->workspace().view().cell;
        for (int r = 0; r < weights->rows(); ++r)
            for (int c = 1; c < weights->cols(); ++c)
                QVERIFY(r == c || (*weights)(r, c) <= (*weights)(cell.row, cell.col));
    }

    void theStrongestCellFollowsTheTextUntilOneIsChosen() {
        const auto window = shownWindow(documentOf(QStringLiteral("one two three"), "patterns"));
        QCOMPARE(window->workspace().view().cell, std::optional(CellRef{2, 1})); // "previous token", off the first key
        window->sentenceBar().setText(QStringLiteral("one"));
        waitUntilSettled();
        QCOMPARE(window->workspace().view().cell, std::optional(CellRef{0, 0}));
        window->sentenceBar().setText(QStringLiteral("one two three four"));
        waitUntilSettled();
        QCOMPARE(window->workspace().view().cell, std::optional(CellRef{2, 1}));
        View view = window->workspace().view();
        view.cell = CellRef{1, 1};
        window->workspace().setView(view);
        window->sentenceBar().setText(QStringLiteral("one two three four five"));
        waitUntilSettled();
        QCOMPARE(window->workspace().view().cell, std::optional(CellRef{1, 1}));
    }

    void whatTheUserUnpinnedStaysUnpinned() {
        const auto window = shownWindow(documentOf(QStringLiteral("one two three four")));
        View view = window->workspace().view();
        view.cell.reset();
        window->workspace().setView(view);
        window->sentenceBar().setText(QStringLiteral("five six seven"));
        waitUntilSettled();
        QVERIFY(!window->workspace().view().cell);
    }

    void aWordThatTheVocabularyLacksIsNamedWithItsPieces() {
        const auto window = shownWindow(documentOf(QStringLiteral("The quantum dog sleeps"), "story"));
        const auto pieces = std::ranges::count_if(window->workspace().scenario().query.tokens, [](const Token& t) {
            return t.range && t.range->start >= 4 && t.range->end <= 11; // the bytes of "quantum"
        });
        QVERIFY(pieces > 3);
        QString said;
        for (const QLabel* label : window->findChild<StatusLine*>()->findChildren<QLabel*>())
            said += label->toolTip();
        QVERIFY2(said.contains(QStringLiteral("quantum in %1 pieces").arg(pieces)), qPrintable(said));
        QVERIFY2(!said.contains(QStringLiteral("dog in")), qPrintable(said));
    }

    void theOwnSentenceComesBackBehindTheWorkedExample() {
        const auto window = shownWindow(documentOf(QStringLiteral("a sentence of mine")));
        useModel(*window, QStringLiteral("worked-example"));
        QCOMPARE(textOf(*window), QStringLiteral("karina is to the store"));
        useModel(*window, QStringLiteral("patterns"));
        QCOMPARE(textOf(*window), QStringLiteral("a sentence of mine"));
    }

    void aTextThatOneModelRefusesGoesToTheNext() {
        const QTemporaryDir folder;
        const auto window = shownWindow(documentOf(QStringLiteral("a sentence of mine")));
        useModel(*window, QStringLiteral("worked-example"));
        window->sentenceBar().setText(QStringLiteral("no such words"));
        waitUntilSettled();
        QCOMPARE(textOf(*window), QStringLiteral("karina is to the store"));
        QVERIFY(window->session().saveTo(folder.filePath(QStringLiteral("a.headscope"))));
        QVERIFY2(window->messages().sentence().contains(QStringLiteral("karina")),
                 qPrintable(window->messages().sentence())); // which text was saved
        useModel(*window, QStringLiteral("patterns"));
        QCOMPARE(textOf(*window), QStringLiteral("no such words"));
    }

    void anExampleBringsAPinOfItsOwn() {
        const auto window = shownWindow(documentOf(QStringLiteral("one two three"), "patterns"));
        View view = window->workspace().view();
        view.cell = CellRef{0, 0};
        window->workspace().setView(view);
        window->sentenceBar().showExample({QStringLiteral("four"), QStringLiteral("one two three four"), {}});
        waitUntilSettled();
        QCOMPARE(window->workspace().view().cell, std::optional(CellRef{2, 1})); // "previous token", off the first key
    }

    void theMirrorIsCalledAndSentAwayByOneKey() {
        const auto window = shownWindow(documentOf(QStringLiteral("one two three")));
        QAction* mirror = nullptr;
        for (QAction* action : window->findChildren<QAction*>())
            if (action->shortcut() == (Qt::SHIFT | Qt::Key_F11))
                mirror = action;
        QVERIFY(mirror);
        mirror->trigger();
        auto* other = window->findChild<MirrorWindow*>();
        QVERIFY(other && other->isVisible());
        QVERIFY(other->actions().contains(mirror)); // its key is heard there too
        mirror->trigger();
        QVERIFY(!other->isVisible());
    }

    void theFormulaIsLargerThanTheTextInEveryLook() {
        const auto window = shownWindow(documentOf(QStringLiteral("one two three")));
        const auto* formula = window->findChild<QLabel*>(QStringLiteral("stageFormula"));
        for (int time = 0; time < 2; ++time) { // there and back
            for (QAction* action : window->findChildren<QAction*>())
                if (action->shortcut() == QKeySequence(Qt::Key_F6))
                    action->trigger();
            waitUntilSettled();
            QVERIFY2(formula->font().pointSizeF() > 1.1 * QApplication::font().pointSizeF(),
                     qPrintable(QString::number(formula->font().pointSizeF() / QApplication::font().pointSizeF())));
        }
    }

    void whatIsJoinedOrLeftOutIsSaidBesideThePicture() {
        const auto window = shownWindow(documentOf(QStringLiteral("one two three"), "mini"));
        const auto said = [&window] {
            QString texts;
            for (const QLabel* label : window->findChild<StagePanel*>()->findChildren<QLabel*>())
                texts += label->text();
            return texts + window->findChild<CellInspector*>()->toPlainText();
        };
        View view = window->workspace().view();
        view.cell = CellRef{1, 2};
        view.layer = LayerIndex{0};
        view.heads = {HeadIndex{3}, HeadIndex{5}};
        view.combine = Combine::Mean;
        window->workspace().setView(view);
        waitUntilSettled();
        QVERIFY2(said().contains(QStringLiteral("the mean of each cell")), qPrintable(said()));
        QVERIFY2(said().contains(QStringLiteral("L0 H3: ")), qPrintable(said())); // whose arithmetic it is
        view.heads = {HeadIndex{3}};
        view.special = Special::Drop;
        view.figure = FigureKind::Walk;
        window->workspace().setView(view);
        waitUntilSettled();
        QVERIFY2(said().contains(QStringLiteral("every token is shown as it is")), qPrintable(said()));
    }

    // --- dropping

    void aDroppedTextBecomesTheSentence() {
        const auto window = shownWindow(documentOf(QStringLiteral("one two")));
        QMimeData data;
        data.setText(QStringLiteral("three four\nfive"));
        drop(*window, data);
        QCOMPARE(window->workspace().scenario().query.source, std::string("three four five"));
        QCOMPARE(window->workspace().undoStack()->undoText(), QStringLiteral("Drop a text"));
    }

    void aDroppedTextFileIsReadAsUtf8() {
        const QTemporaryDir folder;
        const auto window = shownWindow(documentOf(QStringLiteral("one two")));
        dropFile(*window, writeFile(folder, QStringLiteral("a.txt"), "caf\xc3\xa9 noir\n"));
        QCOMPARE(fromUtf8(window->workspace().scenario().query.source), QStringLiteral("café noir"));
    }

    void aDroppedScenarioIsOpened() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("a.headscope"));
        saveScenario(documentOf(QStringLiteral("from a file")), toUtf8(path));
        const auto window = shownWindow(documentOf(QStringLiteral("one two")));
        dropFile(*window, path);
        QCOMPARE(window->workspace().trace()->scenario.queries(), 3);
        QCOMPARE(window->session().displayName(), QStringLiteral("a.headscope"));
    }

    void aDroppedFileThatIsNoneIsRefusedInOneSentence_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"a.headscope", "a.safetensors", "a.npz"})
            QTest::newRow(name) << QString::fromLatin1(name);
    }
    void aDroppedFileThatIsNoneIsRefusedInOneSentence() {
        QFETCH(const QString, name);
        const QTemporaryDir folder;
        const auto window = shownWindow(documentOf(QStringLiteral("one two")));
        dropFile(*window, writeFile(folder, name, "this is no such file"));
        QVERIFY2(window->messages().sentence().contains(name), qPrintable(window->messages().sentence()));
        QCOMPARE(window->workspace().trace()->scenario.queries(), 2);
    }

    void theSentenceFieldDoesNotSwallowADroppedFile() {
        const auto window = shownWindow(documentOf(QStringLiteral("one two")));
        for (const QLineEdit* field : window->sentenceBar().findChildren<QLineEdit*>())
            QVERIFY(!field->acceptDrops());
    }

    // --- files

    void savingAndOpeningByDialogKeepsEverything() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("kept.headscope"));
        const auto window = shownWindow(documentOf(QStringLiteral("one two three")));
        setMaskCell(window->workspace(), {1, 2}, false);
        waitUntilSettled();
        chooseFileNext(folder.filePath(QStringLiteral("kept"))); // the suffix is added
        choose(*window, QStringLiteral("Save as"));
        QVERIFY(QFile::exists(path));
        QVERIFY(!window->session().unsaved());
        const auto other = shownWindow(documentOf(QStringLiteral("another")));
        chooseFileNext(path);
        choose(*other, QStringLiteral("Open…"));
        waitUntilSettled();
        QCOMPARE(weightAt(*other, 1, 2), 0.0F);
    }

    void theLastFilesAreOfferedNewestFirst() {
        const QTemporaryDir folder;
        const auto window = shownWindow(documentOf(QStringLiteral("one two")));
        for (const char* name : {"first.headscope", "second.headscope"})
            QVERIFY(window->session().saveTo(folder.filePath(QString::fromLatin1(name))));
        QMenu menu;
        window->session().fillRecentMenu(&menu);
        QCOMPARE(menu.actions().at(0)->text(), QStringLiteral("second.headscope"));
        QCOMPARE(menu.actions().at(1)->text(), QStringLiteral("first.headscope"));
        menu.actions().at(1)->trigger();
        waitUntilSettled();
        QCOMPARE(window->session().displayName(), QStringLiteral("first.headscope"));
    }

    void closingWithUnsavedEditsAsks() {
        const auto window = shownWindow(documentOf(QStringLiteral("one two")));
        setMaskCell(window->workspace(), {0, 1}, false);
        answerNext(QMessageBox::Cancel);
        QVERIFY(!window->close());
        QVERIFY(window->isVisible());
        answerNext(QMessageBox::Discard);
        QVERIFY(window->close());
    }

    void savingInTheQuestionSaves() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("a.headscope"));
        const auto window = shownWindow(documentOf(QStringLiteral("one two")));
        QVERIFY(window->session().saveTo(path));
        setMaskCell(window->workspace(), {0, 1}, false);
        answerNext(QMessageBox::Save);
        QVERIFY(window->close());
        QCOMPARE(openScenario(toUtf8(path)).scenario.interventions.size(), std::size_t{1});
    }

    void nothingChangedNothingAsked() { QVERIFY(shownWindow(documentOf(QStringLiteral("one two")))->close()); }

    void theLayoutIsAsItWasLeft() {
        {
            const auto window = shownWindow(documentOf(QStringLiteral("one two")), true);
            window->resize(1200, 800);
            window->findChild<QDockWidget*>(QStringLiteral("found"))->hide();
            waitUntilSettled();
            QVERIFY(window->close());
        }
        const auto window = shownWindow(documentOf(QStringLiteral("one two")), true);
        QCOMPARE(window->size(), QSize(1200, 800));
        QVERIFY(!window->findChild<QDockWidget*>(QStringLiteral("found"))->isVisible());
        choose(*window, QStringLiteral("Reset the layout"));
        QVERIFY(window->findChild<QDockWidget*>(QStringLiteral("found"))->isVisible());
    }

    void thePaceOfPlayingIsAsItWasLeft() {
        const int slow = 5000;
        {
            const auto window = shownWindow(documentOf(QStringLiteral("one two")), true);
            choose(*window, QStringLiteral("Slow"));
            QCOMPARE(window->stagePanel().stepper()->pace(), slow);
        }
        QCOMPARE(shownWindow(documentOf(QStringLiteral("one two")), true)->stagePanel().stepper()->pace(), slow);
        QVERIFY(shownWindow(documentOf(QStringLiteral("one two")))->stagePanel().stepper()->pace() != slow);
    }

    // Half a screen: the panels stand behind each other, and a wide window has them as they were.
    void panelsGiveWayInANarrowWindowAndComeBack() {
        const auto window = shownWindow(documentOf(QStringLiteral("one two")), true);
        window->resize(1366, 768);
        waitUntilSettled();
        const auto dock = [&](const char* name) { return window->findChild<QDockWidget*>(QLatin1String(name)); };
        dock("found")->hide();
        QCOMPARE(window->tabifiedDockWidgets(dock("heads")).size(), 0);
        window->resize(960, 540);
        waitUntilSettled();
        QCOMPARE(window->size(), QSize(960, 540));
        QVERIFY(window->tabifiedDockWidgets(dock("heads")).contains(dock("inspector")));
        QVERIFY(window->stagePanel().width() > 500);
        window->resize(1366, 768);
        waitUntilSettled();
        QCOMPARE(window->tabifiedDockWidgets(dock("heads")).size(), 0);
        QVERIFY(dock("found")->isHidden());
        QVERIFY(dock("inspector")->x() > window->stagePanel().mapTo(window.get(), QPoint()).x());
    }

    void aPrintedFigureIsAPdfWithItsTokensAsText() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("print.pdf"));
        const auto window = shownWindow(documentOf(QStringLiteral("one two three")));
        QPrinter printer(QPrinter::ScreenResolution);
        printer.setOutputFormat(QPrinter::PdfFormat);
        printer.setOutputFileName(path);
        printFigure(window->workspace(), printer);
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray bytes = file.readAll();
        QVERIFY(bytes.startsWith("%PDF-"));
        QVERIFY(bytes.contains("/Font"));
        QVERIFY(!bytes.contains("DCTDecode")); // no lossy picture
    }

    // --- a crash

    void whatACrashLeavesIsFoundAndWhatRunsIsNot() {
        const QTemporaryDir folder;
        const auto window = shownWindow(documentOf(QStringLiteral("one two")));
        Autosave autosave(window->workspace(), folder.path());
        autosave.saveNow();
        waitUntilSettled();
        QVERIFY(!QFile::exists(autosave.path())); // nothing is unsaved
        setMaskCell(window->workspace(), {0, 1}, false);
        autosave.saveNow();
        waitUntilSettled();
        QVERIFY(QFile::exists(autosave.path()));
        QVERIFY(Autosave::leftBehind(folder.path()).isEmpty()); // this program runs
        const QString left = folder.filePath(QStringLiteral("of-a-crash.headscope"));
        QVERIFY(QFile::copy(autosave.path(), left));
        QCOMPARE(Autosave::leftBehind(folder.path()), QStringList{left});
        QVERIFY(window->session().saveTo(folder.filePath(QStringLiteral("a.headscope_"))));
        QVERIFY(!QFile::exists(autosave.path())); // saved: no need for it
    }

    void recoveredWorkIsAnUnsavedChange() {
        const QTemporaryDir folder;
        saveScenario(documentOf(QStringLiteral("nearly lost")), toUtf8(folder.filePath(QStringLiteral("1.headscope"))));
        const auto window = shownWindow(documentOf(QStringLiteral("one two three")));
        answerNext(QMessageBox::Open);
        window->session().offerRecovery(folder.path());
        waitUntilSettled();
        QCOMPARE(window->workspace().scenario().query.source, std::string("nearly lost"));
        QVERIFY(window->session().unsaved());
        QVERIFY(window->session().path().isEmpty()); // nobody has noted whose work it was
        QVERIFY(Autosave::leftBehind(folder.path()).isEmpty());
    }

    // A second crash right after the recovery loses nothing, and no file is at risk from an undo.
    void recoveredWorkIsKeptUntilItIsSaved() {
        const QTemporaryDir folder;
        const QString first = folder.filePath(QStringLiteral("1.headscope")),
                      second = folder.filePath(QStringLiteral("2.headscope"));
        for (const QString& left : {first, second})
            saveScenario(documentOf(QStringLiteral("nearly lost")), toUtf8(left));
        const auto window = shownWindow(documentOf(QStringLiteral("one two three")));
        Autosave autosave(window->workspace(), folder.path());
        connect(&window->session(), &DocumentSession::recovered, &autosave, &Autosave::adopt);
        answerNext(QMessageBox::Open);
        window->session().offerRecovery(folder.path());
        waitUntilSettled();
        QVERIFY(QFile::exists(autosave.path()));
        QCOMPARE(Autosave::leftBehind(folder.path()).size(), 1); // the other waits for the next start
        QVERIFY(window->session().path().isEmpty());
        QVERIFY(window->session().saveTo(folder.filePath(QStringLiteral("kept.headscope_"))));
        QVERIFY(!QFile::exists(autosave.path()));
    }

    // --- numbers and menus

    void typedNumbersFollowTheLocaleThenThePoint_data() {
        QTest::addColumn<QString>("locale");
        QTest::addColumn<QString>("typed");
        QTest::addColumn<bool>("taken");
        QTest::newRow("German comma") << "de_DE"
                                      << "0,25" << true;
        QTest::newRow("German point") << "de_DE"
                                      << "0.25" << true;
        QTest::newRow("English point") << "en_US"
                                       << "0.25" << true;
        QTest::newRow("English group mark") << "en_US"
                                            << "0,25" << false;
        QTest::newRow("no number") << "C"
                                   << "much" << false;
    }
    void typedNumbersFollowTheLocaleThenThePoint() {
        QFETCH(const QString, locale);
        QFETCH(const QString, typed);
        QFETCH(const bool, taken);
        QLocale::setDefault(QLocale(locale));
        const auto window = shownWindow(documentOf(QStringLiteral("one two")));
        ViewControls& controls = *window->stagePanel().controls();
        typeNext(typed);
        choose(controls, QStringLiteral("a number"));
        const Scale& scale = window->workspace().scenario().scale;
        QCOMPARE(scale.kind == Scale::Kind::Number, taken);
        QVERIFY(!taken || scale.number == 0.25);
        QCOMPARE(window->messages().sentence().isEmpty(), taken);
    }

    void rangeAndCurveTakeADecimalComma() {
        QLocale::setDefault(QLocale(QStringLiteral("de_DE")));
        const auto window = shownWindow(documentOf(QStringLiteral("one two")));
        ViewControls& controls = *window->stagePanel().controls();
        typeNext(QStringLiteral("0,2:0,8"));
        choose(controls, QStringLiteral("fixed"));
        QCOMPARE(window->workspace().view().range, parseRange("0.2:0.8"));
        typeNext(QStringLiteral("gamma:0,7"));
        for (QAction* action : controls.findChildren<QAction*>())
            if (action->text() == QStringLiteral("other…")) {
                action->trigger();
                break;
            }
        QCOMPARE(window->workspace().view().curve, parseCurve("gamma:0.7"));
    }

    void aMaskIsReadFromAFileThroughTheMenu() {
        const QTemporaryDir folder;
        const QString path = writeFile(folder, QStringLiteral("mask.csv"), "1,0\n1,1\n");
        const auto window = shownWindow(documentOf(QStringLiteral("one two")));
        chooseFileNext(path);
        choose(*window->stagePanel().controls(), QStringLiteral("from a file"));
        waitUntilSettled();
        QCOMPARE(weightAt(*window, 0, 1), 0.0F);
        QVERIFY(weightAt(*window, 1, 0) > 0);
        QCOMPARE(window->workspace().undoStack()->undoText(), QStringLiteral("Mask from a file"));
    }

    // --- one cell

    void aScoreSetByHandIsANamedStep() {
        const auto window = shownWindow(documentOf(QStringLiteral("one two")));
        const float before = weightAt(*window, 0, 1);
        setScore(window->workspace(), {0, 1}, 50);
        waitUntilSettled();
        QVERIFY(weightAt(*window, 0, 1) > 0.99F);
        QCOMPARE(window->workspace().undoStack()->undoText(), QStringLiteral("Set score one → two of L0 H0 to 50"));
        window->workspace().undoStack()->undo();
        waitUntilSettled();
        QCOMPARE(weightAt(*window, 0, 1), before);
    }

    void aCellIsClosedOpenedAndRestored() {
        const auto window = shownWindow(documentOf(QStringLiteral("one two")));
        Workspace& workspace = window->workspace();
        const float before = weightAt(*window, 0, 1);
        setMaskCell(workspace, {0, 1}, false);
        QCOMPARE(workspace.undoStack()->undoText(), QStringLiteral("Close one → two in the mask"));
        waitUntilSettled();
        QCOMPARE(weightAt(*window, 0, 1), 0.0F);
        QCOMPARE(workspace.scenario().interventions.front().value, minusInfinity);
        const int maskStep = stageInfo(Stage::Masked).step;
        QCOMPARE(stepSubtitle(workspace.scenario(), maskStep), QStringLiteral("none + 1"));
        setMaskCell(workspace, {0, 1}, true);
        QCOMPARE(workspace.scenario().interventions.size(), std::size_t{1}); // one opinion per cell
        restoreCell(workspace, {0, 1});
        QVERIFY(!isSetByHand(workspace, {0, 1}));
        waitUntilSettled();
        QCOMPARE(weightAt(*window, 0, 1), before);
    }

    void theContextMenuOfACellActsOnIt() {
        const auto window = shownWindow(documentOf(QStringLiteral("one two")));
        HeatmapView* view = window->stagePanel().heatmap()->view();
        const QPoint place = view->cellCentre({1, 0}).toPoint();
        QTimer::singleShot(50, [] {
            auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
            QVERIFY(menu);
            for (QAction* action : menu->actions())
                if (action->text().startsWith(QStringLiteral("Close this cell")))
                    action->trigger();
            menu->close();
        });
        QWidget* under = view->childAt(place);
        QContextMenuEvent event(QContextMenuEvent::Mouse, under->mapFrom(view, place), view->mapToGlobal(place));
        QApplication::sendEvent(under, &event);
        waitUntilSettled();
        QCOMPARE(weightAt(*window, 1, 0), 0.0F);
        QCOMPARE(window->workspace().view().cell, std::optional(CellRef{1, 0}));
    }
};

QTEST_MAIN(TestHabits)
#include "tst_habits.moc"
