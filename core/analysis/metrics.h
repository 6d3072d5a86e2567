// What a head does, in numbers: computed row by row from `weights`, so that a long text needs no n x m matrix.
// Not here: drawing them (head grid), printing them (`headscope heads`).
#pragma once

#include "core/attention/head_stages.h"
#include "core/backend/kernels/kernels.h"

namespace headscope {

// All over the rows that are not fully masked; shares are means over the rows that have such a key
// (the first row has no previous token), 0 when no row has one.
struct HeadMetrics {
    LayerIndex layer;
    HeadIndex head;
    double entropy = 0;  // bits, mean over rows
    double distance = 0; // mean of sum_j A_ij |i - j|
    double self = 0, previous = 0, next = 0, first = 0;
    double same = 0;      // on tokens with the identical string at another place; 0 when nothing repeats
    double separator = 0; // on separators: special tokens, else the last punctuation mark
    double induction = 0; // on the token after an earlier occurrence of the same token
    double evenness = 0;  // 1 - half the sum of |A_ij - 1/open keys|: 1 when a row spreads evenly over its open keys
    double concentration = 0; // mean row maximum
    std::string label;        // previous, next, first, self, same word, induction, separator, uniform, none
    double strength = 0;      // the share that earned the label; 0 for none
};

// Measures a head while its weights pass by (visitWeights).
class HeadMeter {
public:
    struct Keys; // which keys each query could mean; the same for all heads of a trace
    static std::shared_ptr<const Keys> keysOf(const AttentionTrace& trace);

    HeadMeter(const AttentionTrace& trace, LayerIndex layer, HeadIndex head, std::shared_ptr<const Keys> keys);
    HeadMeter(HeadMeter&&) noexcept;
    ~HeadMeter();

    RowSums add(int row, std::span<const float> weights); // each row once; from any thread
    HeadMetrics result() const;                           // after the last row

private:
    struct Row;
    const AttentionTrace& m_trace;
    LayerIndex m_layer;
    HeadIndex m_head;
    std::shared_ptr<const Keys> m_keys;
    std::vector<Row> m_rows;
};

std::vector<HeadIndex> allHeads(const ModelConfig& config);
HeadMetrics headMetrics(const AttentionTrace& trace, LayerIndex layer, HeadIndex head);
std::vector<HeadMetrics> allHeadMetrics(const AttentionTrace& trace);
std::string labelHelp(); // the labels with their thresholds, for `heads --help`

} // namespace headscope
