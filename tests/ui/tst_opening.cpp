// Opening and saving what takes a while: it is said, it can be stopped, and whatever happens nothing is lost.
#include "tests/support/large_checkpoint.h"
#include "ui/autosave.h"
#include "ui/document_session.h"
#include "ui/latest_wins.h"
#include "ui/main_window.h"
#include "ui/screenshot.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/widgets/message_strip.h"
#include "ui/widgets/status_line.h"

#include <QFile>
#include <QProgressBar>
#include <QProgressDialog>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QToolButton>

#include <memory>

using namespace headscope;

namespace {

Document document() {
    ScenarioRequest request;
    request.source.name = "patterns";
    request.text = "one two three";
    return {makeScenario(std::move(request)), View()};
}

std::unique_ptr<MainWindow> shownWindow(Document shown = document()) {
    auto window = std::make_unique<MainWindow>(std::move(shown), false);
    window->show();
    waitUntilSettled();
    return window;
}

QToolButton* cancelButton(MainWindow& window) {
    for (QToolButton* button : window.findChild<StatusLine*>()->findChildren<QToolButton*>())
        if (button->text() == QStringLiteral("Cancel"))
            return button;
    return nullptr;
}

// A document whose model lies in a file of so many bytes: zeros that take no place on the disk but must be summed.
Document documentOnFile(const QString& path, qint64 bytes) {
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly) || !file.resize(bytes))
        qFatal("cannot write %s", qPrintable(path));
    Document on = document();
    on.scenario.source.name = toUtf8(path);
    return on;
}

void changeIt(Workspace& workspace) {
    Scenario next = workspace.scenario();
    next.temperature = 0.5;
    workspace.edit(QStringLiteral("Temperature"), next);
}

constexpr qint64 secondsToSum = qint64{1} << 30, momentsToSum = qint64{1} << 28;

} // namespace

class TestOpening : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    QString m_checkpoint = m_folder.filePath(QStringLiteral("gpt2"));

private slots:
    void initTestCase() {
        applyTheme(makeTheme(false, false));
        testing::writeLargeCheckpoint(m_checkpoint.toStdString(), {3, 32, 4, 64, 256});
    }

    void stoppingInterruptsTheReading() {
        const auto stop = std::make_unique<std::stop_source>();
        int read = 0;
        const OpenHooks hooks{[&](double) {
                                  ++read;
                                  stop->request_stop();
                              },
                              stop->get_token()};
        QVERIFY_EXCEPTION_THROWN(openAnyFile(m_checkpoint, QStringLiteral("a text"), hooks), Cancelled);
        QCOMPARE(read, 1); // of 40 tensors
    }

    void aCheckpointOpensOnTheSentenceAndTellsHowFarItIs() {
        const auto window = shownWindow();
        double last = 0;
        connect(&window->session(), &DocumentSession::taskProgressed, this, [&](double f) { last = f; });
        window->session().open(m_checkpoint);
        waitUntilSettled();
        QCOMPARE(window->workspace().trace()->config().family, std::string("gpt2"));
        QCOMPARE(window->workspace().scenario().firstText(), std::string("one two three"));
        QCOMPARE(last, 1.0);
    }

    void aCancelledOpeningLeavesModelAndSentence() {
        const auto window = shownWindow();
        const Scenario before = window->workspace().scenario();
        window->session().open(m_checkpoint);
        cancelButton(*window)->click();
        waitUntilSettled();
        QVERIFY(window->workspace().scenario() == before);
        QCOMPARE(window->messages().sentence(), QString());
        window->session().open(m_checkpoint); // and it can be tried again
        waitUntilSettled();
        QCOMPARE(window->workspace().trace()->config().family, std::string("gpt2"));
    }

    void aFailedOpeningLeavesModelAndSentence() {
        const QString broken = m_folder.filePath(QStringLiteral("broken"));
        testing::writeLargeCheckpoint(broken.toStdString(), {3, 32, 4, 64, 256});
        QFile(broken + QStringLiteral("/model.safetensors")).resize(5000);
        const auto window = shownWindow();
        const Scenario before = window->workspace().scenario();
        window->session().open(broken);
        waitUntilSettled();
        QVERIFY2(window->messages().sentence().contains(QStringLiteral("model.safetensors")),
                 qPrintable(window->messages().sentence()));
        QVERIFY(window->workspace().scenario() == before);
        QVERIFY(window->workspace().trace());
    }

    void aTaskIsSaidAfterAMomentWithABarAndCancel() {
        const auto window = shownWindow();
        auto* line = window->findChild<StatusLine*>();
        auto* bar = line->findChild<QProgressBar*>();
        line->setTask(QStringLiteral("Opening a.gguf"));
        QVERIFY(!bar->isVisible());
        line->setTaskProgress(0.25);
        QTRY_VERIFY(bar->isVisible());
        QVERIFY(cancelButton(*window)->isVisible());
        QCOMPARE(bar->value(), 250);
        line->setTask({});
        QVERIFY(!bar->isVisible());
        QVERIFY(!cancelButton(*window)->isVisible());
    }

    void aLargeCheckpointIsSummedInTheBackground() {
        const auto window =
            shownWindow(documentOnFile(m_folder.filePath(QStringLiteral("a.safetensors")), secondsToSum));
        const QString path = m_folder.filePath(QStringLiteral("a.headscope"));
        changeIt(window->workspace());
        QVERIFY(window->session().saveTo(path)); // on its way
        QVERIFY(window->session().unsaved());
        QCOMPARE(window->session().savedState(), QStringLiteral("saving"));
        cancelButton(*window)->click();
        waitUntilSettled();
        QVERIFY(window->session().unsaved());
        QVERIFY(!QFile::exists(path));
    }

    void savingAndClosingAtOnceLosesNothing() {
        const QString path = m_folder.filePath(QStringLiteral("b.headscope"));
        const auto window =
            shownWindow(documentOnFile(m_folder.filePath(QStringLiteral("b.safetensors")), momentsToSum));
        changeIt(window->workspace());
        waitUntilSettled();
        QVERIFY(window->session().saveTo(path));
        QVERIFY(window->close()); // waits, and asks nothing
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray text = file.readAll();
        QVERIFY(text.contains("\"temperature\": 0.5"));
        QVERIFY(text.contains("\"sha256\""));
        QVERIFY(text.endsWith("}\n"));
    }

    void givingUpTheSavingKeepsTheWindowOpen() {
        const QString path = m_folder.filePath(QStringLiteral("c.headscope"));
        const auto window =
            shownWindow(documentOnFile(m_folder.filePath(QStringLiteral("c.safetensors")), secondsToSum));
        changeIt(window->workspace());
        QVERIFY(window->session().saveTo(path));
        QTimer::singleShot(0, this, [&] {
            auto* dialog = window->findChild<QProgressDialog*>();
            QVERIFY(dialog);
            QVERIFY(dialog->isVisible());
            dialog->findChild<QPushButton*>()->click();
        });
        QVERIFY(!window->close());
        QVERIFY(window->isVisible());
        QVERIFY(window->session().unsaved());
        QVERIFY(!QFile::exists(path));
    }

    void whatIsChangedWhileItIsSavedStaysUnsaved() {
        const QString path = m_folder.filePath(QStringLiteral("d.headscope"));
        const auto window =
            shownWindow(documentOnFile(m_folder.filePath(QStringLiteral("d.safetensors")), secondsToSum / 2));
        changeIt(window->workspace());
        QVERIFY(window->session().saveTo(path));
        QVERIFY(window->session().unsaved());
        Scenario next = window->workspace().scenario();
        next.temperature = 0.25;
        window->workspace().edit(QStringLiteral("Temperature"), next);
        waitUntilSettled();
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.readAll().contains("\"temperature\": 0.5"));
        QVERIFY(window->session().unsaved());
    }

    void aDiscardedAutosaveDoesNotComeBack() {
        const auto window =
            shownWindow(documentOnFile(m_folder.filePath(QStringLiteral("e.safetensors")), momentsToSum));
        Autosave autosave(window->workspace(), m_folder.path());
        changeIt(window->workspace());
        autosave.saveNow();
        autosave.discard(); // while it sums
        waitUntilSettled();
        QVERIFY(!QFile::exists(autosave.path()));
        autosave.saveNow();
        waitUntilSettled();
        QVERIFY(QFile::exists(autosave.path()));
    }
};

QTEST_MAIN(TestOpening)
#include "tst_opening.moc"
