// numpy's .npz: a zip archive of .npy arrays, stored or deflated. Nothing is ever written to disk, and no member is
// ever inflated whole unless its values are asked for.
#pragma once

#include "core/model/mapped_file.h"
#include "core/model/tensor_file.h"

namespace headscope {

// True for the first bytes of a zip archive, the empty one too.
bool startsLikeZip(std::span<const std::uint8_t> bytes);

// Entries are named by their members, without ".npy". Throws LoadError: a directory and members that contradict each
// other, names twice, members that are no arrays, an archive that torch.save wrote.
std::shared_ptr<const TensorFile> parseNpz(FileBytes file);

} // namespace headscope
