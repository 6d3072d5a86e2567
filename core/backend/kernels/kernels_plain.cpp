// The kernels for any processor: all there is where there are no levels, and what the oldest x86-64 runs.
#define HEADSCOPE_LEVEL level_plain
#define HEADSCOPE_LEVEL_NAME "plain"
#include "core/backend/kernels/kernels_impl.h"
