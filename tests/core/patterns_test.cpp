// Every head of `patterns` does what its name says, for any text of up to 512 tokens.
#include "core/model/random.h"
#include "core/tensor/errors.h"
#include "tests/support/golden.h"
#include "tests/support/scenarios.h"

namespace headscope::testing {
namespace {

enum Head { Previous, Next, First, SameWord, Uniform, Neighbours, Separator };

// Words drawn from a vocabulary: a small one repeats itself, one of 1000 hardly does. Every ninth place may be a mark.
std::string randomText(int n, int vocabulary, std::uint64_t seed) {
    Random random(seed);
    std::string text;
    for (int i = 0; i < n; ++i) {
        const bool mark = random.next() % 9 == 0;
        text += mark ? ". " : "w" + std::to_string(random.next() % static_cast<std::uint64_t>(vocabulary)) + " ";
    }
    return text;
}

class Patterns : public ::testing::TestWithParam<std::tuple<int, int>> {
protected:
    void SetUp() override {
        const auto [n, vocabulary] = GetParam();
        m_trace = run(patterns(randomText(n, vocabulary, static_cast<std::uint64_t>(n * 1000 + vocabulary))));
        m_n = m_trace->scenario.queries();
        ASSERT_EQ(m_n, n);
    }
    // The smallest sum, over the rows, of the weights on the keys that `isMeant`.
    template<class IsMeant>
    double leastShare(Head head, const IsMeant& isMeant) const {
        const Matrix a = stageOf(m_trace, Stage::Weights, head);
        double least = 1;
        for (int i = 0; i < m_n; ++i) {
            double share = 0;
            for (int j = 0; j < m_n; ++j) {
                share += isMeant(i, j) ? a(i, j) : 0.0F;
            }
            least = std::min(least, share);
        }
        return least;
    }
    const std::string& word(int i) const { return m_trace->scenario.query.tokens[static_cast<std::size_t>(i)].piece; }

    SharedTrace m_trace;
    int m_n = 0;
};

TEST_P(Patterns, PreviousLooksAtThePreviousTokenAndTheFirstAtItself) {
    EXPECT_GE(leastShare(Previous, [](int i, int j) { return j == std::max(0, i - 1); }), 0.99);
}
TEST_P(Patterns, NextLooksAtTheNextTokenAndTheLastAtItself) {
    EXPECT_GE(leastShare(Next, [&](int i, int j) { return j == std::min(m_n - 1, i + 1); }), 0.99);
}
TEST_P(Patterns, FirstLooksAtTheFirstToken) {
    EXPECT_GE(leastShare(First, [](int, int j) { return j == 0; }), 0.99);
}
TEST_P(Patterns, SameWordLooksAtEveryCopyOfItsWordAlike) {
    EXPECT_GE(leastShare(SameWord, [&](int i, int j) { return word(i) == word(j); }), 0.99);
    const Matrix a = stageOf(m_trace, Stage::Weights, SameWord);
    for (int i = 0; i < m_n; ++i) {
        for (int j = 0; j < m_n; ++j) {
            if (word(i) == word(j)) {
                ASSERT_EQ(a(i, j), a(i, i)) << i << " and " << j;
            }
        }
    }
}
TEST_P(Patterns, UniformGivesEveryTokenTheSame) {
    const Matrix a = stageOf(m_trace, Stage::Weights, Uniform);
    EXPECT_TRUE(std::ranges::all_of(a.values(), [&](float w) { return w == 1.0F / static_cast<float>(m_n); }));
}
TEST_P(Patterns, NeighboursShareTheWeightOfBothSides) {
    EXPECT_GE(leastShare(Neighbours, [&](int i, int j) { return m_n == 1 || std::abs(i - j) == 1; }), 0.99);
    const Matrix a = stageOf(m_trace, Stage::Weights, Neighbours);
    for (int i = 1; i + 1 < m_n; ++i) {
        ASSERT_NEAR(a(i, i - 1), 0.5, 0.01) << i;
        ASSERT_NEAR(a(i, i + 1), 0.5, 0.01) << i;
    }
}
TEST_P(Patterns, SeparatorLooksAtTheLastPunctuationMark) {
    int last = 0; // the first token where there is no mark
    for (int i = 0; i < m_n; ++i) {
        last = isPunctuation(word(i)) ? i : last;
    }
    EXPECT_GE(leastShare(Separator, [&](int, int j) { return j == last; }), 0.99);
}

// Around the clocks' hours (31, 35), their sums, and the limit.
INSTANTIATE_TEST_SUITE_P(Texts, Patterns,
                         ::testing::Combine(::testing::Values(1, 2, 3, 6, 31, 35, 36, 66, 67, 200, 511, 512),
                                            ::testing::Values(1, 5, 1000)),
                         [](const auto& test) {
                             return std::to_string(std::get<0>(test.param)) + "tokens" +
                                    std::to_string(std::get<1>(test.param)) + "words";
                         });

TEST(PatternsLimit, ALongerTextIsRefusedWithBothNumbers) {
    try {
        patterns(randomText(513, 50, 1));
        FAIL() << "513 tokens were accepted";
    } catch (const InputError& e) {
        EXPECT_NE(std::string(e.what()).find("513"), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find("512"), std::string::npos) << e.what();
    }
}

} // namespace
} // namespace headscope::testing
