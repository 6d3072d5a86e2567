// The block formats of GGUF files, as float. Each row of a tensor is a whole number of blocks; a block carries its own
// scales. Layouts: ggml's block_* structures; the arithmetic is stated above each function in quantized.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace headscope {

enum class BlockType {
    F32,
    F16,
    BF16,
    F64,
    I8,
    I16,
    I32,
    I64,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2_K,
    Q3_K,
    Q4_K,
    Q5_K,
    Q6_K
};

struct BlockTypeInfo {
    BlockType type;
    std::uint32_t code; // in GGUF
    std::string_view name;
    int values, bytes; // of one block
};
const BlockTypeInfo* blockTypeOf(std::uint32_t code); // null: a type that is not read here
std::string_view blockTypeName(std::uint32_t code);   // also of types that are not read; "type N" otherwise

// out.size() is a multiple of info.values; blocks.size() = out.size() / values * bytes.
void dequantize(const BlockTypeInfo& info, std::span<const std::uint8_t> blocks, std::span<float> out);

} // namespace headscope
