// The kernels where there is no choice of levels.
#if !defined(__x86_64__)
#define HEADSCOPE_LEVEL level_plain
#define HEADSCOPE_LEVEL_NAME "plain"
#include "core/backend/kernels/kernels_impl.h"
#endif
