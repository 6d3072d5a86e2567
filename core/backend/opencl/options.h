// What a test or a measurement may ask of the OpenCL backend. Inside core/backend/opencl.
#pragma once

namespace headscope::opencl {

struct Options {
    enum class Library { Auto, Never, Always };
    Library clblast = Library::Auto; // for the linear layers; Auto: on devices that are no CPU
    int failAfter = -1;              // every call of the driver after so many fails; -1: none

    // HEADSCOPE_OPENCL_CLBLAST=0|1 and HEADSCOPE_OPENCL_FAIL=N.
    static Options fromEnvironment();
};

} // namespace headscope::opencl
