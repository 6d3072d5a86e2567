// A figure: what `render`, the export dialog, print and copy draw, as a pure function of (trace, spec). One painter
// each for screen, file and command line: the widgets of the window use the same painters.
#pragma once

#include "core/attention/trace.h"
#include "core/attention/view.h"

#include <QImage>
#include <QPainter>
#include <QSizeF>
#include <QString>
#include <optional>

namespace headscope {

struct FigureSpec {
    View view;
    double widthMm = 160;           // of the whole figure
    std::optional<double> heightMm; // chosen from the contents otherwise
    int dpi = 300;                  // PNG
    double fontSizePt = 8;
    QString title;
    bool transparent = false, dark = false;
    QString document; // the scenario as JSON, embedded as metadata ("headscope:scenario"); empty: none
};

// rightTrace: the same scenario without class rules; with it, wrong, right and their difference are drawn side by side.
struct FigureSource {
    SharedTrace trace;
    SharedTrace rightTrace;
};

QSizeF figureSizeMm(const FigureSource& source, const FigureSpec& spec);
// Paints into a painter whose logical unit is 1/96 inch; the figure fills figureSizeMm.
void paintFigure(QPainter& painter, const FigureSource& source, const FigureSpec& spec);
QImage figureImage(const FigureSource& source, const FigureSpec& spec);
// The suffix chooses PNG, SVG or PDF; written atomically. Throws InputError (unknown suffix, cannot write, picture too
// large).
void writeFigure(const FigureSource& source, const FigureSpec& spec, const QString& path);

} // namespace headscope
