// One head after one edited weight, and what a trace keeps from the one before: both bit for bit as computed anew.
#include "core/analysis/overview.h"
#include "core/attention/head_edit.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

namespace headscope::testing {
namespace {

const char* text = "the cat sat on the mat and the dog saw it while a bird sang over the old wall of the town";

ToyOptions options(Position position) {
    ToyOptions o;
    o.dModel = 48;
    o.heads = 4;
    o.kvHeads = 2;
    o.layers = 2;
    o.position = position;
    return o;
}

std::vector<std::pair<std::string, Scenario>> kinds() {
    std::vector<std::pair<std::string, Scenario>> all;
    all.emplace_back("plain", toy(options(Position::None), text));
    all.emplace_back("rope", toy(options(Position::Rope), text));
    all.emplace_back("alibi", toy(options(Position::Alibi), text));
    all.emplace_back("cross", crossToy(options(Position::None), "a cat sat", text));
    all.emplace_back("split input", withRule(toy(options(Position::None), text), Rule::SplitInput));
    all.emplace_back("average heads", withRule(toy(options(Position::None), text), Rule::AverageHeads));
    Scenario masked = toy(options(Position::Rope), text);
    masked.mask = parseMask("causal+window:5");
    masked.temperature = 0.5;
    all.emplace_back("masked", masked);
    return all;
}

TEST(HeadEdit, OneHeadAfterOneEntryIsWhatAFullTraceGives) {
    for (const auto& [name, scenario] : kinds()) {
        const SharedTrace before = run(scenario);
        for (const WeightKind kind : allWeightKinds) {
            for (const int col : {0, 13, 23}) {
                const TensorId id{LayerIndex{1}, kind};
                const SharedMatrix& w = scenario.model->tensor(id);
                const int row = w->rows() > 1 ? 30 : 0;
                const SharedTrace after = run(edited(scenario, id, [&](Matrix& m) { m(row, col) = 0.75F; }));
                for (int h = 0; h < 4; ++h) {
                    SCOPED_TRACE(name + " " + std::string(weightName(kind)) + " " + std::to_string(col) + " H" +
                                 std::to_string(h));
                    const HeadWanted all{true, true, true, true, true};
                    const HeadStages quick = headAfterEdit(*before, id, row, col, 0.75F, HeadIndex{h}, all);
                    const HeadStages full = headStages(*after, LayerIndex{1}, HeadIndex{h}, all);
                    EXPECT_EQ(quick.scores, full.scores);
                    EXPECT_EQ(quick.masked, full.masked);
                    EXPECT_EQ(quick.weights, full.weights);
                    EXPECT_EQ(quick.output, full.output);
                }
            }
        }
    }
}

// A head whose q, k and v have not changed is not computed again, and nobody can tell.
TEST(HeadEdit, ATraceThatKeepsUntouchedHeadsEqualsAFreshOne) {
    for (const auto& [name, scenario] : kinds()) {
        SharedTrace last = run(scenario);
        Scenario s = scenario;
        for (int step = 0; step < 24; ++step) {
            const WeightKind kind = allWeightKinds[static_cast<std::size_t>(step) % allWeightKinds.size()];
            if (step % 5 == 4) {
                Intervention off;
                off.layer = LayerIndex{step % 2};
                off.head = HeadIndex{step % 4};
                if (step % 3 == 0) {
                    s.interventions.push_back(off);
                } else {
                    s.interventions.clear();
                }
            }
            s = edited(s, {LayerIndex{step % 2}, kind},
                       [&](Matrix& m) { m(step * 7 % m.rows(), step * 11 % m.cols()) += 0.5F; });
            last = trace(s, backendByName("auto"), last.get());
            const SharedTrace fresh = run(s);
            SCOPED_TRACE(name + " step " + std::to_string(step));
            for (int l = 0; l < 2; ++l) {
                EXPECT_EQ(*last->layer(LayerIndex{l}).concat, *fresh->layer(LayerIndex{l}).concat);
                EXPECT_EQ(*last->layer(LayerIndex{l}).q, *fresh->layer(LayerIndex{l}).q);
                EXPECT_EQ(*last->layer(LayerIndex{l}).v, *fresh->layer(LayerIndex{l}).v);
            }
            EXPECT_EQ(*last->hidden, *fresh->hidden);
        }
    }
}

// What is pooled while rows pass by is what the whole map would give.
TEST(Overview, SummariesAreThoseOfTheWholeMaps) {
    std::string longer;
    for (int i = 0; i < 10; ++i) {
        longer.append(text).append(" ");
    }
    std::vector<std::pair<std::string, Scenario>> all = kinds();
    all.emplace_back("longer", toy(options(Position::Rope), longer));
    for (const auto& [name, scenario] : all) {
        const SharedTrace t = run(scenario);
        const CellRef pinned{1, 2};
        const auto summaries = summariesOf(*t, 16, pinned);
        ASSERT_EQ(summaries.size(), 8U);
        auto pinnedLater = summariesOf(*t, 16, std::nullopt);
        pinCell(pinnedLater, *t, pinned);
        for (const HeadSummary& s : summaries) {
            SCOPED_TRACE(name + " L" + std::to_string(s.metrics.layer.value) + " H" +
                         std::to_string(s.metrics.head.value));
            const Matrix a = stageOf(t, Stage::Weights, s.metrics.head.value, s.metrics.layer.value);
            Matrix pooled(std::min(a.rows(), 16), std::min(a.cols(), 16), -1.0F);
            double entropy = 0, distance = 0;
            for (int r = 0; r < a.rows(); ++r) {
                for (int c = 0; c < a.cols(); ++c) {
                    float& cell = pooled(r * pooled.rows() / a.rows(), c * pooled.cols() / a.cols());
                    cell = std::max(cell, a(r, c));
                    const double w = a(r, c);
                    entropy -= w > 0 ? w * std::log2(w) : 0.0;
                    distance += w * std::abs(r - c);
                }
            }
            EXPECT_EQ(s.thumbnail, pooled);
            const auto& later = pinnedLater[static_cast<std::size_t>(&s - summaries.data())];
            EXPECT_EQ(later.pinnedWeight, a(pinned.row, pinned.col));
            for (int r = 0; r < a.rows(); ++r)
                EXPECT_TRUE(std::ranges::equal(weightsRow(*t, s.metrics.layer, s.metrics.head, r), a.row(r)));
            EXPECT_NEAR(s.metrics.entropy, entropy / a.rows(), 1e-5);
            EXPECT_NEAR(s.metrics.distance, distance / a.rows(), 1e-4);
            EXPECT_EQ(s.pinnedWeight, a(pinned.row, pinned.col));
            ASSERT_TRUE(s.strongest);
            EXPECT_EQ(*s.strongest, strongestCell(a, scenario, Stage::Weights));
            EXPECT_EQ(s.strongestWeight, a(s.strongest->row, s.strongest->col));
            EXPECT_NEAR(s.leastRowSum, 1.0, 2e-6);
            EXPECT_NEAR(s.mostRowSum, 1.0, 2e-6);
        }
    }
}

} // namespace
} // namespace headscope::testing
