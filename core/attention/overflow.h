// Numbers that left the range of float32. Called by whoever hands a trace's numbers out, to say so beside them.
#pragma once

#include "core/attention/head_stages.h"

namespace headscope {

// The first stage that holds an infinity (or NaN) that no mask put there, as a sentence; empty where all is finite.
std::string overflowNote(const AttentionTrace& trace);

} // namespace headscope
