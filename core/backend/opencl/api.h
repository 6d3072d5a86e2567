// The OpenCL library as it is found at run time (libOpenCL.so.1): the functions that the backend calls, handles that
// release themselves, and failures as sentences. Nothing here knows what is computed. A program that was built with
// OpenCL starts and works on a machine without the library. Inside core/backend/opencl.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace headscope::opencl {

#define HEADSCOPE_OPENCL_FUNCTIONS(f)                                                                                  \
    f(clGetPlatformIDs) f(clGetPlatformInfo) f(clGetDeviceIDs) f(clGetDeviceInfo) f(clCreateContext)                   \
        f(clReleaseContext) f(clCreateCommandQueue) f(clReleaseCommandQueue) f(clCreateProgramWithSource)              \
            f(clBuildProgram) f(clGetProgramBuildInfo) f(clReleaseProgram) f(clCreateKernel) f(clReleaseKernel)        \
                f(clSetKernelArg) f(clCreateBuffer) f(clReleaseMemObject) f(clEnqueueWriteBuffer)                      \
                    f(clEnqueueReadBufferRect) f(clEnqueueNDRangeKernel)

struct Api {
#define HEADSCOPE_MEMBER(name) decltype(&::name) name = nullptr; // NOLINT(bugprone-macro-parentheses): declares it
    HEADSCOPE_OPENCL_FUNCTIONS(HEADSCOPE_MEMBER)
#undef HEADSCOPE_MEMBER
};

// Loads the library once; null where there is none, and then why() says so.
const Api* loadedApi();
std::string whyNoApi();
inline const Api& api() {
    return *loadedApi();
}

// The device, its driver or the memory on it failed. The sentence fragment follows "the OpenCL device failed: ".
class DeviceFailure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};
std::string errorName(cl_int status); // "CL_OUT_OF_RESOURCES (-5)"

struct Release {
    void operator()(cl_context h) const { api().clReleaseContext(h); }
    void operator()(cl_command_queue h) const { api().clReleaseCommandQueue(h); }
    void operator()(cl_program h) const { api().clReleaseProgram(h); }
    void operator()(cl_kernel h) const { api().clReleaseKernel(h); }
    void operator()(cl_mem h) const { api().clReleaseMemObject(h); }
};
template<class T>
using Handle = std::unique_ptr<std::remove_pointer_t<T>, Release>;
using Context = Handle<cl_context>;
using Queue = Handle<cl_command_queue>;
using Program = Handle<cl_program>;
using Kernel = Handle<cl_kernel>;
using Buffer = Handle<cl_mem>;

// Drivers and the compilers inside them talk on standard error, where only sentences of the program belong: as long as
// this lives it leads nowhere. For loading and compiling, not for every command.
class QuietStandardError {
public:
    QuietStandardError();
    ~QuietStandardError();
    QuietStandardError(const QuietStandardError&) = delete;
    QuietStandardError& operator=(const QuietStandardError&) = delete;
};

} // namespace headscope::opencl
