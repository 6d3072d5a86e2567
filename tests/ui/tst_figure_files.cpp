// Laws of figures becoming files: exact sizes, vectors, text that stays text, the same bytes.
#include "tests/ui/figure_support.h"

#include <QFile>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <cmath>

using namespace headscope;
using namespace headscope::testing;

class TestFigureFiles : public QObject {
    Q_OBJECT
private slots:
    void pngHasExactlyTheAskedSize();
    void pdfHoldsVectorsTextAndExactSize();
    void pdfAbove256IsOneLosslessImage();
    void svgHoldsTextAndExactSize();
    void theSameFigureGivesTheSameBytes();
    void theScenarioIsInsideEveryFile();
    void wrongInputIsRefused();
};

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

void TestFigureFiles::pngHasExactlyTheAskedSize() {
    const FigureSource source = toyFigure("The cat sat on the mat");
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

void TestFigureFiles::pdfHoldsVectorsTextAndExactSize() {
    const FigureSource source = toyFigure(wordsOf(64), {}, "causal");
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

void TestFigureFiles::pdfAbove256IsOneLosslessImage() {
    const FigureSource source = toyFigure(wordsOf(260));
    FigureSpec spec;
    const QByteArray pdf = pdfBytes(source, spec, figureSizeMm(source, spec));
    QVERIFY(!pdf.contains("DCTDecode"));
    QCOMPARE(pdf.count("/Subtype /Image"), 1);
    QVERIFY(pdf.contains("/Width 1040")); // 4 samples for each of 260 cells
}

void TestFigureFiles::svgHoldsTextAndExactSize() {
    const FigureSource source = toyFigure(wordsOf(14), {}, "causal");
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
    const FigureSource larger = toyFigure(wordsOf(65));
    QVERIFY(svgBytes(larger, {}, figureSizeMm(larger, {})).contains("<image"));
}

void TestFigureFiles::theSameFigureGivesTheSameBytes() {
    const FigureSource source = toyFigure("The cat sat on the mat");
    const QSizeF mm = figureSizeMm(source, {});
    const QByteArray pdf = pdfBytes(source, {}, mm), svg = svgBytes(source, {}, mm),
                     png = pngBytes(figureImage(source, {}), {});
    QTest::qWait(1100); // a time stamp would differ
    QCOMPARE(pdfBytes(source, {}, mm), pdf);
    QCOMPARE(svgBytes(source, {}, mm), svg);
    QCOMPARE(pngBytes(figureImage(source, {}), {}), png);
}

void TestFigureFiles::theScenarioIsInsideEveryFile() {
    const FigureSource source = toyFigure("The cat sat on the mat");
    FigureSpec spec;
    spec.document = QStringLiteral("{\"format\": \"headscope\", \"text\": \"a < b & ü 猫\"}");
    QCOMPARE(QImage::fromData(pngBytes(figureImage(source, spec), spec)).text(QStringLiteral("headscope:scenario")),
             spec.document);
    const QSizeF mm = figureSizeMm(source, spec);
    const QByteArray escaped = spec.document.toHtmlEscaped().toUtf8();
    QVERIFY(svgBytes(source, spec, mm).contains(escaped));
    QVERIFY(pdfBytes(source, spec, mm).contains(escaped));
}

void TestFigureFiles::wrongInputIsRefused() {
    const FigureSource source = toyFigure("The cat sat on the mat");
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

QTEST_MAIN(TestFigureFiles)
#include "tst_figure_files.moc"
