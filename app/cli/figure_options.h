// How a figure looks: the options of `render`, parsed over a view (the default one, or that of a scenario file).
#pragma once

#include "app/cli/command_line.h"
#include "app/cli/common_options.h"
#include "core/attention/view.h"

namespace headscope::cli {

struct FigureOptions {
    OptionText view, combine, width, height, dpi, fontSize, colors, range, curve, threshold, top, title, cell;
    bool values = false, transparent = false, dark = false;
};

void addFigureOptions(CommandLine& line, FigureOptions& options);
// Throws InputError naming the option.
void applyFigureOptions(View& view, const FigureOptions& options, const Scenario& scenario);
// Layer, heads and stage of a view that shows one stage of one layer: --layer, --head, --stage.
void applySelection(View& view, const ComputeOptions& options, const Scenario& scenario);
// A number of that range, in the unit of the option, or the default.
double numberBetween(const std::string& option, const OptionText& text, double otherwise, double smallest,
                     double largest);

} // namespace headscope::cli
