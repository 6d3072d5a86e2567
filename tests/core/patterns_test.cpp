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
    // The smallest sum, over the rows, of the weights on the keys that `isMeant`.
    template<class IsMeant>
    static double leastShare(const Matrix& a, const IsMeant& isMeant) {
        double least = 1;
        for (int i = 0; i < a.rows(); ++i) {
            double share = 0;
            for (int j = 0; j < a.cols(); ++j) {
                share += isMeant(i, j) ? a(i, j) : 0.0F;
            }
            least = std::min(least, share);
        }
        return least;
    }
};

TEST_P(Patterns, EveryHeadDoesWhatItsNameSays) {
    const auto [n, vocabulary] = GetParam();
    const SharedTrace t = run(patterns(randomText(n, vocabulary, static_cast<std::uint64_t>(n * 1000 + vocabulary))));
    ASSERT_EQ(t->scenario.queries(), n);
    const int last = n - 1;
    const auto word = [&](int i) -> const std::string& {
        return t->scenario.query.tokens[static_cast<std::size_t>(i)].piece;
    };
    const auto mapOf = [&](Head head) { return stageOf(t, Stage::Weights, head); };

    // The first token has no previous one and the last no next one: they look at themselves.
    EXPECT_GE(leastShare(mapOf(Previous), [](int i, int j) { return j == std::max(0, i - 1); }), 0.99);
    EXPECT_GE(leastShare(mapOf(Next), [&](int i, int j) { return j == std::min(last, i + 1); }), 0.99);
    EXPECT_GE(leastShare(mapOf(First), [](int, int j) { return j == 0; }), 0.99);

    // Every copy of the word, the token itself too, and all alike.
    const Matrix same = mapOf(SameWord);
    EXPECT_GE(leastShare(same, [&](int i, int j) { return word(i) == word(j); }), 0.99);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            ASSERT_TRUE(word(i) != word(j) || same(i, j) == same(i, i)) << i << " and " << j;
        }
    }

    const Matrix uniform = mapOf(Uniform);
    EXPECT_TRUE(std::ranges::all_of(uniform.values(), [&](float w) { return w == 1.0F / static_cast<float>(n); }));

    const Matrix near = mapOf(Neighbours);
    EXPECT_GE(leastShare(near, [&](int i, int j) { return n == 1 || std::abs(i - j) == 1; }), 0.99);
    for (int i = 1; i < last; ++i) {
        ASSERT_NEAR(near(i, i - 1), 0.5, 0.01) << i;
        ASSERT_NEAR(near(i, i + 1), 0.5, 0.01) << i;
    }

    int mark = 0; // the first token where there is none
    for (int i = 0; i < n; ++i) {
        mark = isPunctuation(word(i)) ? i : mark;
    }
    EXPECT_GE(leastShare(mapOf(Separator), [&](int, int j) { return j == mark; }), 0.99);
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
