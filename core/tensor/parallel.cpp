#include "core/tensor/parallel.h"

#include "core/tensor/aligned_floats.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace headscope {

namespace {

thread_local bool insidePiece = false;

struct Job {
    void (*body)(void*, int);
    void* context;
    int count;
    std::atomic<int> next{0};
    std::mutex failureLock;
    std::exception_ptr failure;

    void run() {
        insidePiece = true;
        for (int i = next.fetch_add(1, std::memory_order_relaxed); i < count;
             i = next.fetch_add(1, std::memory_order_relaxed))
            try {
                body(context, i);
            } catch (...) {
                next.store(count, std::memory_order_relaxed);
                const std::lock_guard lock(failureLock);
                failure = std::current_exception();
            }
        insidePiece = false;
    }
};

// For some 50 microseconds at most. A pause takes 10 to 40 nanoseconds, which depends on the processor.
template<class Condition>
void spinWhile(const Condition& condition) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = Clock::now() + std::chrono::microseconds(50);
    do {
        for (int i = 0; i < 32; ++i) {
            if (!condition())
                return;
#if defined(__x86_64__)
            __builtin_ia32_pause();
#endif
        }
    } while (Clock::now() < end);
}

// Workers look for a job for a while before they sleep: pieces of one trace follow each other closely.
// A worker that wakes too late finds no job and has held up nobody.
class Pool {
public:
    ~Pool() { resize(0); }

    int size() const { return m_size.load(std::memory_order_relaxed); } // the caller's thread included

    void resize(int threads) {
        const std::lock_guard owner(m_owner);
        m_stop = true;
        announce();
        for (std::thread& worker : m_workers)
            worker.join();
        m_workers.clear();
        m_stop = false;
        m_size.store(threads, std::memory_order_relaxed);
    }

    // False when somebody else's job has the pool.
    bool run(Job& job) {
        const std::unique_lock owner(m_owner, std::try_to_lock);
        if (!owner.owns_lock())
            return false;
        while (static_cast<int>(m_workers.size()) + 1 < size())
            m_workers.emplace_back([this, seen = m_generation.load()] { work(seen); });
        m_job = &job;
        announce();
        job.run();
        m_job = nullptr; // whoever wakes now has missed it
        spinWhile([&] { return m_active > 0; });
        for (int active = m_active; active > 0; active = m_active)
            m_active.wait(active);
        return true;
    }

private:
    void announce() {
        ++m_generation;
        m_generation.notify_all();
    }

    void work(unsigned seen) {
        for (;;) {
            spinWhile([&] { return m_generation == seen; });
            m_generation.wait(seen);
            seen = m_generation;
            if (m_stop)
                return;
            ++m_active; // before looking for the job: who ends one takes it away first, and then waits for the active
            if (Job* const job = m_job)
                job->run();
            if (--m_active == 0)
                m_active.notify_one();
        }
    }

    std::mutex m_owner;                    // held while a job is shared out
    std::atomic<unsigned> m_generation{0}; // a new job, or the end
    std::atomic<Job*> m_job{nullptr};
    std::atomic<int> m_active{0}; // workers that may be inside the job
    std::atomic<int> m_size{1};
    std::atomic<bool> m_stop{false};
    std::vector<std::thread> m_workers;
};

int availableCores() {
    return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 64);
}

Pool& pool() {
    static Pool pool;
    static const bool sized = (pool.resize(availableCores()), true);
    static_cast<void>(sized);
    return pool;
}

} // namespace

int threadCount() {
    return pool().size();
}

void setThreadCount(int n) {
    pool().resize(n > 0 ? n : availableCores());
}

void detail::parallelFor(int count, void (*body)(void*, int), void* context) {
    Job job{body, context, count, {}, {}, {}};
    if (insidePiece || pool().size() == 1 || !pool().run(job)) {
        for (int i = 0; i < count; ++i)
            body(context, i);
        return;
    }
    if (job.failure)
        std::rethrow_exception(job.failure);
}

float* scratch(ScratchSlot slot, std::size_t floats) {
    thread_local std::array<AlignedFloats, scratchSlots> slots;
    AlignedFloats& block = slots[static_cast<std::size_t>(slot)];
    if (floats > block.size()) {
        block = {};                                 // before the new one, so that they are never there together
        block = AlignedFloats(floats + floats / 4); // growing texts grow it seldom
    }
    return block.data();
}

} // namespace headscope
