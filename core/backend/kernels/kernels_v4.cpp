// The kernels for x86-64-v4 (core/CMakeLists.txt gives the flags).
#if defined(__x86_64__)
#define HEADSCOPE_LEVEL level_v4
#define HEADSCOPE_LEVEL_NAME "v4"
#include "core/backend/kernels/kernels_impl.h"
#endif
