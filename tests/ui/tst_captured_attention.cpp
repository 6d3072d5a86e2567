// The window on attention that was captured elsewhere: it shows what is in the file, says what is not, and keeps
// standing.
#include "core/attention/head_stages.h"
#include "core/exchange/dump.h"
#include "ui/document_session.h"
#include "ui/main_window.h"
#include "ui/render/figure.h"
#include "ui/screenshot.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/widgets/sentence_bar.h"
#include "ui/widgets/stage_panel.h"

#include <QAction>
#include <QLabel>
#include <QLineEdit>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include <fstream>
#include <memory>

using namespace headscope;

class TestCapturedAttention : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() {
        applyTheme(makeTheme(false, false));
        QVERIFY(m_folder.isValid());
        m_path = m_folder.filePath(QStringLiteral("cat.npz"));
        std::ofstream out(m_path.toStdString(), std::ios::binary);
        const std::vector<float> values{1, 0, 0, 0.25F, 0.5F, 0.25F, 0,    0.5F,  0.25F,
                                        0, 1, 0, 0,     0,    1,     0.5F, 0.25F, 0.25F};
        writeNpz(out, {{"weights", {1, 2, 3, 3}, values},
                       {"tokens", {3}, std::vector<std::string>{"[CLS]", "black", "##bird"}}});
    }

    // The text that stands in the window is not typed into a file that has its own.
    void opensFromTheWindow() {
        const Document document = openAnyFile(m_path, QStringLiteral("The cat sat"));
        QCOMPARE(document.scenario.query.size(), 3);
        QCOMPARE(document.scenario.query.tokens[2].text, std::string("bird"));
    }

    void everyStepAndFigureStands() {
        MainWindow window(openAnyFile(m_path, {}), false);
        window.show();
        waitUntilSettled();
        QVERIFY(window.workspace().trace());
        for (const FigureKind kind :
             {FigureKind::Heatmap, FigureKind::Links, FigureKind::Walk, FigureKind::Stages, FigureKind::Grid})
            for (const StageInfo& info : stageTable()) {
                View view = window.workspace().view();
                view.figure = kind;
                view.stage = info.stage;
                view.heads = {HeadIndex{1}};
                view.cell = CellRef{1, 2};
                window.workspace().setView(view);
                waitUntilSettled();
                QVERIFY(!window.grab().isNull());
                QCOMPARE(window.workspace().view().stage, Stage::Weights); // there is no other
            }
    }

    // What acts on a computation cannot be pressed, and says why; what acts on the picture can.
    void controlsOfAComputationSayWhyTheyAreOff() {
        MainWindow window(openAnyFile(m_path, {}), false);
        window.show();
        waitUntilSettled();
        const QString why = QStringLiteral("cat.npz holds attention that was captured");
        int off = 0;
        for (const QToolButton* button : window.stagePanel().findChildren<QToolButton*>()) {
            const bool computes =
                QStringList{tr("mask"), tr("scale"), tr("T"), tr("Walk"), tr("Stages")}.contains(button->text());
            off += computes;
            if (!button->text().isEmpty() && button->isVisible() && button->isEnabled() == computes)
                QFAIL(qPrintable(button->text()));
            QCOMPARE(button->toolTip().startsWith(why), computes);
        }
        QCOMPARE(off, 5);
        off = 0;
        for (const QAction* action : window.findChildren<QAction*>())
            if (action->toolTip().startsWith(why)) {
                ++off;
                QVERIFY2(!action->isEnabled(), qPrintable(action->text()));
            }
        QVERIFY(off >= 8); // brush, score, cell, cells, head, weights, sentence, walk, stages; and every example
        QVERIFY(!window.sentenceBar().findChild<QLineEdit*>()->isEnabled());
    }

    void stepsThatAreNotInTheFileSaySo() {
        const Document document = openAnyFile(m_path, {});
        for (int step = 1; step <= 10; ++step)
            QCOMPARE(stepSubtitle(document.scenario, step) == QStringLiteral("–"), step != 7);
        MainWindow window(openAnyFile(m_path, {}), false);
        window.show();
        waitUntilSettled();
        const auto says = [&](const QString& text) {
            for (const QLabel* label : window.findChildren<QLabel*>())
                if (label->text().contains(text))
                    return true;
            return false;
        };
        QVERIFY(says(QStringLiteral("there are no weights to edit")));
        QVERIFY(says(QStringLiteral("cat.npz holds weights only; the other stages are not in it")));
    }

    void figuresOfAComputationAreRefused() {
        const Document document = openAnyFile(m_path, {});
        FigureSource source;
        source.trace = trace(document.scenario, referenceBackend());
        FigureSpec spec;
        spec.view = document.view;
        for (const FigureKind kind : {FigureKind::Walk, FigureKind::Stages}) {
            spec.view.figure = kind;
            try {
                figureSizeMm(source, spec);
                QFAIL("nothing was refused");
            } catch (const InputError& error) {
                QVERIFY2(std::string(error.what()).find("cat.npz holds weights only") != std::string::npos,
                         error.what());
            }
        }
        for (const FigureKind kind : {FigureKind::Heatmap, FigureKind::Links, FigureKind::Grid}) {
            spec.view.figure = kind;
            QVERIFY(figureSizeMm(source, spec).height() > 0);
        }
    }

private:
    QTemporaryDir m_folder;
    QString m_path;
};

QTEST_MAIN(TestCapturedAttention)
#include "tst_captured_attention.moc"
