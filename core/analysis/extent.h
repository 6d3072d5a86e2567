// From where to where the numbers of a matrix reach: what colour ranges are made of. Not here: which range a figure
// takes (ui/render/color_scale.h).
#pragma once

#include "core/tensor/matrix.h"

#include <limits>

namespace headscope {

// Of finite numbers alone; empty where there is none.
struct Extent {
    float lo = std::numeric_limits<float>::infinity(), hi = -std::numeric_limits<float>::infinity();
    bool empty() const { return lo > hi; }
};
Extent finiteExtent(MatrixView matrix);

} // namespace headscope
