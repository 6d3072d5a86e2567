// PageAllocator: where the numbers of a Matrix lie: from a line of the cache on, large ones on huge pages: touching
// fresh memory in small ones takes longer than computing what goes into it. Numbers that nobody gave a value are not
// set to zero first: whoever asks for them so fills them all. Not here: memory that a thread keeps (parallel.h).
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace headscope {

void* allocatePages(std::size_t bytes); // throws std::bad_alloc
void freePages(void* data);

template<class T>
struct PageAllocator {
    using value_type = T;
    PageAllocator() = default;
    template<class Other>
    explicit PageAllocator(const PageAllocator<Other>&) {}
    T* allocate(std::size_t count) { return static_cast<T*>(allocatePages(count * sizeof(T))); }
    void deallocate(T* data, std::size_t) { freePages(data); }
    template<class U, class... Arguments>
    void construct(U* at, Arguments&&... arguments) {
        if constexpr (sizeof...(arguments) == 0)
            ::new (static_cast<void*>(at)) U; // not U(): no zeros
        else
            ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
    }
    bool operator==(const PageAllocator&) const = default;
};

} // namespace headscope
