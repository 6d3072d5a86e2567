#include "core/tensor/memory.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <limits>

namespace headscope {

std::uint64_t availableMemory() {
    std::ifstream in("/proc/meminfo");
    std::string word;
    std::uint64_t kibibytes = 0;
    while (in >> word)
        if (word == "MemAvailable:" && in >> kibibytes)
            return kibibytes * 1024;
    return std::numeric_limits<std::uint64_t>::max(); // unknown: let the allocation decide
}

std::string byteText(std::uint64_t bytes) {
    if (bytes < 1024)
        return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
    static constexpr std::array units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    std::uint64_t tenths = bytes, unit = 0; // integers only, so that no locale can put a comma here
    while (tenths / 1024 >= 1024 && unit + 1 < units.size()) {
        tenths /= 1024;
        ++unit;
    }
    const std::uint64_t whole = tenths / 1024;
    const std::uint64_t digit = tenths % 1024 * 10 / 1024;
    return std::to_string(whole) + (whole < 10 && digit != 0 ? "." + std::to_string(digit) : "") + " " + units[unit];
}

} // namespace headscope
