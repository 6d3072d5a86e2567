// What the machine has left: asked before something large is allocated, never after.
#pragma once

#include <cstdint>
#include <string>

namespace headscope {

std::int64_t availableMemory();             // bytes; as the kernel estimates it, without swapping
std::string memoryText(std::int64_t bytes); // "1.5 GiB"
// Throws InputError "WHAT needs 12.0 GiB, but 7.1 GiB of memory are free; HINT".
void requireMemory(std::int64_t bytes, const std::string& what, const std::string& hint);

} // namespace headscope
