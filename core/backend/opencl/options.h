// What a test or a measurement may ask of the OpenCL backend. Inside core/backend/opencl.
#pragma once

namespace headscope::opencl {

struct Options {
    enum class Library { Auto, Never, Always };
    Library clblast = Library::Auto; // for the linear layers; Auto: on devices that are no CPU
    int failAfter = -1;              // every call of the driver after so many fails; -1: none
    bool sharedGroups = false;       // the kernels as they are shaped for a graphics card, on a CPU too
    int blockCells = 0;              // cells of scores that are on the device at once; 0: as the device likes it
    long long largestBuffer = -1;    // bytes; -1: as the device says
    long long weightBytes = -1;      // weights kept on the device; -1: as the device likes it

    // HEADSCOPE_OPENCL_CLBLAST=0|1 and HEADSCOPE_OPENCL_FAIL=N.
    static Options fromEnvironment();
};

} // namespace headscope::opencl
