// --mask: named masks and files, joined by "+". Files are csv, npy or npz with one array, of n x m numbers.
#pragma once

#include "core/attention/mask.h"

#include <string>

namespace headscope::cli {

// For n queries and m keys. Booleans, integers, or a csv of only 0 and 1 say who may attend; other numbers are added to
// the scores. Throws InputError / LoadError; a file of another size is refused with both shapes.
Mask parseMaskOption(const std::string& text, int queries, int keys);

// A csv of numbers with ',', ';' or tabs between them; -inf closes a cell. Throws LoadError naming line and column.
Matrix parseCsvMatrix(const std::string& text, const std::string& name);

} // namespace headscope::cli
