#include "ui/render/figure.h"

#include "core/exchange/atomic_file.h"
#include "core/tensor/errors.h"
#include "ui/render/figure_export.h"
#include "ui/render/figure_parts.h"
#include "ui/render/figure_text.h"

#include <QFileInfo>
#include <algorithm>
#include <ostream>

namespace headscope {
namespace {

constexpr double unitsPerMm = 96.0 / 25.4;

} // namespace

double drawFigure(Sheet& sheet, const FigureSource& source, const FigureSpec& spec, double width,
                  std::optional<double> height) {
    switch (spec.view.figure) {
    case FigureKind::Heatmap:
        return drawHeatmapFigure(sheet, source, spec, width, height);
    case FigureKind::Grid:
        return drawGridFigure(sheet, source, spec, width, height);
    case FigureKind::Links:
        return drawLinksFigure(sheet, source, spec, width, height);
    case FigureKind::Stages:
        return drawStagesFigure(sheet, source, spec, width, height);
    case FigureKind::Walk:
        return drawWalkFigure(sheet, source, spec, width, height);
    }
    return 0;
}

QSizeF figureSizeMm(const FigureSource& source, const FigureSpec& spec) {
    checkFigure(source, spec);
    Sheet sheet(nullptr, spec.dark, spec.fontSizePt);
    const auto asked = spec.heightMm ? std::optional(*spec.heightMm * unitsPerMm) : std::nullopt;
    const double height = drawFigure(sheet, source, spec, spec.widthMm * unitsPerMm, asked);
    const bool grows = spec.leastRow > 0;
    if (asked && height > *asked + 1 && !grows)
        refuseSize(spec);
    if (!asked || grows)
        return {spec.widthMm, std::max(spec.heightMm.value_or(0), height / unitsPerMm)};
    return {spec.widthMm, *spec.heightMm};
}

void paintFigure(QPainter& painter, const FigureSource& source, const FigureSpec& spec) {
    const QSizeF size = figureSizeMm(source, spec) * unitsPerMm;
    painter.save();
    painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
    painter.setFont(figureFont(spec.fontSizePt)); // SVG names the font of every group, texts or not
    if (!spec.transparent)
        painter.fillRect(QRectF(QPointF(0, 0), size), FigureTheme::of(spec.dark).background);
    Sheet sheet(&painter, spec.dark, spec.fontSizePt);
    drawFigure(sheet, source, spec, size.width(), spec.heightMm ? std::optional(size.height()) : std::nullopt);
    painter.restore();
}

FigureLayout figureLayout(const FigureSource& source, const FigureSpec& spec) {
    FigureLayout out;
    out.size = figureSizeMm(source, spec) * unitsPerMm;
    Sheet sheet(nullptr, spec.dark, spec.fontSizePt);
    drawFigure(sheet, source, spec, out.size.width(), spec.heightMm ? std::optional(out.size.height()) : std::nullopt);
    out.texts = sheet.placedTexts();
    out.cells = sheet.placedCells();
    out.numbered = sheet.numbered();
    return out;
}

QString numbersRemark(const FigureSource& source, const FigureSpec& spec) {
    if (!spec.view.values)
        return {};
    const Sheet::Numbered numbered = figureLayout(source, spec).numbered;
    if (numbered.written == numbered.asked)
        return {};
    const QString what = numbered.written == 0 ? FigureText::tr("no cell has room for its number")
                                               : FigureText::tr("%1 of %2 matrices have no room for their numbers")
                                                     .arg(numbered.asked - numbered.written)
                                                     .arg(numbered.asked);
    return FigureText::tr("%1 in at least %2 pt: make the figure wider, choose fewer heads, or write the numbers "
                          "themselves with `headscope dump`")
        .arg(what)
        .arg(std::min(leastPoint, spec.fontSizePt));
}

QImage figureImage(const FigureSource& source, const FigureSpec& spec) {
    const QSizeF mm = figureSizeMm(source, spec);
    const double width = mm.width() / 25.4 * spec.dpi, height = mm.height() / 25.4 * spec.dpi;
    constexpr double most = 3e8;
    if (width * height > most || width > 32767 || height > 32767)
        throw InputError("a picture of " + std::to_string(std::llround(width)) + " x " +
                         std::to_string(std::llround(height)) +
                         " pixels is too large (at most 32767 a side and 300 million): lower the dpi or the size, or "
                         "export PDF or SVG");
    QImage image(std::max(1, static_cast<int>(std::lround(width))), std::max(1, static_cast<int>(std::lround(height))),
                 spec.transparent ? QImage::Format_ARGB32_Premultiplied : QImage::Format_RGB32);
    if (image.isNull())
        throw InputError("a picture of " + std::to_string(std::llround(width)) + " x " +
                         std::to_string(std::llround(height)) +
                         " pixels does not fit in memory: lower the dpi or the size");
    image.fill(spec.transparent ? QColor(Qt::transparent) : FigureTheme::of(spec.dark).background);
    image.setDotsPerMeterX(3780); // 96 dpi while painting: fonts in points follow the device
    image.setDotsPerMeterY(3780);
    QPainter painter(&image);
    painter.scale(spec.dpi / 96.0, spec.dpi / 96.0);
    paintFigure(painter, source, spec);
    painter.end();
    image.setDotsPerMeterX(static_cast<int>(std::lround(spec.dpi / 0.0254)));
    image.setDotsPerMeterY(static_cast<int>(std::lround(spec.dpi / 0.0254)));
    return image;
}

void writeFigure(const FigureSource& source, const FigureSpec& spec, const QString& path) {
    const QString suffix = QFileInfo(path).suffix().toLower();
    QByteArray bytes;
    if (suffix == QStringLiteral("png"))
        bytes = pngBytes(figureImage(source, spec), spec);
    else if (suffix == QStringLiteral("svg"))
        bytes = svgBytes(source, spec, figureSizeMm(source, spec));
    else if (suffix == QStringLiteral("pdf"))
        bytes = pdfBytes(source, spec, figureSizeMm(source, spec));
    else
        throw InputError(path.toStdString() + ": a figure is written as .png, .svg or .pdf, not " +
                         (suffix.isEmpty() ? std::string("without a suffix") : '.' + suffix.toStdString()) +
                         "; name one of the three");
    writeFileAtomically(path.toStdString(), [&](std::ostream& out) { out.write(bytes.constData(), bytes.size()); });
}

} // namespace headscope
