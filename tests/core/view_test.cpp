#include "core/attention/view.h"

#include "core/tensor/errors.h"

#include <gtest/gtest.h>

namespace headscope {
namespace {

TEST(View, EveryNameReadsBackAsItsValue) {
    for (const ColorMap map :
         {ColorMap::Viridis, ColorMap::Cividis, ColorMap::Magma, ColorMap::Inferno, ColorMap::Gray}) {
        EXPECT_EQ(colorMapFromName(colorMapName(map)), map);
    }
    for (const FigureKind kind :
         {FigureKind::Heatmap, FigureKind::Grid, FigureKind::Links, FigureKind::Stages, FigureKind::Walk}) {
        EXPECT_EQ(figureKindFromName(figureKindName(kind)), kind);
    }
    for (const Special special : {Special::Show, Special::Hide, Special::Unranged, Special::Drop}) {
        EXPECT_EQ(specialFromName(specialName(special)), special);
    }
    for (const char* range : {"auto", "head", "shared", "0:1", "-0.25:1e-05"}) {
        EXPECT_EQ(rangeName(parseRange(range)), range);
    }
    for (const char* curve : {"linear", "row", "gamma:0.5", "percentile:99"}) {
        EXPECT_EQ(curveName(parseCurve(curve)), curve);
    }
}

TEST(View, RefusesRangesAndCurvesThatCannotBeDrawn) {
    for (const char* range : {"", "automatic", "1:0", "1:1", "0:", ":1", "0:inf", "0:nan", "0,5:1"}) {
        EXPECT_THROW(parseRange(range), InputError) << range;
    }
    for (const char* curve : {"", "gamma", "gamma:0", "gamma:-1", "percentile:0", "percentile:101", "rows"}) {
        EXPECT_THROW(parseCurve(curve), InputError) << curve;
    }
}

} // namespace
} // namespace headscope
