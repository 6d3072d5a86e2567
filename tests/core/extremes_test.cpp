// Temperatures down to 0 and up to infinity, scores of any size: always weights, never NaN.
#include "core/attention/overflow.h"
#include "tests/support/golden.h"
#include "tests/support/scenarios.h"

#include <numeric>

namespace headscope::testing {
namespace {

constexpr double inf = INFINITY;

// Weights of one row of given scores: Q = scores, K = identity, so that Q K^T are the scores exactly.
Matrix weightsOf(const std::vector<float>& scores, double temperature, const std::string& mask = "none",
                 float softcap = 0) {
    const int m = static_cast<int>(scores.size());
    Matrix q(1, m);
    std::ranges::copy(scores, q.values().begin());
    const Matrix k = identity(m, m);
    const KeyMask open = resolveMask(parseMask(mask), ModelMask{}, 1, m);
    HeadProblem p;
    p.q = q;
    p.k = k;
    p.v = k;
    p.mask = &open;
    p.temperature = temperature;
    p.softcap = softcap;
    const HeadRows rows = backendByName("auto").attend(p, 0, 1, {.weights = true, .output = true});
    EXPECT_EQ(rows.output, rows.weights); // V is the identity
    return rows.weights;
}

Matrix row(const std::vector<float>& values) {
    Matrix m(1, static_cast<int>(values.size()));
    std::ranges::copy(values, m.values().begin());
    return m;
}

TEST(Temperature, ZeroIsTheLargestWithTiesShared) {
    EXPECT_EQ(weightsOf({1, 3, 2}, 0), row({0, 1, 0}));
    EXPECT_EQ(weightsOf({3, 1, 3, 3, 2}, 0), row({1.0F / 3, 0, 1.0F / 3, 1.0F / 3, 0}));
    EXPECT_EQ(weightsOf({-1e4F, -1e4F}, 0), row({0.5F, 0.5F}));
    EXPECT_EQ(weightsOf({1, 2, 9}, 0, "padding:1"), row({0, 1, 0})); // a closed key is not the largest
}

TEST(Temperature, InfinityIsUniformOverTheOpenKeys) {
    EXPECT_EQ(weightsOf({1, -1e4F, 1e4F, 0}, inf), row({0.25F, 0.25F, 0.25F, 0.25F}));
    EXPECT_EQ(weightsOf({1, -5, 9, 0}, inf, "padding:2"), row({0.5F, 0.5F, 0, 0}));
}

TEST(Temperature, OfEveryFiniteSizeIsTheSoftmaxOfScoresOverIt) {
    for (const double t : {0.1, 0.5, 1.0, 5.0, 1e6}) {
        const std::vector<float> scores{0.5F, -1.25F, 2.0F};
        double sum = 0;
        for (const float s : scores) {
            sum += std::exp(s / t);
        }
        const Matrix a = weightsOf(scores, t);
        for (int j = 0; j < 3; ++j) {
            EXPECT_NEAR(a(0, j), std::exp(scores[static_cast<std::size_t>(j)] / t) / sum, 1e-7);
        }
    }
}

TEST(Temperature, NearZeroIsTheLimitWithoutOverflow) {
    EXPECT_EQ(weightsOf({1e4F, 1e4F, -1e4F}, 1e-30), row({0.5F, 0.5F, 0}));
    EXPECT_EQ(weightsOf({1, 3, 2}, 1e-300), row({0, 1, 0}));
    EXPECT_EQ(weightsOf({1, 3, 2}, 1e300), row({1.0F / 3, 1.0F / 3, 1.0F / 3}));
}

TEST(LargeScores, GiveWeightsAndNoNaN) {
    EXPECT_EQ(weightsOf({1e4F, -1e4F, 1e4F}, 1), row({0.5F, 0, 0.5F}));
    EXPECT_EQ(weightsOf({3e38F, -3e38F}, 1), row({1, 0}));
    EXPECT_EQ(weightsOf({-3e38F, -3e38F}, 1e-30), row({0.5F, 0.5F}));
    const Matrix shifted = weightsOf({1e4F, 1e4F + 1}, 1);
    EXPECT_NEAR(shifted(0, 1), 1 / (1 + std::exp(-1.0)), 1e-7);
}

TEST(LargeScores, SaturateAtTheSoftcap) {
    const Matrix a = weightsOf({1e4F, -1e4F}, 1, "none", 2);
    EXPECT_NEAR(a(0, 0), 1 / (1 + std::exp(-4.0)), 1e-7);            // 2 and -2 after the cap
    EXPECT_EQ(weightsOf({5, 1e4F}, 1, "padding:1", 2), row({1, 0})); // the cap does not open a closed key
}

// Through the whole program: weights scaled up until scores reach tens of thousands.
TEST(LargeScores, OfAWholeModelGiveNoNaNAtAnyTemperature) {
    Scenario s = toy({}, "the cat sat on the mat");
    for (const WeightKind kind : {WeightKind::WQ, WeightKind::WK}) {
        s = edited(s, {LayerIndex{0}, kind}, [](Matrix& w) {
            for (float& v : w.values()) {
                v *= 100;
            }
        });
    }
    for (const double t : {1.0, 0.0, 1e-30, 5.0, inf}) {
        s.temperature = t;
        const SharedTrace computed = run(s);
        const Matrix scores = stageOf(computed, Stage::Scores);
        EXPECT_GT(*std::ranges::max_element(scores.values()), 1e4F);
        for (const Stage stage : availableStages(s)) {
            EXPECT_FALSE(hasNaN(stageOf(computed, stage))) << stageInfo(stage).id << " at T = " << t;
        }
        const Matrix a = stageOf(computed, Stage::Weights);
        for (int i = 0; i < a.rows(); ++i) {
            EXPECT_NEAR(std::accumulate(a.row(i).begin(), a.row(i).end(), 0.0), 1.0, 1e-6);
        }
    }
}

// Beyond float32 nothing is hidden: what became infinite is said, and finite numbers are no reason to say anything.
TEST(LargeScores, BeyondFloat32AreNoted) {
    Scenario s = toy({}, "the cat sat on the mat");
    EXPECT_EQ(overflowNote(*run(s)), "");
    s.scale = parseScale("1e30");
    EXPECT_EQ(overflowNote(*run(s)), "");
    s.scale = parseScale("1e38");
    const std::string note = overflowNote(*run(s));
    EXPECT_TRUE(note.starts_with("L0 H0: ") && note.find("of scaled are beyond") != std::string::npos) << note;
}

TEST(Temperature, IsReadAsANumberOrInf) {
    EXPECT_EQ(parseTemperature("0"), 0.0);
    EXPECT_EQ(parseTemperature("0.25"), 0.25);
    EXPECT_EQ(parseTemperature("inf"), inf);
    for (const char* text : {"", "-1", "nan", "hot", "1,5", "1e999"}) {
        EXPECT_THROW(parseTemperature(text), std::exception) << text;
    }
}

} // namespace
} // namespace headscope::testing
