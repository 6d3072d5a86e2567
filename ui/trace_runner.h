// TraceRunner: Scenario -> AttentionTrace in the background, latest wins. Not here: keeping anything. Called by
// Workspace.
#pragma once

#include "core/attention/trace.h"
#include "ui/latest_wins.h"

#include <QObject>
#include <QString>

namespace headscope {

struct TracePair {
    SharedTrace trace;
    SharedTrace right;      // the same scenario without class rules, when it has some
    QString backendRefused; // why the backend that was asked for could not be used; empty: it was
};

class TraceRunner : public QObject {
    Q_OBJECT
public:
    explicit TraceRunner(QObject* parent = nullptr);

    // What computes from now on: "auto", "cpu", "reference", "opencl:N". One that cannot be used is replaced by the
    // CPU, and a note says why.
    void setBackend(const QString& name) { m_backend = name; }
    const QString& backend() const { return m_backend; }
    // previous: whose unchanged layers are taken over. letFinish: see LatestWins.
    void request(const Scenario& scenario, const TracePair& previous, bool letFinish);
    void cancel();
    bool busy() const { return m_jobs.busy(); }

signals:
    void finished(const headscope::TracePair& result);
    void failed(const QString& sentence);
    void busyChanged(bool busy);
    void progressChanged(double fraction);
    void backendRefused(const QString& why); // it was replaced by the CPU

private:
    void deliver(const Outcome<TracePair>& outcome);

    QString m_backend = QStringLiteral("auto");
    LatestWins<TracePair> m_jobs;
};

} // namespace headscope
