// CLBlast, where it was there at build time and libclblast.so.1 is at run time: c = a b on a device, row-major.
// Inside core/backend/opencl.
#pragma once

#include "core/backend/opencl/api.h"

namespace headscope::opencl {

bool hasClblast();
// a (rows, depth), b (depth, cols), c (rows, cols), without padding. False: it failed, `status` says how.
bool multiplyByClblast(cl_command_queue queue, cl_mem a, cl_mem b, cl_mem c, int rows, int cols, int depth,
                       cl_int& status);

} // namespace headscope::opencl
