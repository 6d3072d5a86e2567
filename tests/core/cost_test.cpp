// What attention costs: the shares that articles get wrong, as laws of the formulas.
#include "core/analysis/cost.h"

#include "core/tensor/errors.h"

#include <gtest/gtest.h>

namespace headscope {
namespace {

const CostPart& part(const AttentionCost& cost, const std::string& name) {
    for (const CostPart& p : cost.parts) {
        if (p.name == name) {
            return p;
        }
    }
    throw std::out_of_range(name);
}

std::int64_t quadratic(const AttentionCost& cost) {
    return part(cost, "Q K^T").multiplyAdds + part(cost, "A V").multiplyAdds;
}

TEST(Cost, ScoresAreThreePercentOfAShortText) {
    const AttentionCost cost = attentionCost(64, 64, 512, 8, 8, 64, 64, true);
    EXPECT_EQ(part(cost, "Q K^T").multiplyAdds, 64 * 64 * 512);
    EXPECT_EQ(cost.multiplyAdds, 4 * 64 * 512 * 512 + 2 * 64 * 64 * 512);
    EXPECT_NEAR(part(cost, "Q K^T").share, 0.029, 0.0005); // 1/34
    EXPECT_NEAR(part(cost, "projections Q K V").share, 24.0 / 34.0, 1e-12);
}

TEST(Cost, QuadraticPartsOvertakeTheRestExactlyAboveTwiceTheWidth) {
    for (const std::int64_t d : {8, 64, 512, 768}) {
        for (const int heads : {1, 4, 8}) {
            const auto at = [&](std::int64_t n) {
                return attentionCost(n, n, d, heads, heads, d / heads, d / heads, false);
            };
            const auto rest = [](const AttentionCost& c) { return c.multiplyAdds - quadratic(c); };
            EXPECT_EQ(quadratic(at(2 * d)), rest(at(2 * d))) << "d = " << d;
            EXPECT_LT(quadratic(at(2 * d - 1)), rest(at(2 * d - 1))) << "d = " << d;
            EXPECT_GT(quadratic(at(2 * d + 1)), rest(at(2 * d + 1))) << "d = " << d;
        }
    }
}

TEST(Cost, TheNumberOfHeadsChangesOnlySoftmaxAndMaps) {
    for (const int heads : {2, 8, 32}) {
        const auto [one, many] = compareHeadCounts(100, 64, heads, true);
        EXPECT_EQ(one.multiplyAdds, many.multiplyAdds);
        EXPECT_EQ(one.parameters, many.parameters);
        for (std::size_t p = 0; p < one.parts.size(); ++p) {
            const std::int64_t factor = one.parts[p].name == "softmax" ? heads : 1;
            EXPECT_EQ(many.parts[p].multiplyAdds, factor * one.parts[p].multiplyAdds) << one.parts[p].name;
            EXPECT_EQ(many.parts[p].parameters, one.parts[p].parameters) << one.parts[p].name;
        }
        EXPECT_EQ(many.mapEntries, heads * one.mapEntries);
    }
}

// Published: GPT-2 small has 12 layers of 4 * 768^2 + 4 * 768 attention parameters (Radford et al. 2019).
TEST(Cost, ParametersAreThoseOfAPublishedLayer) {
    EXPECT_EQ(attentionCost(1, 1, 768, 12, 12, 64, 64, true).parameters, 4 * 768 * 768 + 4 * 768);
    EXPECT_EQ(attentionCost(1, 1, 768, 12, 12, 64, 64, false).parameters, 4 * 768 * 768);
}

TEST(Cost, GroupedKeysAndCrossAttentionCountTheirOwnSizes) {
    // d 16, 4 query heads of d_k 8 and d_v 2, 2 KV heads, 3 queries, 5 keys.
    const AttentionCost cost = attentionCost(3, 5, 16, 4, 2, 8, 2, true);
    EXPECT_EQ(part(cost, "projections Q K V").multiplyAdds, 3 * 16 * 32 + 5 * 16 * 16 + 5 * 16 * 4);
    EXPECT_EQ(part(cost, "projections Q K V").parameters, 16 * (32 + 16 + 4) + 32 + 16 + 4);
    EXPECT_EQ(part(cost, "Q K^T").multiplyAdds, 4 * 3 * 5 * 8);
    EXPECT_EQ(part(cost, "softmax").multiplyAdds, 4 * 3 * 5);
    EXPECT_EQ(part(cost, "A V").multiplyAdds, 4 * 3 * 5 * 2);
    EXPECT_EQ(part(cost, "W_O").multiplyAdds, 3 * 8 * 16);
    EXPECT_EQ(part(cost, "W_O").parameters, 8 * 16 + 16);
}

TEST(Cost, SizesThatDoNotFitAreRefusedWithTheNumbers) {
    try {
        compareHeadCounts(10, 64, 7, true);
        FAIL() << "64 is not divisible by 7";
    } catch (const InputError& e) {
        EXPECT_NE(std::string(e.what()).find("64"), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find("7 heads"), std::string::npos) << e.what();
    }
    EXPECT_THROW(attentionCost(0, 5, 16, 4, 2, 8, 2, true), InputError);
    EXPECT_THROW(attentionCost(std::int64_t{1} << 40, std::int64_t{1} << 40, 64, 1, 1, 64, 64, true), InputError);
}

} // namespace
} // namespace headscope
