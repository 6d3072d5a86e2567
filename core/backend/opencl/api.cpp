#include "core/backend/opencl/api.h"

#include <array>
#include <cstdio>
#include <dlfcn.h>
#include <fcntl.h>
#include <mutex>
#include <unistd.h>
#include <utility>

namespace headscope::opencl {

namespace {

struct Loaded {
    Api api;
    std::string why; // empty: the library is there
};

const Loaded& loaded() {
    static const Loaded& library = *new Loaded([] { // never unloaded: drivers have threads of their own
        const QuietStandardError quiet;
        Loaded l;
        void* handle = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            l.why = "libOpenCL.so.1 is not installed (package ocl-icd-libopencl1)";
            return l;
        }
#define HEADSCOPE_LOAD(name)                                                                                           \
    l.api.name = reinterpret_cast<decltype(l.api.name)>(dlsym(handle, #name));                                         \
    if (!l.api.name)                                                                                                   \
        l.why = "libOpenCL.so.1 is older than OpenCL 1.2: it has no " #name;
        HEADSCOPE_OPENCL_FUNCTIONS(HEADSCOPE_LOAD)
#undef HEADSCOPE_LOAD
        return l;
    }());
    return library;
}

struct Silence {
    std::mutex mutex;
    int depth = 0, kept = -1;
};
Silence& silence() {
    static Silence& s = *new Silence;
    return s;
}

} // namespace

const Api* loadedApi() {
    return loaded().why.empty() ? &loaded().api : nullptr;
}

std::string whyNoApi() {
    return loaded().why;
}

std::string errorName(cl_int status) {
    static constexpr std::array<std::pair<cl_int, const char*>, 22> names{{
        {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
        {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
        {CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
        {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
        {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
        {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
        {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
        {CL_INVALID_VALUE, "CL_INVALID_VALUE"},
        {CL_INVALID_PLATFORM, "CL_INVALID_PLATFORM"},
        {CL_INVALID_DEVICE, "CL_INVALID_DEVICE"},
        {CL_INVALID_CONTEXT, "CL_INVALID_CONTEXT"},
        {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE"},
        {CL_INVALID_MEM_OBJECT, "CL_INVALID_MEM_OBJECT"},
        {CL_INVALID_PROGRAM_EXECUTABLE, "CL_INVALID_PROGRAM_EXECUTABLE"},
        {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
        {CL_INVALID_KERNEL, "CL_INVALID_KERNEL"},
        {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
        {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
        {CL_INVALID_WORK_ITEM_SIZE, "CL_INVALID_WORK_ITEM_SIZE"},
        {CL_INVALID_OPERATION, "CL_INVALID_OPERATION"},
        {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
        {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
    }};
    for (const auto& [value, name] : names)
        if (value == status)
            return std::string(name) + " (" + std::to_string(status) + ")";
    return "OpenCL error " + std::to_string(status);
}

QuietStandardError::QuietStandardError() {
    const std::lock_guard lock(silence().mutex);
    if (silence().depth++ > 0)
        return;
    std::fflush(stderr);
    silence().kept = dup(STDERR_FILENO);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (silence().kept >= 0 && nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
    if (nowhere >= 0)
        close(nowhere);
}

QuietStandardError::~QuietStandardError() {
    const std::lock_guard lock(silence().mutex);
    if (--silence().depth > 0 || silence().kept < 0)
        return;
    std::fflush(stderr);
    dup2(silence().kept, STDERR_FILENO);
    close(std::exchange(silence().kept, -1));
}

} // namespace headscope::opencl
