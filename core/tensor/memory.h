// How much memory is free: what is too large is refused before it is allocated, with both figures.
#pragma once

#include <cstdint>
#include <string>

namespace headscope {

std::uint64_t availableMemory();                // bytes that can be allocated without swapping
std::string byteText(std::uint64_t bytes);      // "1.5 GiB", "96 MiB", "812 bytes"

} // namespace headscope
