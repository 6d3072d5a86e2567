// The two 16-bit floats of checkpoints, widened to float. Exact: every half is a float. And float16 again, of what was
// one.
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

// The inverse, for a float that a float16 holds.
inline std::uint16_t f16FromFloat(float v) {
    const auto bits = std::bit_cast<std::uint32_t>(v);
    const std::uint32_t sign = (bits >> 16) & 0x8000U, exponent = (bits >> 23) & 0xFFU, mantissa = bits & 0x7FFFFFU;
    if (exponent == 255)
        return static_cast<std::uint16_t>(sign | 0x7C00U | (mantissa >> 13));
    if (exponent < 113) // 0 or subnormal: a multiple of 2^-24
        return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>((v < 0 ? -v : v) * 0x1p24F));
    return static_cast<std::uint16_t>(sign | ((exponent - 112U) << 10) | (mantissa >> 13));
}

} // namespace headscope
