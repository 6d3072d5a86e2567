// Long texts: what a model does not take is said with both numbers and what to do; what it takes is shown whole, in
// bounded memory.
#include "core/analysis/overview.h"
#include "core/attention/head_stages.h"
#include "ui/document_session.h"
#include "ui/head_survey.h"
#include "ui/latest_wins.h"
#include "ui/main_window.h"
#include "ui/render/figure_export.h"
#include "ui/screenshot.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/widgets/heatmap_panel.h"
#include "ui/widgets/long_text_bar.h"
#include "ui/widgets/message_strip.h"
#include "ui/widgets/sentence_bar.h"
#include "ui/widgets/stage_panel.h"
#include "ui/widgets/status_line.h"

#include <QFile>
#include <QLineEdit>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>

#include <memory>

using namespace headscope;

namespace {

QString words(int count) {
    QString text;
    for (int i = 0; i < count; ++i)
        text += i % 7 == 0 ? QStringLiteral("cat ") : QStringLiteral("w%1 ").arg(i);
    return text.trimmed();
}

std::unique_ptr<MainWindow> shownWindow(const std::string& model, const QString& text) {
    ScenarioRequest request;
    request.source.name = model;
    request.text = toUtf8(text);
    auto window = std::make_unique<MainWindow>(Document{makeScenario(std::move(request)), View()}, false);
    window->show();
    waitUntilSettled();
    return window;
}

void press(MainWindow& window, const QString& begins) {
    for (QToolButton* button : window.longText().findChildren<QToolButton*>())
        if (button->text().contains(begins)) {
            QVERIFY(button->isVisible());
            QTest::mouseClick(button, Qt::LeftButton);
            return waitUntilSettled();
        }
    QFAIL(qPrintable(begins));
}

} // namespace

class TestLargeTexts : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { applyTheme(makeTheme(false, false)); }

    void aTextThatIsTooLongIsSaidWithBothNumbersAndTheLastResultStays() {
        const auto window = shownWindow("patterns", QStringLiteral("one two"));
        auto* field = window->sentenceBar().findChild<QLineEdit*>();
        field->selectAll();
        QTest::keyClicks(field, QStringLiteral("x")); // as a person who pastes
        window->sentenceBar().setText(words(1200));
        waitUntilSettled();
        const QString said = window->longText().sentence();
        QVERIFY2(said.contains(QStringLiteral("1200")) && said.contains(QStringLiteral("512")), qPrintable(said));
        QCOMPARE(window->workspace().trace()->scenario.queries(), 1);
        window->sentenceBar().setText(QStringLiteral("short again"));
        waitUntilSettled();
        QCOMPARE(window->longText().sentence(), QString());
    }

    void itsPartsAreShownOneAfterTheOther() {
        const auto window = shownWindow("patterns", QStringLiteral("one two"));
        const QString whole = words(1200);
        window->sentenceBar().setText(whole);
        press(*window, QStringLiteral("first part"));
        QString read = fromUtf8(window->workspace().scenario().firstText());
        QVERIFY(whole.startsWith(read));
        QVERIFY2(window->longText().sentence().startsWith(QStringLiteral("Part 1 of 3")),
                 qPrintable(window->longText().sentence()));
        QVERIFY(window->longText().sentence().contains(QLocale().toString(1200)));
        for (int part = 2; part <= 3; ++part) {
            press(*window, QStringLiteral("Next part"));
            QVERIFY(window->longText().sentence().startsWith(QStringLiteral("Part %1 of 3").arg(part)));
            read += u' ' + fromUtf8(window->workspace().scenario().firstText());
        }
        QCOMPARE(read, whole);
        QCOMPARE(window->workspace().trace()->scenario.firstText(), window->workspace().scenario().firstText());
        window->workspace().undoStack()->undo();
        QVERIFY(window->longText().sentence().startsWith(QStringLiteral("Part 2 of 3")));
    }

    void toyTakesAllOfIt() {
        const auto window = shownWindow("patterns", QStringLiteral("one two"));
        window->sentenceBar().setText(words(600));
        press(*window, QStringLiteral("All of it by toy"));
        QCOMPARE(window->workspace().trace()->scenario.source.name, std::string("toy"));
        QCOMPARE(window->workspace().trace()->scenario.queries(), 600);
        QCOMPARE(window->longText().sentence(), QString());
    }

    void anotherModelThatTakesLessShowsTheFirstPartAndSaysSo() {
        const auto window = shownWindow("toy", words(600));
        ModelSource patterns;
        patterns.name = "patterns";
        window->session().useModel(patterns);
        waitUntilSettled();
        QCOMPARE(window->workspace().trace()->scenario.source.name, std::string("patterns"));
        QVERIFY(window->longText().sentence().startsWith(QStringLiteral("Part 1 of 2")));
        window->workspace().undoStack()->undo();
        waitUntilSettled();
        QCOMPARE(window->workspace().trace()->scenario.queries(), 600);
        QCOMPARE(window->longText().sentence(), QString());
    }

    void aTextFileThatIsNoSentenceIsRefusedUnread() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("log.txt"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly) && file.resize(qint64{1} << 33));
        const auto window = shownWindow("patterns", QStringLiteral("one two"));
        window->session().openTextFile(path);
        QVERIFY(window->messages().sentence().contains(QStringLiteral("8")));
        QVERIFY(window->messages().sentence().contains(QStringLiteral("1 MiB")));
    }

    void aTextLongerThanALineUsuallyHoldsIsNotCut() {
        const auto window = shownWindow("toy", words(9000)); // 50,000 characters
        QCOMPARE(window->sentenceBar().findChild<QLineEdit*>()->text(), words(9000));
    }

    void aPinnedCellIsRankedInEveryHeadWithoutASecondSurvey() {
        const auto window = shownWindow("toy", words(40));
        const auto* survey = window->findChild<HeadSurvey*>();
        const SharedSurvey before = survey->current();
        View view = window->workspace().view();
        view.cell = CellRef{7, 3};
        window->workspace().setView(view);
        waitUntilSettled();
        const Survey fresh = surveyHeads(window->workspace().trace(), view.cell, nullptr, {});
        QCOMPARE(survey->current()->trace, before->trace);
        for (std::size_t h = 0; h < fresh.heads.size(); ++h) {
            QCOMPARE(survey->current()->heads[h].pinnedWeight, fresh.heads[h].pinnedWeight);
            QVERIFY(survey->current()->heads[h].thumbnail == before->heads[h].thumbnail);
        }
    }

    void aGridOfALongTextIsPooledAndKeepsEveryHeadsLargestNumber() {
        const auto window = shownWindow("toy", words(700));
        FigureSpec spec;
        spec.view.figure = FigureKind::Grid;
        const FigureSource source{window->workspace().trace(), nullptr};
        const FigureLayout layout = figureLayout(source, spec);
        QCOMPARE(layout.cells.size(), 8);
        int head = 0;
        for (const Sheet::PlacedCells& cells : layout.cells) {
            const Matrix& shown = cells.picture->matrix();
            QVERIFY(shown.rows() <= 256 && shown.cols() <= 256);
            const SharedMatrix all = stageMatrix(*source.trace, LayerIndex{0}, HeadIndex{head++}, Stage::Weights);
            QCOMPARE(*std::ranges::max_element(shown.values()), *std::ranges::max_element(all->values()));
        }
    }

    void theZoomedPartIsAFigureInTheColoursOfTheWhole() {
        const auto window = shownWindow("toy", words(30));
        HeatmapView* heatmap = window->stagePanel().heatmap()->view();
        QVERIFY(!heatmap->zoomedPart());
        heatmap->setCurrentCell(CellRef{20, 10});
        heatmap->zoomIn();
        heatmap->zoomIn();
        const std::optional<CellRegion> part = heatmap->zoomedPart();
        QVERIFY(part);
        QVERIFY(part->rowBegin <= 20 && part->rowEnd > 20 && part->colBegin <= 10 && part->colEnd > 10);
        QVERIFY(part->rowEnd - part->rowBegin < 20);
        FigureSpec spec;
        spec.view.range.kind = RangeSpec::Kind::Head;
        const FigureSource source{window->workspace().trace(), nullptr};
        const CellPicture whole = *figureLayout(source, spec).cells.front().picture;
        spec.region = part;
        const CellPicture cut = *figureLayout(source, spec).cells.front().picture;
        QCOMPARE(cut.matrix().rows(), part->rowEnd - part->rowBegin);
        QCOMPARE(cut.matrix().cols(), part->colEnd - part->colBegin);
        for (int r = 0; r < cut.matrix().rows(); ++r)
            for (int c = 0; c < cut.matrix().cols(); ++c) {
                QCOMPARE(cut.matrix()(r, c), whole.matrix()(part->rowBegin + r, part->colBegin + c));
                QCOMPARE(cut.color(r, c), whole.color(part->rowBegin + r, part->colBegin + c));
            }
    }

    void linksOfALongTextAskForFewer() {
        const auto window = shownWindow("toy", words(700));
        FigureSpec spec;
        spec.view.figure = FigureKind::Links;
        const FigureSource source{window->workspace().trace(), nullptr};
        QVERIFY_EXCEPTION_THROWN(figureLayout(source, spec), InputError);
        spec.view.topK = 3;
        figureLayout(source, spec);
    }
};

QTEST_MAIN(TestLargeTexts)
#include "tst_large_texts.moc"
