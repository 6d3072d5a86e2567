// headStages: the n x m matrices of one head, derived from a trace on demand; stageMatrix: any stage by name.
#pragma once

#include "core/attention/trace.h"

namespace headscope {

using HeadStages = HeadRows; // all rows

// Only the wanted ones are filled. Under softmax-queries all rows are computed together.
HeadStages headStages(const AttentionTrace& trace, LayerIndex layer, HeadIndex head, HeadWanted wanted);

// One row of a head's weights (keys), the same bits as in the whole matrix; costs about as much as it is long.
std::vector<float> weightsRow(const AttentionTrace& trace, LayerIndex layer, HeadIndex head, int row);

// The weights of heads of one layer, a block of whole rows at a time, for what is made of maps that nobody keeps.
// `which` counts in `heads`. Blocks come in any order and from several threads at once; visit must not compute with the
// trace's backend. Throws Cancelled.
void visitWeights(const AttentionTrace& trace, LayerIndex layer, std::span<const HeadIndex> heads,
                  const std::function<void(int which, int begin, MatrixView weights)>& visit,
                  const std::stop_token& stop = {});

// The matrix of one stage: shared where the trace keeps it, else derived. K and V are those of the query head's KV
// head. Throws InputError for a stage that a file of captured attention does not have.
SharedMatrix stageMatrix(const AttentionTrace& trace, LayerIndex layer, HeadIndex head, Stage stage);

// False where the scenario has no such matrix: embedding_key in self-attention, contribution and norms without W_O,
// what is not in a file of captured attention.
bool stageAvailable(const AttentionTrace& trace, Stage stage);
bool stageAvailable(const Scenario& scenario, Stage stage);
// A symbol or formula of the stage table as this scenario has it: of one text, Y is the same matrix as X.
std::string inScenario(std::string_view formula, const Scenario& scenario);
// Why it is not available, in a sentence: "scores is not in cat.npz: it holds weights only".
std::string whyNoStage(const Scenario& scenario, Stage stage);

// A wrong rule's matrix minus the right one's. `right` is the same scenario without rules, traced.
Matrix difference(const Matrix& a, const Matrix& b); // equal shapes; -inf minus -inf is 0

} // namespace headscope
