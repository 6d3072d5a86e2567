// Comparison: two matrices of one shape beside each other, as a value: what is compared, under which names. Pure
// functions make it from traces. Not here: painting (comparison_view).
#pragma once

#include <QString>
#include <QStringList>
#include <optional>
#include <vector>

#include "core/attention/trace.h"
#include "core/attention/view.h"

namespace headscope {

struct Comparison {
    QString titleA, titleB;                // "wrong: softmax over queries", "right"
    SharedMatrix a, b;                     // equal shapes
    QStringList rowLabels, colLabels;      // one per row and column
    QString rowTitle, colTitle;            // "queries", "keys"
    bool isWeights = false;                // the common range is 0..1
    bool isSigned = false;                 // diverging about 0
    QString note;                          // a sentence or two, may be empty
    std::vector<int> rowTokens, colTokens; // the first token of each row and column; empty: their index
    std::optional<CellRef> pinned;         // marked in every matrix
};

struct CellDifference {
    int row = 0, col = 0;
    float a = 0, b = 0;
    double difference = 0; // a - b
};
// The cells that differ most, largest |a - b| first; equal cells are left out.
std::vector<CellDifference> largestDifferences(const Matrix& a, const Matrix& b, int most);

// A wrong rule's stage beside the right one's. Nothing when the stage is missing in one of them.
std::optional<Comparison> wrongAndRight(const AttentionTrace& wrong, const AttentionTrace& right, const View& view);
// What the article printed for the worked example beside what is right; only for its own sentence, unchanged, and for
// the stages that it prints.
std::optional<Comparison> printedAndCorrect(const AttentionTrace& trace, const View& view);

} // namespace headscope
