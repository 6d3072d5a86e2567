// Normal numbers that are the same on every machine (the standard's distributions are not).
#pragma once

#include "core/tensor/matrix.h"

#include <cstdint>
#include <string_view>

namespace headscope {

// SplitMix64 (Steele, Lea, Flood 2014) as the source, Box-Muller for the normal distribution.
class Random {
public:
    explicit Random(std::uint64_t seed) : m_state(seed) {}
    std::uint64_t next();
    double uniform(); // in (0, 1)
    double normal();  // N(0, 1)

private:
    std::uint64_t m_state;
};

std::uint64_t hashText(std::string_view text); // FNV-1a, 64 bits
Matrix normalMatrix(int rows, int cols, double deviation, Random& random);

} // namespace headscope
