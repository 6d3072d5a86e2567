// The embedding of models without a trained one: every word has its own random vector, the same wherever it stands.
#pragma once

#include "core/model/model.h"

#include <cstdint>

namespace headscope {

// Token row: N(0, 1), a function of the piece and the width alone. Position row, where asked for: sinusoidal (Vaswani
// et al. 2017, sines in even, cosines in odd columns) or learned (here: drawn from the seed, N(0, 0.5^2)). RoPE and
// ALiBi add nothing.
std::shared_ptr<const Embedder> makeWordEmbedder(int dModel, Position position, std::uint64_t seed);

} // namespace headscope
