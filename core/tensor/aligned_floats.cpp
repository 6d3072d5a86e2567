#include "core/tensor/aligned_floats.h"

#include <sys/mman.h>

#include <new>

namespace headscope {

AlignedFloats::AlignedFloats(std::size_t floats) {
    constexpr std::size_t smallPage = 4096, hugePage = std::size_t{2} << 20U;
    const std::size_t page = floats * sizeof(float) >= hugePage ? hugePage : smallPage;
    const std::size_t bytes = (floats * sizeof(float) + page - 1) / page * page;
    m_data.reset(static_cast<float*>(std::aligned_alloc(page, bytes)));
    if (!m_data && bytes > 0)
        throw std::bad_alloc();
    if (page == hugePage)
        ::madvise(m_data.get(), bytes, MADV_HUGEPAGE); // a wish: without it everything works, slower
    m_size = bytes / sizeof(float);
}

} // namespace headscope
