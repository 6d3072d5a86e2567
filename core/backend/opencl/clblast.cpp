#include "core/backend/opencl/clblast.h"

#include <dlfcn.h>
#if __has_include(<clblast_c.h>)
#include <clblast_c.h>
#define HEADSCOPE_WITH_CLBLAST
#endif

namespace headscope::opencl {

#ifdef HEADSCOPE_WITH_CLBLAST

static auto sgemm() {
    static const auto function = [] {
        void* library = dlopen("libclblast.so.1", RTLD_NOW | RTLD_LOCAL);
        return library ? reinterpret_cast<decltype(&CLBlastSgemm)>(dlsym(library, "CLBlastSgemm")) : nullptr;
    }();
    return function;
}

bool hasClblast() {
    return sgemm() != nullptr;
}

bool multiplyByClblast(cl_command_queue queue, cl_mem a, cl_mem b, cl_mem c, int rows, int cols, int depth,
                       cl_int& status) {
    const QuietStandardError quiet; // it compiles when it meets a size of another kind
    const auto m = static_cast<std::size_t>(rows), n = static_cast<std::size_t>(cols),
               k = static_cast<std::size_t>(depth);
    status = sgemm()(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, m, n, k, 1.0F, a, 0, k, b, 0, n,
                     0.0F, c, 0, n, &queue, nullptr);
    return status == CL_SUCCESS;
}

#else

bool hasClblast() {
    return false;
}

bool multiplyByClblast(cl_command_queue, cl_mem, cl_mem, cl_mem, int, int, int, cl_int& status) {
    status = CL_INVALID_OPERATION;
    return false;
}

#endif

} // namespace headscope::opencl
