// The fast CPU backend: fused scores, softmax and A V over (head, block of rows), packed linear layers, a few threads.
// Single precision throughout: it agrees with the reference to the tolerance in tests/core/backend_test.cpp.
// The arithmetic is in kernels/; here is who computes what, where it is kept and what is shared out.
#pragma once

#include "core/backend/backend.h"

namespace headscope {

const Backend& cpuBackend(); // throws InputError when HEADSCOPE_ISA names kernels that cannot be used

} // namespace headscope
