// Laws of all kinds of figures, and of those that are no heatmaps: grid, links, stages, walk.
#include "core/attention/printed_sum.h"
#include "tests/ui/figure_support.h"
#include "ui/render/axis_labels.h"
#include "ui/render/figure_parts.h"
#include "ui/render/links_painter.h"
#include "ui/render/walk_layout.h"

#include <QFontDatabase>
#include <cmath>
#include <map>

using namespace headscope;
using namespace headscope::testing;

class TestFigures : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void labelsNeitherOverlapNorLeaveTheFigure_data();
    void labelsNeitherOverlapNorLeaveTheFigure();
    void glyphsThatNoFontHasAreShownAsCodePoints();

    void everyStepIsNamedInTheStagesFigureOrItIsRefused();
    void aLinkIsAsWideAsItsWeightHoweverManyHeadsAreOn();
    void aHeadHasOneColourWhereverItStands();
    void sharedKeyHeadsHaveNoQueryHeadsColourAndNameTheirGroup();
    void headColoursAreToldApartAndReadOnBothGrounds();
    void linksOfSeveralHeadsKeepToTheirLanesAndColours();
    void oneLayersHeadsFillTheGrid();
    void symbolsOfAWalkAreWrittenInFull();
    void aWalkTakesTwoLinesWhereThatMakesItsCellsLarger();
    void aWalkHasOneCellSizeAndBreaksBeforeAnOperator();
    void numbersOfAWalkAreReadableOrOnlyThoseOfTheMarkedCell();
    void rowSumsHaveNoColours();
    void indicesAreSetAsIndicesAndUsersTextsAsTheyAre();
    void theWalksNumbersHaveTheInspectorsDigits();
    void oneOutlierDoesNotBlankTheEmbedding();
    void formulasAndLabelsKeepAwayFromTheBands();
    void aGridNamesItsAxesOnceAndItsSiteInWords();
};

void TestFigures::initTestCase() {
    QVERIFY2(!QFontDatabase::families().isEmpty(), "no fonts: every measurement would be silent nonsense");
}

void TestFigures::labelsNeitherOverlapNorLeaveTheFigure_data() {
    QTest::addColumn<int>("n");
    QTest::addColumn<int>("m");
    QTest::addColumn<double>("width");
    QTest::addColumn<int>("view");
    for (int n : {1, 2, 6, 14, 32, 64, 65, 200})
        for (double width : {60.0, 160.0})
            QTest::addRow("%d, %g mm", n, width) << n << 0 << width << static_cast<int>(FigureKind::Heatmap);
    for (auto [n, m] : {std::pair{3, 20}, {20, 3}, {1, 200}, {200, 1}, {40, 90}})
        QTest::addRow("%d x %d", n, m) << n << m << 160.0 << static_cast<int>(FigureKind::Heatmap);
    for (FigureKind kind : {FigureKind::Grid, FigureKind::Links, FigureKind::Stages, FigureKind::Walk})
        for (auto [n, m] : {std::pair{1, 0}, {6, 0}, {30, 0}, {4, 9}})
            QTest::addRow("figure %d, %d x %d", static_cast<int>(kind), n, m)
                << n << m << 160.0 << static_cast<int>(kind);
}

void TestFigures::labelsNeitherOverlapNorLeaveTheFigure() {
    QFETCH(int, n);
    QFETCH(int, m);
    QFETCH(double, width);
    QFETCH(int, view);
    const FigureSource source = toyFigure(wordsOf(n), m > 0 ? std::optional(wordsOf(m)) : std::nullopt);
    FigureSpec spec;
    spec.widthMm = width;
    spec.title = QStringLiteral("A title of some length that has to be wrapped in a narrow column of a paper");
    spec.view.figure = static_cast<FigureKind>(view);
    for (int heads : {1, 3}) {
        if (width < 100 && heads > 1)
            continue;
        spec.view.heads.clear();
        for (int h = 0; h < heads; ++h)
            spec.view.heads.push_back(HeadIndex{h});
        const FigureLayout layout = figureLayout(source, spec);
        const QRectF page(QPointF(0, 0), layout.size);
        for (std::size_t i = 0; i < layout.texts.size(); ++i) {
            const auto& a = layout.texts[i];
            QVERIFY2(page.adjusted(-0.5, -0.5, 0.5, 0.5).contains(a.rect),
                     qPrintable(QStringLiteral("\"%1\" leaves the figure: %2 %3 %4 %5 of %6 x %7")
                                    .arg(a.text)
                                    .arg(a.rect.left())
                                    .arg(a.rect.top())
                                    .arg(a.rect.right())
                                    .arg(a.rect.bottom())
                                    .arg(page.width())
                                    .arg(page.height())));
            for (std::size_t j = i + 1; j < layout.texts.size(); ++j)
                QVERIFY2(!overlap(a.rect, layout.texts[j].rect),
                         qPrintable(QStringLiteral("\"%1\" overlaps \"%2\"").arg(a.text, layout.texts[j].text)));
            for (const auto& cells : layout.cells)
                QVERIFY2(!overlap(a.rect, cells.area), qPrintable(QStringLiteral("\"%1\" covers cells").arg(a.text)));
        }
        for (const auto& cells : layout.cells)
            QVERIFY(page.adjusted(-0.5, -0.5, 0.5, 0.5).contains(cells.area));
    }
}

void TestFigures::glyphsThatNoFontHasAreShownAsCodePoints() {
    const QFont font = figureFont(8);
    QCOMPARE(displayText("cat", font), QStringLiteral("cat"));
    QCOMPARE(displayText("\xEE\x80\x80", font), QStringLiteral("U+E000"));
    QCOMPARE(displayText("a\x01", font), QStringLiteral("aU+0001"));
    QCOMPARE(displayText("\xC4\xA0"
                         "cat",
                         font),
             QStringLiteral("Ġcat")); // of byte-level vocabularies: DejaVu has it
    QVERIFY(!displayText("", font).isEmpty() && !displayText(" ", font).trimmed().isEmpty());
}

void TestFigures::everyStepIsNamedInTheStagesFigureOrItIsRefused() {
    const FigureSource source = toyFigure("The cat sat on the mat");
    FigureSpec spec;
    spec.view.figure = FigureKind::Stages;
    const std::size_t matrices = 4 + 3 + 4 + 3; // X, projections; Q, K, V; scores to weights; head output to W_O
    for (const double width : {85.0, 160.0}) {
        spec.widthMm = width;
        const FigureLayout layout = figureLayout(source, spec);
        QCOMPARE(layout.cells.size(), matrices);
        for (const auto& t : layout.texts)
            QVERIFY2(t.rect.right() < layout.size.width() - 6, qPrintable(t.text));
    }
    spec.widthMm = 50;
    QVERIFY(refusal([&] { figureLayout(source, spec); }).find("50 mm") != std::string::npos);
}

void TestFigures::aLinkIsAsWideAsItsWeightHoweverManyHeadsAreOn() {
    const FigureSource source = toyFigure("The cat sat");
    View view;
    view.figure = FigureKind::Links;
    const Links one = readLinks(*source.trace, view);
    view.heads = {HeadIndex{0}, HeadIndex{1}, HeadIndex{2}};
    const Links three = readLinks(*source.trace, view);
    const auto widths = [](const Links& links) {
        const LinkColumns columns{0, 100, 0, 0, 20};
        std::map<std::pair<int, int>, double> out;
        for (const Link& link : links.drawn)
            if (link.head == 0)
                out[{link.query, link.key}] = columns.widthOf(static_cast<double>(link.weight));
        return out;
    };
    QCOMPARE(one.drawn.size() * 3, three.drawn.size());
    QVERIFY(widths(one) == widths(three));
    QCOMPARE(widths(one).at({1, 2}), 10 * static_cast<double>((*one.heads[0].shown.matrix)(1, 2)));
}

void TestFigures::aHeadHasOneColourWhereverItStands() {
    const FigureSource source = toyFigure("The cat sat");
    View view;
    view.figure = FigureKind::Links;
    view.heads = {HeadIndex{2}, HeadIndex{5}};
    const Links links = readLinks(*source.trace, view);
    const Panel concat = stagePanel(*source.trace, view, Stage::Concat, figureFont(8));
    view.stage = Stage::HeadOutput;
    view.heads = {HeadIndex{5}};
    const Walk walk = makeWalk(source.trace, view, figureFont(8));
    for (const bool dark : {false, true}) {
        QCOMPARE(links.heads[1].color(dark), headColor(5, dark));
        QCOMPARE(concat.bandHeads[5].color(dark), headColor(5, dark));
        QCOMPARE(walk.matrices.back().panel.bandHeads.front().color(dark), headColor(5, dark));
    }
    view.stage = Stage::Weights;
    view.heads = {HeadIndex{0}, HeadIndex{1}};
    view.combine = Combine::Mean;
    QVERIFY(!readLinks(*source.trace, view).heads.front().head);
}

void TestFigures::sharedKeyHeadsHaveNoQueryHeadsColourAndNameTheirGroup() {
    ScenarioRequest request;
    request.source.name = "toy";
    request.source.toy.kvHeads = 2;
    request.text = "The cat sat";
    FigureSource source;
    source.trace = trace(makeScenario(request), referenceBackend());
    const Panel projected = stagePanel(*source.trace, {}, Stage::ProjectionK, figureFont(8));
    QCOMPARE(projected.bandHeads.size(), std::size_t(2));
    for (const bool dark : {false, true})
        for (const BandHead& band : projected.bandHeads)
            for (int head = 0; head < 24; ++head)
                QVERIFY(band.color(dark) != headColor(head, dark));
    FigureSpec spec;
    for (const auto& [kind, stage] : {std::pair{FigureKind::Walk, Stage::K}, {FigureKind::Stages, Stage::Weights}}) {
        spec.view.figure = kind;
        spec.view.stage = stage;
        QString all;
        for (const auto& t : figureLayout(source, spec).texts)
            all += t.text;
        QVERIFY2(all.contains(QStringLiteral("KV head 0 (heads 0–3)")), qPrintable(all));
    }
}

void TestFigures::headColoursAreToldApartAndReadOnBothGrounds() {
    const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
    const auto luminance = [&](const QColor& c) {
        return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
    };
    for (const bool dark : {false, true}) {
        const double ground = luminance(FigureTheme::of(dark).background) + 0.05;
        double least = 21, most = 1;
        for (int head = 0; head < 12; ++head) {
            const QColor color = headColor(head, dark);
            const double own = luminance(color) + 0.05, contrast = std::max(own, ground) / std::min(own, ground);
            least = std::min(least, contrast);
            most = std::max(most, contrast);
            for (int other = 0; other < head; ++other) {
                const QColor o = headColor(other, dark);
                const double apart =
                    std::hypot(color.red() - o.red(), color.green() - o.green(), color.blue() - o.blue());
                QVERIFY2(apart > 45, qPrintable(QStringLiteral("%1 and %2: %3").arg(head).arg(other).arg(apart)));
            }
        }
        QVERIFY2(least > (dark ? 4.5 : 2), qPrintable(QString::number(least)));
        QVERIFY2(!dark || most / least < 2.2, qPrintable(QString::number(most / least))); // none glares
    }
}

// Four heads at once: each one's colour is found in the picture, and a line of weight 1 stays within its token's row.
void TestFigures::linksOfSeveralHeadsKeepToTheirLanesAndColours() {
    const LinkColumns columns{0, 100, 0, 0, 20, 4};
    for (int lane = 0; lane < 4; ++lane) {
        const double centre = columns.from(1, lane).y();
        QVERIFY(centre - columns.widthOf(1) / 2 >= 20 - 1e-9 && centre + columns.widthOf(1) / 2 <= 40 + 1e-9);
        QVERIFY(lane == 0 || centre > columns.from(1, lane - 1).y() + 1);
    }
    const FigureSource source = toyFigure("The cat sat on the mat");
    FigureSpec spec;
    spec.view.figure = FigureKind::Links;
    spec.view.heads = {HeadIndex{1}, HeadIndex{3}, HeadIndex{4}, HeadIndex{6}};
    for (const bool dark : {false, true}) {
        spec.dark = dark;
        const QImage image = figureImage(source, spec);
        for (const HeadIndex head : spec.view.heads) {
            const QColor color = headColor(head.value, dark);
            int near = 0;
            for (int y = image.height() / 4; y < image.height(); ++y) // below the legend
                for (int x = 0; x < image.width(); ++x) {
                    const QRgb p = image.pixel(x, y);
                    near += std::abs(qRed(p) - color.red()) < 16 && std::abs(qGreen(p) - color.green()) < 16 &&
                            std::abs(qBlue(p) - color.blue()) < 16;
                }
            QVERIFY2(near > image.width() * image.height() / 200, qPrintable(QString::number(near)));
        }
    }
}

void TestFigures::oneLayersHeadsFillTheGrid() {
    FigureSpec spec;
    spec.view.figure = FigureKind::Grid;
    spec.heightMm = 120;
    const FigureLayout layout = figureLayout(toyFigure("The cat sat on the mat"), spec);
    QCOMPARE(layout.cells.size(), std::size_t(8));
    double used = 0;
    for (const auto& cells : layout.cells)
        used += cells.area.width() * cells.area.height();
    QVERIFY(used > 0.45 * layout.size.width() * layout.size.height());
}

// The sums of the rows are one column wide, and their name is not: it gets its room.
void TestFigures::symbolsOfAWalkAreWrittenInFull() {
    const FigureSource source = toyFigure("The cat sat on the mat");
    FigureSpec spec;
    spec.view.figure = FigureKind::Walk;
    for (const double width : {85.0, 120.0, 160.0, 300.0}) {
        spec.widthMm = width;
        QStringList texts;
        for (const auto& t : figureLayout(source, spec).texts)
            texts << t.text;
        for (const QString& symbol : {QStringLiteral("masked"), QStringLiteral("row sums")})
            QVERIFY2(texts.contains(symbol), qPrintable(texts.join(u'|')));
    }
}

void TestFigures::aWalkTakesTwoLinesWhereThatMakesItsCellsLarger() {
    const FigureSource source = toyFigure(wordsOf(8));
    View view;
    view.figure = FigureKind::Walk; // of the softmax: four matrices
    Sheet sheet(nullptr, false, 9);
    const Walk walk = makeWalk(source.trace, view, sheet.font());
    QCOMPARE(walk.matrices.size(), std::size_t(4));
    const auto lines = [&](double width, double height) {
        const std::optional<WalkLayout> layout = layOutWalk(sheet, walk, {0, 0}, width, height);
        QSet<double> tops;
        for (const WalkLayout::Place& place : layout->places)
            tops << place.topLeft.y();
        return layout->bottom <= height + 1 ? tops.size() : -1;
    };
    QCOMPARE(lines(1400, 260), qsizetype(1));
    QCOMPARE(lines(500, 420), qsizetype(2));
}

void TestFigures::aWalkHasOneCellSizeAndBreaksBeforeAnOperator() {
    const FigureSource source = toyFigure(wordsOf(8));
    Sheet sheet(nullptr, false, 9);
    for (const Stage stage :
         {Stage::Weights, Stage::Scores, Stage::Scaled, Stage::Masked, Stage::HeadOutput, Stage::Norms})
        for (const double width : {300.0, 420.0, 600.0, 900.0, 1400.0})
            for (const double height : {260.0, 400.0}) {
                View view;
                view.figure = FigureKind::Walk;
                view.stage = stage;
                const Walk walk = makeWalk(source.trace, view, sheet.font());
                const std::optional<WalkLayout> layout = layOutWalk(sheet, walk, {0, 0}, width, height);
                if (!layout)
                    continue;
                std::optional<QSizeF> cell;
                double line = layout->places.front().topLeft.y();
                for (std::size_t i = 0; i < layout->places.size(); ++i) {
                    const WalkMatrix& m = walk.matrices[i];
                    const WalkLayout::Place& at = layout->places[i];
                    if (at.topLeft.y() > line + 20) {
                        line = at.topLeft.y();
                        QVERIFY2(m.before.startsWith(u'=') || m.before.startsWith(u'÷'), qPrintable(m.before));
                    }
                    if (m.tall || m.panel.isPlain || m.panel.colCount() > 32)
                        continue;
                    if (cell)
                        QVERIFY(std::abs(cell->width() - at.pitch.width()) < 0.5 &&
                                std::abs(cell->height() - at.pitch.height()) < 0.5);
                    cell = at.pitch;
                    QVERIFY2(at.pitch.width() < 3.5 * at.pitch.height(), qPrintable(m.symbol));
                }
            }
}

void TestFigures::numbersOfAWalkAreReadableOrOnlyThoseOfTheMarkedCell() {
    const FigureSource source = toyFigure(wordsOf(8));
    View view;
    view.figure = FigureKind::Walk;
    view.values = true;
    view.cell = CellRef{5, 3};
    bool numbered = false, bare = false;
    for (const double width : {420.0, 700.0, 1400.0}) {
        Sheet sheet(nullptr, false, 9);
        sheet.setLeastNumber(6.75);
        Walk walk = makeWalk(source.trace, view, sheet.font());
        markWalk(walk, walk.start);
        const std::optional<WalkLayout> layout = layOutWalk(sheet, walk, {0, 0}, width, 360);
        QVERIFY(layout);
        drawWalk(sheet, walk, *layout, width);
        const CellPicture& scores = *walk.matrices.front().panel.picture;
        const bool all = layout->places.front().numbers.has_value();
        (all ? numbered : bare) = true;
        QVERIFY(!all || layout->places.front().numbers->pointSizeF() >= 6.75);
        for (std::size_t i = 0; i < walk.matrices.size(); ++i)
            QVERIFY(walk.matrices[i].panel.isPlain || layout->places[i].numbers.has_value() == all);
        QVERIFY(all || sheet.placedNumbers().contains(cellNumber(scores.matrix()(5, 3), scores.decimals())));
    }
    QVERIFY(numbered && bare);
}

// They are no shares: under the colours of 0 to 1 they would all be the brightest.
void TestFigures::rowSumsHaveNoColours() {
    View view;
    const Walk walk = makeWalk(toyFigure("The cat sat").trace, view, figureFont(8));
    for (const WalkMatrix& m : walk.matrices)
        QCOMPARE(m.panel.isPlain, m.symbol == QStringLiteral("row sums"));
}

void TestFigures::indicesAreSetAsIndicesAndUsersTextsAsTheyAre() {
    const FigureSource source = toyFigure("The snake_case sat");
    FigureSpec spec;
    spec.view.figure = FigureKind::Walk;
    spec.view.cell = CellRef{0, 1};
    for (const Stage stage : {Stage::Weights, Stage::HeadOutput, Stage::ProjectionQ, Stage::Contribution}) {
        spec.view.stage = stage;
        QString all;
        for (const auto& t : figureLayout(source, spec).texts)
            all += t.text;
        QVERIFY2(stage == Stage::Contribution || all.contains(QStringLiteral("snake_case")), qPrintable(all));
        QVERIFY2(!all.remove(QStringLiteral("snake_case")).contains(u'_') && !all.contains(QStringLiteral("[:")),
                 qPrintable(all));
    }
    spec.view.figure = FigureKind::Stages;
    for (const auto& t : figureLayout(source, spec).texts)
        QVERIFY2(!t.text.contains(u'_') || t.text == QStringLiteral("snake_case"), qPrintable(t.text));
    const CellExplanation e = explainCell(*source.trace, {}, {}, Stage::HeadOutput, 1, 2);
    QVERIFY2(sentenceText(e, figureFont(8)).startsWith(QStringLiteral("O_h of snake\\_case, dimension 2, is ")),
             qPrintable(sentenceText(e, figureFont(8))));
    QVERIFY(sumText(e, figureFont(8)).startsWith(QStringLiteral("A_{snake_case} · column 2 of V = ")));
}

void TestFigures::theWalksNumbersHaveTheInspectorsDigits() {
    const FigureSource source = toyFigure("The cat sat");
    FigureSpec spec;
    spec.view.figure = FigureKind::Walk;
    spec.view.cell = CellRef{2, 1};
    QStringList texts;
    for (const auto& t : figureLayout(source, spec).texts)
        texts << t.text;
    for (const ExplainStep& step : explainCell(*source.trace, {}, {}, Stage::Weights, 2, 1).steps)
        QVERIFY2(texts.contains(QString::fromStdString(printNumber(step.value))), qPrintable(texts.join(u'|')));
}

// mini's X has one dimension ten times all others.
void TestFigures::oneOutlierDoesNotBlankTheEmbedding() {
    ScenarioRequest request;
    request.source.name = "mini";
    request.text = "The cat sat on the mat";
    FigureSource source;
    source.trace = trace(makeScenario(request), referenceBackend());
    FigureSpec spec;
    spec.view.figure = FigureKind::Stages;
    spec.view.layer = LayerIndex{5};
    const FigureLayout layout = figureLayout(source, spec);
    const CellPicture& x = *layout.cells.front().picture;
    const CutCount cut = countCut(x);
    const auto beyond = static_cast<std::size_t>(cut.below + cut.above);
    QVERIFY(beyond > 0 && beyond < x.matrix().size() / 50);
    QString all;
    for (const auto& t : layout.texts)
        all += t.text + u' ';
    QVERIFY2(all.contains(QStringLiteral("end at percentile 99")), qPrintable(all));
    spec.view.range = {RangeSpec::Kind::Head};
    const CutCount whole = countCut(*figureLayout(source, spec).cells.front().picture);
    QCOMPARE(whole.below + whole.above, std::int64_t(0)); // as asked for
}

// The strips of the heads lie in the 4 units above the cells.
void TestFigures::formulasAndLabelsKeepAwayFromTheBands() {
    const FigureSource source = toyFigure("The cat sat on the mat");
    FigureSpec spec;
    for (const auto& [kind, stage] :
         {std::pair{FigureKind::Stages, Stage::Weights}, {FigureKind::Walk, Stage::Scores}}) {
        spec.view.figure = kind;
        spec.view.stage = stage;
        const FigureLayout layout = figureLayout(source, spec);
        const QRectF area = layout.cells[1].area; // X W_Q + b_Q; K_h^T
        const QRectF strips(area.left(), area.top() - 5, area.width(), 5);
        for (const auto& t : layout.texts)
            QVERIFY2(!t.rect.intersects(strips), qPrintable(t.text));
    }
}

void TestFigures::aGridNamesItsAxesOnceAndItsSiteInWords() {
    ScenarioRequest request;
    request.source.name = "translate";
    request.text = "the cat sleeps";
    FigureSource source;
    source.trace = trace(makeScenario(request), referenceBackend());
    FigureSpec spec;
    spec.view.figure = FigureKind::Grid;
    QString all;
    for (const auto& t : figureLayout(source, spec).texts)
        all += t.text + u' ';
    QCOMPARE(all.count(QStringLiteral("rows: queries, columns: keys")), 1);
    QVERIFY2(all.contains(QStringLiteral("decoder, cross-attention, all heads")), qPrintable(all));
}

QTEST_MAIN(TestFigures)
#include "tst_figures.moc"
