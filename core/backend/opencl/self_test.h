// The check that a device passes before its numbers are used: one product and one head with a bit of everything,
// against the reference. Inside core/backend/opencl.
#pragma once

#include "core/backend/backend.h"

namespace headscope::opencl {

struct SelfTest {
    MatrixView x;
    Weights w;
    const Matrix& bias;
    Matrix* product;
    const HeadProblem& problem;
    HeadTarget target;
};

// The largest difference from the reference, over all results of `compute`, in units of the result's largest entry;
// infinity where a -inf or a number is out of place.
double selfTest(const std::function<void(const SelfTest&)>& compute);

} // namespace headscope::opencl
