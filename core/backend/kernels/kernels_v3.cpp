// The kernels for x86-64-v3 (core/CMakeLists.txt gives the flags).
#if defined(__x86_64__)
#define HEADSCOPE_LEVEL level_v3
#define HEADSCOPE_LEVEL_NAME "v3"
#include "core/backend/kernels/kernels_impl.h"
#endif
