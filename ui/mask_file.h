// A mask from a file: npy, npz, safetensors or csv of n x m numbers. Called by the window's mask menu.
#pragma once

#include "core/attention/mask.h"

#include <QString>

namespace headscope {

// Throws InputError or LoadError, naming the file. Its size is checked against the texts by validate().
Mask maskFromFile(const QString& path);

} // namespace headscope
