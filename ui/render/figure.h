// A figure: what `render`, the export dialog, print and copy draw, as a pure function of (trace, spec). One painter
// each for screen, file and command line: the widgets of the window use the same painters.
#pragma once

#include "core/analysis/shown.h"
#include "core/attention/trace.h"
#include "core/attention/view.h"
#include "core/tensor/errors.h"

#include <QImage>
#include <QPainter>
#include <QSizeF>
#include <QString>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

namespace headscope {

struct FigureSpec {
    View view;
    double widthMm = 160;           // of the whole figure
    std::optional<double> heightMm; // chosen from the contents otherwise
    int dpi = 300;                  // PNG
    double fontSizePt = 8;
    QString title;
    bool transparent = false, dark = false;
    double leastRow = 0; // units; on a screen that scrolls: no row of a stages figure is lower, whatever heightMm is
    std::optional<CellRegion> region; // heatmap: these cells alone, in the colours of the whole
    QString document;                 // the scenario as JSON, embedded as metadata ("headscope:scenario"); empty: none
};

// The maps of a grid of a long text, which take seconds: made once for the passes over a figure that measure and paint.
struct GridMaps {
    std::mutex mutex;
    std::optional<View> view; // for which they are
    std::vector<ShownStage> maps;
};

// rightTrace: the same scenario without class rules; with it, wrong, right and their difference are drawn side by side.
struct FigureSource {
    SharedTrace trace;
    SharedTrace rightTrace;
    std::stop_token stop{}; // a large figure ends with Cancelled
    std::shared_ptr<GridMaps> grid = std::make_shared<GridMaps>();
};

// The figure has no room beside its labels.
class FigureTooSmall : public InputError {
public:
    using InputError::InputError;
};

// heightMm as asked, unless leastRow needs more.
QSizeF figureSizeMm(const FigureSource& source, const FigureSpec& spec);
// Paints into a painter whose logical unit is 1/96 inch; the figure fills figureSizeMm.
void paintFigure(QPainter& painter, const FigureSource& source, const FigureSpec& spec);
QImage figureImage(const FigureSource& source, const FigureSpec& spec);
// Where numbers were asked for and cells have no room for them: which, and what to do. Else empty.
QString numbersRemark(const FigureSource& source, const FigureSpec& spec);
// The suffix chooses PNG, SVG or PDF; written atomically. Throws InputError (unknown suffix, cannot write, picture too
// large).
void writeFigure(const FigureSource& source, const FigureSpec& spec, const QString& path);

} // namespace headscope
