// PackedWeights: right operands of products in the order in which the kernels read them (kernels.h), found by the
// matrix they were made of and gone with it. Bounded: what does not fit is packed where it is used.
#pragma once

#include "core/backend/backend.h"
#include "core/tensor/aligned_floats.h"

#include <mutex>

namespace headscope {

class PackedWeights {
public:
    static constexpr std::size_t mostFloats = std::size_t{128} << 20U; // 512 MB
    static constexpr int manyRows = 1024;
    using Panels = std::shared_ptr<const AlignedFloats>;

    // For a product with so many rows. Null where the weights have no owner or are too large to keep, and for many rows
    // when nobody has packed them yet: that costs such a product less than one part in a hundred, and its text needs
    // the memory.
    Panels of(const Weights& w, int rows);

private:
    struct Entry {
        std::weak_ptr<const Matrix> owner;
        const Matrix* address = nullptr;
        std::shared_ptr<AlignedFloats> panels;
        unsigned long long lastUse = 0;
    };
    std::mutex m_lock;
    std::vector<Entry> m_entries; // some hundreds at most
    unsigned long long m_uses = 0;
};

} // namespace headscope
