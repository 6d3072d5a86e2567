#include "ui/render/figure_export.h"

#include "core/tensor/errors.h"

#include <QBuffer>
#include <QImageWriter>
#include <QPageLayout>
#include <QPageSize>
#include <QPdfWriter>
#include <QRegularExpression>
#include <QSvgGenerator>
#include <algorithm>
#include <cmath>

namespace headscope {
namespace {

QString creator() {
    return QStringLiteral("Headscope " HEADSCOPE_VERSION);
}
QString titleOf(const FigureSpec& spec) {
    return spec.title.isEmpty() ? QStringLiteral("Headscope figure") : spec.title;
}

QString millimetres(double mm) {
    return QString::number(mm, 'f', 3);
}

// XMP: title, program, and the scenario that draws this figure again.
QByteArray xmpPacket(const FigureSpec& spec) {
    return QStringLiteral("<?xpacket begin=\"\ufeff\" id=\"W5M0MpCehiHzreSzNTczkc9d\"?>\n"
                          "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"><rdf:RDF "
                          "xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">\n"
                          "<rdf:Description rdf:about=\"\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\" "
                          "xmlns:xmp=\"http://ns.adobe.com/xap/1.0/\" "
                          "xmlns:headscope=\"urn:headscope\">\n"
                          "<dc:title><rdf:Alt><rdf:li xml:lang=\"x-default\">%1</rdf:li></rdf:Alt></dc:title>\n"
                          "<xmp:CreatorTool>%2</xmp:CreatorTool>\n"
                          "<headscope:scenario>%3</headscope:scenario>\n"
                          "</rdf:Description></rdf:RDF></x:xmpmeta>\n<?xpacket end=\"w\"?>")
        .arg(titleOf(spec).toHtmlEscaped(), creator(), spec.document.toHtmlEscaped())
        .toUtf8();
}

// Qt rounds a page to whole points and stamps the time. Both are mended here: the objects of the file are taken apart
// by its cross-reference table, the page's box and the date are changed, and the table is written anew. A file that
// does not look as expected is handed on as it is.
QByteArray exactPdf(const QByteArray& pdf, QSizeF mm) {
    const qsizetype startxref = pdf.lastIndexOf("startxref");
    const qsizetype xref = pdf.lastIndexOf("xref\n0 ", startxref);
    const qsizetype trailer = pdf.lastIndexOf("trailer");
    if (startxref < 0 || xref < 0 || trailer < xref)
        return pdf;
    struct Object {
        qsizetype number, offset;
    };
    std::vector<Object> objects;
    const QList<QByteArray> lines = pdf.mid(xref, trailer - xref).split('\n');
    for (qsizetype i = 3; i < lines.size(); ++i) // after "xref", "0 N" and the free entry 0
        if (lines[i].size() >= 18 && lines[i][17] == 'n')
            objects.push_back({i - 2, lines[i].left(10).toLongLong()});
    std::sort(objects.begin(), objects.end(), [](const Object& a, const Object& b) { return a.offset < b.offset; });
    if (objects.empty() || objects.back().offset >= xref)
        return pdf;

    static const QRegularExpression box(QStringLiteral(R"(/MediaBox \[[^\]]*\])")),
        date(QStringLiteral(R"(/CreationDate ?\([^)]*\)\n?)"));
    const QByteArray exactBox =
        QStringLiteral("/MediaBox [0 0 %1 %2]")
            .arg(QString::number(mm.width() / 25.4 * 72, 'f', 4), QString::number(mm.height() / 25.4 * 72, 'f', 4))
            .toLatin1();
    QByteArray out = pdf.left(objects.front().offset);
    std::vector<std::pair<qsizetype, qsizetype>> offsets; // number, new offset
    for (std::size_t i = 0; i < objects.size(); ++i) {
        const qsizetype end = i + 1 < objects.size() ? objects[i + 1].offset : xref;
        QByteArray object = pdf.mid(objects[i].offset, end - objects[i].offset);
        if (!object.contains("stream")) { // never inside data
            QString text = QString::fromLatin1(object);
            text.replace(box, QString::fromLatin1(exactBox));
            text.remove(date);
            object = text.toLatin1();
        }
        offsets.emplace_back(objects[i].number, out.size());
        out += object;
    }
    const qsizetype newXref = out.size();
    std::sort(offsets.begin(), offsets.end());
    if (offsets.back().first != static_cast<qsizetype>(offsets.size()))
        return pdf; // gaps in the numbering: not Qt's habit
    out += "xref\n0 " + QByteArray::number(offsets.size() + 1) + "\n0000000000 65535 f \n";
    for (const auto& [number, offset] : offsets)
        out += QByteArray::number(offset).rightJustified(10, '0') + " 00000 n \n";
    out += pdf.mid(trailer, startxref - trailer) + "startxref\n" + QByteArray::number(newXref) + "\n%%EOF\n";
    return out;
}

} // namespace

QByteArray pngBytes(QImage image, const FigureSpec& spec) {
    image.setText(QStringLiteral("Software"), creator());
    image.setText(QStringLiteral("Title"), titleOf(spec));
    if (!spec.document.isEmpty())
        image.setText(QStringLiteral("headscope:scenario"), spec.document);
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    QImageWriter writer(&buffer, "png");
    if (!writer.write(image))
        throw InputError("the picture cannot be written as PNG: " + writer.errorString().toStdString());
    return buffer.data();
}

QByteArray svgBytes(const FigureSource& source, const FigureSpec& spec, QSizeF mm) {
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setResolution(96); // fonts in points follow the device
    const QSizeF units = mm / 25.4 * 96;
    generator.setSize(QSize(static_cast<int>(std::ceil(units.width())), static_cast<int>(std::ceil(units.height()))));
    generator.setViewBox(QRectF(QPointF(0, 0), units));
    QPainter painter(&generator);
    paintFigure(painter, source, spec);
    painter.end();
    // Sizes that Qt rounds to whole units, and metadata that it does not escape, are written here.
    QString svg = QString::fromUtf8(buffer.data());
    static const QRegularExpression size(QStringLiteral(R"(<svg width="[^"]*" height="[^"]*")"));
    svg.replace(QStringLiteral("font-family=\"Sans Serif\""),
                QStringLiteral("font-family=\"DejaVu Sans\"")); // of groups without text
    svg.replace(
        size,
        QStringLiteral("<svg width=\"%1mm\" height=\"%2mm\"").arg(millimetres(mm.width()), millimetres(mm.height())));
    static const QRegularExpression head(QStringLiteral(R"(\s*<title>[^<]*</title>\s*<desc>[^<]*</desc>)"));
    const QString metadata = QStringLiteral("\n<title>%1</title>\n<desc>%2</desc>\n<metadata><headscope:scenario "
                                            "xmlns:headscope=\"urn:headscope\">%3</headscope:scenario></metadata>")
                                 .arg(titleOf(spec).toHtmlEscaped(), creator(), spec.document.toHtmlEscaped());
    const QRegularExpressionMatch match = head.match(svg);
    if (match.hasMatch())
        svg.replace(match.capturedStart(), match.capturedLength(), metadata);
    return svg.toUtf8();
}

QByteArray pdfBytes(const FigureSource& source, const FigureSpec& spec, QSizeF mm) {
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter writer(&buffer);
    writer.setPageSize(QPageSize(mm, QPageSize::Millimeter, QString(), QPageSize::ExactMatch));
    writer.setPageMargins(QMarginsF(0, 0, 0, 0));
    writer.setResolution(96); // fonts in points follow the device
    writer.setTitle(titleOf(spec));
    writer.setCreator(creator());
    writer.setDocumentXmpMetadata(xmpPacket(spec));
    QPainter painter(&writer);
    paintFigure(painter, source, spec);
    painter.end();
    return exactPdf(buffer.data(), mm);
}

} // namespace headscope
