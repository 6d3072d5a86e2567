// Two matrices and their difference: one range for both, the difference symmetric, every cell in the colour of its
// number.
#include "core/attention/head_stages.h"
#include "tests/support/scenarios.h"
#include "ui/render/color_scale.h"
#include "ui/widgets/comparison_view.h"

#include <QImage>
#include <QTest>

using namespace headscope;
using namespace headscope::testing;

class ComparisonViewTest : public QObject {
    Q_OBJECT

    static Comparison large() { // cells too small for numbers, so that their centres are pure colour
        Comparison c;
        c.titleA = QStringLiteral("wrong");
        c.titleB = QStringLiteral("right");
        c.isWeights = true;
        Matrix a(40, 40), b(40, 40);
        for (int i = 0; i < 1600; ++i) {
            a.data()[i] = static_cast<float>(i % 37) / 37;
            b.data()[i] = static_cast<float>(i % 23) / 23;
        }
        c.a = share(std::move(a));
        c.b = share(std::move(b));
        for (int i = 0; i < 40; ++i) {
            c.rowLabels << QString::number(i);
            c.colLabels << QString::number(i);
        }
        return c;
    }

private slots:
    void everyCellHasTheColourOfItsNumber() {
        ComparisonView view;
        const Comparison c = large();
        view.setComparison(c);
        view.resize(900, 500);
        const QImage image = view.grab().toImage();
        const Matrix minus = difference(*c.a, *c.b);
        const MatrixView shown[] = {minus};
        const ColorScale diverging(ColorMap::Viridis, true, resolveRange({}, {}, {false, true}, shown).range);
        const ColorScale weights(ColorMap::Viridis, false, {0, 1});
        QCOMPARE(diverging.range().lo, -diverging.range().hi);
        const Matrix* matrices[] = {c.a.get(), c.b.get(), &minus};
        for (int panel = 0; panel < 3; ++panel) {
            const QRectF cells = view.canvas().cellsOf(panel);
            QVERIFY(image.rect().contains(cells.toRect()));
            for (int r = 0; r < 40; ++r)
                for (int col = 0; col < 40; ++col) {
                    const QPointF at(cells.left() + (col + 0.5) * cells.width() / 40,
                                     cells.top() + (r + 0.5) * cells.height() / 40);
                    const float value = (*matrices[panel])(r, col);
                    QCOMPARE(image.pixel(view.canvas().mapTo(&view, at.toPoint())),
                             (panel < 2 ? weights : diverging).color(value));
                }
        }
    }

    void theLargestDifferencesComeFirstAndEqualCellsNotAtAll() {
        Matrix a(2, 2), b(2, 2);
        a(0, 1) = 1;
        b(1, 0) = 3;
        const auto cells = largestDifferences(a, b, 10);
        QCOMPARE(cells.size(), std::size_t(2));
        QCOMPARE(cells[0].difference, -3.0);
        QCOMPARE(cells[1].col, 1);
        QVERIFY(largestDifferences(a, a, 10).empty());
    }

    void aWrongRuleStandsBesideTheRightOne() {
        const Scenario right = toy(ToyOptions{}, "The cat sat");
        const SharedTrace wrongTrace = run(withRule(right, Rule::NoScale)), rightTrace = run(right);
        const auto c = wrongAndRight(*wrongTrace, *rightTrace, {});
        QVERIFY(c);
        QCOMPARE(*c->a, stageOf(wrongTrace, Stage::Weights));
        QCOMPARE(*c->b, stageOf(rightTrace, Stage::Weights));
        QVERIFY(c->titleA.startsWith(QStringLiteral("wrong")));
    }

    void wordsAndSpecialTokensAreThoseOfTheView() {
        ScenarioRequest request;
        request.source.name = "mini";
        request.text = "The antidisestablishmentarian cat";
        const Scenario right = makeScenario(std::move(request));
        const SharedTrace wrongTrace = run(withRule(right, Rule::NoScale)), rightTrace = run(right);
        View view;
        view.words = true;
        view.special = Special::Drop;
        view.cell = CellRef{2, 1};
        const auto c = wrongAndRight(*wrongTrace, *rightTrace, view);
        const QStringList words{QStringLiteral("the"), QStringLiteral("antidisestablishmentarian"),
                                QStringLiteral("cat")};
        QCOMPARE(c->rowLabels, words);
        QCOMPARE(c->colLabels, words);
        QCOMPARE(c->rowTokens.at(1), 2);
        QVERIFY(c->pinned == (CellRef{1, 0}));
    }

    void thePrintedSoftmaxIsWrongInEveryCell() { // 25 weights and 10 outputs, as published
        const SharedTrace t = run(workedExample());
        View view;
        for (const auto& [stage, wrong] : {std::pair(Stage::Weights, 25), std::pair(Stage::HeadOutput, 10)}) {
            view.stage = stage;
            const auto c = printedAndCorrect(*t, view);
            QVERIFY(c);
            const auto cells = largestDifferences(*c->a, *c->b, 100);
            QCOMPARE(int(std::ranges::count_if(cells,
                                               [](const CellDifference& d) { return std::abs(d.difference) > 0.005; })),
                     wrong);
        }
        Scenario edited = workedExample();
        edited.temperature = 2;
        QVERIFY(!printedAndCorrect(*run(edited), view)); // another sum than the article's
    }
};

QTEST_MAIN(ComparisonViewTest)
#include "tst_comparison_view.moc"
