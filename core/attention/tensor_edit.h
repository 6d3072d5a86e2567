// What the weights editor does to a scenario, as pure functions: one head's band of a tensor in, a new scenario out. A
// tensor that is back at its opened numbers is the opened object again, and a model with only such tensors is the
// opened model. Not here: the table, the clipboard, the undo stack (ui/widgets/weight_editor, ui/workspace).
#pragma once

#include "core/attention/scenario.h"

namespace headscope {

// The head's band of a tensor as a matrix of its own, for example (d_model, d_k) of W_Q.
Matrix bandOf(const Matrix& tensor, TensorBand band);

// The scenario with the tensor replaced. `value` has the tensor's shape.
Scenario withTensor(const Scenario& scenario, TensorId id, Matrix value);
// The scenario with the band replaced by `values` of the band's shape, or by `values` at (row, col) of the band, where
// it fits.
Scenario withBlock(const Scenario& scenario, TensorId id, TensorBand band, int row, int col, const Matrix& values);

// Cells of X (Embedding) or Y (EmbeddingKey) of layer 0 from (row, col) on: one intervention for each that differs from
// `opened`, the whole matrix before any intervention; earlier ones of these cells are replaced.
Scenario withEmbeddingBlock(const Scenario& scenario, Stage stage, int row, int col, const Matrix& values,
                            const Matrix& opened);
// X or Y as the scenario wants it: `opened` with its interventions.
Matrix embeddingOf(const Scenario& scenario, Stage stage, const Matrix& opened);

// "W_Q[2, 1] of L0 H3", indices inside the head; "b_Q[1] of L0 H3"; b_O belongs to no head: "b_O[4] of L0".
std::string cellName(TensorId id, HeadIndex head, int row, int col);

} // namespace headscope
