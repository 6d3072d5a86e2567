// Work shared out over a few threads: one small pool for the whole program, and the memory that a thread computes in.
// Not here: when it pays. Waking a thread costs some microseconds, and on a busy machine a wait for one can cost
// milliseconds, so whoever has less than about 100 microseconds of work says so (worthwhile) and stays on one thread.
#pragma once

#include <cstddef>
#include <type_traits>

namespace headscope {

int threadCount();          // threads that share the work, the caller's included
void setThreadCount(int n); // --threads; 0: as many as the process may run on. Not while work is being shared out.

namespace detail {
void parallelFor(int count, void (*body)(void* context, int index), void* context);
}

// body(index) for every index below count, each once, in any order, on this and other threads; returns when all are
// done. Handed out one by one, so unequal pieces are welcome. An exception of the body comes out here, and pieces not
// yet begun are then left out. Inside a body, or while another thread's work has the pool, everything runs on the
// caller's thread: nothing waits for anything but its own pieces.
template<class Body>
void parallelFor(int count, const Body& body, bool worthwhile = true) {
    if (!worthwhile || count <= 1) {
        for (int i = 0; i < count; ++i)
            body(i);
        return;
    }
    detail::parallelFor(
        count, [](void* context, int index) { (*static_cast<const Body*>(context))(index); },
        const_cast<std::remove_const_t<Body>*>(&body)); // NOLINT: given back as const
}

// Memory of this thread, aligned to 64 bytes, kept from call to call (first touch of fresh memory costs 15 times more
// than writing it), on huge pages where it is large. Grows, never shrinks; what stood in it is lost when it grows.
// One `slot` for each use that must not disturb another.
enum class ScratchSlot { RowBlock, PackedWeights, PackedKeys, Visitor };
inline constexpr int scratchSlots = 4;
float* scratch(ScratchSlot slot, std::size_t floats);

} // namespace headscope
