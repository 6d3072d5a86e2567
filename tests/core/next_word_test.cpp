#include "core/analysis/next_word.h"

#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace headscope {
namespace {

using namespace testing;

Scenario story() {
    return makeScenario(requestOf("story", "Tom saw Lily and she gave Tom the"));
}

SharedTrace storyTrace() {
    static const SharedTrace trace = run(story());
    return trace;
}

TEST(NextWord, ProbabilitiesAreTheSoftmaxOfTheLogits) {
    const int row = storyTrace()->scenario.queries() - 1;
    const Matrix logits = logitsOf(*storyTrace());
    double sum = 0;
    for (const float logit : logits.row(row))
        sum += std::exp(static_cast<double>(logit));
    const NextWords next = nextWords(*storyTrace(), row, 10, 1);
    ASSERT_EQ(next.words.size(), 10U);
    double shown = 0, before = 1;
    for (const NextWord& word : next.words) {
        const double logit = logits(row, static_cast<int>(word.id));
        EXPECT_NEAR(word.logit, logit, 1e-4);
        EXPECT_NEAR(word.probability, std::exp(logit) / sum, 1e-5);
        EXPECT_LE(word.probability, before);
        before = word.probability;
        shown += word.probability;
    }
    EXPECT_NEAR(shown + next.others, 1, 1e-9);
}

TEST(NextWord, ALowTemperatureLeavesTheLargestLogitAlone) {
    const NextWords warm = nextWords(*storyTrace(), 3, 3, 1), cold = nextWords(*storyTrace(), 3, 3, 0);
    EXPECT_EQ(cold.words.front().id, warm.words.front().id);
    EXPECT_EQ(cold.words.front().probability, 1);
    EXPECT_LT(nextWords(*storyTrace(), 3, 3, 5).words.front().probability, warm.words.front().probability);
}

TEST(NextWord, ThePartsOfALogitAddUpToIt) {
    const Matrix logits = logitsOf(*storyTrace());
    for (const int row : {0, 4, storyTrace()->scenario.queries() - 1})
        for (const int id : {3, 100, 300}) {
            double sum = 0, size = 0;
            for (const LogitPart& part : logitParts(*storyTrace(), row, id)) {
                sum += part.value;
                size += std::abs(part.value);
            }
            EXPECT_NEAR(sum, logits(row, id), 1e-5 * size + 1e-5) << row << ' ' << id;
        }
}

TEST(NextWord, AHeadThatIsSwitchedOffHasNoPart) {
    Scenario s = story();
    Intervention off;
    off.layer = LayerIndex{1};
    off.head = HeadIndex{2};
    s.interventions = {off};
    int heads = 0;
    for (const LogitPart& part : logitParts(*run(s), 5, 7))
        if (part.kind == LogitPart::Kind::Head) {
            EXPECT_EQ(part.value == 0, part.layer.value == 1 && part.head.value == 2);
            ++heads;
        }
    EXPECT_EQ(heads, 12);
}

TEST(NextWord, OnlyModelsThatReadOnwardsPredict) {
    EXPECT_TRUE(predictsNextWord(*story().model));
    EXPECT_TRUE(logitIsASum(*story().model));
    EXPECT_FALSE(predictsNextWord(*makeScenario(requestOf("mini", "a")).model));
    EXPECT_FALSE(predictsNextWord(*patterns("a b").model));
}

} // namespace
} // namespace headscope
