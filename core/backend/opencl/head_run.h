// HeadRun: the heads of one call on a lane of a device, a block of query rows at a time, so that what is on the device
// at once is linear in n. Reads back only what has a window. Inside core/backend/opencl.
#pragma once

#include "core/backend/backend.h"
#include "core/backend/opencl/device.h"

namespace headscope::opencl {

class HeadRun {
public:
    explicit HeadRun(Lane& lane) : m_lane(lane) {}

    // False: the head needs the reference (columns that sum to 1, nothing to compute, products beyond float's range).
    static bool canRun(const HeadProblem& problem);
    int rowsPerBlock(const HeadProblem& problem) const;

    void begin(const HeadProblem& problem); // K and V go to the device, unless the head before had the same
    // Rows [begin, end) of that head into windows of end - begin rows.
    void rows(int begin, int end, const HeadTarget& to);

private:
    struct Block;
    void writeRight(Lane::Slot slot, MatrixView matrix, bool transposed);
    void scores(const Block& block);
    void finish(const Block& block, int steps);

    Lane& m_lane;
    const HeadProblem* m_problem = nullptr;
    MatrixView m_k, m_v; // on the device now
};

} // namespace headscope::opencl
