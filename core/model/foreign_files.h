// Files that people open by mistake, or that cannot be read without running what is inside: recognised by content, and
// refused with what to do about it.
#pragma once

#include "core/model/mapped_file.h"
#include "core/tensor/errors.h"

namespace headscope {

// Throws LoadError for an empty file, a Git LFS pointer, a web page, a pickle, ONNX or HDF5; else returns.
void refuseForeignFile(const FileBytes& file);

// A checkpoint that torch.save wrote (a pickle, alone or inside a zip archive), with the Python that converts it.
LoadError torchError(const std::string& path);

} // namespace headscope
