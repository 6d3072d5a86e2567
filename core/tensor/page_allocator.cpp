#include "core/tensor/page_allocator.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace headscope {

void* allocatePages(std::size_t bytes) {
    constexpr std::size_t hugePage = std::size_t{2} << 20U;
    void* data = nullptr;
    if (bytes < hugePage)
        data = std::malloc(bytes > 0 ? bytes : 1);
    else if (::posix_memalign(&data, hugePage, bytes) != 0) // the rest of the last page stays others'
        data = nullptr;
    if (!data)
        throw std::bad_alloc();
    if (bytes >= hugePage)
        ::madvise(data, bytes, MADV_HUGEPAGE); // a wish: without it everything works, slower
    return data;
}

void freePages(void* data) {
    std::free(data);
}

} // namespace headscope
