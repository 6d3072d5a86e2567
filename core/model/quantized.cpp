#include "core/model/quantized.h"

#include "core/model/number_type.h"
#include "core/tensor/half.h"
#include "core/tensor/parallel.h"

#include <algorithm>
#include <array>

namespace headscope {

namespace {

using Bytes = const std::uint8_t*;

constexpr std::array table{
    BlockTypeInfo{BlockType::F32, 0, "F32", 1, 4},        BlockTypeInfo{BlockType::F16, 1, "F16", 1, 2},
    BlockTypeInfo{BlockType::Q4_0, 2, "Q4_0", 32, 18},    BlockTypeInfo{BlockType::Q4_1, 3, "Q4_1", 32, 20},
    BlockTypeInfo{BlockType::Q5_0, 6, "Q5_0", 32, 22},    BlockTypeInfo{BlockType::Q5_1, 7, "Q5_1", 32, 24},
    BlockTypeInfo{BlockType::Q8_0, 8, "Q8_0", 32, 34},    BlockTypeInfo{BlockType::Q2_K, 10, "Q2_K", 256, 84},
    BlockTypeInfo{BlockType::Q3_K, 11, "Q3_K", 256, 110}, BlockTypeInfo{BlockType::Q4_K, 12, "Q4_K", 256, 144},
    BlockTypeInfo{BlockType::Q5_K, 13, "Q5_K", 256, 176}, BlockTypeInfo{BlockType::Q6_K, 14, "Q6_K", 256, 210},
    BlockTypeInfo{BlockType::I8, 24, "I8", 1, 1},         BlockTypeInfo{BlockType::I16, 25, "I16", 1, 2},
    BlockTypeInfo{BlockType::I32, 26, "I32", 1, 4},       BlockTypeInfo{BlockType::I64, 27, "I64", 1, 8},
    BlockTypeInfo{BlockType::F64, 28, "F64", 1, 8},       BlockTypeInfo{BlockType::BF16, 30, "BF16", 1, 2}};

struct OtherType {
    std::uint32_t code;
    std::string_view name;
};
constexpr std::array others{OtherType{9, "Q8_1"},    OtherType{15, "Q8_K"},    OtherType{16, "IQ2_XXS"},
                            OtherType{17, "IQ2_XS"}, OtherType{18, "IQ3_XXS"}, OtherType{19, "IQ1_S"},
                            OtherType{20, "IQ4_NL"}, OtherType{21, "IQ3_S"},   OtherType{22, "IQ2_S"},
                            OtherType{23, "IQ4_XS"}, OtherType{29, "IQ1_M"},   OtherType{34, "TQ1_0"},
                            OtherType{35, "TQ2_0"},  OtherType{39, "MXFP4"}};

float half(Bytes at) {
    return floatFromF16(static_cast<std::uint16_t>(at[0] | at[1] << 8));
}
std::uint32_t word(Bytes at) {
    return at[0] | static_cast<std::uint32_t>(at[1]) << 8 | static_cast<std::uint32_t>(at[2]) << 16 |
           static_cast<std::uint32_t>(at[3]) << 24;
}

// d, 16 bytes of nibbles: low nibbles are values 0-15, high ones 16-31; value = d (q - 8)
void q4_0(Bytes b, float* y) {
    const float d = half(b);
    for (int j = 0; j < 16; ++j) {
        y[j] = d * static_cast<float>((b[2 + j] & 15) - 8);
        y[j + 16] = d * static_cast<float>((b[2 + j] >> 4) - 8);
    }
}

// d, m, 16 bytes of nibbles; value = d q + m
void q4_1(Bytes b, float* y) {
    const float d = half(b), m = half(b + 2);
    for (int j = 0; j < 16; ++j) {
        y[j] = d * static_cast<float>(b[4 + j] & 15) + m;
        y[j + 16] = d * static_cast<float>(b[4 + j] >> 4) + m;
    }
}

// A fifth bit of each value stands in a 32-bit word: bit j for value j.
int fifthBit(std::uint32_t high, int j) {
    return static_cast<int>(high >> j & 1U) << 4;
}

// d, the fifth bits, nibbles; value = d (q - 16)
void q5_0(Bytes b, float* y) {
    const float d = half(b);
    const std::uint32_t high = word(b + 2);
    for (int j = 0; j < 16; ++j) {
        y[j] = d * static_cast<float>(((b[6 + j] & 15) | fifthBit(high, j)) - 16);
        y[j + 16] = d * static_cast<float>(((b[6 + j] >> 4) | fifthBit(high, j + 16)) - 16);
    }
}

// d, m, the fifth bits, nibbles; value = d q + m
void q5_1(Bytes b, float* y) {
    const float d = half(b), m = half(b + 2);
    const std::uint32_t high = word(b + 4);
    for (int j = 0; j < 16; ++j) {
        y[j] = d * static_cast<float>((b[8 + j] & 15) | fifthBit(high, j)) + m;
        y[j + 16] = d * static_cast<float>((b[8 + j] >> 4) | fifthBit(high, j + 16)) + m;
    }
}

// d, 32 signed bytes; value = d q
void q8_0(Bytes b, float* y) {
    const float d = half(b);
    for (int j = 0; j < 32; ++j)
        y[j] = d * static_cast<float>(static_cast<std::int8_t>(b[2 + j]));
}

// 16 groups of 16 values. scales[16] (low nibble scale, high nibble minimum), two bits a value in 64 bytes, d, dmin;
// value = d scale q - dmin minimum
void q2_k(Bytes b, float* y) {
    const Bytes scales = b, q = b + 16;
    const float d = half(b + 80), least = half(b + 82);
    for (int group = 0; group < 16; ++group) {
        const int block = group / 8, shift = group % 8 / 2 * 2, side = group % 2 * 16;
        const float scale = d * static_cast<float>(scales[group] & 15),
                    minimum = least * static_cast<float>(scales[group] >> 4);
        for (int l = 0; l < 16; ++l)
            y[group * 16 + l] = scale * static_cast<float>(q[block * 32 + side + l] >> shift & 3) - minimum;
    }
}

// 16 groups of 16 values. The third bits in hmask[32], two bits a value in 64 bytes, 6-bit scales packed in 12 bytes,
// d; value = d (scale - 32) (q - (third bit ? 0 : 4))
void q3_k(Bytes b, float* y) {
    const Bytes mask = b, q = b + 32, packed = b + 96;
    const float d = half(b + 108);
    for (int group = 0; group < 16; ++group) {
        const int low = group < 8 ? packed[group] & 15 : packed[group - 8] >> 4;
        const int high = packed[8 + group % 4] >> group / 4 * 2 & 3;
        const float scale = d * static_cast<float>((low | high << 4) - 32);
        const int block = group / 8, shift = group % 8 / 2 * 2, side = group % 2 * 16, bit = group / 2;
        for (int l = 0; l < 16; ++l) {
            const int third = mask[side + l] >> bit & 1 ? 0 : 4;
            y[group * 16 + l] = scale * static_cast<float>((q[block * 32 + side + l] >> shift & 3) - third);
        }
    }
}

struct ScaleAndMinimum {
    int scale, minimum;
};
// Eight 6-bit scales and eight 6-bit minima in 12 bytes, as Q4_K and Q5_K keep them.
ScaleAndMinimum sixBits(Bytes s, int j) {
    if (j < 4)
        return {s[j] & 63, s[j + 4] & 63};
    return {(s[j + 4] & 15) | (s[j - 4] >> 6) << 4, (s[j + 4] >> 4) | (s[j] >> 6) << 4};
}

// 8 groups of 32 values. d, dmin, scales[12], nibbles: a group's 32 bytes serve two groups; value = d scale q - dmin
// minimum
void q4_k(Bytes b, float* y) {
    const float d = half(b), least = half(b + 2);
    const Bytes scales = b + 4, q = b + 16;
    for (int group = 0; group < 8; ++group) {
        const auto [scale, minimum] = sixBits(scales, group);
        for (int l = 0; l < 32; ++l) {
            const int nibble = q[group / 2 * 32 + l] >> group % 2 * 4 & 15;
            y[group * 32 + l] =
                d * static_cast<float>(scale) * static_cast<float>(nibble) - least * static_cast<float>(minimum);
        }
    }
}

// As Q4_K, with a fifth bit per value in qh[32]: bit `group` of byte l.
void q5_k(Bytes b, float* y) {
    const float d = half(b), least = half(b + 2);
    const Bytes scales = b + 4, high = b + 16, q = b + 48;
    for (int group = 0; group < 8; ++group) {
        const auto [scale, minimum] = sixBits(scales, group);
        for (int l = 0; l < 32; ++l) {
            const int value = (q[group / 2 * 32 + l] >> group % 2 * 4 & 15) + (high[l] >> group & 1) * 16;
            y[group * 32 + l] =
                d * static_cast<float>(scale) * static_cast<float>(value) - least * static_cast<float>(minimum);
        }
    }
}

// 16 groups of 16 values. Low nibbles in ql[128], upper two bits in qh[64], signed scales[16], d; value = d scale (q -
// 32)
void q6_k(Bytes b, float* y) {
    const Bytes low = b, high = b + 128;
    const auto* scales = reinterpret_cast<const std::int8_t*>(b + 192);
    const float d = half(b + 208);
    for (int i = 0; i < 256; ++i) {
        const int block = i / 128, group = i / 16, quarter = i % 128 / 32, l = i % 32;
        const int nibble = low[block * 64 + quarter % 2 * 32 + l] >> quarter / 2 * 4 & 15;
        const int upper = high[block * 32 + l] >> quarter * 2 & 3;
        y[i] = d * static_cast<float>(scales[group]) * static_cast<float>((nibble | upper << 4) - 32);
    }
}

using Decode = void (*)(Bytes, float*);
Decode decoderOf(BlockType type) {
    switch (type) {
    case BlockType::Q4_0:
        return q4_0;
    case BlockType::Q4_1:
        return q4_1;
    case BlockType::Q5_0:
        return q5_0;
    case BlockType::Q5_1:
        return q5_1;
    case BlockType::Q8_0:
        return q8_0;
    case BlockType::Q2_K:
        return q2_k;
    case BlockType::Q3_K:
        return q3_k;
    case BlockType::Q4_K:
        return q4_k;
    case BlockType::Q5_K:
        return q5_k;
    case BlockType::Q6_K:
        return q6_k;
    default:
        return nullptr;
    }
}

NumberType plainType(BlockType type) {
    switch (type) {
    case BlockType::F16:
        return NumberType::F16;
    case BlockType::BF16:
        return NumberType::BF16;
    case BlockType::F64:
        return NumberType::F64;
    case BlockType::I8:
        return NumberType::I8;
    case BlockType::I16:
        return NumberType::I16;
    case BlockType::I32:
        return NumberType::I32;
    case BlockType::I64:
        return NumberType::I64;
    default:
        return NumberType::F32;
    }
}

} // namespace

const BlockTypeInfo* blockTypeOf(std::uint32_t code) {
    const auto* it = std::ranges::find(table, code, &BlockTypeInfo::code);
    return it == table.end() ? nullptr : it;
}

std::string_view blockTypeName(std::uint32_t code) {
    if (const BlockTypeInfo* info = blockTypeOf(code))
        return info->name;
    const auto* it = std::ranges::find(others, code, &OtherType::code);
    return it == others.end() ? "an unknown type" : it->name;
}

void dequantize(const BlockTypeInfo& info, std::span<const std::uint8_t> blocks, std::span<float> out) {
    const Decode decode = decoderOf(info.type);
    if (!decode)
        return toFloats(plainType(info.type), false, blocks, out);
    const auto values = static_cast<std::size_t>(info.values), bytes = static_cast<std::size_t>(info.bytes);
    const std::size_t count = out.size() / values, atOnce = (1 << 16) / values; // blocks
    parallelFor(
        static_cast<int>((count + atOnce - 1) / atOnce),
        [&](int piece) {
            const std::size_t begin = static_cast<std::size_t>(piece) * atOnce, end = std::min(count, begin + atOnce);
            for (std::size_t i = begin; i < end; ++i)
                decode(blocks.data() + i * bytes, out.data() + i * values);
        },
        count > 2 * atOnce);
}

} // namespace headscope
