// View: how a trace is looked at. A small value beside the scenario, with no undo; saved in the scenario file, made
// from the command line's options and from the window's controls. Figures (ui/render) are a function of (trace, view).
#pragma once

#include "core/attention/stage.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headscope {

enum class ColorMap { Viridis, Cividis, Magma, Inferno, Gray }; // signed stages always use puor
std::string_view colorMapName(ColorMap map);
std::optional<ColorMap> colorMapFromName(std::string_view name);

// auto: 0..1 for weights, else head. head: smallest to largest finite value, symmetric about 0 for signed stages.
// shared: over all heads of the layer (grid: of the figure). fixed: lo..hi.
struct RangeSpec {
    enum class Kind { Auto, Head, Shared, Fixed };
    Kind kind = Kind::Auto;
    double lo = 0, hi = 1;
    bool operator==(const RangeSpec&) const = default;
};
RangeSpec parseRange(std::string_view text); // auto|head|shared|LO:HI; throws InputError
std::string rangeName(const RangeSpec& range);

// How numbers become colours inside the range: applied to the colour table, so that the colour bar stays honest.
struct Curve {
    enum class Kind { Linear, Gamma, Percentile, Row };
    Kind kind = Kind::Linear;
    double parameter = 1; // G, or P in percent
    bool operator==(const Curve&) const = default;
};
Curve parseCurve(std::string_view text); // linear|gamma:G|percentile:P|row; throws InputError
std::string curveName(const Curve& curve);

enum class Combine { None, Mean, Max }; // several heads in one heatmap
// Special tokens ([CLS], <s>): as they are; left out of the picture; shown, but without a say in the colour range; or
// dropped as if nobody could attend to them, each row divided by what is left.
enum class Special { Show, Hide, Unranged, Drop };
std::string_view specialName(Special special);
std::optional<Special> specialFromName(std::string_view name);

enum class FigureKind { Heatmap, Grid, Links, Stages, Walk };
std::string_view figureKindName(FigureKind kind);
std::optional<FigureKind> figureKindFromName(std::string_view name);

struct CellRef {
    int row = 0, col = 0;
    bool operator==(const CellRef&) const = default;
};

struct View {
    FigureKind figure = FigureKind::Heatmap;
    LayerIndex layer;
    std::vector<HeadIndex> heads{HeadIndex{0}};
    Stage stage = Stage::Weights;
    std::optional<CellRef> cell; // pinned
    RangeSpec range;
    ColorMap colors = ColorMap::Viridis;
    Curve curve;
    Combine combine = Combine::None;
    double threshold = 0;    // links: weights below are not drawn
    std::optional<int> topK; // links: the K strongest of each query
    bool values = false;     // numbers in cells
    Special special = Special::Show;
    bool words = false;     // the pieces of a word as one (weights)
    bool predicted = false; // encoder-decoders: the target's rows are named by the word they predict, not the one read
    bool operator==(const View&) const = default;
};

} // namespace headscope
