// The views of the window beside the heatmap: links, several heads at once, words and special tokens, the lists of
// heads, next words; driven by keys and mouse.
#include "core/analysis/next_word.h"
#include "core/attention/head_stages.h"
#include "ui/head_survey.h"
#include "ui/main_window.h"
#include "ui/render/figure_export.h"
#include "ui/screenshot.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/widgets/figure_widget.h"
#include "ui/widgets/found_list.h"
#include "ui/widgets/head_grid.h"
#include "ui/widgets/heatmap_panel.h"
#include "ui/widgets/links_panel.h"
#include "ui/widgets/next_word_panel.h"
#include "ui/widgets/site_switch.h"
#include "ui/widgets/stage_panel.h"
#include "ui/widgets/token_chips.h"
#include "ui/widgets/view_controls.h"

#include <QLabel>
#include <QMenu>
#include <QScrollBar>
#include <QSlider>
#include <QTabWidget>
#include <QTest>
#include <QToolButton>
#include <QTreeWidget>

#include <cmath>
#include <memory>

using namespace headscope;

namespace {

Document documentOf(const QString& text, const std::string& model, View view = {}) {
    ScenarioRequest request;
    request.source.name = model;
    request.text = toUtf8(text);
    return {makeScenario(std::move(request)), std::move(view)};
}

std::unique_ptr<MainWindow> windowOn(const std::string& model, const QString& text, View view = {}) {
    auto window = std::make_unique<MainWindow>(documentOf(text, model, std::move(view)), false);
    window->resize(1366, 768);
    window->show();
    waitUntilSettled();
    return window;
}

View linksView() {
    View view;
    view.figure = FigureKind::Links;
    view.cell = CellRef{1, 1};
    return view;
}

// The action of a menu button whose text begins so, and does it.
void choose(QToolButton* button, const QString& begins) {
    QVERIFY(button && button->isVisible());
    emit button->menu()->aboutToShow();
    for (QAction* action : button->menu()->actions())
        if (action->text().startsWith(begins)) {
            action->trigger();
            return waitUntilSettled();
        }
    QFAIL(qPrintable(QStringLiteral("no action ") + begins));
}

QToolButton* buttonOf(const QWidget& parent, const QString& begins) {
    for (QToolButton* button : parent.findChildren<QToolButton*>())
        if (button->text().startsWith(begins))
            return button;
    return nullptr;
}

QSlider* sliderOf(const QWidget& parent, const QString& begins) {
    for (QSlider* slider : parent.findChildren<QSlider*>())
        if (slider->accessibleName().startsWith(begins))
            return slider;
    return nullptr;
}

const HeatmapContents& mapOf(MainWindow& window) {
    return window.stagePanel().heatmap()->view()->contents();
}

} // namespace

class TestViews : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { applyTheme(makeTheme(false, false)); }

    void linksShowEveryWeightAndThePointerOneToken() {
        View view = linksView();
        view.threshold = 0.5;
        const auto window = windowOn("patterns", QStringLiteral("a b c d"), view);
        LinksView* links = window->stagePanel().links()->view();
        QVERIFY(links->isVisible());
        QCOMPARE(links->shownLinks(), 4); // the first token looks at itself, each other one at its previous
        QTest::mouseMove(links, links->centreOf({false, 2}).toPoint());
        QCOMPARE(links->shownLinks(), 1);
        QVERIFY2(links->describe({false, 2}).contains(QStringLiteral("b 1.00")),
                 qPrintable(links->describe({false, 2})));
    }

    void aClickOnALinksTokenPinsItForTheWholeWindow() {
        const auto window = windowOn("patterns", QStringLiteral("a b c d"), linksView());
        LinksView* links = window->stagePanel().links()->view();
        QTest::mouseClick(links, Qt::LeftButton, {}, links->centreOf({false, 3}).toPoint());
        QCOMPARE(window->workspace().view().cell->row, 3);
        QTest::mouseClick(links, Qt::LeftButton, {}, links->centreOf({true, 2}).toPoint());
        QCOMPARE(*window->workspace().view().cell, (CellRef{3, 2}));
        QCOMPARE(links->pinnedPlace(), (LinksView::Place{true, 2}));
        QTest::keyClick(links, Qt::Key_Escape);
        QVERIFY(!links->pinnedPlace());
    }

    void arrowKeysWalkAlongTheLinksColumns() {
        const auto window = windowOn("patterns", QStringLiteral("a b c d"), linksView());
        LinksView* links = window->stagePanel().links()->view();
        links->setFocus();
        QTest::keyClick(links, Qt::Key_Down);
        QTest::keyClick(links, Qt::Key_Down);
        QCOMPARE(links->shownPlace(), (LinksView::Place{false, 1}));
        QTest::keyClick(links, Qt::Key_Right);
        QCOMPARE(links->shownPlace(), (LinksView::Place{true, 1}));
        QTest::keyClick(links, Qt::Key_Return);
        QCOMPARE(window->workspace().view().cell->col, 1);
    }

    void thresholdAndTopKCutLinksAndSayHowMany() {
        View view = linksView();
        view.heads = {HeadIndex{4}}; // uniform
        const auto window = windowOn("patterns", QStringLiteral("a b c d"), view);
        LinksView* links = window->stagePanel().links()->view();
        QCOMPARE(links->shownLinks(), 16);
        QSlider* top = sliderOf(*window->stagePanel().controls(), QStringLiteral("Top"));
        top->setValue(2);
        waitUntilSettled();
        QCOMPARE(links->shownLinks(), 8);
        QSlider* threshold = sliderOf(*window->stagePanel().controls(), QStringLiteral("Threshold"));
        threshold->setFocus();
        QTest::keyClick(threshold, Qt::Key_End);
        waitUntilSettled();
        QCOMPARE(links->shownLinks(), 0);
        QCOMPARE(window->workspace().view().threshold, 1.0);
        bool said = false;
        for (const QLabel* label : window->stagePanel().links()->findChildren<QLabel*>())
            said = said || label->text().contains(QStringLiteral("16 links not drawn"));
        QVERIFY(said);
    }

    // The key beside the caption is as high as a line of weight 1 is wide.
    void theLinksSayHowWideAWeightIs() {
        const auto window = windowOn("patterns", QStringLiteral("a b c d"), linksView());
        LinksPanel* panel = window->stagePanel().links();
        QWidget* key = nullptr;
        for (QWidget* widget : panel->findChildren<QWidget*>())
            key = widget->accessibleName().startsWith(QStringLiteral("Line widths")) ? widget : key;
        QVERIFY(key && key->isVisible());
        QVERIFY(key->height() >= panel->view()->widthOf(1));
        const QImage picture = key->grab().toImage();
        int rows = 0; // in the middle of the last of the three lines
        const int x = key->sizeHint().width() - 12 - QFontMetrics(key->font()).horizontalAdvance(u'1') - 5 - 10;
        for (int y = 0; y < picture.height(); ++y)
            rows += picture.pixelColor(x, y) == theme().muted;
        QVERIFY(std::abs(rows - panel->view()->widthOf(1)) < 2.5);
    }

    void anotherStageLeavesTheLinksForTheHeatmap() {
        const auto window = windowOn("patterns", QStringLiteral("a b c d"), linksView());
        View view = window->workspace().view();
        view.stage = Stage::Scores;
        window->workspace().setView(view);
        waitUntilSettled();
        QCOMPARE(window->workspace().view().figure, FigureKind::Heatmap);
        QVERIFY(window->stagePanel().heatmap()->isVisible());
    }

    void theExplanationNamesEveryPickedHead() {
        const auto window = windowOn("toy", QStringLiteral("one two"));
        View view = window->workspace().view();
        view.heads = {HeadIndex{1}, HeadIndex{3}};
        window->workspace().setView(view);
        bool named = false;
        for (const QLabel* label : window->stagePanel().findChildren<QLabel*>())
            named = named || label->text().startsWith(QStringLiteral("L0 H1, H3: "));
        QVERIFY(named);
    }

    void pickedHeadsStandSideBySideOrAsTheirMean() {
        View view;
        view.heads = {HeadIndex{0}, HeadIndex{1}}; // previous, next
        const auto window = windowOn("patterns", QStringLiteral("a b c d"), view);
        QVERIFY(!window->stagePanel().heatmap()->isVisible());
        choose(buttonOf(*window->stagePanel().controls(), QStringLiteral("each")), QStringLiteral("mean"));
        QVERIFY(window->stagePanel().heatmap()->isVisible());
        QCOMPARE((*mapOf(*window).matrix)(1, 0), 0.5F);
        QCOMPARE((*mapOf(*window).matrix)(1, 2), 0.5F);
        choose(buttonOf(*window->stagePanel().controls(), QStringLiteral("mean")), QStringLiteral("max"));
        QCOMPARE((*mapOf(*window).matrix)(1, 0), 1.0F);
    }

    void aClickInTheGridOfHeadsChoosesOneAndTwoOpenIt() {
        View view;
        view.figure = FigureKind::Grid;
        const auto window = windowOn("story", QStringLiteral("Tom saw Lily"), view);
        auto* figure = window->stagePanel().findChild<FigureWidget*>();
        QVERIFY(figure->isVisible());
        bool chosen = false;
        for (int x = figure->width() - 4; x > 0 && !chosen; x -= 20) {
            QTest::mouseClick(figure->viewport(), Qt::LeftButton, {}, QPoint(x, figure->height() / 4));
            chosen = window->workspace().view().heads == std::vector<HeadIndex>{HeadIndex{3}};
            if (chosen)
                QTest::mouseDClick(figure->viewport(), Qt::LeftButton, {}, QPoint(x, figure->height() / 4));
        }
        QVERIFY(chosen);
        QCOMPARE(window->workspace().view().figure, FigureKind::Heatmap);
    }

    // In a small window the stages scroll; what does not fit at all is said in the window's words, not the exporter's.
    void stagesScrollBeforeTheirRowsVanish() {
        View view;
        view.figure = FigureKind::Stages;
        const auto window = windowOn("mini", QStringLiteral("The cat sat on the mat"), view);
        auto* figure = window->stagePanel().findChild<FigureWidget*>();
        window->resize(1366, 420);
        waitUntilSettled();
        QVERIFY(figure->isVisible() && figure->verticalScrollBar()->maximum() > 0);
        const QImage top = figure->viewport()->grab().toImage();
        figure->verticalScrollBar()->setValue(figure->verticalScrollBar()->maximum());
        QVERIFY(figure->viewport()->grab().toImage() != top);
        FigureSpec spec;
        spec.view = view;
        spec.heightMm = 60;
        spec.leastRow = 10;
        for (const auto& cells :
             figureLayout({window->workspace().trace(), window->workspace().rightTrace()}, spec).cells)
            QVERIFY(cells.area.height() / cells.picture->matrix().rows() >= 10 - 1e-9);
        figure->setParent(nullptr);
        figure->resize(170, 110);
        figure->show();
        waitUntilSettled();
        QVERIFY2(figure->problem().contains(QStringLiteral("make the window larger")), qPrintable(figure->problem()));
        QVERIFY(!figure->problem().contains(QStringLiteral("mm")));
        delete figure;
    }

    void hidingSpecialTokensTakesTheirRowsAndColumnsAway() {
        const auto window = windowOn("mini", QStringLiteral("The cat sat"));
        QCOMPARE(mapOf(*window).matrix->rows(), 5);
        auto* chips = window->findChild<TokenChips*>();
        choose(buttonOf(*chips, QStringLiteral("special")), QStringLiteral("hide"));
        QCOMPARE(mapOf(*window).rowLabels, (QStringList{"the", "cat", "sat"}));
        choose(buttonOf(*chips, QStringLiteral("special")), QStringLiteral("drop"));
        QCOMPARE(mapOf(*window).removed.size(), std::size_t(3));
        bool said = false;
        for (const QLabel* label : window->stagePanel().heatmap()->findChildren<QLabel*>())
            said = said || (label->isVisible() && label->text().contains(QStringLiteral("removed mass")));
        QVERIFY(said);
    }

    void wordsMergeAndAPinnedWordPinsOneOfItsPieces() {
        View view;
        view.words = true;
        view.cell = CellRef{3, 1}; // Lily's first piece, Tom
        const auto window = windowOn("story", QStringLiteral("Tom saw Lily"), view);
        HeatmapView* map = window->stagePanel().heatmap()->view();
        QCOMPARE(map->contents().rowLabels.last(), QStringLiteral("Lily"));
        QCOMPARE(map->pinnedCell(), (std::optional<CellRef>{{3, 1}}));
        QTest::mouseClick(map->childAt(map->cellCentre({3, 3}).toPoint()), Qt::LeftButton, {},
                          map->cellCentre({3, 3}).toPoint());
        QVERIFY(window->workspace().view().cell->row >= 3 && window->workspace().view().cell->col >= 3);
        QCOMPARE(map->pinnedCell(), (std::optional<CellRef>{{3, 3}}));
    }

    void cellsThatTheMaskClosesAreHatchedNotZero() {
        View view;
        view.cell = CellRef{1, 0};
        const auto window = windowOn("story", QStringLiteral("Tom saw Lily"), view);
        QVERIFY(mapOf(*window).closed.at(1)); // row 0, column 1
        QVERIFY(window->stagePanel().heatmap()->view()->describe(CellRef{0, 1}).contains(QStringLiteral("closed")));
    }

    void theOpeningHeadLinksTwoWordsAndAChosenOneStays() {
        const auto window = windowOn("mini", QStringLiteral("The cat sat on the mat"));
        const View& view = window->workspace().view();
        const TokenSequence& tokens = window->workspace().scenario().query;
        QVERIFY(view.layer.value != 0 || view.heads.front().value != 0);
        QVERIFY(!tokens.tokens[static_cast<std::size_t>(view.cell->row)].special);
        QVERIFY(!tokens.tokens[static_cast<std::size_t>(view.cell->col)].special);
        View chosen;
        chosen.layer = LayerIndex{0};
        chosen.heads = {HeadIndex{1}};
        const auto other = windowOn("mini", QStringLiteral("The cat sat on the mat"), chosen);
        QCOMPARE(other->workspace().view().heads, chosen.heads);
    }

    void findingsAreSortedByAnyMetricAndCutToOneKind() {
        View view;
        view.cell = CellRef{2, 1};
        const auto window = windowOn("patterns", QStringLiteral("a b c , a b"), view);
        auto* found = window->findChild<FoundList*>();
        auto* list = found->findChild<QTreeWidget*>();
        choose(buttonOf(*found, QStringLiteral("by strength")), QStringLiteral("by entropy"));
        QCOMPARE(list->topLevelItem(0)->text(0), QStringLiteral("L0 H4")); // uniform spreads most
        choose(buttonOf(*found, QStringLiteral("all kinds")), QStringLiteral("previous"));
        QCOMPARE(list->topLevelItemCount(), 1);
        QCOMPARE(list->topLevelItem(0)->text(0), QStringLiteral("L0 H0"));
        auto* grid = window->findChild<HeadGrid*>();
        QVERIFY(grid->model()->data(grid->model()->index(0, 1), HeadModel::DimRole).toBool());
        QVERIFY(!grid->model()->data(grid->model()->index(0, 0), HeadModel::DimRole).toBool());
    }

    void aPinnedPairRanksTheHeadsAndNamesPosition() {
        View view;
        view.cell = CellRef{2, 1}; // c looks at b: its previous token
        const auto window = windowOn("patterns", QStringLiteral("a b c d"), view);
        auto* found = window->findChild<FoundList*>();
        auto* list = found->findChild<QTreeWidget*>();
        QTest::mouseClick(buttonOf(*found, QStringLiteral("By pinned cell")), Qt::LeftButton);
        QCOMPARE(list->topLevelItem(0)->text(0), QStringLiteral("L0 H0"));
        QVERIFY(list->topLevelItem(0)->text(1).contains(QStringLiteral("position alone")));
        view.cell = CellRef{2, 3}; // and d is its next one
        window->workspace().setView(view);
        waitUntilSettled();
        QCOMPARE(list->topLevelItem(0)->text(0), QStringLiteral("L0 H1"));
        QVERIFY(!list->findItems(QStringLiteral("L0 H0"), Qt::MatchExactly).front()->text(1).contains("position"));
    }

    void headsThatShareKeysStandUnderOneBar() {
        ScenarioRequest request;
        request.source.name = "toy";
        request.source.toy.kvHeads = 2;
        request.text = "a b c";
        MainWindow window({makeScenario(std::move(request)), View()}, false);
        window.show();
        waitUntilSettled();
        auto* grid = window.findChild<HeadGrid*>();
        const auto edges = [&](int head) {
            auto* model = static_cast<HeadModel*>(grid->model());
            return model->data(model->indexOf(LayerIndex{0}, HeadIndex{head}), HeadModel::GroupRole).toInt();
        };
        QCOMPARE(edges(0), int(HeadModel::GroupBegins));
        QCOMPARE(edges(3), int(HeadModel::GroupEnds));
        QCOMPARE(edges(4), int(HeadModel::GroupBegins));
        QCOMPARE(edges(5), 0);
    }

    void nextWordsOfThePinnedTokenOpenIntoPartsThatAddUp() {
        View view;
        view.cell = CellRef{4, 1};
        const auto window = windowOn("story", QStringLiteral("Tom saw Lily and she gave Tom the"), view);
        auto* panel = window->findChild<NextWordPanel*>();
        auto* tabs = window->findChild<QTabWidget*>();
        tabs->setCurrentIndex(tabs->indexOf(panel));
        waitUntilSettled();
        const NextWords next = nextWords(*window->workspace().trace(), 4, 1, 1);
        QCOMPARE(panel->list()->topLevelItem(0)->text(0), tokenText(next.words.front().text));
        panel->list()->topLevelItem(0)->setExpanded(true);
        waitUntilSettled();
        const QTreeWidgetItem* word = panel->list()->topLevelItem(0);
        QVERIFY(word->childCount() > 4);
        double sum = 0;
        for (int i = 0; i + 1 < word->childCount(); ++i)
            sum += word->child(i)->text(2).toDouble();
        const double logit = word->child(word->childCount() - 1)->text(2).toDouble();
        QVERIFY(std::abs(sum - logit) < 0.01);
        QVERIFY(std::abs(logit - next.words.front().logit) < 0.01);
    }

    void anEncoderDecoderIsLookedAtFromThreeSites() {
        const auto window = windowOn("translate", QStringLiteral("the small black cat sleeps"));
        auto* sites = window->findChild<SiteSwitch*>();
        QVERIFY(sites->isVisible());
        const Scenario& scenario = window->workspace().scenario();
        QVERIFY(scenario.key);
        QTest::mouseClick(buttonOf(*sites, QStringLiteral("encoder")), Qt::LeftButton);
        waitUntilSettled();
        QVERIFY(!scenario.key);
        QCOMPARE(mapOf(*window).matrix->rows(), scenario.texts->source.size());
        QTest::mouseClick(buttonOf(*sites, QStringLiteral("decoder")), Qt::LeftButton);
        waitUntilSettled();
        QCOMPARE(mapOf(*window).matrix->rows(), scenario.texts->target.size());
        QVERIFY(!windowOn("mini", QStringLiteral("The cat"))->findChild<SiteSwitch*>()->isVisible());
    }

    void theNextWordTabIsThereOnlyForModelsThatWrite() {
        const auto window = windowOn("mini", QStringLiteral("The cat"));
        auto* tabs = window->findChild<QTabWidget*>();
        QVERIFY(!tabs->isTabVisible(tabs->indexOf(window->findChild<NextWordPanel*>())));
    }
};

QTEST_MAIN(TestViews)
#include "tst_views.moc"
