// The two 16-bit floats of checkpoints, widened to float. Exact: every half is a float.
#pragma once

#include <bit>
#include <cstdint>

namespace headscope {

//  bfloat16: the upper half of a float32
//    s eeeeeeee mmmmmmm
inline float floatFromBf16(std::uint16_t h) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(h) << 16);
}

//  float16 (IEEE 754 binary16)
//    s eeeee mmmmmmmmmm    e = 0: subnormal, m * 2^-24;  e = 31: infinity (m = 0) or NaN
inline float floatFromF16(std::uint16_t h) {
    const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000U) << 16;
    const std::uint32_t exponent = (h >> 10) & 0x1FU;
    const std::uint32_t mantissa = h & 0x3FFU;
    if (exponent == 0) {
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
    }
    if (exponent == 31)
        return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13));
    return std::bit_cast<float>(sign | ((exponent + 112U) << 23) | (mantissa << 13));
}

} // namespace headscope
