#include "app/cli/figure_options.h"

#include "app/cli/numbers.h"

#include <algorithm>

namespace headscope::cli {

void addFigureOptions(CommandLine& line, FigureOptions& o) {
    line.group("Figure");
    line.value("--view", o.view, "KIND", "heatmap, grid, links, stages or walk (heatmap)");
    line.value("--combine", o.combine, "HOW", "several heads in a heatmap: none (panels), mean or max (none)");
    line.value("--width", o.width, "MM", "width of the whole figure in mm (160)");
    line.value("--height", o.height, "MM", "height of the whole figure in mm (chosen from the contents)");
    line.value("--dpi", o.dpi, "N", "PNG: dots per inch (300)");
    line.value("--font-size", o.fontSize, "PT", "size of the letters in points (8)");
    line.value("--colors", o.colors, "NAME", "viridis, cividis, magma, inferno or gray (viridis); signed stages: puor");
    line.value("--range", o.range, "RANGE", "auto, head, shared or LO:HI (auto: 0 to 1 for weights, else head)");
    line.value("--curve", o.curve, "CURVE", "linear, gamma:G, percentile:P or row (linear)");
    line.value("--threshold", o.threshold, "W", "links: weights below are not drawn (0)");
    line.value("--top", o.top, "K", "links: the K strongest of each query");
    line.value("--cell", o.cell, "ROW,COL", "the cell that is marked");
    line.flag("--values", o.values, "numbers in the cells");
    line.value("--title", o.title, "T", "a title");
    line.flag("--transparent", o.transparent, "no background");
    line.flag("--dark", o.dark, "light on dark");
    line.group("Options");
}

double numberBetween(const std::string& option, const OptionText& text, double otherwise, double smallest,
                     double largest) {
    if (!text)
        return otherwise;
    const double value = parseNumber(option, *text);
    if (value < smallest || value > largest)
        throw InputError(option + ": expected a number from " + shortest(smallest) + " to " + shortest(largest) +
                         ", found '" + *text + "'");
    return value;
}

// What a kind of figure has no use for, each by name.
static void refuseUnused(FigureKind figure, const FigureOptions& o) {
    using enum FigureKind;
    struct Use {
        bool given;
        const char* name;
        std::vector<FigureKind> figures;
    };
    const std::vector<FigureKind> cells{Heatmap, Grid, Stages, Walk};
    for (const auto& [given, name, figures] : {Use{o.top.has_value(), "--top", {Links}},
                                               {o.threshold.has_value(), "--threshold", {Links}},
                                               {o.combine.has_value(), "--combine", {Heatmap, Links}},
                                               {o.colors.has_value(), "--colors", cells},
                                               {o.range.has_value(), "--range", cells},
                                               {o.curve.has_value(), "--curve", cells},
                                               {o.values, "--values", {Heatmap, Stages, Walk}},
                                               {o.cell.has_value(), "--cell", {Heatmap, Links, Stages, Walk}}}) {
        if (!given || std::ranges::find(figures, figure) != figures.end())
            continue;
        std::string list;
        for (const FigureKind kind : figures)
            list += (list.empty() ? "" : ", ") + std::string(figureKindName(kind));
        throw InputError(std::string(name) + " has no effect on a figure of kind " +
                         std::string(figureKindName(figure)) + ": it is for --view " + list);
    }
}

void applyFigureOptions(View& view, const FigureOptions& o, const Scenario& scenario) {
    if (o.view) {
        const auto kind = figureKindFromName(*o.view);
        if (!kind)
            throw InputError("--view: expected heatmap, grid, links, stages or walk, found '" + *o.view + "'");
        view.figure = *kind;
    }
    refuseUnused(view.figure, o);
    if (o.combine) {
        if (*o.combine != "none" && *o.combine != "mean" && *o.combine != "max")
            throw InputError("--combine: expected none, mean or max, found '" + *o.combine + "'");
        view.combine = *o.combine == "mean" ? Combine::Mean : *o.combine == "max" ? Combine::Max : Combine::None;
        const StageInfo& stage = stageInfo(view.stage);
        if (view.figure == FigureKind::Heatmap && view.combine != Combine::None && stage.scope == StageScope::AllHeads)
            throw InputError("--combine has no effect on the stage " + std::string(stage.id) +
                             ", one matrix of all heads; it is for stages that each head has of its own");
    }
    if (o.colors) {
        const auto map = colorMapFromName(*o.colors);
        if (!map)
            throw InputError("--colors: expected viridis, cividis, magma, inferno or gray, found '" + *o.colors + "'");
        view.colors = *map;
    }
    if (o.range)
        view.range = parseRange(*o.range);
    if (o.curve)
        view.curve = parseCurve(*o.curve);
    if (o.threshold)
        view.threshold = parseNumber("--threshold", *o.threshold);
    if (o.top)
        view.topK = parseInt("--top", *o.top, 1);
    if (o.cell)
        view.cell = parseCell(*o.cell, scenario.queries(), scenario.keys());
    view.values = view.values || o.values;
}

void applySelection(View& view, const ComputeOptions& o, const Scenario& scenario) {
    const ModelConfig& config = scenario.model->config();
    if (o.layer) {
        const auto layers = parseLayers(*o.layer, config);
        if (layers.size() != 1)
            throw InputError("--layer: expected one layer, found '" + *o.layer + "'");
        view.layer = layers[0];
    }
    if (o.head)
        view.heads = parseHeads(*o.head, config);
    if (o.stage) {
        const auto stages = parseStages(*o.stage, scenario);
        if (stages.size() != 1)
            throw InputError("--stage: expected one stage, found '" + *o.stage + "'");
        view.stage = stages[0];
    }
    // A saved view may be of another model than the options chose.
    if (view.layer.value >= config.layers)
        view.layer = LayerIndex{0};
    std::erase_if(view.heads, [&](HeadIndex h) { return h.value >= config.heads; });
    if (view.heads.empty())
        view.heads = {HeadIndex{0}};
}

} // namespace headscope::cli
