// The number types of tensor files, and their values as float. One table for safetensors, npy and npz.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace headscope {

enum class NumberType { Bool, I8, U8, I16, U16, I32, U32, I64, U64, F8E4M3, F8E5M2, F16, BF16, F32, F64 };

int byteSize(NumberType type);
bool isFloating(NumberType type);
inline bool canBeNonFinite(NumberType type) {
    return isFloating(type);
}

// out[i] = value i. bytes.size() is out.size() * byteSize(type).
void toFloats(NumberType type, bool bigEndian, std::span<const std::uint8_t> bytes, std::span<float> out);
void toDoubles(NumberType type, bool bigEndian, std::span<const std::uint8_t> bytes, std::span<double> out);
// How many of the values are NaN or infinite as they stand in the file. bytes.size() is a multiple of byteSize(type).
std::int64_t nonFiniteIn(NumberType type, bool bigEndian, std::span<const std::uint8_t> bytes);

} // namespace headscope
