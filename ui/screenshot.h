// screenshot: the whole window as a PNG, with no display. Called by the command line and the tests.
#pragma once

#include "core/exchange/scenario_file.h"

#include <QSize>
#include <QString>

namespace headscope {

struct ScreenshotSpec {
    Document document;
    QSize size{1366, 768};   // logical pixels of the window
    double scaleFactor = 1;  // picture pixels for each logical one
    QString backend;         // what computes; empty: the usual
    bool headChosen = false; // else the window chooses the head that it opens on
    bool dark = false, projector = false;
};

// Needs a QApplication (offscreen will do). Waits until everything is computed. The picture is size times scaleFactor;
// written atomically. Throws InputError when computing or writing fails.
void writeScreenshot(const ScreenshotSpec& spec, const QString& path);

// Runs the event loop until no background job is left and all is drawn.
void waitUntilSettled();

} // namespace headscope
