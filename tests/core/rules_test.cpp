// Each wrong rule of class does exactly the damage that its description says, and nothing is left of it when it is off.
#include "core/exchange/dump.h"
#include "core/tensor/errors.h"
#include "tests/support/golden.h"
#include "tests/support/scenarios.h"

#include <numeric>

namespace headscope::testing {
namespace {

ToyOptions options() {
    ToyOptions o;
    o.dModel = 32;
    o.heads = 4;
    o.seed = 5;
    return o;
}

Scenario right() {
    Scenario s = toy(options(), "the cat sat on the mat");
    s.mask = parseMask("causal");
    return s;
}

SharedTrace wrong(Rule rule) {
    return run(withRule(right(), rule));
}

double rowSum(const Matrix& m, int row) {
    return std::accumulate(m.row(row).begin(), m.row(row).end(), 0.0);
}

double columnSum(const Matrix& m, int col) {
    double sum = 0;
    for (int i = 0; i < m.rows(); ++i) {
        sum += m(i, col);
    }
    return sum;
}

TEST(Rules, SwitchedOnAndOffAgainLeaveNoTrace) {
    const SharedTrace before = run(right());
    for (const RuleInfo& info : ruleTable()) {
        SCOPED_TRACE(info.name);
        Scenario s = withRule(right(), info.rule);
        const SharedTrace on = run(s);
        s.rules = with(s.rules, info.rule, false);
        const SharedTrace off = trace(s, backendByName("auto"), on.get());
        EXPECT_EQ(stageOf(off, Stage::Output), stageOf(before, Stage::Output));
        EXPECT_NE(stageOf(on, Stage::Output), stageOf(before, Stage::Output));
        for (int h = 0; h < 4; ++h) {
            EXPECT_EQ(stageOf(off, Stage::Weights, h), stageOf(before, Stage::Weights, h));
        }
        EXPECT_EQ(ruleFromName(info.name), info.rule);
    }
}

// What is written is what was multiplied: X W_Q + b_Q = projection_q.
TEST(Rules, SplitInputDumpsTheWeightsThatItApplies) {
    const SharedTrace t = wrong(Rule::SplitInput);
    DumpOptions options;
    options.weights = true;
    const std::vector<NamedArray> arrays = dumpArrays(*t, options);
    const auto values = [&](const std::string& name) {
        const NamedArray& a = *std::ranges::find(arrays, "layers.0.self." + name, &NamedArray::name);
        Matrix m(a.shape.size() == 1 ? 1 : static_cast<int>(a.shape[0]), static_cast<int>(a.shape.back()));
        std::ranges::copy(std::get<std::vector<float>>(a.data), m.data());
        return m;
    };
    const Matrix b = values("b_Q");
    EXPECT_EQ(backendByName("auto").linear(values("embedding"), values("W_Q"), &b), values("projection_q"));
}

TEST(Rules, SplitInputLetsAHeadSeeOnlyItsOwnSliceOfX) {
    const auto withX = [](Scenario s, int col) {
        Intervention i;
        i.kind = Intervention::Kind::SetCell;
        i.stage = Stage::Embedding;
        i.row = 2;
        i.col = col;
        i.value = 4.0F;
        s.interventions = {i};
        return run(s);
    };
    const Scenario sliced = withRule(right(), Rule::SplitInput);
    for (const Stage stage : {Stage::Q, Stage::K, Stage::V}) {
        // Column 3 of X belongs to head 0 (8 columns each): head 1 does not notice, unless it projects the whole of X.
        EXPECT_EQ(stageOf(withX(sliced, 3), stage, 1), stageOf(run(sliced), stage, 1));
        EXPECT_NE(stageOf(withX(sliced, 3), stage, 0), stageOf(run(sliced), stage, 0));
        EXPECT_NE(stageOf(withX(right(), 3), stage, 1), stageOf(run(right()), stage, 1));
    }
}

TEST(Rules, SplitInputIsABlockDiagonalProjection) {
    const Matrix w = *right().model->layer(LayerIndex{0}).wQ;
    const Matrix block = blockDiagonal(w, 4);
    for (int r = 0; r < 32; ++r) {
        for (int c = 0; c < 32; ++c) {
            EXPECT_EQ(block(r, c), r / 8 == c / 8 ? w(r, c) : 0.0F);
        }
    }
    const Scenario edit = edited(right(), {LayerIndex{0}, WeightKind::WQ}, [&](Matrix& m) { m = block; });
    EXPECT_EQ(stageOf(wrong(Rule::SplitInput), Stage::ProjectionQ), stageOf(run(edit), Stage::ProjectionQ));
}

TEST(Rules, ScalesDivideByWhatTheirNameSays) {
    for (const auto& [rule, divisor] : {std::pair{Rule::ScaleDModel, std::sqrt(32.0)}, std::pair{Rule::ScaleDk, 8.0},
                                        std::pair{Rule::NoScale, 1.0}}) {
        const SharedTrace t = wrong(rule);
        const Matrix scores = stageOf(t, Stage::Scores), scaled = stageOf(t, Stage::Scaled);
        for (std::size_t i = 0; i < scores.size(); ++i) {
            EXPECT_NEAR(scaled.values()[i], scores.values()[i] / divisor, 1e-6);
        }
    }
    // The damage: without the division a row is more peaked, with too large a divisor flatter.
    const auto peak = [](const SharedTrace& t) { return *std::ranges::max_element(stageOf(t, Stage::Weights).row(5)); };
    EXPECT_GT(peak(wrong(Rule::NoScale)), peak(run(right())));
    EXPECT_LT(peak(wrong(Rule::ScaleDk)), peak(run(right())));
}

TEST(Rules, SoftmaxOverQueriesMakesColumnsSumToOne) {
    const Matrix a = stageOf(wrong(Rule::SoftmaxQueries), Stage::Weights);
    bool someRowIsOff = false;
    for (int i = 0; i < a.cols(); ++i) {
        EXPECT_NEAR(columnSum(a, i), 1.0, 1e-6);
        someRowIsOff = someRowIsOff || std::abs(rowSum(a, i) - 1) > 0.1;
    }
    EXPECT_TRUE(someRowIsOff);
    EXPECT_EQ(a(0, 1), 0.0F); // still masked
}

TEST(Rules, MaskAfterSoftmaxLetsClosedKeysKeepTheirShare) {
    Scenario open = right();
    open.mask = parseMask("none");
    const Matrix a = stageOf(wrong(Rule::MaskAfterSoftmax), Stage::Weights),
                 unmasked = stageOf(run(open), Stage::Weights);
    for (int i = 0; i < a.rows(); ++i) {
        for (int j = 0; j < a.cols(); ++j) {
            EXPECT_EQ(a(i, j), j <= i ? unmasked(i, j) : 0.0F);
        }
    }
    EXPECT_LT(rowSum(a, 0), 0.9);
    EXPECT_NEAR(rowSum(a, 5), 1.0, 1e-6); // the last row sees all
}

TEST(Rules, ConcatByReshapeReadsHeadsInMemoryOrder) {
    const SharedTrace t = wrong(Rule::ConcatReshape);
    std::vector<float> memory; // (h, n, d_v)
    for (int h = 0; h < 4; ++h) {
        const Matrix o = stageOf(t, Stage::HeadOutput, h);
        memory.insert(memory.end(), o.values().begin(), o.values().end());
    }
    const Matrix concat = stageOf(t, Stage::Concat), rightConcat = stageOf(run(right()), Stage::Concat);
    EXPECT_TRUE(std::ranges::equal(concat.values(), memory));
    // Row 0 holds tokens 0 to 3 of head 0 instead of token 0 of heads 0 to 3.
    EXPECT_EQ(concat(0, 8), stageOf(t, Stage::HeadOutput, 0)(1, 0));
    EXPECT_EQ(rightConcat(0, 8), stageOf(t, Stage::HeadOutput, 1)(0, 0));
    // With one head there is nothing to scramble.
    ToyOptions one = options();
    one.heads = 1;
    const Scenario s = toy(one, "the cat sat");
    EXPECT_EQ(stageOf(run(withRule(s, Rule::ConcatReshape)), Stage::Output), stageOf(run(s), Stage::Output));
}

TEST(Rules, WithoutOutputProjectionTheOutputIsConcat) {
    const SharedTrace t = wrong(Rule::NoOutputProjection);
    EXPECT_EQ(stageOf(t, Stage::Output), stageOf(t, Stage::Concat));
    EXPECT_EQ(stageOf(t, Stage::Concat), stageOf(run(right()), Stage::Concat));
    // Each head can write only into its own columns.
    const Matrix part = stageOf(t, Stage::Contribution, 1);
    EXPECT_TRUE(isZero(copy(headBand(part, 0, 8))));
    EXPECT_EQ(copy(headBand(part, 1, 8)), stageOf(t, Stage::HeadOutput, 1));
}

TEST(Rules, AveragedHeadsAllHaveTheMeanOfTheirLayersWeights) {
    const SharedTrace t = wrong(Rule::AverageHeads), own = run(right());
    const Matrix mean = stageOf(t, Stage::Weights, 0);
    for (int h = 1; h < 4; ++h) {
        EXPECT_EQ(stageOf(t, Stage::Weights, h), mean);
        EXPECT_EQ(stageOf(t, Stage::Scores, h), stageOf(own, Stage::Scores, h)); // each still has its own scores
    }
    for (int i = 0; i < mean.rows(); ++i) {
        for (int j = 0; j < mean.cols(); ++j) {
            double sum = 0;
            for (int h = 0; h < 4; ++h) {
                sum += stageOf(own, Stage::Weights, h)(i, j);
            }
            EXPECT_NEAR(mean(i, j), sum / 4, 1e-7);
        }
    }
}

TEST(Rules, PartsStillAddUpUnderEveryRule) {
    for (const RuleInfo& info : ruleTable()) {
        SCOPED_TRACE(info.name);
        const SharedTrace t = wrong(info.rule);
        const Matrix& bias = *t->scenario.model->layer(LayerIndex{0}).bO;
        const Matrix output = stageOf(t, Stage::Output);
        Matrix sum(output.rows(), output.cols());
        for (int h = 0; h < 4; ++h) {
            const Matrix part = stageOf(t, Stage::Contribution, h);
            for (int i = 0; i < sum.rows(); ++i) {
                for (int c = 0; c < sum.cols(); ++c) {
                    sum(i, c) += part(i, c);
                }
            }
        }
        for (int i = 0; info.rule != Rule::NoOutputProjection && i < sum.rows(); ++i) {
            for (int c = 0; c < sum.cols(); ++c) {
                sum(i, c) += bias(0, c);
            }
        }
        EXPECT_LE(distance(sum, output), 2e-6);
    }
}

TEST(Rules, TheDifferenceFromTheRightRuleHasNoNaNAtClosedCells) {
    const Matrix a = stageOf(wrong(Rule::NoScale), Stage::Masked), b = stageOf(run(right()), Stage::Masked);
    const Matrix d = difference(a, b);
    EXPECT_FALSE(hasNaN(d));
    EXPECT_EQ(d(0, 1), 0.0F); // -inf in both
    EXPECT_EQ(d(1, 0), a(1, 0) - b(1, 0));
}

TEST(Rules, ThatContradictEachOtherAreRefused) {
    EXPECT_THROW(run(withRule(withRule(right(), Rule::NoScale), Rule::ScaleDk)), InputError);
    Scenario scaled = withRule(right(), Rule::NoScale);
    scaled.scale = {Scale::Kind::Number, 0.5};
    EXPECT_THROW(run(scaled), InputError);
}

} // namespace
} // namespace headscope::testing
