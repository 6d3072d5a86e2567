// Mask files: csv, npy, npz or safetensors with one array of n x m numbers. Called by --mask and by the window's mask
// menu.
#pragma once

#include "core/attention/mask.h"

#include <string>
#include <string_view>

namespace headscope {

// Booleans, integers, or a csv of only 0 and 1 say who may attend; other numbers are added to the scores, -inf closes
// the cell. The size is the caller's to check against its texts. Throws LoadError naming the place.
SharedMatrix readMaskFile(const std::string& path);

// A csv of numbers with ',', ';' or tabs between them. `name` is what errors call it. Throws LoadError naming line and
// column.
Matrix parseCsvMatrix(std::string_view text, const std::string& name);

} // namespace headscope
