// TraceRunner: Scenario -> AttentionTrace in the background, latest wins. Not here: keeping anything. Called by
// Workspace.
#pragma once

#include "core/attention/trace.h"
#include "ui/latest_wins.h"

#include <QObject>

namespace headscope {

struct TracePair {
    SharedTrace trace;
    SharedTrace right; // the same scenario without class rules, when it has some
};

class TraceRunner : public QObject {
    Q_OBJECT
public:
    explicit TraceRunner(QObject* parent = nullptr);

    // previous: whose unchanged layers are taken over. letFinish: see LatestWins.
    void request(const Scenario& scenario, const TracePair& previous, bool letFinish);
    void cancel();
    bool busy() const { return m_jobs.busy(); }

signals:
    void finished(const headscope::TracePair& result);
    void failed(const QString& sentence);
    void busyChanged(bool busy);
    void progressChanged(double fraction);

private:
    void deliver(const Outcome<TracePair>& outcome);

    LatestWins<TracePair> m_jobs;
};

} // namespace headscope
