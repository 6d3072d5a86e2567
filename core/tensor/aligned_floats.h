// AlignedFloats: a block of floats that starts at a line of the cache, on huge pages where it is large. Not a matrix:
// packed operands and scratch of the fast backend. The values are not initialised.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace headscope {

class AlignedFloats {
public:
    AlignedFloats() = default;
    explicit AlignedFloats(std::size_t floats); // throws bad_alloc; rounded up to whole pages

    float* data() const { return m_data.get(); }
    std::size_t size() const { return m_size; } // at least as many as asked for

private:
    struct Free {
        void operator()(float* p) const { std::free(p); } // NOLINT(cppcoreguidelines-no-malloc): see aligned_alloc
    };
    std::unique_ptr<float[], Free> m_data;
    std::size_t m_size = 0;
};

} // namespace headscope
