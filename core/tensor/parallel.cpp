#include "core/tensor/parallel.h"

#include "core/tensor/aligned_floats.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
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

inline void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

// Workers look for a job for some 30 microseconds before they sleep: pieces of one trace follow each other closely.
// A worker that wakes too late finds no job and has held up nobody.
class Pool {
public:
    ~Pool() { resize(0); }

    int size() const { return m_size.load(std::memory_order_relaxed); } // the caller's thread included

    void resize(int threads) {
        const std::lock_guard owner(m_owner);
        {
            const std::lock_guard lock(m_lock);
            m_stop = true;
            m_generation.fetch_add(1, std::memory_order_release);
        }
        m_wake.notify_all();
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
        {
            const std::lock_guard lock(m_lock);
            m_job = &job;
            m_generation.fetch_add(1, std::memory_order_release);
        }
        m_wake.notify_all();
        job.run();
        std::unique_lock lock(m_lock);
        m_job = nullptr; // whoever wakes now has missed it
        for (int spins = 0; m_active > 0 && spins < spinsBeforeSleep; ++spins) {
            lock.unlock();
            pause();
            lock.lock();
        }
        m_done.wait(lock, [this] { return m_active == 0; });
        return true;
    }

private:
    static constexpr int spinsBeforeSleep = 1000;

    void work(unsigned seen) {
        for (;;) {
            for (int spins = 0; m_generation.load(std::memory_order_acquire) == seen && spins < spinsBeforeSleep;
                 ++spins)
                pause();
            Job* job = nullptr;
            {
                std::unique_lock lock(m_lock);
                m_wake.wait(lock, [&] { return m_generation.load(std::memory_order_relaxed) != seen; });
                if (m_stop)
                    return;
                seen = m_generation.load(std::memory_order_relaxed);
                job = m_job;
                m_active += job ? 1 : 0;
            }
            if (!job)
                continue;
            job->run();
            const std::lock_guard lock(m_lock);
            if (--m_active == 0)
                m_done.notify_all();
        }
    }

    std::mutex m_owner; // held while a job is shared out
    std::mutex m_lock;  // m_job, m_active, m_stop
    std::condition_variable m_wake, m_done;
    std::atomic<unsigned> m_generation{0}; // a new job, or the end
    std::atomic<int> m_size{1};
    Job* m_job = nullptr;
    int m_active = 0; // workers inside the job
    bool m_stop = false;
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
