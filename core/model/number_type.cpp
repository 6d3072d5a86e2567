#include "core/model/number_type.h"

#include "core/tensor/half.h"
#include "core/tensor/parallel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

namespace headscope {

namespace {

// The integer of `Bits` bits at p; a shift per byte, so that neither alignment nor the machine's byte order matters.
template<class Bits>
Bits load(const std::uint8_t* p, bool bigEndian) {
    Bits value = 0;
    for (std::size_t i = 0; i < sizeof(Bits); ++i) {
        const std::size_t shift = 8 * (bigEndian ? sizeof(Bits) - 1 - i : i);
        value = static_cast<Bits>(value | static_cast<Bits>(static_cast<Bits>(p[i]) << shift));
    }
    return value;
}

//  float8 e4m3 (the "fn" form of checkpoints): s eeee mmm, bias 7, no infinity, NaN is s1111111
float floatFromE4M3(std::uint8_t b) {
    const int exponent = (b >> 3) & 15, mantissa = b & 7;
    if (exponent == 15 && mantissa == 7)
        return std::numeric_limits<float>::quiet_NaN();
    const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                          : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
    return (b & 0x80) != 0 ? -magnitude : magnitude;
}

// Calls visit(value) for every value of the bytes, as float or double.
template<class Visit>
void forEach(NumberType type, bool bigEndian, std::span<const std::uint8_t> bytes, Visit visit) {
    const auto each = [&]<class Bits>(Bits, auto convert) {
        for (std::size_t at = 0; at + sizeof(Bits) <= bytes.size(); at += sizeof(Bits))
            visit(convert(load<Bits>(bytes.data() + at, bigEndian)));
    };
    switch (type) {
    case NumberType::Bool:
        return each(std::uint8_t{}, [](std::uint8_t v) { return v != 0 ? 1.0F : 0.0F; });
    case NumberType::I8:
        return each(std::uint8_t{}, [](std::uint8_t v) { return static_cast<float>(static_cast<std::int8_t>(v)); });
    case NumberType::U8:
        return each(std::uint8_t{}, [](std::uint8_t v) { return static_cast<float>(v); });
    case NumberType::I16:
        return each(std::uint16_t{}, [](std::uint16_t v) { return static_cast<float>(static_cast<std::int16_t>(v)); });
    case NumberType::U16:
        return each(std::uint16_t{}, [](std::uint16_t v) { return static_cast<float>(v); });
    case NumberType::I32:
        return each(std::uint32_t{}, [](std::uint32_t v) { return static_cast<float>(static_cast<std::int32_t>(v)); });
    case NumberType::U32:
        return each(std::uint32_t{}, [](std::uint32_t v) { return static_cast<float>(v); });
    case NumberType::I64:
        return each(std::uint64_t{}, [](std::uint64_t v) { return static_cast<float>(static_cast<std::int64_t>(v)); });
    case NumberType::U64:
        return each(std::uint64_t{}, [](std::uint64_t v) { return static_cast<float>(v); });
    case NumberType::F8E4M3:
        return each(std::uint8_t{}, floatFromE4M3);
    // e5m2 is the upper byte of a float16.
    case NumberType::F8E5M2:
        return each(std::uint8_t{}, [](std::uint8_t v) { return floatFromF16(static_cast<std::uint16_t>(v << 8)); });
    case NumberType::F16:
        return each(std::uint16_t{}, floatFromF16);
    case NumberType::BF16:
        return each(std::uint16_t{}, floatFromBf16);
    case NumberType::F32:
        return each(std::uint32_t{}, [](std::uint32_t v) { return std::bit_cast<float>(v); });
    case NumberType::F64:
        return each(std::uint64_t{}, [](std::uint64_t v) { return std::bit_cast<double>(v); });
    }
}

} // namespace

int byteSize(NumberType type) {
    static constexpr std::array<int, 15> sizes{1, 1, 1, 2, 2, 4, 4, 8, 8, 1, 1, 2, 2, 4, 8};
    return sizes[static_cast<std::size_t>(type)];
}

bool isFloating(NumberType type) {
    return type >= NumberType::F8E4M3;
}

void toFloats(NumberType type, bool bigEndian, std::span<const std::uint8_t> bytes, std::span<float> out) {
    assert(bytes.size() == out.size() * static_cast<std::size_t>(byteSize(type)));
    if (type == NumberType::F32 && !bigEndian && std::endian::native == std::endian::little) {
        if (!out.empty())
            std::memcpy(out.data(), bytes.data(), bytes.size());
        return;
    }
    const auto size = static_cast<std::size_t>(byteSize(type));
    constexpr std::size_t atOnce = 1 << 16;
    parallelFor(
        static_cast<int>((out.size() + atOnce - 1) / atOnce),
        [&](int piece) {
            std::size_t i = static_cast<std::size_t>(piece) * atOnce;
            const std::size_t count = std::min(atOnce, out.size() - i);
            // A double beyond float's range becomes infinite, as numpy has it; who needs finite values finds it so.
            forEach(type, bigEndian, bytes.subspan(i * size, count * size),
                    [&](auto value) { out[i++] = static_cast<float>(value); });
        },
        out.size() > 2 * atOnce);
}

void toDoubles(NumberType type, bool bigEndian, std::span<const std::uint8_t> bytes, std::span<double> out) {
    assert(bytes.size() == out.size() * static_cast<std::size_t>(byteSize(type)));
    std::size_t i = 0;
    forEach(type, bigEndian, bytes, [&](auto value) { out[i++] = value; });
}

std::int64_t nonFiniteIn(NumberType type, bool bigEndian, std::span<const std::uint8_t> bytes) {
    if (!canBeNonFinite(type))
        return 0;
    std::int64_t count = 0;
    forEach(type, bigEndian, bytes, [&](auto value) { count += std::isfinite(value) ? 0 : 1; });
    return count;
}

} // namespace headscope
