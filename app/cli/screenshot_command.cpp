#include "app/cli/commands.h"
#include "app/cli/figure_options.h"
#include "app/cli/numbers.h"
#include "app/cli/scenario_options.h"

#ifdef HEADSCOPE_WITH_UI
#include "app/cli/offscreen_application.h"
#include "ui/screenshot.h"
#endif

namespace headscope::cli {

namespace {

struct ScreenshotOptions {
    ComputeOptions compute;
    OptionText out, size, scaleFactor, cell;
    bool dark = false, projector = false;
};

struct Size {
    int width = 1366, height = 768;
};

Size parseSize(const std::string& text) {
    const auto parts = split(text, 'x');
    if (parts.size() != 2)
        throw InputError("--size: expected WIDTHxHEIGHT in pixels, as in 1366x768, found '" + text + "'");
    return {parseInt("--size: width", parts[0], 640, 16384), parseInt("--size: height", parts[1], 480, 16384)};
}

#ifdef HEADSCOPE_WITH_UI
void drawWindow(const ScreenshotOptions& o, Document document, const std::string& path) {
    const Size size = parseSize(o.size.value_or("1366x768"));
    ScreenshotSpec spec;
    spec.document = std::move(document);
    spec.size = QSize(size.width, size.height);
    spec.scaleFactor = numberBetween("--scale-factor", o.scaleFactor, 1, 0.1, 8);
    spec.headChosen = o.compute.layer || o.compute.head || o.compute.scenario || o.cell;
    spec.dark = o.dark;
    spec.projector = o.projector;
    spec.backend = QString::fromStdString(o.compute.backend.value_or(""));
    chosenBackend(o.compute); // one that cannot be used is refused before anything is drawn
    const OffscreenApplication application;
    writeScreenshot(spec, QString::fromStdString(path));
}
#else
void drawWindow(const ScreenshotOptions&, const Document&, const std::string&) {
    throw Failure("screenshot: this program was built without its window (HEADSCOPE_UI is OFF)");
}
#endif

} // namespace

int screenshotCommand(const Arguments& arguments, const Streams& streams) {
    ScreenshotOptions o;
    CommandLine line("screenshot", "Draws the whole window as a PNG, with no display needed.",
                     "headscope screenshot --text \"The cat sat on the mat\" --cell 2,1 --dark --out window.png");
    line.value("--out", o.out, "F.png", "the file");
    line.value("--size", o.size, "WxH", "logical pixels of the window (1366x768)");
    line.value("--scale-factor", o.scaleFactor, "X", "picture pixels for each logical one (1)");
    line.value("--cell", o.cell, "ROW,COL", "the pinned cell");
    line.flag("--dark", o.dark, "dark colours");
    line.flag("--projector", o.projector, "large type, high contrast");
    addComputeOptions(line, o.compute);
    addStageOption(line, o.compute);
    if (!line.parse(arguments, streams.out))
        return 0;

    const OutputPath out = outputPath(o.out, {".png"});
    if (o.size)
        parseSize(*o.size);
    Document document = openDocument(o.compute, streams);
    applySelection(document.view, o.compute, document.scenario);
    if (o.cell)
        document.view.cell = parseCell(*o.cell, document.scenario.queries(), document.scenario.keys());
    drawWindow(o, std::move(document), out.path);
    return 0;
}

} // namespace headscope::cli
