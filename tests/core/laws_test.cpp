// What must hold of every attention, whatever the numbers are.
#include "tests/support/golden.h"
#include "tests/support/scenarios.h"

#include <numeric>

namespace headscope::testing {
namespace {

const char* text = "the cat sat on the mat and the dog saw it";

ToyOptions options(Position position = Position::None) {
    ToyOptions o;
    o.dModel = 32;
    o.heads = 4;
    o.kvHeads = 2;
    o.layers = 2;
    o.seed = 7;
    o.position = position;
    return o;
}

// One scenario of each kind that the engine knows.
std::vector<std::pair<std::string, Scenario>> kinds() {
    std::vector<std::pair<std::string, Scenario>> all;
    all.emplace_back("grouped", toy(options(), text));
    all.emplace_back("rope", toy(options(Position::Rope), text));
    all.emplace_back("alibi", toy(options(Position::Alibi), text));
    all.emplace_back("learned", toy(options(Position::Learned), text));
    all.emplace_back("cross", crossToy(options(), "a cat sat", text));
    all.emplace_back("patterns", patterns("the cat and the dog ."));
    all.emplace_back("worked example", workedExample());
    Scenario masked = toy(options(Position::Sinusoidal), text);
    masked.mask = parseMask("causal+window:3");
    all.emplace_back("causal window", masked);
    masked.temperature = 0.1;
    all.emplace_back("cold", masked);
    masked.temperature = 5;
    all.emplace_back("warm", masked);
    return all;
}

template<class Visit>
void forEachHead(const SharedTrace& t, const Visit& visit) {
    for (int l = 0; l < t->config().layers; ++l) {
        for (int h = 0; h < t->config().heads; ++h) {
            SCOPED_TRACE("L" + std::to_string(l) + " H" + std::to_string(h));
            visit(l, h);
        }
    }
}

// Every array that a user could ask for.
std::vector<Matrix> everything(const SharedTrace& t) {
    std::vector<Matrix> all;
    forEachHead(t, [&](int l, int h) {
        for (const Stage stage : availableStages(t->scenario)) {
            all.push_back(stageOf(t, stage, h, l));
        }
    });
    return all;
}

Intervention headOff(int layer, int head) {
    Intervention i;
    i.layer = LayerIndex{layer};
    i.head = HeadIndex{head};
    return i;
}

Intervention cell(Intervention::Kind kind, Stage stage, int head, int row, int col, float value) {
    Intervention i = headOff(0, head);
    i.kind = kind;
    i.stage = stage;
    i.row = row;
    i.col = col;
    i.value = value;
    return i;
}

TEST(Laws, RowsOfWeightsSumToOne) {
    for (const auto& [name, scenario] : kinds()) {
        SCOPED_TRACE(name);
        const SharedTrace t = run(scenario);
        forEachHead(t, [&](int l, int h) {
            const Matrix a = stageOf(t, Stage::Weights, h, l);
            for (int i = 0; i < a.rows(); ++i) {
                const auto row = a.row(i);
                EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1.0, 1e-6);
                EXPECT_TRUE(std::ranges::all_of(row, [](float w) { return w >= 0; }));
            }
        });
    }
}

TEST(Laws, ContributionsAndTheBiasAddUpToTheOutput) {
    for (auto [name, scenario] : kinds()) {
        SCOPED_TRACE(name);
        for (const bool oneOff : {false, true}) {
            if (oneOff) {
                scenario.interventions.push_back(headOff(0, 0));
            }
            const SharedTrace t = run(scenario);
            for (int l = 0; l < t->config().layers; ++l) {
                const SharedMatrix& bias = scenario.model->layer(LayerIndex{l}).bO;
                Matrix sum(scenario.queries(), t->config().dOut);
                for (int r = 0; bias && r < sum.rows(); ++r) {
                    std::ranges::copy(bias->values(), sum.row(r).begin());
                }
                for (int h = 0; h < t->config().heads; ++h) {
                    const Matrix part = stageOf(t, Stage::Contribution, h, l);
                    for (std::size_t i = 0; i < sum.size(); ++i) {
                        sum.values()[i] += part.values()[i];
                    }
                }
                EXPECT_LE(distance(sum, stageOf(t, Stage::Output, 0, l)), 2e-6);
            }
        }
    }
}

// b_K adds q_i . b_K to every score of row i, and the softmax takes out what a row shares. In exact arithmetic nothing
// changes; here scores are rounded to float after the addition, so weights move by about the rounding of a score (6e-8
// of it) and not bit by bit. RoPE turns b_K differently for every key, so there the law does not hold.
TEST(Laws, TheKeyBiasDoesNotMoveTheWeights) {
    for (const Position position : {Position::None, Position::Learned, Position::Alibi}) {
        const Scenario before = toy(options(position), text);
        const Scenario after = edited(before, {LayerIndex{0}, WeightKind::BK}, [](Matrix& b) {
            for (int c = 0; c < b.cols(); ++c) {
                b(0, c) += 0.5F * static_cast<float>(c % 5 - 2);
            }
        });
        const SharedTrace a = run(before), b = run(after);
        for (int h = 0; h < 4; ++h) {
            EXPECT_GT(distance(stageOf(a, Stage::Scores, h), stageOf(b, Stage::Scores, h)), 0.1);
            EXPECT_LE(distance(stageOf(a, Stage::Weights, h), stageOf(b, Stage::Weights, h)), 1e-6);
        }
    }
    const Scenario rope = toy(options(Position::Rope), text);
    const Scenario turned = edited(rope, {LayerIndex{0}, WeightKind::BK}, [](Matrix& b) { b(0, 0) += 2.0F; });
    EXPECT_GT(distance(stageOf(run(rope), Stage::Weights), stageOf(run(turned), Stage::Weights)), 1e-3);
}

TEST(Laws, PermutingTokensPermutesTheTrace) {
    const std::vector<std::string> words{"red", "fox", "saw", "red", "hen"};
    const std::vector<int> order{3, 1, 4, 0, 2};
    const auto sentence = [&](const std::vector<int>& places) {
        std::string s;
        for (const int p : places) {
            s += words[static_cast<std::size_t>(p)] + " ";
        }
        return s;
    };
    const SharedTrace plain = run(toy(options(), sentence({0, 1, 2, 3, 4}))),
                      shuffled = run(toy(options(), sentence(order)));
    const auto permuted = [&](const Matrix& m, bool columnsToo) {
        Matrix out(m.rows(), m.cols());
        for (int r = 0; r < m.rows(); ++r) {
            for (int c = 0; c < m.cols(); ++c) {
                out(r, c) = m(order[static_cast<std::size_t>(r)], columnsToo ? order[static_cast<std::size_t>(c)] : c);
            }
        }
        return out;
    };
    forEachHead(plain, [&](int l, int h) {
        for (const Stage stage : availableStages(plain->scenario)) {
            const Matrix expected = permuted(stageOf(plain, stage, h, l), isTokenByToken(stage));
            EXPECT_LE(distance(expected, stageOf(shuffled, stage, h, l)), 2e-6) << stageInfo(stage).id;
        }
    });
    // With positions it must not hold.
    const SharedTrace a = run(toy(options(Position::Learned), sentence({0, 1, 2, 3, 4}))),
                      b = run(toy(options(Position::Learned), sentence(order)));
    EXPECT_GT(distance(permuted(stageOf(a, Stage::Weights), true), stageOf(b, Stage::Weights)), 0.01);
}

TEST(Laws, GroupedHeadsAreRepeatedKeyValueHeads) {
    for (const Position position : {Position::None, Position::Rope, Position::Alibi}) {
        const Scenario grouped = toy(options(position), text);
        ToyOptions full = options(position);
        full.kvHeads = full.heads;
        Scenario repeated = toy(full, text);
        const ModelConfig& c = grouped.model->config();
        for (int l = 0; l < c.layers; ++l) {
            for (const WeightKind kind : allWeightKinds) {
                const SharedMatrix& from = grouped.model->tensor({LayerIndex{l}, kind});
                const bool isKey = kind == WeightKind::WK || kind == WeightKind::BK;
                const bool isValue = kind == WeightKind::WV || kind == WeightKind::BV;
                const int width = isKey ? c.dK : c.dV;
                repeated = edited(repeated, {LayerIndex{l}, kind}, [&](Matrix& to) {
                    for (int r = 0; r < to.rows(); ++r) {
                        for (int col = 0; col < to.cols(); ++col) {
                            const int kvHead = col / width / 2; // two query heads share one
                            to(r, col) = (*from)(r, isKey || isValue ? kvHead * width + col % width : col);
                        }
                    }
                });
            }
        }
        const SharedTrace a = run(grouped), b = run(repeated);
        forEachHead(a, [&](int l, int h) {
            for (const Stage stage : {Stage::Q, Stage::K, Stage::V, Stage::Weights, Stage::HeadOutput,
                                      Stage::Contribution, Stage::Norms, Stage::Output}) {
                EXPECT_LE(distance(stageOf(a, stage, h, l), stageOf(b, stage, h, l)), 1e-6) << stageInfo(stage).id;
            }
        });
    }
}

TEST(Laws, AFollowingTraceEqualsAFreshOneBitForBit) {
    const Scenario start = toy(options(), text);
    const SharedTrace before = run(start);
    std::vector<std::pair<int, Scenario>> next; // layers that stay, and the scenario
    next.emplace_back(2, start);
    next.emplace_back(1, edited(start, {LayerIndex{1}, WeightKind::WQ}, [](Matrix& w) { w(0, 0) += 1; }));
    next.emplace_back(0, edited(start, {LayerIndex{0}, WeightKind::WV}, [](Matrix& w) { w(0, 0) += 1; }));
    Scenario s = start;
    s.interventions = {headOff(1, 2)};
    next.emplace_back(1, s);
    s.interventions = {cell(Intervention::Kind::MaskCell, Stage::Masked, 0, 1, 1, KeyMask::minusInfinity)};
    next.emplace_back(0, s);
    s.interventions = {cell(Intervention::Kind::SetCell, Stage::Embedding, 0, 1, 1, 2.0F)};
    next.emplace_back(0, s);
    s = start;
    s.temperature = 2;
    next.emplace_back(0, s);
    next.emplace_back(0, withRule(start, Rule::SplitInput));
    next.emplace_back(0, withTexts(start, "another sentence", std::nullopt));
    for (const auto& [kept, scenario] : next) {
        const SharedTrace following = trace(scenario, backendByName("auto"), before.get());
        EXPECT_EQ(everything(following), everything(run(scenario)));
        EXPECT_EQ(following->reusedLayers, kept);
        for (int l = 0; l < 2; ++l) {
            EXPECT_EQ(following->layers[static_cast<std::size_t>(l)] == before->layers[static_cast<std::size_t>(l)],
                      l < kept);
        }
    }
}

TEST(Laws, ADerivedHeadIsItsBandOfConcatBitForBit) {
    std::vector<std::pair<std::string, Scenario>> all = kinds();
    all.emplace_back("several blocks", patterns([] {
                         std::string words;
                         for (int i = 0; i < 500; ++i) {
                             words += "w" + std::to_string(i % 37) + " ";
                         }
                         return words;
                     }()));
    all.emplace_back("average heads", withRule(toy(options(), text), Rule::AverageHeads));
    for (const auto& [name, scenario] : all) {
        SCOPED_TRACE(name);
        const SharedTrace t = run(scenario);
        forEachHead(t, [&](int l, int h) {
            const Matrix concat = stageOf(t, Stage::Concat, h, l);
            EXPECT_EQ(stageOf(t, Stage::HeadOutput, h, l), copy(headBand(concat, h, t->config().dV)));
        });
    }
}

TEST(Laws, AHeadSwitchedOffKeepsItsStagesAndGivesNothing) {
    const Scenario on = toy(options(), text);
    Scenario off = on;
    off.interventions = {headOff(0, 1)};
    const SharedTrace a = run(on), b = run(off);
    for (const Stage stage : {Stage::Q, Stage::K, Stage::V, Stage::Scores, Stage::Scaled, Stage::Masked, Stage::Weights,
                              Stage::HeadOutput}) {
        EXPECT_EQ(stageOf(a, stage, 1), stageOf(b, stage, 1)) << stageInfo(stage).id;
    }
    EXPECT_TRUE(isZero(copy(headBand(stageOf(b, Stage::Concat), 1, 8))));
    EXPECT_TRUE(isZero(stageOf(b, Stage::Contribution, 1)));
    EXPECT_TRUE(isZero(stageOf(b, Stage::Norms, 1)));
    for (const int other : {0, 2, 3}) {
        EXPECT_EQ(stageOf(a, Stage::Contribution, other), stageOf(b, Stage::Contribution, other));
        EXPECT_EQ(copy(headBand(stageOf(a, Stage::Concat), other, 8)),
                  copy(headBand(stageOf(b, Stage::Concat), other, 8)));
    }
    EXPECT_NE(stageOf(a, Stage::Weights, 1, 1), stageOf(b, Stage::Weights, 1, 1)); // the next layer reads another input
}

// Kobayashi et al. 2020: the length of each summand of the head's contribution.
TEST(Laws, NormsAreTheLengthsOfTheSummandsOfAContribution) {
    const SharedTrace t = run(toy(options(), text));
    const Matrix norms = stageOf(t, Stage::Norms, 3), a = stageOf(t, Stage::Weights, 3), v = stageOf(t, Stage::V, 3);
    const Matrix& wO = *t->scenario.model->layer(LayerIndex{0}).wO;
    Matrix sum(norms.rows(), wO.cols());
    for (int i = 0; i < norms.rows(); ++i) {
        for (int j = 0; j < norms.cols(); ++j) {
            double squares = 0;
            for (int d = 0; d < wO.cols(); ++d) {
                double moved = 0;
                for (int c = 0; c < 8; ++c) {
                    moved += static_cast<double>(a(i, j)) * v(j, c) * wO(3 * 8 + c, d);
                }
                squares += moved * moved;
                sum(i, d) += static_cast<float>(moved);
            }
            EXPECT_NEAR(norms(i, j), std::sqrt(squares), 1e-6);
        }
    }
    EXPECT_LE(distance(sum, stageOf(t, Stage::Contribution, 3)), 2e-6);
}

TEST(Laws, ASetScoreReplacesOneScoreOfOneHead) {
    const Scenario before = toy(options(), text);
    Scenario after = before;
    after.interventions = {cell(Intervention::Kind::SetCell, Stage::Scores, 2, 4, 1, 12.0F)};
    const SharedTrace a = run(before), b = run(after);
    Matrix expected = stageOf(a, Stage::Scores, 2);
    expected(4, 1) = 12.0F;
    EXPECT_EQ(stageOf(b, Stage::Scores, 2), expected);
    EXPECT_EQ(stageOf(a, Stage::Weights, 1), stageOf(b, Stage::Weights, 1));
    const Matrix before2 = stageOf(a, Stage::Weights, 2), after2 = stageOf(b, Stage::Weights, 2);
    EXPECT_GT(after2(4, 1), before2(4, 1));
    for (int i = 0; i < before2.rows(); ++i) {
        EXPECT_EQ(std::ranges::equal(before2.row(i), after2.row(i)), i != 4) << "row " << i;
    }
}

TEST(Laws, APaintedMaskCellClosesOpensOrAddsInEveryHead) {
    Scenario s = toy(options(), text);
    s.mask = parseMask("causal");
    s.interventions = {cell(Intervention::Kind::MaskCell, Stage::Masked, 0, 3, 1, KeyMask::minusInfinity),
                       cell(Intervention::Kind::MaskCell, Stage::Masked, 0, 0, 5, 0.0F),
                       cell(Intervention::Kind::MaskCell, Stage::Masked, 0, 4, 2, -1.5F)};
    const SharedTrace t = run(s);
    forEachHead(t, [&](int l, int h) {
        const Matrix scaled = stageOf(t, Stage::Scaled, h, l), masked = stageOf(t, Stage::Masked, h, l);
        EXPECT_EQ(masked(3, 1), KeyMask::minusInfinity);
        EXPECT_EQ(masked(0, 5), scaled(0, 5));
        EXPECT_EQ(masked(4, 2), scaled(4, 2) - 1.5F);
        EXPECT_EQ(masked(0, 4), KeyMask::minusInfinity); // still causal beside the painted cell
        EXPECT_EQ(stageOf(t, Stage::Weights, h, l)(3, 1), 0.0F);
    });
}

TEST(Laws, ASetEmbeddingCellIsWhatTheProjectionsMultiply) {
    const Scenario before = toy(options(), text);
    Scenario after = before;
    after.interventions = {cell(Intervention::Kind::SetCell, Stage::Embedding, 0, 2, 3, 5.0F)};
    const SharedTrace a = run(before), b = run(after);
    Matrix x = stageOf(a, Stage::Embedding);
    x(2, 3) = 5.0F;
    EXPECT_EQ(stageOf(b, Stage::Embedding), x);
    const LayerWeights& w = before.model->layer(LayerIndex{0});
    EXPECT_EQ(stageOf(b, Stage::ProjectionQ), backendByName("auto").linear(x, *w.wQ, w.bQ.get()));
    EXPECT_EQ(stageOf(b, Stage::ProjectionV), backendByName("auto").linear(x, *w.wV, w.bV.get()));
}

TEST(Laws, EditsUndoneGiveIdenticalArrays) {
    const Scenario start = toy(options(), text);
    const std::vector<Matrix> before = everything(run(start));
    float old = 0;
    const TensorId id{LayerIndex{0}, WeightKind::WK};
    const Scenario there = edited(start, id, [&](Matrix& w) { old = std::exchange(w(1, 2), 3.0F); });
    EXPECT_NE(everything(run(there)), before);
    EXPECT_EQ(editedTensors(there), std::vector{id});
    const Scenario back = edited(there, id, [&](Matrix& w) { w(1, 2) = old; });
    EXPECT_EQ(everything(run(back)), before);
    EXPECT_TRUE(editedTensors(back).empty());
}

// Textbook examples of the position schemes.
TEST(Laws, RotaryScoresDependOnTheDistanceAlone) {
    // Equal words have equal embeddings, so with RoPE a text of one word has scores that depend on i - j only.
    const Matrix s = stageOf(run(toy(options(Position::Rope), "ha ha ha ha ha ha")), Stage::Scores, 1);
    for (int i = 1; i < s.rows(); ++i) {
        for (int j = 1; j < s.cols(); ++j) {
            EXPECT_NEAR(s(i, j), s(i - 1, j - 1), 1e-5);
        }
    }
    EXPECT_GT(std::abs(s(0, 5) - s(0, 0)), 0.01);
}

TEST(Laws, AlibiSubtractsItsSlopePerTokenOfDistance) {
    ToyOptions o = options(Position::Alibi);
    o.heads = 8; // Press et al. 2022: slopes 1/2, 1/4, ... 1/256 for 8 heads
    o.kvHeads = 8;
    const SharedTrace t = run(toy(o, text));
    for (int h = 0; h < 8; ++h) {
        const Matrix scores = stageOf(t, Stage::Scores, h), scaled = stageOf(t, Stage::Scaled, h);
        for (int i = 0; i < scores.rows(); ++i) {
            for (int j = 0; j < scores.cols(); ++j) {
                EXPECT_NEAR(scaled(i, j), scores(i, j) / 2.0 - std::abs(i - j) / std::exp2(h + 1), 1e-5); // d_k = 4
            }
        }
    }
}

} // namespace
} // namespace headscope::testing
