// HeadSurvey: what every head of a trace does, for the thumbnails, the list of findings and the status line. Computed
// in the background after each trace, latest wins. Not here: the metrics themselves (core/analysis), drawing.
#pragma once

#include "core/analysis/overview.h"
#include "ui/latest_wins.h"

#include <QObject>
#include <QTimer>

#include <memory>
#include <optional>

namespace headscope {

class Workspace;

struct Survey {
    SharedTrace trace;              // of which it is
    std::optional<CellRef> pinned;  // for which pinnedWeight is
    std::vector<HeadSummary> heads; // layer by layer
    double worstRowSum() const;     // largest |row sum - 1|
    const HeadSummary& at(LayerIndex layer, HeadIndex head) const;
};
using SharedSurvey = std::shared_ptr<const Survey>;

// Pure; polls stop all the time. Of `before`, which may be null, the heads are taken where it is of the same trace.
// Throws Cancelled.
Survey surveyHeads(const SharedTrace& trace, std::optional<CellRef> pinned, const SharedSurvey& before,
                   const std::stop_token& stop, const Progress& progress = {});
// The head to open a trained model on when nobody chose one: the one whose strongest link between two words is the most
// striking; heads whose pattern position or special tokens explain count half. Null without heads.
const HeadSummary* mostTelling(const Survey& survey);
// True where the label means that the head rests on tokens that the model added: first and separator tokens.
bool restsOnSpecial(const HeadSummary& head, const Scenario& scenario);

class HeadSurvey : public QObject {
    Q_OBJECT
public:
    explicit HeadSurvey(Workspace& workspace, QObject* parent = nullptr);
    // Null before the first, and where that of an earlier text has outlived a moment's patience.
    const SharedSurvey& current() const { return m_current; }
    bool busy() const { return m_jobs.busy(); }
    void cancel(); // the heads stay without thumbnails

    static constexpr int thumbnailCells = 48;
    // A longer text is not surveyed: its heads are shown one at a time.
    static constexpr std::int64_t mostCells = 4096LL * 4096;

signals:
    void changed();
    void busyChanged();
    void progressed(double fraction);

private:
    void refresh();
    void take(const SharedSurvey& survey);

    Workspace& m_workspace;
    SharedSurvey m_current;
    QTimer m_patience; // until what is shown of an earlier text is taken away
    LatestWins<SharedSurvey> m_jobs;
};

} // namespace headscope
