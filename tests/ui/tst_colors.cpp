// Laws of numbers becoming colours, and of cells being painted: the colour at a cell's centre is the colour of its
// number.
#include "tests/ui/figure_support.h"

#include <cmath>
#include <limits>

using namespace headscope;
using namespace headscope::testing;

static constexpr float inf = std::numeric_limits<float>::infinity();

class TestColors : public QObject {
    Q_OBJECT
private slots:
    void linearColorsAreThePublishedTables();
    void signedColorsAreSymmetricAboutZero();
    void gammaBendsTheTableNotTheEnds();
    void nanAndMaskedHaveColorsOfTheirOwn();
    void hugeNumbersGetTheEndOfTheTable();
    void rowCurveGivesEveryRowItsOwnTop();
    void numbersAreReadableOnEveryColor();

    void weightsRunFromZeroToOne();
    void rangesIgnoreWhatIsNotFinite();
    void signedRangesAreSymmetric();
    void sharedRangeCoversAllHeads();
    void percentileCutsTheTop();

    void everyCellCentreHasTheColorOfItsNumber_data();
    void everyCellCentreHasTheColorOfItsNumber();
    void noBrightCellVanishesWhenPooled_data();
    void noBrightCellVanishesWhenPooled();
    void maskedCellsAreHatched();
    void cutCellsAreMarked();
};

void TestColors::linearColorsAreThePublishedTables() {
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

void TestColors::signedColorsAreSymmetricAboutZero() {
    const ColorScale scale(ColorMap::Viridis, true, {-3, 3});
    QVERIFY(qRed(scale.color(0)) > 235 && qBlue(scale.color(0)) > 235); // near white
    QCOMPARE(scale.color(3), 0xff000000U | puorTable[255]);
    QCOMPARE(scale.color(-3), 0xff000000U | puorTable[0]);
    const ColorScale half(ColorMap::Viridis, true, {1, 3}); // asked for by a user: zero stays the middle of the table
    QCOMPARE(half.color(1.5F), scale.color(1.5F));
    QCOMPARE(half.cut(0.5F), -1);
}

void TestColors::gammaBendsTheTableNotTheEnds() {
    const ColorScale linear(ColorMap::Magma, false, {}), bent(ColorMap::Magma, false, {}, {Curve::Kind::Gamma, 0.5});
    QCOMPARE(bent.color(0), linear.color(0));
    QCOMPARE(bent.color(1), linear.color(1));
    QCOMPARE(bent.color(0.25F), linear.color(0.5F)); // sqrt(0.25)
}

void TestColors::nanAndMaskedHaveColorsOfTheirOwn() {
    for (bool isSigned : {false, true}) {
        const ColorScale scale(ColorMap::Viridis, isSigned, {-1, 1});
        QSet<QRgb> used;
        for (int i = 0; i <= 512; ++i)
            used.insert(scale.color(static_cast<float>(i) / 256.0F - 1));
        QVERIFY(!used.contains(scale.color(NAN)) && !used.contains(scale.color(-inf)));
        QVERIFY(scale.color(NAN) != scale.color(-inf));
    }
}

void TestColors::hugeNumbersGetTheEndOfTheTable() {
    const ColorScale scale(ColorMap::Viridis, false, {0, 1});
    for (float v : {2.0F, 1e8F, 3e38F, inf})
        QCOMPARE(scale.color(v), scale.color(1));
    for (float v : {-2.0F, -1e8F, -3e38F})
        QCOMPARE(scale.color(v), scale.color(0));
}

void TestColors::rowCurveGivesEveryRowItsOwnTop() {
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

void TestColors::numbersAreReadableOnEveryColor() {
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

void TestColors::weightsRunFromZeroToOne() {
    const Matrix m(2, 2, 0.25F);
    const MatrixView views[] = {m};
    QCOMPARE(resolveRange({}, {}, {true, false}, views).range.lo, 0.0);
    QCOMPARE(resolveRange({}, {}, {true, false}, views).range.hi, 1.0);
    QCOMPARE(resolveRange({RangeSpec::Kind::Fixed, 0.2, 0.4}, {}, {true, false}, views).range.hi, 0.4);
}

void TestColors::rangesIgnoreWhatIsNotFinite() {
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

void TestColors::signedRangesAreSymmetric() {
    Matrix m(1, 2);
    m(0, 0) = -5;
    m(0, 1) = 2;
    const MatrixView views[] = {m};
    const ValueRange range = resolveRange({}, {}, {false, true}, views).range;
    QCOMPARE(range.lo, -5.0);
    QCOMPARE(range.hi, 5.0);
}

void TestColors::sharedRangeCoversAllHeads() {
    const Matrix a(1, 1, 1), b(1, 1, 7);
    const MatrixView shown[] = {a}, all[] = {a, b};
    QCOMPARE(resolveRange({RangeSpec::Kind::Shared}, {}, {false, true}, shown, all).range.hi, 7.0);
    QCOMPARE(resolveRange({RangeSpec::Kind::Head}, {}, {false, true}, shown, all).range.hi, 1.0);
}

void TestColors::percentileCutsTheTop() {
    Matrix m(1, 101);
    for (int i = 0; i <= 100; ++i)
        m(0, i) = static_cast<float>(i);
    const MatrixView views[] = {m};
    QCOMPARE(resolveRange({RangeSpec::Kind::Head}, {Curve::Kind::Percentile, 90}, {false, false}, views).range.hi,
             90.0);
}

void TestColors::everyCellCentreHasTheColorOfItsNumber_data() {
    QTest::addColumn<int>("rows");
    QTest::addColumn<int>("cols");
    QTest::addColumn<bool>("isSigned");
    for (int n : {1, 2, 3, 7, 14, 33, 64, 100, 128})
        for (bool isSigned : {false, true})
            QTest::addRow("%d %s", n, isSigned ? "signed" : "weights") << n << n << isSigned;
    QTest::addRow("3 x 90") << 3 << 90 << false;
    QTest::addRow("90 x 3") << 90 << 3 << true;
}

void TestColors::everyCellCentreHasTheColorOfItsNumber() {
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

void TestColors::noBrightCellVanishesWhenPooled_data() {
    QTest::addColumn<int>("n");
    QTest::addColumn<float>("value");
    for (int n : {129, 512, 1000, 2048})
        for (float v : {1.0F, -1.0F})
            QTest::addRow("%d, %g", n, static_cast<double>(v)) << n << v;
}

void TestColors::noBrightCellVanishesWhenPooled() {
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

void TestColors::maskedCellsAreHatched() {
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

void TestColors::cutCellsAreMarked() {
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

QTEST_MAIN(TestColors)
#include "tst_colors.moc"
