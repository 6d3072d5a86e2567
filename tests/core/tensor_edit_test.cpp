#include "core/attention/tensor_edit.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

namespace headscope {
namespace {

using namespace headscope::testing;

ToyOptions grouped() {
    ToyOptions o;
    o.dModel = 12;
    o.heads = 6;
    o.kvHeads = 2;
    o.layers = 2;
    return o;
}
const TensorId wQ{LayerIndex{1}, WeightKind::WQ};

TEST(TensorEdit, ABlockChangesExactlyItsCells) {
    const Scenario before = toy(grouped(), "the cat sat");
    for (const WeightKind kind : allWeightKinds) {
        const TensorId id{LayerIndex{1}, kind};
        const Matrix& old = *before.model->tensor(id);
        const TensorBand band = headBandOf(before.model->config(), kind, HeadIndex{3});
        const int row = band.rowEnd - band.rowBegin > 1 ? 1 : 0;
        const Matrix values(band.rowEnd - band.rowBegin - row, 1, 42.0F);
        const Scenario after = withBlock(before, id, band, row, 1, values);
        const Matrix& now = *after.model->tensor(id);
        for (int r = 0; r < old.rows(); ++r)
            for (int c = 0; c < old.cols(); ++c) {
                const bool inside = r >= band.rowBegin + row && r < band.rowEnd && c == band.colBegin + 1;
                EXPECT_EQ(now(r, c), inside ? 42.0F : old(r, c)) << weightName(kind) << '[' << r << ", " << c << ']';
            }
        for (const WeightKind other : allWeightKinds) { // everything else is shared
            if (other != kind) {
                EXPECT_EQ(after.model->tensor({LayerIndex{1}, other}), before.model->tensor({LayerIndex{1}, other}));
            }
        }
    }
}

TEST(TensorEdit, OpenedNumbersGiveTheOpenedObjectsBack) {
    const Scenario opened = toy(grouped(), "the cat sat");
    const TensorBand band = headBandOf(opened.model->config(), WeightKind::WQ, HeadIndex{0});
    const Matrix old = bandOf(*opened.model->tensor(wQ), band);
    const Scenario edited = withBlock(opened, wQ, band, 0, 0, Matrix(1, 1, 9.0F));
    EXPECT_TRUE(edited.edited());
    const Scenario back = withBlock(edited, wQ, band, 0, 0, old);
    EXPECT_EQ(back.model, opened.model);
    EXPECT_EQ(back, opened);
}

TEST(TensorEdit, AnEmbeddingCellIsAnInterventionUntilItIsTheOpenedNumberAgain) {
    const Scenario opened = toy(grouped(), "the cat sat");
    const Matrix x = *run(opened)->layers[0]->x;
    Matrix cell(1, 1, x(2, 3) + 1);
    const Scenario edited = withEmbeddingBlock(opened, Stage::Embedding, 2, 3, cell, x);
    ASSERT_EQ(edited.interventions.size(), 1U);
    EXPECT_EQ(*run(edited)->layers[0]->x, embeddingOf(edited, Stage::Embedding, x));
    EXPECT_EQ((*run(edited)->layers[0]->x)(2, 3), cell(0, 0));
    cell(0, 0) = x(2, 3);
    EXPECT_EQ(withEmbeddingBlock(edited, Stage::Embedding, 2, 3, cell, x), opened);
}

TEST(TensorEdit, CellsAreNamedInsideTheirHead) {
    EXPECT_EQ(cellName(wQ, HeadIndex{3}, 2, 1), "W_Q[2, 1] of L1 H3");
    EXPECT_EQ(cellName({LayerIndex{0}, WeightKind::BQ}, HeadIndex{3}, 0, 4), "b_Q[4] of L0 H3");
    EXPECT_EQ(cellName({LayerIndex{0}, WeightKind::BO}, HeadIndex{3}, 0, 4), "b_O[4] of L0");
}

} // namespace
} // namespace headscope
