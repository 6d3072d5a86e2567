#include "ui/screenshot.h"

#include "core/exchange/atomic_file.h"
#include "ui/latest_wins.h"
#include "ui/main_window.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/widgets/figure_widget.h"
#include "ui/widgets/heatmap_view.h"
#include "ui/widgets/links_view.h"
#include "ui/widgets/walk_view.h"

#include <QApplication>
#include <QBuffer>
#include <QEventLoop>
#include <QImage>
#include <QPainter>

#include <qcustomplot.h>

#include <ostream>

namespace headscope {

static bool heatmapsAreReady() {
    for (const QWidget* widget : QApplication::allWidgets())
        if (const auto* heatmap = qobject_cast<const HeatmapView*>(widget); heatmap && heatmap->preparing())
            return false;
    return true;
}

void waitUntilSettled() {
    // A finished job may start the next one (a survey after a trace): settled is quiet for a few rounds.
    for (int quiet = 0; quiet < 5;) {
        const bool idle = backgroundJobs == 0;
        QApplication::processEvents(idle ? QEventLoop::AllEvents : QEventLoop::WaitForMoreEvents);
        QApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        quiet = idle && backgroundJobs == 0 && heatmapsAreReady() ? quiet + 1 : 0;
    }
}

// What keeps pictures of its own has to make them as fine as the screenshot.
static void refine(QWidget& window, double scaleFactor) {
    for (FigureWidget* figure : window.findChildren<FigureWidget*>())
        figure->setPictureRatio(scaleFactor);
    for (WalkView* walk : window.findChildren<WalkView*>())
        walk->setPictureRatio(scaleFactor);
    for (LinksView* links : window.findChildren<LinksView*>())
        links->setPictureRatio(scaleFactor);
    for (QCustomPlot* plot : window.findChildren<QCustomPlot*>())
        plot->setBufferDevicePixelRatio(scaleFactor);
}

static QImage pictureOf(QWidget& window, double scaleFactor) {
    QImage image(window.size() * scaleFactor, QImage::Format_RGB32);
    image.setDevicePixelRatio(scaleFactor);
    image.fill(theme().window);
    window.render(&image);
    return image;
}

void writeScreenshot(const ScreenshotSpec& spec, const QString& path) {
    applyTheme(makeTheme(spec.dark, spec.projector));
    Document document = spec.document;
    document.view.values = true; // as the window opens
    MainWindow window(std::move(document), false);
    if (!spec.backend.isEmpty())
        window.workspace().setBackend(spec.backend);
    if (spec.headChosen)
        window.workspace().keepHead();
    QString problem;
    QObject::connect(&window.workspace(), &Workspace::failed, &window,
                     [&problem](const QString& sentence) { problem = sentence; });
    window.setAttribute(Qt::WA_DontShowOnScreen);
    window.resize(spec.size);
    window.arrangeDocks();
    refine(window, spec.scaleFactor);
    window.show();
    waitUntilSettled();
    refine(window, spec.scaleFactor); // showing may have set the screen's own ratio
    for (QCustomPlot* plot : window.findChildren<QCustomPlot*>())
        plot->replot();
    if (!problem.isEmpty())
        throw InputError(toUtf8(problem));
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    pictureOf(window, spec.scaleFactor).save(&buffer, "PNG");
    writeFileAtomically(toUtf8(path), [&bytes](std::ostream& out) { out.write(bytes.constData(), bytes.size()); });
}

} // namespace headscope
