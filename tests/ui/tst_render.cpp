// Laws of numbers becoming colours and of figures becoming files. No stored pictures: every expectation is worked out
// from the numbers.
#include "core/attention/head_stages.h"
#include "core/attention/mask.h"
#include "core/attention/scenario.h"
#include "core/tensor/errors.h"
#include "ui/render/axis_labels.h"
#include "ui/render/color_tables.h"
#include "ui/render/figure.h"
#include "ui/render/figure_export.h"
#include "ui/render/links_painter.h"

#include <QFile>
#include <QFontDatabase>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QtTest>
#include <cmath>
#include <limits>
#include <map>

using namespace headscope;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

std::string wordsOf(int n) {
    static const char* const words[] = {
        "the",    "first", "animal", "did", "not", "cross", "street", "because", "it", "was", "internationalization",
        "office", "."};
    std::string text;
    for (int i = 0; i < n; ++i)
        text += std::string(words[(i * 7 + i / 5) % 13]) + ' ';
    return text;
}

FigureSource toy(const std::string& text, std::optional<std::string> pair = {}, std::string_view mask = "none",
                 RuleSet rules = {}) {
    ScenarioRequest request;
    request.source.name = "toy";
    request.source.cross = pair.has_value();
    request.text = text;
    request.pair = std::move(pair);
    request.mask = parseMask(mask);
    request.rules = rules;
    FigureSource source;
    source.trace = trace(makeScenario(request), referenceBackend());
    if (rules.any()) {
        request.rules = {};
        source.rightTrace = trace(makeScenario(request), referenceBackend());
    }
    return source;
}

// Numbers with every sign and size that a head has, different in each cell.
Matrix ramp(int rows, int cols, bool isSigned) {
    Matrix m(rows, cols);
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < cols; ++c) {
            const float t = static_cast<float>((r * 37 + c * 101) % 257) / 256.0F;
            m(r, c) = isSigned ? 2 * t - 1 : t;
        }
    return m;
}

QRgb tableColor(const ColorTable& table, double t) {
    return 0xff000000U | table[static_cast<std::size_t>(255 * t + 0.5)];
}

template<class F>
std::string refusal(F f) {
    try {
        f();
    } catch (const InputError& e) {
        return e.what();
    }
    return {};
}

bool overlap(const QRectF& a, const QRectF& b) {
    const QRectF both = a & b;
    return both.width() > 0.75 && both.height() > 0.75; // boxes of text include the air above and below letters
}

} // namespace

class TestRender : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();

    // Numbers to colours
    void linearColorsAreThePublishedTables();
    void signedColorsAreSymmetricAboutZero();
    void gammaBendsTheTableNotTheEnds();
    void nanAndMaskedHaveColorsOfTheirOwn();
    void hugeNumbersGetTheEndOfTheTable();
    void rowCurveGivesEveryRowItsOwnTop();
    void numbersAreReadableOnEveryColor();

    // Ranges
    void weightsRunFromZeroToOne();
    void rangesIgnoreWhatIsNotFinite();
    void signedRangesAreSymmetric();
    void sharedRangeCoversAllHeads();
    void percentileCutsTheTop();

    // Pictures
    void everyCellCentreHasTheColorOfItsNumber_data();
    void everyCellCentreHasTheColorOfItsNumber();
    void noBrightCellVanishesWhenPooled_data();
    void noBrightCellVanishesWhenPooled();
    void pngCellsHaveTheColorsOfTheTrace_data();
    void pngCellsHaveTheColorsOfTheTrace();
    void maskedCellsAreHatched();
    void cutCellsAreMarked();

    // Layout
    void labelsNeitherOverlapNorLeaveTheFigure_data();
    void labelsNeitherOverlapNorLeaveTheFigure();
    void allLabelsAreWrittenUpTo64Tokens();
    void aLongWordIsWrittenInFull();
    void everyStepIsNamedInTheStagesFigureOrItIsRefused();
    void aLinkIsAsWideAsItsWeightHoweverManyHeadsAreOn();
    void closedWeightsAreHatchedAndOpenOnesAreNot();
    void specialTokensLeaveTheFigureAndTheRemovedMassIsPrinted();
    void oneLayersHeadsFillTheGrid();
    void glyphsThatNoFontHasAreShownAsCodePoints();
    void axesAreTitled();
    void classRulesAreMarkedAndCompared();

    // Files
    void pngHasExactlyTheAskedSize();
    void pdfHoldsVectorsTextAndExactSize();
    void pdfAbove256IsOneLosslessImage();
    void svgHoldsTextAndExactSize();
    void theSameFigureGivesTheSameBytes();
    void theScenarioIsInsideEveryFile();
    void wrongInputIsRefused();
};

void TestRender::initTestCase() {
    QVERIFY2(!QFontDatabase::families().isEmpty(), "no fonts: every measurement would be silent nonsense");
}

void TestRender::linearColorsAreThePublishedTables() {
    const std::pair<ColorMap, const ColorTable*> maps[] = {{ColorMap::Viridis, &viridisTable},
                                                           {ColorMap::Cividis, &cividisTable},
                                                           {ColorMap::Magma, &magmaTable},
                                                           {ColorMap::Inferno, &infernoTable},
                                                           {ColorMap::Gray, &grayTable}};
    for (const auto& [map, table] : maps) {
        const ColorScale scale(map, false, {0, 2});
        for (int i = 0; i <= 200; ++i)
            QCOMPARE(scale.color(static_cast<float>(i) / 100.0F),
                     tableColor(*table, static_cast<float>(i) / 100.0F / 2.0));
    }
    QCOMPARE(ColorScale(ColorMap::Viridis, false, {}).color(0), qRgb(0x44, 0x01, 0x54)); // the ends as published
    QCOMPARE(ColorScale(ColorMap::Viridis, false, {}).color(1), qRgb(0xfd, 0xe7, 0x25));
    QVERIFY2(qGray(ColorScale(ColorMap::Gray, false, {}).color(1)) < 235, "a weight of 1 must not look like paper");
}

void TestRender::signedColorsAreSymmetricAboutZero() {
    const ColorScale scale(ColorMap::Viridis, true, {-3, 3});
    QVERIFY(qRed(scale.color(0)) > 235 && qBlue(scale.color(0)) > 235); // near white
    QCOMPARE(scale.color(3), 0xff000000U | puorTable[255]);
    QCOMPARE(scale.color(-3), 0xff000000U | puorTable[0]);
    const ColorScale half(ColorMap::Viridis, true, {1, 3}); // asked for by a user: zero stays the middle of the table
    QCOMPARE(half.color(1.5F), scale.color(1.5F));
    QCOMPARE(half.cut(0.5F), -1);
}

void TestRender::gammaBendsTheTableNotTheEnds() {
    const ColorScale linear(ColorMap::Magma, false, {}), bent(ColorMap::Magma, false, {}, {Curve::Kind::Gamma, 0.5});
    QCOMPARE(bent.color(0), linear.color(0));
    QCOMPARE(bent.color(1), linear.color(1));
    QCOMPARE(bent.color(0.25F), linear.color(0.5F)); // sqrt(0.25)
}

void TestRender::nanAndMaskedHaveColorsOfTheirOwn() {
    for (bool isSigned : {false, true}) {
        const ColorScale scale(ColorMap::Viridis, isSigned, {-1, 1});
        QSet<QRgb> used;
        for (int i = 0; i <= 512; ++i)
            used.insert(scale.color(static_cast<float>(i) / 256.0F - 1));
        QVERIFY(!used.contains(scale.color(NAN)) && !used.contains(scale.color(-inf)));
        QVERIFY(scale.color(NAN) != scale.color(-inf));
    }
}

void TestRender::hugeNumbersGetTheEndOfTheTable() {
    const ColorScale scale(ColorMap::Viridis, false, {0, 1});
    for (float v : {2.0F, 1e8F, 3e38F, inf})
        QCOMPARE(scale.color(v), scale.color(1));
    for (float v : {-2.0F, -1e8F, -3e38F})
        QCOMPARE(scale.color(v), scale.color(0));
}

void TestRender::rowCurveGivesEveryRowItsOwnTop() {
    Matrix m(3, 2);
    m(0, 0) = 0.1F;
    m(0, 1) = 0.05F;
    m(1, 0) = 1.0F;
    m(1, 1) = 0.5F; // the third row is fully masked: all zero
    const CellPicture picture(share(m), ColorScale(ColorMap::Viridis, false, {0, 1}, {Curve::Kind::Row, 1}));
    const ColorScale linear(ColorMap::Viridis, false, {0, 1});
    QCOMPARE(picture.color(0, 0), linear.color(1));
    QCOMPARE(picture.color(0, 1), linear.color(0.5F));
    QCOMPARE(picture.color(1, 1), linear.color(0.5F));
    QCOMPARE(picture.color(2, 0), linear.color(0));
}

void TestRender::numbersAreReadableOnEveryColor() {
    const auto luminance = [](QRgb c) {
        const auto f = [](int v) {
            return v / 255.0 <= 0.04045 ? v / 255.0 / 12.92 : std::pow((v / 255.0 + 0.055) / 1.055, 2.4);
        };
        return 0.2126 * f(qRed(c)) + 0.7152 * f(qGreen(c)) + 0.0722 * f(qBlue(c));
    };
    for (const ColorTable* table : {&viridisTable, &cividisTable, &magmaTable, &infernoTable, &grayTable, &puorTable})
        for (std::uint32_t color : *table) {
            const double a = luminance(0xff000000U | color), b = luminance(ColorScale::inkOn(0xff000000U | color));
            QVERIFY((std::max(a, b) + 0.05) / (std::min(a, b) + 0.05) >= 4.0); // WCAG: 3 for large, 4.5 for small text
        }
}

void TestRender::weightsRunFromZeroToOne() {
    const Matrix m(2, 2, 0.25F);
    const MatrixView views[] = {m};
    QCOMPARE(resolveRange({}, {}, {true, false}, views).range.lo, 0.0);
    QCOMPARE(resolveRange({}, {}, {true, false}, views).range.hi, 1.0);
    QCOMPARE(resolveRange({RangeSpec::Kind::Fixed, 0.2, 0.4}, {}, {true, false}, views).range.hi, 0.4);
}

void TestRender::rangesIgnoreWhatIsNotFinite() {
    Matrix m(2, 3);
    m(0, 0) = NAN; // the first cell: where a running minimum would stick
    m(0, 1) = -inf;
    m(0, 2) = 3;
    m(1, 0) = inf;
    m(1, 1) = -1;
    m(1, 2) = 2;
    const MatrixView views[] = {m};
    const ValueRange range = resolveRange({RangeSpec::Kind::Head}, {}, {false, false}, views).range;
    QCOMPARE(range.lo, -1.0);
    QCOMPARE(range.hi, 3.0);
    const Matrix nothing(2, 2, -inf);
    const MatrixView none[] = {nothing};
    const ValueRange fallback = resolveRange({}, {}, {false, true}, none).range;
    QVERIFY(fallback.lo < fallback.hi && std::isfinite(fallback.lo) && std::isfinite(fallback.hi));
}

void TestRender::signedRangesAreSymmetric() {
    Matrix m(1, 2);
    m(0, 0) = -5;
    m(0, 1) = 2;
    const MatrixView views[] = {m};
    const ValueRange range = resolveRange({}, {}, {false, true}, views).range;
    QCOMPARE(range.lo, -5.0);
    QCOMPARE(range.hi, 5.0);
}

void TestRender::sharedRangeCoversAllHeads() {
    const Matrix a(1, 1, 1), b(1, 1, 7);
    const MatrixView shown[] = {a}, all[] = {a, b};
    QCOMPARE(resolveRange({RangeSpec::Kind::Shared}, {}, {false, true}, shown, all).range.hi, 7.0);
    QCOMPARE(resolveRange({RangeSpec::Kind::Head}, {}, {false, true}, shown, all).range.hi, 1.0);
}

void TestRender::percentileCutsTheTop() {
    Matrix m(1, 101);
    for (int i = 0; i <= 100; ++i)
        m(0, i) = static_cast<float>(i);
    const MatrixView views[] = {m};
    QCOMPARE(resolveRange({RangeSpec::Kind::Head}, {Curve::Kind::Percentile, 90}, {false, false}, views).range.hi,
             90.0);
}

void TestRender::everyCellCentreHasTheColorOfItsNumber_data() {
    QTest::addColumn<int>("rows");
    QTest::addColumn<int>("cols");
    QTest::addColumn<bool>("isSigned");
    for (int n : {1, 2, 3, 7, 14, 33, 64, 100, 128})
        for (bool isSigned : {false, true})
            QTest::addRow("%d %s", n, isSigned ? "signed" : "weights") << n << n << isSigned;
    QTest::addRow("3 x 90") << 3 << 90 << false;
    QTest::addRow("90 x 3") << 90 << 3 << true;
}

void TestRender::everyCellCentreHasTheColorOfItsNumber() {
    QFETCH(int, rows);
    QFETCH(int, cols);
    QFETCH(bool, isSigned);
    const Matrix m = ramp(rows, cols, isSigned);
    const ColorScale scale(ColorMap::Viridis, isSigned, isSigned ? ValueRange{-1, 1} : ValueRange{0, 1});
    QImage image(700, 700, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    painter.scale(1.3, 1.3);
    const QRectF area(13.37, 7.1, 400, 431.9);
    paintCells(painter, CellPicture(share(m), scale), area, CellStyle());
    const QTransform toPixels = painter.deviceTransform();
    painter.end();
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < cols; ++c) {
            const QPoint centre = toPixels.map(cellRect(area, rows, cols, r, c).center()).toPoint();
            QCOMPARE(image.pixel(centre), scale.color(m(r, c)));
        }
}

void TestRender::noBrightCellVanishesWhenPooled_data() {
    QTest::addColumn<int>("n");
    QTest::addColumn<float>("value");
    for (int n : {129, 512, 1000, 2048})
        for (float v : {1.0F, -1.0F})
            QTest::addRow("%d, %g", n, static_cast<double>(v)) << n << v;
}

void TestRender::noBrightCellVanishesWhenPooled() {
    QFETCH(int, n);
    QFETCH(float, value);
    const ColorScale scale(ColorMap::Viridis, true, {-1, 1});
    const QRgb bright = scale.color(value);
    for (int k = 0; k < 40; ++k) {
        Matrix m(n, n, 0.01F);
        const int r = (k * 7919 + 13) % n, c = k == 0 ? n - 1 : (k * 104729 + 1) % n;
        m(r, c) = value;
        const QImage image = headThumbnail(m, scale, QSize(101, 97));
        int found = 0;
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x)
                if (image.pixel(x, y) == bright) {
                    ++found;
                    QVERIFY2(std::abs((x + 0.5) * n / 101 - c) <= n / 101.0 * 2 + 1 &&
                                 std::abs((y + 0.5) * n / 97 - r) <= n / 97.0 * 2 + 1,
                             "in the wrong place");
                }
        QVERIFY2(found >= 1 && found <= 9,
                 qPrintable(QStringLiteral("cell (%1, %2) covers %3 pixels").arg(r).arg(c).arg(found)));
    }
}

void TestRender::pngCellsHaveTheColorsOfTheTrace_data() {
    QTest::addColumn<int>("n");
    QTest::addColumn<int>("stage");
    for (int n : {1, 6, 14, 64, 128})
        for (Stage s : {Stage::Weights, Stage::Scores, Stage::Q})
            QTest::addRow("%d %s", n, std::string(stageInfo(s).id).c_str()) << n << static_cast<int>(s);
}

void TestRender::pngCellsHaveTheColorsOfTheTrace() {
    QFETCH(int, n);
    QFETCH(int, stage);
    const FigureSource source = toy(wordsOf(n));
    FigureSpec spec;
    spec.view.stage = static_cast<Stage>(stage);
    spec.view.heads = {HeadIndex{1}, HeadIndex{3}};
    const QImage image = figureImage(source, spec);
    const FigureLayout layout = figureLayout(source, spec);
    QCOMPARE(layout.cells.size(), std::size_t(2));
    double top = 0; // the range of signed stages: the largest magnitude of both heads
    for (HeadIndex h : spec.view.heads) {
        const SharedMatrix m = stageMatrix(*source.trace, {}, h, spec.view.stage);
        for (float v : m->values())
            top = std::max(top, static_cast<double>(std::abs(v)));
    }
    for (std::size_t p = 0; p < 2; ++p) {
        const SharedMatrix m = stageMatrix(*source.trace, {}, spec.view.heads[p], spec.view.stage);
        for (int r = 0; r < m->rows(); ++r)
            for (int c = 0; c < m->cols(); ++c) {
                const QPointF centre =
                    cellRect(layout.cells[p].area, m->rows(), m->cols(), r, c).center() * (spec.dpi / 96.0);
                const double v = (*m)(r, c);
                const QRgb expected = spec.view.stage == Stage::Weights ? tableColor(viridisTable, v)
                                                                        : tableColor(puorTable, 0.5 + 0.5 * v / top);
                QCOMPARE(image.pixel(static_cast<int>(centre.x()), static_cast<int>(centre.y())), expected);
            }
    }
}

void TestRender::maskedCellsAreHatched() {
    Matrix m(2, 2, 0.5F);
    m(0, 1) = -inf;
    QImage image(200, 200, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    CellStyle style;
    paintCells(painter, CellPicture(share(m), ColorScale(ColorMap::Viridis, true, {-1, 1})), QRectF(0, 0, 200, 200),
               style);
    painter.end();
    QSet<QRgb> colors;
    for (int i = 110; i < 190; ++i)
        colors.insert(image.pixel(i, 50));
    QCOMPARE(colors, (QSet<QRgb>{style.hatchGround.rgb(), style.hatchLine.rgb()}));
}

void TestRender::cutCellsAreMarked() {
    Matrix m(1, 3);
    m(0, 0) = 0.5F;
    m(0, 1) = 2;
    m(0, 2) = -2;
    const auto draw = [&](bool marks) {
        QImage image(300, 100, QImage::Format_RGB32);
        image.fill(Qt::white);
        QPainter painter(&image);
        CellStyle style;
        style.clipMarks = marks;
        paintCells(painter, CellPicture(share(m), ColorScale(ColorMap::Viridis, false, {0, 1})), QRectF(0, 0, 300, 100),
                   style);
        return image;
    };
    const QImage with = draw(true), without = draw(false);
    QCOMPARE(with.copy(0, 0, 99, 100), without.copy(0, 0, 99, 100)); // inside the range: no mark
    QVERIFY(with.copy(100, 0, 100, 100) != without.copy(100, 0, 100, 100));
    QVERIFY(with.copy(200, 0, 100, 100) != without.copy(200, 0, 100, 100));
    QCOMPARE(with.pixel(150, 50), without.pixel(150, 50)); // never in the middle, where the colour is read
}

void TestRender::labelsNeitherOverlapNorLeaveTheFigure_data() {
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

void TestRender::labelsNeitherOverlapNorLeaveTheFigure() {
    QFETCH(int, n);
    QFETCH(int, m);
    QFETCH(double, width);
    QFETCH(int, view);
    const FigureSource source = toy(wordsOf(n), m > 0 ? std::optional(wordsOf(m)) : std::nullopt);
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

void TestRender::allLabelsAreWrittenUpTo64Tokens() {
    for (int n : {6, 32, 63, 64}) {
        const FigureSource source = toy(wordsOf(n));
        QMap<QString, int> expected;
        for (const Token& t : source.trace->scenario.query.tokens)
            expected[QString::fromStdString(t.text)] += 2; // as a row and as a column
        for (double width : {60.0, 160.0}) {
            FigureSpec spec;
            spec.widthMm = width;
            QMap<QString, int> found;
            for (const auto& t : figureLayout(source, spec).texts)
                if (expected.contains(t.text))
                    ++found[t.text];
            QCOMPARE(found, expected);
        }
    }
}

void TestRender::aLongWordIsWrittenInFull() {
    const QString word =
        QStringLiteral("Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft");
    const FigureSource source = toy("a " + word.toStdString() + " b");
    for (const FigureKind kind : {FigureKind::Heatmap, FigureKind::Links}) {
        FigureSpec spec;
        spec.view.figure = kind;
        QStringList texts;
        for (const auto& t : figureLayout(source, spec).texts)
            texts << t.text;
        QVERIFY(texts.count(word) == 2);
    }
}

void TestRender::everyStepIsNamedInTheStagesFigureOrItIsRefused() {
    const FigureSource source = toy("The cat sat on the mat");
    FigureSpec spec;
    spec.view.figure = FigureKind::Stages;
    const std::size_t matrices = 4 + 3 + 4 + 3; // X, projections; Q, K, V; scores to weights; head output to W_O
    for (const double width : {85.0, 160.0}) {
        spec.widthMm = width;
        QCOMPARE(figureLayout(source, spec).cells.size(), matrices);
    }
    spec.widthMm = 50;
    QVERIFY(refusal([&] { figureLayout(source, spec); }).find("50 mm") != std::string::npos);
}

void TestRender::aLinkIsAsWideAsItsWeightHoweverManyHeadsAreOn() {
    const FigureSource source = toy("The cat sat");
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

void TestRender::closedWeightsAreHatchedAndOpenOnesAreNot() {
    const FigureLayout layout = figureLayout(toy("The cat sat on", {}, "causal"), {});
    const CellPicture& picture = *layout.cells.front().picture;
    for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 4; ++c)
            QCOMPARE(picture.pyramid().at(r, c) == ColorScale::masked, c > r);
    QCOMPARE(picture.matrix()(0, 1), 0.0F); // the number itself stays what it is
}

void TestRender::specialTokensLeaveTheFigureAndTheRemovedMassIsPrinted() {
    ScenarioRequest request;
    request.source.name = "mini";
    request.text = "The cat sat";
    FigureSource source;
    source.trace = trace(makeScenario(request), referenceBackend());
    FigureSpec spec;
    const auto textsWith = [&](Special special) {
        spec.view.special = special;
        QStringList texts;
        for (const auto& t : figureLayout(source, spec).texts)
            texts << t.text;
        return texts;
    };
    QCOMPARE(textsWith(Special::Show).count(QStringLiteral("[CLS]")), 2);
    QCOMPARE(textsWith(Special::Hide).count(QStringLiteral("[CLS]")), 0);
    QVERIFY(!textsWith(Special::Hide).contains(QStringLiteral("removed")));
    QVERIFY(textsWith(Special::Drop).contains(QStringLiteral("removed")));
    QVERIFY(textsWith(Special::Drop).join(u' ').contains(QStringLiteral("removed mass")));
}

void TestRender::oneLayersHeadsFillTheGrid() {
    FigureSpec spec;
    spec.view.figure = FigureKind::Grid;
    spec.heightMm = 120;
    const FigureLayout layout = figureLayout(toy("The cat sat on the mat"), spec);
    QCOMPARE(layout.cells.size(), std::size_t(8));
    double used = 0;
    for (const auto& cells : layout.cells)
        used += cells.area.width() * cells.area.height();
    QVERIFY(used > 0.45 * layout.size.width() * layout.size.height());
}

void TestRender::glyphsThatNoFontHasAreShownAsCodePoints() {
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

void TestRender::axesAreTitled() {
    const FigureSource source = toy("The cat sat");
    const auto texts = [&](Stage stage) {
        FigureSpec spec;
        spec.view.stage = stage;
        spec.view.heads = {HeadIndex{3}};
        QStringList out;
        for (const auto& t : figureLayout(source, spec).texts)
            out << t.text;
        return out;
    };
    QVERIFY(texts(Stage::Weights).contains(QStringLiteral("queries")));
    QVERIFY(texts(Stage::Weights).contains(QStringLiteral("keys (attended to)")));
    QVERIFY(texts(Stage::Q).contains(QStringLiteral("d_k of head 3")));
    QVERIFY(texts(Stage::V).contains(QStringLiteral("keys")));
}

void TestRender::classRulesAreMarkedAndCompared() {
    const FigureSource source = toy("The cat sat on the mat", {}, "none", with({}, Rule::NoScale));
    const FigureLayout layout = figureLayout(source, {});
    QCOMPARE(layout.cells.size(), std::size_t(3));
    QStringList texts;
    for (const auto& t : layout.texts)
        texts << t.text;
    QVERIFY(texts.contains(QStringLiteral("class rule: no-scale, wrong on purpose")));
    const Matrix& wrong = layout.cells[0].picture->matrix();
    const Matrix& right = layout.cells[1].picture->matrix();
    const Matrix& change = layout.cells[2].picture->matrix();
    QVERIFY(!(wrong == right));
    QVERIFY(layout.cells[2].picture->scale().isSigned());
    for (std::size_t i = 0; i < change.size(); ++i)
        QCOMPARE(change.values()[i], wrong.values()[i] - right.values()[i]);
}

void TestRender::pngHasExactlyTheAskedSize() {
    const FigureSource source = toy("The cat sat on the mat");
    for (auto [width, height, dpi] : {std::tuple{160.0, 120.0, 300}, {85.0, 85.0, 600}, {60.0, 70.0, 96}}) {
        FigureSpec spec;
        spec.widthMm = width;
        spec.heightMm = height;
        spec.dpi = dpi;
        const QByteArray png = pngBytes(figureImage(source, spec), spec);
        const QImage image = QImage::fromData(png);
        QCOMPARE(image.width(), static_cast<int>(std::lround(width / 25.4 * dpi)));
        QCOMPARE(image.height(), static_cast<int>(std::lround(height / 25.4 * dpi)));
        QVERIFY(std::abs(image.dotsPerMeterX() - dpi / 0.0254) < 1);
        spec.transparent = true;
        QCOMPARE(qAlpha(figureImage(source, spec).pixel(1, 1)), 0);
    }
}

namespace {

// What a reader of PDF finds in it; empty when there is none on this machine.
QString textOfPdf(const QByteArray& pdf, const QString& folder) {
    const QString tool = QStandardPaths::findExecutable(QStringLiteral("pdftotext"));
    if (tool.isEmpty())
        return {};
    QFile file(folder + QStringLiteral("/figure.pdf"));
    if (!file.open(QIODevice::WriteOnly))
        return {};
    file.write(pdf);
    file.close();
    QProcess process;
    process.start(tool, {file.fileName(), QStringLiteral("-")});
    process.waitForFinished();
    return QString::fromUtf8(process.readAllStandardOutput());
}

} // namespace

void TestRender::pdfHoldsVectorsTextAndExactSize() {
    const FigureSource source = toy(wordsOf(64), {}, "causal");
    FigureSpec spec;
    spec.heightMm = 170;
    const QByteArray pdf = pdfBytes(source, spec, figureSizeMm(source, spec));
    QVERIFY(!pdf.contains("DCTDecode"));
    QVERIFY2(!pdf.contains("/Subtype /Image"), "cells are vectors up to 256 tokens");
    QVERIFY(pdf.contains("/MediaBox [0 0 453.5433 481.8898]")); // 160 x 170 mm in points
    QVERIFY2(!pdf.contains("/CreationDate"), "the same figure gives the same bytes");
    QVERIFY(pdf.contains("/FontFile2")); // embedded
    // The cross-reference table points at its objects.
    const qsizetype xref = pdf.mid(pdf.lastIndexOf("startxref") + 10).split('\n').front().toLongLong();
    QVERIFY(pdf.mid(xref).startsWith("xref\n0 "));
    const QList<QByteArray> lines = pdf.mid(xref).split('\n');
    for (int i = 3; i < lines.size() && lines[i].endsWith("n "); ++i)
        QVERIFY(pdf.mid(lines[i].left(10).toLongLong()).startsWith(QByteArray::number(i - 2) + " 0 obj"));

    QTemporaryDir folder;
    const QString text = textOfPdf(pdf, folder.path());
    if (text.isEmpty())
        QSKIP("pdftotext is not installed");
    for (const Token& token : source.trace->scenario.query.tokens)
        QVERIFY2(text.contains(QString::fromStdString(token.text)), token.text.c_str());
    QVERIFY(text.contains(QStringLiteral("keys (attended to)")));
}

void TestRender::pdfAbove256IsOneLosslessImage() {
    const FigureSource source = toy(wordsOf(260));
    FigureSpec spec;
    const QByteArray pdf = pdfBytes(source, spec, figureSizeMm(source, spec));
    QVERIFY(!pdf.contains("DCTDecode"));
    QCOMPARE(pdf.count("/Subtype /Image"), 1);
    QVERIFY(pdf.contains("/Width 1040")); // 4 samples for each of 260 cells
}

void TestRender::svgHoldsTextAndExactSize() {
    const FigureSource source = toy(wordsOf(14), {}, "causal");
    FigureSpec spec;
    spec.heightMm = 170;
    const QByteArray svg = svgBytes(source, spec, figureSizeMm(source, spec));
    QVERIFY(svg.contains("width=\"160.000mm\" height=\"170.000mm\""));
    QVERIFY(!svg.contains("<image"));
    QVERIFY(!svg.contains("Sans Serif")); // a real family
    for (const Token& token : source.trace->scenario.query.tokens)
        QVERIFY2(svg.contains(('>' + token.text).c_str()), token.text.c_str());
    QXmlStreamReader reader(svg);
    while (!reader.atEnd())
        reader.readNext();
    QVERIFY2(!reader.hasError(), qPrintable(reader.errorString()));
    const FigureSource larger = toy(wordsOf(65));
    QVERIFY(svgBytes(larger, {}, figureSizeMm(larger, {})).contains("<image"));
}

void TestRender::theSameFigureGivesTheSameBytes() {
    const FigureSource source = toy("The cat sat on the mat");
    const QSizeF mm = figureSizeMm(source, {});
    const QByteArray pdf = pdfBytes(source, {}, mm), svg = svgBytes(source, {}, mm),
                     png = pngBytes(figureImage(source, {}), {});
    QTest::qWait(1100); // a time stamp would differ
    QCOMPARE(pdfBytes(source, {}, mm), pdf);
    QCOMPARE(svgBytes(source, {}, mm), svg);
    QCOMPARE(pngBytes(figureImage(source, {}), {}), png);
}

void TestRender::theScenarioIsInsideEveryFile() {
    const FigureSource source = toy("The cat sat on the mat");
    FigureSpec spec;
    spec.document = QStringLiteral("{\"format\": \"headscope\", \"text\": \"a < b & ü 猫\"}");
    QCOMPARE(QImage::fromData(pngBytes(figureImage(source, spec), spec)).text(QStringLiteral("headscope:scenario")),
             spec.document);
    const QSizeF mm = figureSizeMm(source, spec);
    const QByteArray escaped = spec.document.toHtmlEscaped().toUtf8();
    QVERIFY(svgBytes(source, spec, mm).contains(escaped));
    QVERIFY(pdfBytes(source, spec, mm).contains(escaped));
}

void TestRender::wrongInputIsRefused() {
    const FigureSource source = toy("The cat sat on the mat");
    QTemporaryDir folder;
    FigureSpec spec;
    QVERIFY(refusal([&] {
                writeFigure(source, spec, folder.path() + QStringLiteral("/f.bmp"));
            }).find(".png, .svg or .pdf") != std::string::npos);
    QVERIFY(!refusal([&] { writeFigure(source, spec, folder.path() + QStringLiteral("/no/such/f.png")); }).empty());
    spec.dpi = 4800;
    spec.widthMm = 1000;
    QVERIFY(refusal([&] { figureImage(source, spec); }).find("188976") !=
            std::string::npos); // the figures of what was asked
    spec = {};
    spec.heightMm = 15;
    QVERIFY(refusal([&] { figureSizeMm(source, spec); }).find("160 x 15 mm") != std::string::npos);
    spec = {};
    spec.view.layer = LayerIndex{9};
    QVERIFY(refusal([&] { figureSizeMm(source, spec); }).find("layer 9") != std::string::npos);
    spec = {};
    spec.view.stage = Stage::EmbeddingKey;
    QVERIFY(refusal([&] { figureSizeMm(source, spec); }).find("embedding_key") != std::string::npos);
    spec = {};
    spec.view.figure = FigureKind::Links;
    spec.view.stage = Stage::Scores;
    QVERIFY(refusal([&] { figureSizeMm(source, spec); }).find("links") != std::string::npos);
    QVERIFY(QDir(folder.path()).isEmpty()); // nothing is left half written
}

QTEST_MAIN(TestRender)
#include "tst_render.moc"
