// What computes is chosen in the window, said, and remembered; a device that fails costs one note and nothing else.
#include "core/attention/head_stages.h"
#include "ui/compute_menu.h"
#include "ui/latest_wins.h"
#include "ui/main_window.h"
#include "ui/screenshot.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/widgets/message_strip.h"
#include "ui/widgets/status_line.h"

#include <QLabel>
#include <QSettings>
#include <QStandardPaths>
#include <QTest>

#include <memory>

using namespace headscope;

namespace {

std::unique_ptr<MainWindow> shownWindow(bool remembers = false) {
    ScenarioRequest request;
    request.source.name = "toy";
    request.text = "one two three four five six seven";
    auto window = std::make_unique<MainWindow>(Document{makeScenario(std::move(request)), View()}, remembers);
    window->show();
    waitUntilSettled();
    return window;
}

QAction* backendAction(MainWindow& window, const QString& name) {
    for (QAction* action : window.findChild<ComputeMenu*>()->actions())
        if (action->data().toString() == name)
            return action;
    return nullptr;
}

QString statusOf(MainWindow& window) {
    QStringList texts;
    for (const QLabel* label : window.findChild<StatusLine*>()->findChildren<QLabel*>())
        texts << (label->toolTip().isEmpty() ? label->text() : label->toolTip()); // which is never shortened
    return texts.join(u' ');
}

std::string computedBy(MainWindow& window) {
    return window.workspace().trace()->backend->name();
}

} // namespace

class TestBackends : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        applyTheme(makeTheme(false, false));
        QCoreApplication::setOrganizationName(QStringLiteral("HeadscopeTest"));
        QCoreApplication::setApplicationName(QStringLiteral("tst_backends"));
        QSettings().clear();
        qputenv("HEADSCOPE_OPENCL_FAIL", "40"); // calls of the driver, then all fail
    }
    void cleanup() { QSettings().clear(); }

    void theReferenceIsChosenInTheMenuAndSaid() {
        const auto window = shownWindow();
        QCOMPARE(computedBy(*window), std::string("cpu"));
        QVERIFY(statusOf(*window).contains(QStringLiteral("CPU, ")));
        const Matrix before = *stageMatrix(*window->workspace().trace(), LayerIndex{0}, HeadIndex{1}, Stage::Weights);
        backendAction(*window, QStringLiteral("reference"))->trigger();
        waitUntilSettled();
        QCOMPARE(computedBy(*window), std::string("reference"));
        QVERIFY2(statusOf(*window).contains(QStringLiteral("sums in double")), qPrintable(statusOf(*window)));
        QVERIFY(backendAction(*window, QStringLiteral("reference"))->isChecked());
        const Matrix after = *stageMatrix(*window->workspace().trace(), LayerIndex{0}, HeadIndex{1}, Stage::Weights);
        for (std::size_t i = 0; i < before.size(); ++i)
            QVERIFY(std::abs(before.values()[i] - after.values()[i]) < 5e-6F);
        QCOMPARE(window->workspace().undoStack()->count(), 0); // no change of the document
    }

    void theChoiceIsRememberedButNotByAScreenshot() {
        {
            const auto window = shownWindow(true);
            backendAction(*window, QStringLiteral("reference"))->trigger();
            waitUntilSettled();
        }
        QCOMPARE(computedBy(*shownWindow(true)), std::string("reference"));
        QCOMPARE(computedBy(*shownWindow(false)), std::string("cpu"));
    }

    void oneThatCannotBeUsedIsSaidOnceAndTheCpuComputes() {
        const auto window = shownWindow();
        QStringList notes;
        connect(&window->workspace(), &Workspace::noted, this, [&](const QString& note) { notes << note; });
        window->workspace().setBackend(QStringLiteral("opencl:99"));
        waitUntilSettled();
        QCOMPARE(computedBy(*window), std::string("cpu"));
        QCOMPARE(notes.size(), 1);
        QVERIFY2(notes.first().contains(QStringLiteral("opencl:99")), qPrintable(notes.first()));
        QCOMPARE(window->messages().sentence(), notes.first());
        window->workspace().compute();
        waitUntilSettled();
        QCOMPARE(notes.size(), 1);
    }

    void aFailingDeviceCostsOneNoteAndNoNumber() {
        bool hasDevice = false;
        try {
            backendByName("opencl:0");
            hasDevice = true;
        } catch (const InputError&) {
        }
        if (!hasDevice)
            QSKIP("no OpenCL device is here");
        const auto window = shownWindow();
        QStringList notes;
        connect(&window->workspace(), &Workspace::noted, this, [&](const QString& note) { notes << note; });
        const SharedTrace cpu = window->workspace().trace();
        window->workspace().setBackend(QStringLiteral("opencl:0"));
        waitUntilSettled();
        QCOMPARE(notes.size(), 1);
        QVERIFY2(notes.first().contains(QStringLiteral("failed")), qPrintable(notes.first()));
        QVERIFY(window->messages().isVisible());
        QVERIFY2(statusOf(*window).contains(QStringLiteral("CPU")), qPrintable(statusOf(*window)));
        const SharedTrace now = window->workspace().trace();
        QVERIFY(now != cpu);
        for (std::size_t i = 0; i < now->hidden->size(); ++i)
            QVERIFY(std::abs(now->hidden->values()[i] - cpu->hidden->values()[i]) < 1e-4F);
    }

    void devicesAreListedWhenTheMenuOpens() {
        const auto window = shownWindow();
        auto* menu = window->findChild<ComputeMenu*>();
        const qsizetype before = menu->actions().size();
        emit menu->aboutToShow();
        waitUntilSettled();
        QVERIFY(menu->actions().size() > before); // at least one line that says why there is none
        for (const QAction* action : menu->actions())
            QVERIFY(!action->text().startsWith(QStringLiteral("Looking")) || !action->isVisible());
        const qsizetype after = menu->actions().size();
        emit menu->aboutToShow();
        waitUntilSettled();
        QCOMPARE(menu->actions().size(), after); // looked for once
    }
};

QTEST_MAIN(TestBackends)
#include "tst_backends.moc"
