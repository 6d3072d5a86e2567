// explainCell: the arithmetic behind one number, as a value that a panel, a picture or a test can read.
#pragma once

#include "core/attention/head_stages.h"

namespace headscope {

// Where a factor stands: a cell of a stage, or of a tensor (of the whole tensor, not of a head's band).
struct CellSource {
    std::optional<Stage> stage;
    std::optional<WeightKind> weight;
    LayerIndex layer;
    HeadIndex head;
    int row = 0, col = 0;
    bool operator==(const CellSource&) const = default;
};

// One product of a sum: left * right = product. Where a factor is itself a cell, it says which.
struct Term {
    std::string label; // "d 24" or a token's text
    int index = 0;     // the summed index
    float left = 0, right = 0;
    double product = 0;
    std::optional<CellSource> leftFrom{}, rightFrom{};
};

// One line of the chain below the sum: "÷ √d_k = √32", value after it.
struct ExplainStep {
    std::string label;
    double value = 0;
};

struct CellExplanation {
    Stage stage;
    int row = 0, col = 0;
    std::string sentence;            // "sat (query) attends 0.8907 to cat (key)"
    std::string leftName, rightName; // what the factors are: "Q_sat", "K_cat"; empty when there is no sum
    std::vector<Term> terms;         // largest |product| first
    double constant = 0;             // added to the sum: a bias
    std::string constantName;        // "b_Q"; empty when there is none
    double sum = 0;                  // of all products and the constant, in double
    std::vector<ExplainStep> steps;  // from the sum to the value
    float value = 0;                 // the engine's number: the last step, or the sum
};

// Works for every stage that is available. The unrounded sum agrees with the engine to 1e-6 of the sum of |terms|.
CellExplanation explainCell(const AttentionTrace& trace, LayerIndex layer, HeadIndex head, Stage stage, int row,
                            int col);

} // namespace headscope
