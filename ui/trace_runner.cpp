#include "ui/trace_runner.h"

#include "core/backend/backend.h"
#include "ui/stage_text.h"

namespace headscope {

// The backend of that name, or the CPU and why. Looking for devices takes a while: on the worker.
static const Backend& usableBackend(const std::string& name, QString& refused) {
    try {
        return backendByName(name);
    } catch (const InputError& error) {
        refused = fromUtf8(error.what());
        return backendByName("cpu");
    }
}

// Both traces of a scenario with class rules; one of a right one. Runs on the worker.
static TracePair computePair(const Scenario& scenario, const std::string& backendName, const TracePair& previous,
                             const std::stop_token& stop, const Progress& progress) {
    TracePair pair;
    const Backend& backend = usableBackend(backendName, pair.backendRefused);
    pair.trace = trace(scenario, backend, previous.trace.get(), stop, progress);
    if (scenario.rules.any()) {
        Scenario right = pair.trace->scenario; // with the target that has just been written, where there is one
        right.rules.reset();
        pair.right = trace(right, backend, previous.right.get(), stop, progress);
    }
    return pair;
}

TraceRunner::TraceRunner(QObject* parent) : QObject(parent) {}

void TraceRunner::request(const Scenario& scenario, const TracePair& previous, bool letFinish) {
    const bool wasBusy = busy();
    const auto work = [this, scenario, previous, name = toUtf8(m_backend)](const std::stop_token& stop) {
        // The destructor waits for a running job, so `this` outlives it.
        const auto progress = [this](double fraction) {
            QMetaObject::invokeMethod(
                this, [this, fraction] { emit progressChanged(fraction); }, Qt::QueuedConnection);
        };
        return computePair(scenario, name, previous, stop, progress);
    };
    m_jobs.submit(
        work, [this](const Outcome<TracePair>& outcome) { deliver(outcome); }, letFinish);
    if (!wasBusy)
        emit busyChanged(true);
}

void TraceRunner::cancel() {
    m_jobs.cancel();
}

void TraceRunner::deliver(const Outcome<TracePair>& outcome) {
    if (!busy())
        emit busyChanged(false);
    if (const auto* pair = std::get_if<TracePair>(&outcome)) {
        emit finished(*pair);
        if (!pair->backendRefused.isEmpty()) {
            m_backend = QStringLiteral("cpu"); // said once
            emit backendRefused(pair->backendRefused);
        }
    } else if (const auto* failure = std::get_if<Failure>(&outcome)) {
        emit failed(failure->sentence);
    }
}

} // namespace headscope
