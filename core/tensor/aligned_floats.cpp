#include "core/tensor/aligned_floats.h"

#include "core/tensor/page_allocator.h"

namespace headscope {

void AlignedFloats::Free::operator()(float* p) const {
    freePages(p);
}

AlignedFloats::AlignedFloats(std::size_t floats)
    : m_data(static_cast<float*>(allocatePages(floats * sizeof(float)))), m_size(floats) {}

} // namespace headscope
