#include "core/tensor/memory.h"

#include "core/tensor/errors.h"

#include <fstream>
#include <limits>

namespace headscope {

std::int64_t availableMemory() {
    std::ifstream info("/proc/meminfo");
    std::string name, unit;
    std::int64_t kibibytes = 0;
    while (info >> name >> kibibytes) {
        std::getline(info, unit);
        if (name == "MemAvailable:")
            return kibibytes * 1024;
    }
    return std::numeric_limits<std::int64_t>::max(); // not known here: leave it to the allocator
}

std::string memoryText(std::int64_t bytes) {
    const bool gib = bytes >= (std::int64_t{1} << 30);
    const std::int64_t tenths = bytes * 10 / (std::int64_t{1} << (gib ? 30 : 20));
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + (gib ? " GiB" : " MiB");
}

void requireMemory(std::int64_t bytes, const std::string& what, const std::string& hint) {
    const std::int64_t free = availableMemory();
    if (bytes > free)
        throw InputError(what + " needs " + memoryText(bytes) + ", but " + memoryText(free) + " of memory are free; " +
                         hint);
}

} // namespace headscope
