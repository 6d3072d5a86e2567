// The three file formats of a figure, as bytes with their metadata; figure.cpp writes them. The same figure gives the
// same bytes: no time stamp, no random identifier. Also where everything in a figure lies, for tests and pickers.
#pragma once

#include "ui/render/figure.h"
#include "ui/render/sheet.h"

#include <QByteArray>

namespace headscope {

QByteArray pngBytes(QImage image, const FigureSpec& spec);
QByteArray svgBytes(const FigureSource& source, const FigureSpec& spec, QSizeF mm);
QByteArray pdfBytes(const FigureSource& source, const FigureSpec& spec, QSizeF mm);

// Units of 1/96 inch.
struct FigureLayout {
    QSizeF size;
    std::vector<Sheet::PlacedText> texts;
    std::vector<Sheet::PlacedCells> cells;
    Sheet::Numbered numbered;
};
FigureLayout figureLayout(const FigureSource& source, const FigureSpec& spec);

} // namespace headscope
