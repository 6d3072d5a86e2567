#include "app/cli/commands.h"
#include "app/cli/figure_options.h"
#include "app/cli/numbers.h"
#include "app/cli/scenario_options.h"

#ifdef HEADSCOPE_WITH_UI
#include "app/cli/offscreen_application.h"
#include "core/attention/trace.h"
#include "ui/render/figure.h"
#endif

namespace headscope::cli {

namespace {

struct RenderOptions {
    ComputeOptions compute;
    FigureOptions figure;
    OptionText out;
};

#ifdef HEADSCOPE_WITH_UI
void drawFigure(const RenderOptions& o, const Document& document, const std::string& path, const Streams& streams) {
    FigureSpec spec;
    spec.view = document.view;
    spec.widthMm = numberBetween("--width", o.figure.width, spec.widthMm, 10, 5000);
    if (o.figure.height)
        spec.heightMm = numberBetween("--height", o.figure.height, 0, 10, 5000);
    if (o.figure.dpi)
        spec.dpi = parseInt("--dpi", *o.figure.dpi, 10, 2400);
    spec.fontSizePt = numberBetween("--font-size", o.figure.fontSize, spec.fontSizePt, 1, 200);
    if (o.figure.title) {
        requireUtf8(*o.figure.title, "--title");
        spec.title = QString::fromStdString(*o.figure.title);
    }
    spec.transparent = o.figure.transparent;
    spec.dark = o.figure.dark;
    spec.document = QString::fromStdString(writeScenario(document));

    const Backend& backend = chosenBackend(o.compute);
    FigureSource source;
    source.trace = traceNoted(document.scenario, backend, streams);
    // Under a class rule the figure shows wrong, right and their difference.
    if (document.scenario.rules.any()) {
        Scenario right = document.scenario;
        right.rules.reset();
        source.rightTrace = trace(right, backend);
    }
    const OffscreenApplication application;
    writeFigure(source, spec, QString::fromStdString(path));
    if (const QString remark = o.figure.values ? numbersRemark(source, spec) : QString(); !remark.isEmpty())
        note(streams, "--values: " + remark.toStdString());
}
#else
void drawFigure(const RenderOptions&, const Document&, const std::string&, const Streams&) {
    throw Failure(
        "render: this program was built without figures (HEADSCOPE_UI is OFF); `headscope dump` writes the numbers");
}
#endif

} // namespace

int renderCommand(const Arguments& arguments, const Streams& streams) {
    RenderOptions o;
    CommandLine line("render", "Draws a figure; the ending of the file chooses PNG, SVG or PDF.",
                     "headscope render --text \"The cat sat on the mat\" --head 0,2 --values --out cat.pdf");
    line.value("--out", o.out, "F", "the file; its ending chooses .png, .svg or .pdf");
    addFigureOptions(line, o.figure);
    addComputeOptions(line, o.compute);
    addStageOption(line, o.compute);
    line.helpText("Default: --stage weights --layer 0 --head 0. Several heads in a heatmap are panels with one range.\n"
                  "Rows are queries, columns are keys.\n");
    if (!line.parse(arguments, streams.out))
        return 0;

    const OutputPath out = outputPath(o.out, {".png", ".svg", ".pdf"});
    if (o.figure.dpi && out.suffix != ".png")
        throw InputError("--dpi has no effect on " + out.suffix + ": it is the resolution of a .png, and " +
                         out.suffix + " is drawn with vectors");
    Document document = openDocument(o.compute, streams);
    applySelection(document.view, o.compute, document.scenario);
    applyFigureOptions(document.view, o.figure, document.scenario);
    // A grid is there to compare: all heads, unless some were picked.
    if (document.view.figure == FigureKind::Grid && !o.compute.head)
        document.view.heads = parseHeads("all", document.scenario.model->config());
    drawFigure(o, document, out.path, streams);
    return 0;
}

} // namespace headscope::cli
