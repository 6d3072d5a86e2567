// AlignedFloats: a block of floats in pages (page_allocator.h). Not a matrix: packed operands and scratch of the fast
// backend. The values are not initialised.
#pragma once

#include <cstddef>
#include <memory>

namespace headscope {

class AlignedFloats {
public:
    AlignedFloats() = default;
    explicit AlignedFloats(std::size_t floats); // throws bad_alloc

    float* data() const { return m_data.get(); }
    std::size_t size() const { return m_size; }

private:
    struct Free {
        void operator()(float* p) const;
    };
    std::unique_ptr<float[], Free> m_data;
    std::size_t m_size = 0;
};

} // namespace headscope
