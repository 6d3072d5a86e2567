// A bare attention module as saved from PyTorch, in one file: nn.MultiheadAttention or separate linear layers.
#pragma once

#include "core/model/builtin.h"
#include "core/model/tensor_file.h"

namespace headscope {

// The naming forms it knows are a table in attention_module.cpp. PyTorch keeps (out, in): transposed here, so that Q =
// X W_Q. Throws LoadError: no form fits (which names were looked for), shapes that disagree, NaN; InputError when the
// number of heads is not certain and source.heads is missing (lists the divisors).
OpenedModel openAttentionModule(const ModelSource& source, const TensorFile& file);

} // namespace headscope
