// A file that fills a table of weights: npy, npz, safetensors, or numbers as text. Not here: where the numbers go
// (weight_editor).
#pragma once

#include "core/tensor/matrix.h"

#include <QString>
#include <string_view>

namespace headscope {

// The matrix that a file holds for a table called `wanted` ("W_Q"): its entry of that name, else its only entry. Throws
// InputError or LoadError.
Matrix readWeightFile(const QString& path, std::string_view wanted);

} // namespace headscope
