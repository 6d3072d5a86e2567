// What every head of a trace does, small enough to keep for all of them: metrics, a thumbnail, the strongest cell. All
// of it is made while the weights of a block of rows are at hand, on all threads; no n x m map is ever held. Not here:
// drawing it (head grid), waiting for it (ui/head_survey).
#pragma once

#include "core/analysis/metrics.h"
#include "core/attention/view.h"

#include <optional>

namespace headscope {

struct HeadSummary {
    HeadMetrics metrics;
    Matrix thumbnail;                 // weights, pooled by the largest of each block of cells
    std::optional<CellRef> strongest; // strongestCell of the weights
    float strongestWeight = 0;
    double leastRowSum = 1, mostRowSum = 1; // over the rows that are not fully masked
    float pinnedWeight = 0;                 // of the pinned cell, 0 without one
};

// Layer by layer. Thumbnails have at most thumbnailCells rows and columns; smaller maps are shown as they are. Throws
// Cancelled.
std::vector<HeadSummary> summariesOf(const AttentionTrace& trace, int thumbnailCells, std::optional<CellRef> pinned,
                                     const std::stop_token& stop = {}, const Progress& progress = {});
// The same summaries with another pinned cell: only its row is computed.
void pinCell(std::vector<HeadSummary>& summaries, const AttentionTrace& trace, std::optional<CellRef> pinned,
             const std::stop_token& stop = {});

// The cell that says most at first sight: the largest magnitude between ordinary tokens, off the diagonal and off the
// first key, where nearly every head rests; without such a cell the largest of ordinary tokens, then the largest of
// all. Nothing for a matrix without a finite number.
std::optional<CellRef> strongestCell(const Matrix& values, const Scenario& scenario, Stage stage);

} // namespace headscope
