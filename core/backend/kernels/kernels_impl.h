// The source of every level: included once by kernels_v2.cpp, kernels_v3.cpp, kernels_v4.cpp and kernels_plain.cpp,
// each compiled for its machine and each defining HEADSCOPE_LEVEL, the name of the namespace and of the table. See
// kernels.h for what the functions promise and simd.h for the vectors. Nothing of the standard library here.
#include "core/backend/kernels/kernels.h"

#if defined(__GNUC__) && !defined(__clang__) // g++'s own intrinsics
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace headscope::HEADSCOPE_LEVEL {

// clang-format off
#include "core/backend/kernels/simd.h"
#include "core/backend/kernels/register_tile.h" // each builds on those before
#include "core/backend/kernels/linear_part.h"
#include "core/backend/kernels/attend_part.h"
#include "core/backend/kernels/row_part.h"
// clang-format on

extern const Kernels table;
const Kernels table{HEADSCOPE_LEVEL_NAME, packPanel, packTransposed, linearPanel, linearColumn,
                    attendRows,           apply,     rowSums,        poolRow,     extent,
                    multiplyAdds};

} // namespace headscope::HEADSCOPE_LEVEL
