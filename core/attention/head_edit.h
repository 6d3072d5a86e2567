// One entry of a weight changes, and one head is looked at: its matrices at once, without a new trace. For a cell that
// is turned like a dial. Bit for bit what a full trace of the edited model gives for that head of that layer.
#pragma once

#include "core/attention/head_stages.h"

namespace headscope {

// Entry (row, col) of the tensor becomes value; the stages of `head` in the tensor's layer. What lies before the layer
// is as in the trace. Only the wanted matrices are filled.
HeadStages headAfterEdit(const AttentionTrace& trace, TensorId tensor, int row, int col, float value, HeadIndex head,
                         HeadWanted wanted);

} // namespace headscope
