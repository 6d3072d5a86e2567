// Laws of the heatmap figure, worked out from the trace: no stored pictures.
#include "tests/ui/figure_support.h"
#include "ui/render/head_colors.h"

#include <cmath>

using namespace headscope;
using namespace headscope::testing;

class TestHeatmapFigure : public QObject {
    Q_OBJECT
private slots:
    void pngCellsHaveTheColorsOfTheTrace_data();
    void pngCellsHaveTheColorsOfTheTrace();
    void closedWeightsAreHatchedAndOpenOnesAreNot();

    void allLabelsAreWrittenUpTo64Tokens();
    void headsOfConcatHaveTheirColoursAndTicksWhereTheyBegin();
    void bandsAreSeparatedByWhatIsSeenOnTheirCells();
    void theMarkedTokensAreNamedAmongThinnedLabels();
    void combinedHeadsAreNamed();
    void theFigureStandsInTheMiddle();
    void numbersWithoutRoomAreRemarked();
    void aLongWordIsWrittenInFull();
    void axesAreTitled();
    void specialTokensLeaveTheFigureAndTheRemovedMassIsPrinted();
    void classRulesAreMarkedAndCompared();
};

void TestHeatmapFigure::pngCellsHaveTheColorsOfTheTrace_data() {
    QTest::addColumn<int>("n");
    QTest::addColumn<int>("stage");
    for (int n : {1, 6, 14, 64, 128})
        for (Stage s : {Stage::Weights, Stage::Scores, Stage::Q})
            QTest::addRow("%d %s", n, std::string(stageInfo(s).id).c_str()) << n << static_cast<int>(s);
}

void TestHeatmapFigure::pngCellsHaveTheColorsOfTheTrace() {
    QFETCH(int, n);
    QFETCH(int, stage);
    const FigureSource source = toyFigure(wordsOf(n));
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

void TestHeatmapFigure::closedWeightsAreHatchedAndOpenOnesAreNot() {
    const FigureLayout layout = figureLayout(toyFigure("The cat sat on", {}, "causal"), {});
    const CellPicture& picture = *layout.cells.front().picture;
    for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 4; ++c)
            QCOMPARE(picture.pyramid().at(r, c) == ColorScale::masked, c > r);
    QCOMPARE(picture.matrix()(0, 1), 0.0F); // the number itself stays what it is
}

// In the default width all of 64; in a narrow column as many as are still set in 5 points.
void TestHeatmapFigure::allLabelsAreWrittenUpTo64Tokens() {
    for (int n : {6, 32, 63, 64}) {
        const FigureSource source = toyFigure(wordsOf(n));
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
            for (auto label = expected.cbegin(); label != expected.cend(); ++label) // a title may have the word too
                QVERIFY2(found.value(label.key()) >= label.value(), qPrintable(label.key()));
        }
    }
}

void TestHeatmapFigure::aLongWordIsWrittenInFull() {
    const QString word =
        QStringLiteral("Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft");
    const FigureSource source = toyFigure("a " + word.toStdString() + " b");
    for (const FigureKind kind : {FigureKind::Heatmap, FigureKind::Links}) {
        FigureSpec spec;
        spec.view.figure = kind;
        QStringList texts;
        for (const auto& t : figureLayout(source, spec).texts)
            texts << t.text;
        QVERIFY(texts.count(word) == 2);
    }
}

void TestHeatmapFigure::headsOfConcatHaveTheirColoursAndTicksWhereTheyBegin() {
    const FigureSource source = toyFigure("The cat sat"); // 8 heads of 8
    FigureSpec spec;
    spec.view.stage = Stage::Concat;
    spec.widthMm = 90;
    const FigureLayout layout = figureLayout(source, spec);
    QStringList texts;
    for (const auto& t : layout.texts)
        texts << t.text;
    for (int head = 0; head < 8; ++head)
        QVERIFY2(texts.contains(QString::number(8 * head)), qPrintable(texts.join(u'|')));
    const QImage image = figureImage(source, spec);
    const QRectF area = layout.cells.front().area;
    for (int head = 0; head < 8; ++head) {
        const QPointF strip(area.left() + (head + 0.5) * area.width() / 8, area.top() - 2);
        QCOMPARE(image.pixelColor((strip * spec.dpi / 96.0).toPoint()), headColor(head));
    }
}

void TestHeatmapFigure::bandsAreSeparatedByWhatIsSeenOnTheirCells() {
    const FigureSource source = toyFigure("The cat sat");
    FigureSpec spec;
    spec.view.stage = Stage::Concat;
    spec.dark = true;
    const QImage image = figureImage(source, spec);
    const QRectF area = figureLayout(source, spec).cells.front().area;
    const double unit = spec.dpi / 96.0;
    QSet<int> widths;
    for (int head = 1; head < 8; ++head) {
        const int x = qRound((area.left() + head * area.width() / 8) * unit), y = qRound(area.center().y() * unit);
        int dark = 0;
        for (int dx = -6; dx <= 6; ++dx)
            dark += image.pixelColor(x + dx, y) == QColor(16, 16, 20);
        widths << dark;
    }
    QCOMPARE(widths.size(), qsizetype(1)); // all of one thickness
    QVERIFY(*widths.begin() >= 2);
}

void TestHeatmapFigure::theMarkedTokensAreNamedAmongThinnedLabels() {
    std::string text;
    for (int i = 0; i < 120; ++i)
        text += "w" + std::to_string(i) + " ";
    FigureSpec spec;
    spec.widthMm = 60;
    spec.view.cell = CellRef{7, 31};
    QStringList texts;
    for (const auto& t : figureLayout(toyFigure(text), spec).texts)
        texts << t.text;
    QVERIFY(texts.contains(QStringLiteral("w7")) && texts.contains(QStringLiteral("w31")));
    QVERIFY(texts.count(QStringLiteral("w6")) + texts.count(QStringLiteral("w8")) < 4); // thinned
}

void TestHeatmapFigure::combinedHeadsAreNamed() {
    for (const FigureKind kind : {FigureKind::Heatmap, FigureKind::Links}) {
        FigureSpec spec;
        spec.view.figure = kind;
        spec.view.heads = {HeadIndex{3}, HeadIndex{7}};
        spec.view.combine = Combine::Mean;
        QStringList texts;
        for (const auto& t : figureLayout(toyFigure("The cat sat"), spec).texts)
            texts << t.text;
        QVERIFY2(texts.contains(QStringLiteral("L0 mean of heads 3, 7")), qPrintable(texts.join(u'|')));
    }
}

void TestHeatmapFigure::theFigureStandsInTheMiddle() {
    const FigureSource source = toyFigure("The cat sat on the mat");
    for (const double width : {80.0, 160.0}) {
        FigureSpec spec;
        spec.widthMm = width;
        spec.heightMm = 60;
        const FigureLayout layout = figureLayout(source, spec);
        double left = layout.size.width();
        for (const auto& t : layout.texts)
            if (t.text == QStringLiteral("queries"))
                left = t.rect.left();
        const double right = layout.size.width() - layout.cells.front().area.right();
        QVERIFY2(std::abs(left - right) < 6, qPrintable(QStringLiteral("%1 %2").arg(left).arg(right)));
    }
}

void TestHeatmapFigure::numbersWithoutRoomAreRemarked() {
    FigureSpec spec;
    spec.view.values = true;
    QVERIFY(numbersRemark(toyFigure("The cat sat"), spec).isEmpty());
    QVERIFY(numbersRemark(toyFigure(wordsOf(60)), spec).startsWith(QStringLiteral("no cell has room")));
    spec.view.values = false;
    QVERIFY(numbersRemark(toyFigure(wordsOf(60)), spec).isEmpty());
}

void TestHeatmapFigure::axesAreTitled() {
    const FigureSource source = toyFigure("The cat sat");
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
    QVERIFY(texts(Stage::Q).join(QString()).contains(QStringLiteral("dk of head 3"))); // k is an index
    QVERIFY(texts(Stage::V).contains(QStringLiteral("keys")));
}

void TestHeatmapFigure::specialTokensLeaveTheFigureAndTheRemovedMassIsPrinted() {
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

void TestHeatmapFigure::classRulesAreMarkedAndCompared() {
    const FigureSource source = toyFigure("The cat sat on the mat", {}, "none", with({}, Rule::NoScale));
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

QTEST_MAIN(TestHeatmapFigure)
#include "tst_heatmap_figure.moc"
