// SHA-256, base64, half floats and shortest numbers against what their standards publish.
#include "core/exchange/base64.h"
#include "core/tensor/half.h"
#include "core/tensor/number_text.h"
#include "core/tensor/sha256.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace headscope {
namespace {

std::vector<std::uint8_t> bytesOf(const std::string& text) {
    return {text.begin(), text.end()};
}

TEST(Sha256, GivesTheDigestsOfFips180) {
    EXPECT_EQ(sha256(bytesOf("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256(bytesOf("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256(bytesOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sha256(std::vector<std::uint8_t>(1000000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesOfAnySizeGiveTheDigestOfTheWhole) {
    std::vector<std::uint8_t> bytes(1000);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<std::uint8_t>(i * i);
    const std::span<const std::uint8_t> all = bytes;
    for (const std::size_t piece : {1U, 7U, 63U, 64U, 65U, 200U, 999U}) {
        Sha256 sum;
        for (std::size_t begin = 0; begin < all.size(); begin += piece) {
            EXPECT_EQ(sum.digits(), sha256(all.first(begin))) << piece;
            sum.add(all.subspan(begin, std::min(piece, all.size() - begin)));
        }
        EXPECT_EQ(sum.digits(), sha256(all)) << piece;
    }
}

TEST(Base64, GivesTheVectorsOfRfc4648BothWays) {
    const std::vector<std::pair<std::string, std::string>> vectors{{"", ""},
                                                                   {"f", "Zg=="},
                                                                   {"fo", "Zm8="},
                                                                   {"foo", "Zm9v"},
                                                                   {"foob", "Zm9vYg=="},
                                                                   {"fooba", "Zm9vYmE="},
                                                                   {"foobar", "Zm9vYmFy"}};
    for (const auto& [plain, coded] : vectors) {
        EXPECT_EQ(toBase64(bytesOf(plain)), coded);
        EXPECT_EQ(fromBase64(coded), bytesOf(plain));
    }
}

TEST(Base64, RefusesWhatItWouldNotWrite) {
    for (const char* wrong : {"Zg=", "Zg", "Z===", "Zh==", "Zm9=", "Zg==Zg==", "Zm9v\n", "Zm*v", "===="}) {
        EXPECT_FALSE(fromBase64(wrong)) << wrong;
    }
    EXPECT_FALSE(floatsFromBase64("Zm9v")); // three bytes are no float
}

TEST(HalfFloats, EveryFloat16IsWhatIeee754Says) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
        const int exponent = static_cast<int>((bits >> 10) & 31U), mantissa = static_cast<int>(bits & 1023U);
        const float value = floatFromF16(static_cast<std::uint16_t>(bits));
        if (exponent == 31) {
            EXPECT_TRUE(mantissa == 0 ? std::isinf(value) : std::isnan(value));
            continue;
        }
        const double expected =
            sign * (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
        ASSERT_EQ(value, expected) << bits;
        ASSERT_EQ(std::signbit(value), sign < 0) << bits;
    }
}

TEST(HalfFloats, BrainFloatIsTheUpperHalfOfAFloat) {
    EXPECT_EQ(floatFromBf16(0x3F80), 1.0F);
    EXPECT_EQ(floatFromBf16(0xC040), -3.0F);
    EXPECT_EQ(floatFromBf16(0x7F80), std::numeric_limits<float>::infinity());
}

TEST(NumberText, IsTheShortestThatReadsBackAsTheSameFloat) {
    EXPECT_EQ(shortest(0.1F), "0.1");
    EXPECT_EQ(shortest(1.0F / 3), "0.33333334");
    EXPECT_EQ(shortest(-std::numeric_limits<float>::infinity()), "-inf");
    EXPECT_EQ(shortest(-std::numeric_limits<float>::quiet_NaN()), "nan");
    for (std::uint32_t bits = 0; bits < 0x7F800000U; bits += 40009) { // a walk through all exponents
        const float value = std::bit_cast<float>(bits);
        ASSERT_EQ(static_cast<float>(*parseFinite(shortest(value))), value) << bits;
    }
}

TEST(NumberText, TakesWholeFiniteNumbersOnly) {
    EXPECT_EQ(parseFinite("-2.5e-3"), -0.0025);
    for (const char* wrong : {"", "1,5", "1 ", "inf", "nan", "0x10", "1e999", "--1"}) {
        EXPECT_FALSE(parseFinite(wrong)) << wrong;
    }
}

} // namespace
} // namespace headscope
