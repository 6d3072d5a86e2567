#include "core/tensor/page_allocator.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace headscope {

void* allocatePages(std::size_t bytes) {
    constexpr std::size_t hugePage = std::size_t{2} << 20U, worthwhile = 2 * hugePage;
    void* data = nullptr;
    if (bytes < worthwhile)
        data = std::malloc(bytes > 0 ? bytes : 1);
    else
        data = std::aligned_alloc(hugePage, (bytes + hugePage - 1) / hugePage * hugePage);
    if (!data)
        throw std::bad_alloc();
    if (bytes >= worthwhile)
        ::madvise(data, bytes, MADV_HUGEPAGE); // a wish: without it everything works, slower
    return data;
}

void freePages(void* data) {
    std::free(data);
}

} // namespace headscope
