// LatestWins<T>: one background job at a time, whose result is delivered on the GUI thread; a newer request replaces
// the one that waits. An exception never crosses the thread: what arrives is a value, a Failure or Cancelled. Not here:
// what is computed. Used by the trace runner, the head survey and every picture that may take a while.
#pragma once

#include "core/tensor/errors.h"

#include <QFutureWatcher>
#include <QString>
#include <QThreadPool>
#include <QtConcurrent>

#include <functional>
#include <new>
#include <optional>
#include <stop_token>
#include <variant>

namespace headscope {

struct Failure {
    QString sentence;
};
template<class T>
using Outcome = std::variant<T, Failure, Cancelled>;

// What takes longer is shown to take a while: progress, a way to stop it, a word in place of the picture.
inline constexpr int patienceMilliseconds = 300;

// Jobs that run or wait, over all runners. A screenshot and the tests wait until it is 0. GUI thread only.
inline int backgroundJobs = 0;

template<class T>
class LatestWins {
public:
    using Work = std::function<T(std::stop_token)>; // on a worker: captures values only, polls the token
    using Done = std::function<void(Outcome<T>)>;   // on the GUI thread

    LatestWins() {
        m_pool.setMaxThreadCount(1);
        QObject::connect(&m_watcher, &QFutureWatcher<Outcome<T>>::finished, &m_watcher, [this] { finish(); });
    }
    ~LatestWins() {
        m_watcher.disconnect();
        m_stop.request_stop();
        // Wait only while a job runs: it may still report progress to an owner that is about to go.
        if (m_running)
            m_pool.waitForDone();
        backgroundJobs -= m_running ? 1 : 0;
    }
    LatestWins(const LatestWins&) = delete;
    LatestWins& operator=(const LatestWins&) = delete;

    // letFinish: the running job is still delivered and the newest request follows, so that a dragged dial shows steady
    // pictures; otherwise it is stopped and its result dropped.
    void submit(Work work, Done done, bool letFinish = false) {
        if (!m_running)
            return start({std::move(work), std::move(done)});
        m_waiting = Job{std::move(work), std::move(done)};
        if (!letFinish) {
            ++m_generation;
            m_stop.request_stop();
        }
    }
    void cancel() {
        m_waiting.reset();
        m_stop.request_stop();
    }
    bool busy() const { return m_running; }
    // As cancel, and even what is finished is not delivered.
    void drop() {
        cancel();
        ++m_generation;
    }
    void stopAndWait() { // as drop, and no job runs any more
        drop();
        m_pool.waitForDone();
    }

private:
    struct Job {
        Work work;
        Done done;
    };

    static Outcome<T> guarded(const Work& work, const std::stop_token& stop) {
        try {
            return work(stop);
        } catch (const Cancelled& cancelled) {
            return cancelled;
        } catch (const std::bad_alloc&) {
            return Failure{QStringLiteral("There is not enough memory for this; try a shorter text or fewer heads.")};
        } catch (const std::exception& error) {
            return Failure{QString::fromUtf8(error.what())};
        }
    }

    void start(Job job) {
        m_running = true;
        ++backgroundJobs;
        m_stop = std::stop_source();
        m_done = std::move(job.done);
        m_startedGeneration = ++m_generation;
        m_watcher.setFuture(QtConcurrent::run(
            &m_pool, [work = std::move(job.work), stop = m_stop.get_token()] { return guarded(work, stop); }));
    }

    void finish() {
        // resultAt, not takeResult: waiting after takeResult never returns in Qt 6.4.
        const Outcome<T> outcome = m_watcher.future().resultAt(0);
        const bool stale = m_startedGeneration != m_generation;
        const Done done = std::move(m_done);
        std::optional<Job> next = std::exchange(m_waiting, std::nullopt);
        m_running = false;
        --backgroundJobs;
        const bool replaced = next.has_value();
        if (replaced)
            start(std::move(*next));
        if (!stale)
            done(outcome);
        else if (!replaced) // its successor was cancelled before it began
            done(Cancelled());
    }

    QThreadPool m_pool;
    QFutureWatcher<Outcome<T>> m_watcher;
    std::stop_source m_stop;
    Done m_done;
    std::optional<Job> m_waiting;
    int m_generation = 0, m_startedGeneration = 0;
    bool m_running = false;
};

} // namespace headscope
