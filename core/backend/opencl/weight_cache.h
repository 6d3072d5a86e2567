// WeightCache: right operands of products that stay on a device for as long as their owner lives, found by its address
// and bounded in bytes; what was used longest ago goes first. Thread-safe. Inside core/backend/opencl.
#pragma once

#include "core/backend/backend.h"
#include "core/backend/opencl/device.h"

#include <unordered_map>

namespace headscope::opencl {

// A right operand on the device, in strips of columns that each fit into one buffer.
struct DeviceWeights {
    struct Strip {
        int begin = 0, end = 0, width = 0; // columns, and floats a row on the device
        Buffer buffer;
    };
    std::vector<Strip> strips;
    float largest = 0; // absolute value
    std::size_t bytes = 0;
};

class WeightCache {
public:
    explicit WeightCache(std::size_t budget) : m_budget(budget) {}

    std::shared_ptr<const DeviceWeights> find(const Weights& weights);
    void keep(const Weights& weights, std::shared_ptr<const DeviceWeights> onDevice); // nothing without an owner
    void clear();

private:
    struct Entry {
        std::weak_ptr<const Matrix> owner; // of the address; dead: another matrix may stand there by now
        std::shared_ptr<const DeviceWeights> weights;
        std::uint64_t lastUse = 0;
    };
    static bool isKept(const Weights& w) { return w.owner && w.view.data == w.owner->data(); }
    void makeRoom(std::size_t bytes);

    std::mutex m_mutex;
    std::unordered_map<const Matrix*, Entry> m_entries;
    std::size_t m_budget, m_bytes = 0;
    std::uint64_t m_clock = 0;
};

} // namespace headscope::opencl
