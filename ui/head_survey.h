// HeadSurvey: what every head of a trace does, for the thumbnails, the list of findings and the status line. Computed
// in the background after each trace, latest wins. Not here: the metrics themselves (core/analysis), drawing.
#pragma once

#include "core/analysis/metrics.h"
#include "core/attention/view.h"
#include "ui/latest_wins.h"

#include <QObject>

#include <memory>
#include <optional>

namespace headscope {

class Workspace;

// One head: its metrics, a small picture of its weights, and where it looks hardest.
struct HeadSummary {
    HeadMetrics metrics;
    Matrix thumbnail;                 // weights, pooled by the largest of each block; at most thumbnailCells square
    std::optional<CellRef> strongest; // strongestCell of the weights
    float strongestWeight = 0;
    double leastRowSum = 1, mostRowSum = 1; // over the rows that are not fully masked
    float pinnedWeight = 0;                 // of the pinned cell, 0 without one
};

struct Survey {
    SharedTrace trace;              // of which it is
    std::optional<CellRef> pinned;  // for which pinnedWeight is
    std::vector<HeadSummary> heads; // layer by layer
    double worstRowSum() const;     // largest |row sum - 1|
    const HeadSummary& at(LayerIndex layer, HeadIndex head) const;
};
using SharedSurvey = std::shared_ptr<const Survey>;

// Pure; polls stop after every head. Throws Cancelled.
Survey surveyHeads(const SharedTrace& trace, std::optional<CellRef> pinned, const std::stop_token& stop);
// The cell that says most at first sight: the largest magnitude between ordinary tokens, off the diagonal and off the
// first key, where nearly every head rests; without such a cell the largest of ordinary tokens, then the largest of
// all. Nothing for a matrix without a finite number.
std::optional<CellRef> strongestCell(const Matrix& values, const Scenario& scenario, Stage stage);
// The head to open a trained model on when nobody chose one: the one whose strongest link between two words is the most
// striking; heads whose pattern position or special tokens explain count half. Null without heads.
const HeadSummary* mostTelling(const Survey& survey);
// True where the label means that the head rests on tokens that the model added: first and separator tokens.
bool restsOnSpecial(const HeadSummary& head, const Scenario& scenario);
// The largest value of each block of cells; a matrix that is small enough comes back as it is.
Matrix pooledByMaximum(const Matrix& values, int mostCells);

class HeadSurvey : public QObject {
    Q_OBJECT
public:
    explicit HeadSurvey(Workspace& workspace, QObject* parent = nullptr);
    const SharedSurvey& current() const { return m_current; } // null before the first

    static constexpr int thumbnailCells = 48;
    // A longer text is not surveyed: its heads are shown one at a time.
    static constexpr std::int64_t mostCells = 4096LL * 4096;

signals:
    void changed();

private:
    void refresh();

    Workspace& m_workspace;
    SharedSurvey m_current;
    LatestWins<SharedSurvey> m_jobs;
};

} // namespace headscope
