// The arithmetic that the inspector shows is the engine's: the unrounded sum, carried through the steps, gives the
// engine's number to 1e-6 of the sum of |terms|, in every cell of every stage.
#include "core/attention/explain.h"
#include "tests/support/golden.h"
#include "tests/support/scenarios.h"

namespace headscope::testing {
namespace {

Intervention headOff(int layer, int head) {
    Intervention i;
    i.layer = LayerIndex{layer};
    i.head = HeadIndex{head};
    return i;
}

Intervention setCell(Stage stage, int layer, int head, int row, int col, float value) {
    Intervention i = headOff(layer, head);
    i.kind = Intervention::Kind::SetCell;
    i.stage = stage;
    i.row = row;
    i.col = col;
    i.value = value;
    return i;
}

Intervention maskCell(int row, int col, float value) {
    Intervention i = setCell(Stage::Masked, 0, 0, row, col, value);
    i.kind = Intervention::Kind::MaskCell;
    return i;
}

// The number a reader arrives at: the sum, or what the last step made of it.
double arrivedAt(const CellExplanation& e) {
    return e.steps.empty() ? e.sum : e.steps.back().value;
}

double sumOfMagnitudes(const CellExplanation& e) {
    double sum = std::abs(e.constant);
    for (const Term& t : e.terms) {
        sum += std::abs(t.product);
    }
    return sum;
}

// How far off an explanation may be. Steps after the sum change its size: what they show counts as a term.
double allowance(const CellExplanation& e) {
    double scale = sumOfMagnitudes(e);
    for (const ExplainStep& s : e.steps) {
        scale = std::isfinite(s.value) ? std::max(scale, std::abs(s.value)) : scale;
    }
    if (e.stage == Stage::Weights || e.stage == Stage::Norms) {
        // No help from large scores: relative to the weight itself. But exp turns what its argument is rounded by into
        // a relative difference, and the argument is the weight's logarithm, in single precision.
        scale = std::abs(arrivedAt(e)) * std::max(1.0, std::abs(std::log(std::abs(arrivedAt(e)) + 1e-30)) / 8);
    }
    return 1e-6 * scale + 1e-30;
}

// Explains every cell (every few, where there are many) of every stage, head and layer.
void expectExplained(const Scenario& scenario) {
    const SharedTrace t = run(scenario);
    for (const Stage stage : availableStages(scenario)) {
        const StageShape shape = stageShape(t->config(), stage, scenario.queries(), scenario.keys());
        const int heads = stageInfo(stage).scope == StageScope::AllHeads ? 1 : t->config().heads;
        const int cells = shape.rows * shape.cols;
        const int step = cells > 1000 ? 397 : cells > 400 ? 7 : 1;
        for (int l = 0; l < t->config().layers; ++l) {
            for (int h = 0; h < heads; ++h) {
                const Matrix shown = stageOf(t, stage, h, l);
                for (int cell = 0; cell < shape.rows * shape.cols; cell += step) {
                    const int row = cell / shape.cols, col = cell % shape.cols;
                    const CellExplanation e = explainCell(*t, LayerIndex{l}, HeadIndex{h}, stage, row, col);
                    const auto where = [&] {
                        return std::string(stageInfo(stage).id) + " L" + std::to_string(l) + " H" + std::to_string(h) +
                               " [" + std::to_string(row) + ", " + std::to_string(col) + "]: " + e.sentence;
                    };
                    ASSERT_EQ(e.value, shown(row, col)) << where();
                    double total = e.constant;
                    for (const Term& term : e.terms) {
                        ASSERT_NEAR(term.product, static_cast<double>(term.left) * term.right,
                                    1e-6 * std::abs(term.product) + 1e-30)
                            << where() << " " << term.label;
                        total += term.product;
                    }
                    ASSERT_NEAR(total, e.sum, 1e-12 * sumOfMagnitudes(e)) << where();
                    if (std::isinf(e.value)) {
                        ASSERT_EQ(arrivedAt(e), e.value) << where();
                    } else {
                        ASSERT_NEAR(arrivedAt(e), e.value, allowance(e)) << where();
                    }
                    ASSERT_TRUE(std::ranges::is_sorted(e.terms, std::greater{}, [](const Term& term) {
                        return std::abs(term.product);
                    })) << where();
                }
            }
        }
    }
}

const char* text = "the cat and the dog sat on the mat .";

ToyOptions grouped() {
    ToyOptions o;
    o.dModel = 24;
    o.heads = 4;
    o.kvHeads = 2;
    o.layers = 2;
    o.seed = 3;
    return o;
}

TEST(Explain, EveryCellOfPatterns) {
    expectExplained(patterns("the cat and the dog ."));
}
TEST(Explain, EveryCellOfTheWorkedExample) {
    expectExplained(workedExample());
}
TEST(Explain, EveryCellWithGroupedHeadsAndTwoLayers) {
    expectExplained(toy(grouped(), text));
}

TEST(Explain, EveryCellWithoutResidualAndBiases) {
    ToyOptions o = grouped();
    o.residual = o.bias = false;
    o.position = Position::Learned;
    o.dK = 5;
    o.dV = 3;
    expectExplained(toy(o, text));
}

TEST(Explain, EveryCellWithRotaryPositions) {
    ToyOptions o = grouped();
    o.position = Position::Rope;
    expectExplained(toy(o, text));
}

TEST(Explain, EveryCellWithASoftcap) {
    Scenario s = toy(grouped(), text);
    ModelConfig c = s.model->config();
    c.softcap = 0.75F;
    s.original = s.model = std::make_shared<const Model>(
        c, std::vector{s.model->layer(LayerIndex{0}), s.model->layer(LayerIndex{1})}, makeWordTokenizer(),
        std::shared_ptr<const Embedder>(s.model, &s.model->embedder()));
    s.mask = parseMask("causal");
    expectExplained(s);
}

TEST(Explain, EveryCellWithAlibiAndCausalMask) {
    ToyOptions o = grouped();
    o.position = Position::Alibi;
    Scenario s = toy(o, text);
    s.mask = parseMask("causal");
    expectExplained(s);
}

// Trained models bring norms, rotary positions of their own, and MLPs between the layers.
TEST(Explain, CellsOfATrainedEncoder) {
    expectExplained(makeScenario(requestOf("mini", "the cat sat")));
}

TEST(Explain, CellsOfATrainedDecoder) {
    expectExplained(makeScenario(requestOf("story", "the cat sat")));
}

// A factor that says where it stands stands there.
TEST(Explain, FactorsAreTheCellsTheyComeFrom) {
    const Scenario s = toy(grouped(), text);
    const SharedTrace t = run(s);
    for (const Stage stage : availableStages(s)) {
        const CellExplanation e = explainCell(*t, LayerIndex{1}, HeadIndex{3}, stage, 2, 4);
        for (const Term& term : e.terms) {
            for (const auto& [from, value] : {std::pair(term.leftFrom, term.left), {term.rightFrom, term.right}}) {
                if (!from)
                    continue;
                const SharedMatrix matrix = from->stage ? stageMatrix(*t, from->layer, from->head, *from->stage)
                                                        : s.model->tensor({from->layer, *from->weight});
                EXPECT_NEAR((*matrix)(from->row, from->col), value, 1e-6) << stageInfo(stage).id << " " << term.label;
            }
        }
        const bool isSum = stage != Stage::Norms && stage != Stage::EmbeddingKey;
        EXPECT_EQ(!e.terms.empty() && e.terms.front().leftFrom.has_value(), isSum) << stageInfo(stage).id;
    }
}

TEST(Explain, EveryCellOfCrossAttention) {
    expectExplained(crossToy(grouped(), "the cat sat", text));
}

TEST(InScenario, YIsXOfOneText) {
    const std::string_view formula = stageInfo(Stage::ProjectionK).formula;
    EXPECT_EQ(inScenario(formula, toy({}, "the cat")), "X W_K + b_K");
    EXPECT_EQ(inScenario(formula, crossToy({}, "the cat", "a dog")), "Y W_K + b_K");
}

TEST(Explain, EveryCellWithHeadsSwitchedOff) {
    Scenario s = toy(grouped(), text);
    s.interventions = {headOff(0, 1), headOff(1, 3)};
    expectExplained(s);
}

TEST(Explain, EveryCellWithEditedWeightsScoresEmbeddingsAndMask) {
    Scenario s = toy(grouped(), text);
    s = edited(s, {LayerIndex{0}, WeightKind::WQ}, [](Matrix& w) { w(2, 1) = 4.0F; });
    s = edited(s, {LayerIndex{1}, WeightKind::BO}, [](Matrix& b) { b(0, 3) = -2.0F; });
    s.interventions = {setCell(Stage::Scores, 0, 1, 2, 3, 9.5F), setCell(Stage::Scores, 1, 0, 4, 4, -7.0F),
                       setCell(Stage::Embedding, 0, 0, 1, 5, 3.25F), maskCell(0, 2, -1.5F),
                       maskCell(5, 5, KeyMask::minusInfinity)};
    expectExplained(s);
}

TEST(Explain, EveryCellAtEveryTemperature) {
    for (const double temperature : {0.0, 1e-30, 0.1, 5.0, static_cast<double>(INFINITY)}) {
        Scenario s = toy(grouped(), text);
        s.mask = parseMask("window:2");
        s.temperature = temperature;
        SCOPED_TRACE(temperature);
        expectExplained(s);
    }
}

TEST(Explain, EveryCellOfFullyMaskedRows) {
    Scenario s = toy(grouped(), "a b c d");
    s.mask = parseMask("causal");
    s.interventions = {maskCell(0, 0, KeyMask::minusInfinity)};
    expectExplained(s);
    s.mask = parseMask("padding:4");
    expectExplained(s);
}

TEST(Explain, EveryCellUnderEveryWrongRule) {
    for (const RuleInfo& rule : ruleTable()) {
        ToyOptions o = grouped();
        o.dV = 6;
        o.dK = 6;
        Scenario s = withRule(toy(o, text), rule.rule);
        s.mask = parseMask("causal");
        s.interventions = {headOff(0, 2)};
        SCOPED_TRACE(rule.name);
        expectExplained(s);
        s.temperature = 0.5;
        expectExplained(s);
    }
}

TEST(Explain, EveryCellUnderRulesTogether) {
    Scenario s = toy(grouped(), text);
    for (const Rule rule : {Rule::SplitInput, Rule::SoftmaxQueries, Rule::ConcatReshape, Rule::NoOutputProjection}) {
        s = withRule(s, rule);
    }
    s.mask = parseMask("causal");
    expectExplained(s);
    expectExplained(withRule(withRule(toy(grouped(), text), Rule::AverageHeads), Rule::SoftmaxQueries));
    expectExplained(withRule(withRule(toy(grouped(), text), Rule::AverageHeads), Rule::ConcatReshape));
}

TEST(Explain, AWeightIsReadAloud) {
    const SharedTrace t = run(patterns("the cat sat"));
    EXPECT_EQ(explainCell(*t, LayerIndex{0}, HeadIndex{0}, Stage::Weights, 2, 1).sentence,
              "sat (query) attends 1.0000 to cat (key)");
}

// karina, by hand: scores 1 and 1, /sqrt(2), minus the row's largest, exp, over the row's sum.
TEST(Explain, TheWorkedExampleStepByStep) {
    const SharedTrace t = run(workedExample());
    const CellExplanation e = explainCell(*t, LayerIndex{0}, HeadIndex{0}, Stage::Weights, 4, 2);
    ASSERT_EQ(e.terms.size(), 2U);
    EXPECT_EQ(e.terms[0].product, 1.0); // 1 * 1
    EXPECT_EQ(e.terms[1].product, 0.5); // 0.5 * 1
    EXPECT_EQ(e.sum, 1.5);
    ASSERT_EQ(e.steps.size(), 5U);
    EXPECT_EQ(e.steps[0].label, "÷ √d_k = √2");
    EXPECT_NEAR(e.steps[0].value, 1.5 / std::sqrt(2.0), 1e-7);
    EXPECT_EQ(e.steps[1].label, "mask: open");
    EXPECT_NEAR(e.steps[2].value, 0.0, 1e-7); // it is the largest
    EXPECT_NEAR(e.steps[3].value, 1.0, 1e-7);
    EXPECT_NEAR(e.steps[4].value, e.value, 1e-7);
}

} // namespace
} // namespace headscope::testing
