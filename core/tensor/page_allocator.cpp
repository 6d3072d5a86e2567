#include "core/tensor/page_allocator.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace headscope {

void* allocatePages(std::size_t bytes) {
    constexpr std::size_t hugePage = std::size_t{2} << 20U;
    constexpr std::size_t line = 64;
    void* data = nullptr;
    // No more than asked for: the rest of the last page stays others'.
    if (::posix_memalign(&data, bytes < hugePage ? line : hugePage, bytes > 0 ? bytes : 1) != 0)
        throw std::bad_alloc();
    if (bytes >= hugePage)
        ::madvise(data, bytes, MADV_HUGEPAGE); // a wish: without it everything works, slower
    return data;
}

void freePages(void* data) {
    std::free(data);
}

} // namespace headscope
