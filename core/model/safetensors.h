// safetensors: named tensors behind a JSON header.
#pragma once

#include "core/model/mapped_file.h"
#include "core/model/tensor_file.h"

namespace headscope {

// Throws LoadError on anything that the format forbids: holes and overlaps between tensors, names twice, unknown types.
std::shared_ptr<const TensorFile> parseSafetensors(FileBytes file);

} // namespace headscope
