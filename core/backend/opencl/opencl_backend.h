// OpenClBackend: the operations of a Backend on one OpenCL device, in float32. Weights stay on the device while their
// owner lives; everything else goes there and back by blocks of rows, so n is bounded by time. The device is opened,
// compiled for and compared with the reference when it is used first.
// A device that cannot be opened, computes wrong numbers, runs out of memory or is lost is given up: from then on the
// CPU backend computes, a note says so once, and nothing is lost. (Numbers of one call may then come from both, within
// the tolerance.)
// What the reference computes instead: columns that sum to 1 (a class rule), operands of size 0, and operands so large
// that a sum could leave float's range.
#pragma once

#include "core/backend/backend.h"
#include "core/backend/opencl/options.h"

namespace headscope {

class OpenClBackend : public Backend {
public:
    static constexpr double tolerance = 1e-4; // of the largest entry of a result, against the reference

    // The device compared with the reference, now; differenceFromCpu() says how far apart they were.
    virtual bool works() const = 0;
};

// One entry per device, in the order of N; where there is none, a single one that says why. Measures each device.
std::vector<BackendInfo> listOpenClBackends();
// "opencl": the first device that is no CPU, else the first; "opencl:N". Lives as long as the program. Throws
// InputError.
const Backend& openClBackendByName(std::string_view name);
// For tests: a backend of its own, or null where there is no such device.
std::unique_ptr<OpenClBackend> makeOpenClBackend(int device, opencl::Options options);

} // namespace headscope
