// Attention on the CPU's kernels: keys and values packed once for all heads that share them, rows in blocks, blocks
// handed out to the threads. The softmax of the class rule softmax-queries is the reference's own, head by head. Not
// here: linear layers (cpu_backend.cpp), the arithmetic of a block (kernels/attend_part.h).
#pragma once

#include "core/backend/backend.h"

namespace headscope {

// Work below this many multiply-adds stays on one thread (some 50 microseconds).
inline constexpr double worthSharing = 2e6;

// Rows [begin, end) of each head, end -1: all its rows, as Backend::attendAll says. The targets' windows begin with row
// `begin`.
void attendOnCpu(std::span<const HeadProblem> heads, std::span<const HeadTarget> targets,
                 const Backend::VisitWeights& visit, const std::stop_token& stop, int begin = 0, int end = -1);

} // namespace headscope
