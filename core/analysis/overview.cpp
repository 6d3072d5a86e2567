#include "core/analysis/overview.h"

#include "core/tensor/errors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

namespace headscope {

namespace {

// The largest magnitude so far; of equal ones the first in reading order.
struct Peak {
    float size = 0;
    CellRef cell;

    void offer(float value, int row, int col) {
        const float s = std::abs(value);
        if (!std::isfinite(s) || s < size || s == 0)
            return;
        if (s > size || std::pair(row, col) < std::pair(cell.row, cell.col)) {
            size = s;
            cell = {row, col};
        }
    }
};
// Where a cell of a matrix may stand: between ordinary tokens, or where nearly every head rests.
class Places {
public:
    Places(const Scenario& scenario, Stage stage, int rows, int cols)
        : m_sameTokens(isTokenByToken(stage) && !scenario.key),
          m_specialRow(specials(scenario, stageInfo(stage).rows, rows)),
          m_specialCol(specials(scenario, stageInfo(stage).cols, cols)) {}

    bool isOrdinary(int row, int col) const {
        return !m_specialRow[static_cast<std::size_t>(row)] && !m_specialCol[static_cast<std::size_t>(col)];
    }
    bool isResting(int row, int col) const { return m_sameTokens && (col == row || col == 0); }

private:
    static std::vector<bool> specials(const Scenario& scenario, StageAxis axis, int count) {
        std::vector<bool> special(static_cast<std::size_t>(count));
        if (axis == StageAxis::Dimensions)
            return special;
        const TokenSequence& tokens = axis == StageAxis::QueryTokens ? scenario.query : scenario.keyTokens();
        for (int i = 0; i < std::min(count, tokens.size()); ++i)
            special[static_cast<std::size_t>(i)] = tokens.tokens[static_cast<std::size_t>(i)].special;
        return special;
    }

    bool m_sameTokens;
    std::vector<bool> m_specialRow, m_specialCol;
};

// The largest of each kind of place; the first kind that has one counts.
struct Peaks {
    Peak moving, ordinary, any;

    void addRow(std::span<const float> values, int row, const Places& places) {
        for (int c = 0; c < static_cast<int>(values.size()); ++c) {
            const float v = values[static_cast<std::size_t>(c)];
            const bool isOrdinary = places.isOrdinary(row, c);
            if (isOrdinary && !places.isResting(row, c))
                moving.offer(v, row, c);
            else if (moving.size == 0)
                (isOrdinary ? ordinary : any).offer(v, row, c);
        }
    }
    void add(const Peaks& other) {
        for (const auto which : {&Peaks::moving, &Peaks::ordinary, &Peaks::any}) {
            const Peak& from = other.*which;
            (this->*which).offer(from.size, from.cell.row, from.cell.col);
        }
    }
    const Peak& best() const { return moving.size > 0 ? moving : ordinary.size > 0 ? ordinary : any; }
    std::optional<CellRef> cell() const { return best().size > 0 ? std::optional(best().cell) : std::nullopt; }
};

// One head while its rows pass by, in any order and from several threads.
class Collector {
public:
    Collector(const AttentionTrace& trace, LayerIndex layer, HeadIndex head,
              std::shared_ptr<const HeadMeter::Keys> keys, int thumbnailCells, std::optional<CellRef> pinned)
        : m_trace(trace), m_layer(layer), m_meter(trace, layer, head, std::move(keys)), m_pinned(pinned),
          m_mayBeNegative(trace.scenario.model->captured() != nullptr),
          m_places(trace.scenario, Stage::Weights, trace.scenario.queries(), trace.scenario.keys()) {
        m_summary.thumbnail =
            Matrix(std::min(trace.scenario.queries(), thumbnailCells), std::min(trace.scenario.keys(), thumbnailCells),
                   -std::numeric_limits<float>::infinity());
    }

    void add(int begin, MatrixView weights) {
        const int n = m_trace.scenario.queries(), rows = m_summary.thumbnail.rows(), cols = m_summary.thumbnail.cols();
        const auto pooledRow = [&](int row) { return static_cast<int>(static_cast<std::int64_t>(row) * rows / n); };
        const int first = pooledRow(begin), last = pooledRow(begin + weights.rows - 1);
        Matrix pooled(last - first + 1, cols, -std::numeric_limits<float>::infinity());
        Peaks peaks;
        double least = 1, most = 1;
        float pinnedWeight = 0;
        for (int r = 0; r < weights.rows; ++r) {
            const int row = begin + r;
            const std::span<const float> values = weights.row(r);
            const RowSums sums = m_meter.add(row, values);
            kernels().poolRow(values.data(), weights.cols, pooled.row(pooledRow(row) - first).data(), cols);
            if (!m_trace.layer(m_layer).emptyRows[static_cast<std::size_t>(row)]) {
                least = std::min(least, sums.sum);
                most = std::max(most, sums.sum);
            }
            if (m_mayBeNegative || sums.largest >= peaks.moving.size)
                peaks.addRow(values, row, m_places);
            if (m_pinned && m_pinned->row == row && m_pinned->col < weights.cols)
                pinnedWeight = values[static_cast<std::size_t>(m_pinned->col)];
        }
        const std::lock_guard lock(m_lock);
        for (int r = 0; r < pooled.rows(); ++r)
            for (int c = 0; c < cols; ++c)
                m_summary.thumbnail(first + r, c) = std::max(m_summary.thumbnail(first + r, c), pooled(r, c));
        m_peaks.add(peaks);
        m_summary.leastRowSum = std::min(m_summary.leastRowSum, least);
        m_summary.mostRowSum = std::max(m_summary.mostRowSum, most);
        if (pinnedWeight != 0)
            m_summary.pinnedWeight = pinnedWeight;
    }

    HeadSummary take() {
        m_summary.metrics = m_meter.result();
        m_summary.strongest = m_peaks.cell();
        m_summary.strongestWeight = m_peaks.best().size;
        return std::move(m_summary);
    }

private:
    const AttentionTrace& m_trace;
    LayerIndex m_layer;
    HeadMeter m_meter;
    std::optional<CellRef> m_pinned;
    bool m_mayBeNegative;
    Places m_places;
    std::mutex m_lock;
    Peaks m_peaks;
    HeadSummary m_summary;
};

} // namespace

std::vector<HeadSummary> summariesOf(const AttentionTrace& trace, int thumbnailCells, std::optional<CellRef> pinned,
                                     const std::stop_token& stop, const Progress& progress) {
    const auto keys = HeadMeter::keysOf(trace);
    const std::vector<HeadIndex> heads = allHeads(trace.config());
    std::vector<HeadSummary> all;
    for (int l = 0; l < trace.config().layers; ++l) {
        const LayerIndex layer{l};
        std::vector<std::unique_ptr<Collector>> collectors;
        collectors.reserve(heads.size());
        for (const HeadIndex head : heads)
            collectors.push_back(std::make_unique<Collector>(trace, layer, head, keys, thumbnailCells, pinned));
        visitWeights(
            trace, layer, heads,
            [&](int which, int begin, MatrixView weights) {
                collectors[static_cast<std::size_t>(which)]->add(begin, weights);
            },
            stop);
        for (const auto& collector : collectors)
            all.push_back(collector->take());
        if (progress)
            progress(static_cast<double>(l + 1) / trace.config().layers);
    }
    return all;
}

void pinCell(std::vector<HeadSummary>& summaries, const AttentionTrace& trace, std::optional<CellRef> pinned,
             const std::stop_token& stop) {
    for (HeadSummary& head : summaries) {
        if (stop.stop_requested())
            throw Cancelled();
        head.pinnedWeight = !pinned ? 0.0F
                                    : weightsRow(trace, head.metrics.layer, head.metrics.head,
                                                 pinned->row)[static_cast<std::size_t>(pinned->col)];
    }
}

std::optional<CellRef> strongestCell(const Matrix& values, const Scenario& scenario, Stage stage) {
    const Places places(scenario, stage, values.rows(), values.cols());
    Peaks peaks;
    for (int r = 0; r < values.rows(); ++r)
        peaks.addRow(values.row(r), r, places);
    return peaks.cell();
}

} // namespace headscope
