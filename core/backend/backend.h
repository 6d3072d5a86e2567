// Backend: the few operations on host matrices that everything else is made of. The reference (Eigen, written to be
// read) is what every faster one is compared with. Knows nothing of models, tokens or files.
#pragma once

#include "core/tensor/matrix.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace headscope {

// A mask for n queries and m keys, as row ranges (linear in n) and, where needed, a dense part.
struct KeyMask {
    struct Range {
        int begin = 0, end = 0; // keys outside are closed
    };
    std::vector<Range> open; // one per query
    SharedMatrix additive;   // (n, m) or null: added to the scaled scores; -inf closes the cell
    bool isOpen(int row, int col) const {
        const Range r = open[static_cast<std::size_t>(row)];
        return col >= r.begin && col < r.end && (!additive || (*additive)(row, col) != minusInfinity);
    }
    static constexpr float minusInfinity = -__builtin_inff();
};

// One cell of a head's scores replaced by a number.
struct ScoreEdit {
    int row = 0, col = 0;
    float value = 0;
};

// One head: everything from Q_h, K_h, V_h to O_h.
struct HeadProblem {
    MatrixView q;                         // (n, d_k)
    MatrixView k;                         // (m, d_k)
    MatrixView v;                         // (m, d_v)
    float scale = 1.0F;                   // multiplies the scores
    float alibiSlope = 0.0F;              // -slope * |i - j| is added to the scaled scores
    // A number for every distance between key and query, added to the scaled scores: entry j - i + n - 1, n + m - 1 in
    // all; empty: none.
    std::span<const float> relativeBias;
    const KeyMask* mask = nullptr;
    float softcap = 0.0F;     // after the mask; 0 is none
    double temperature = 1.0; // 0 is argmax with ties shared, infinity is uniform over the open keys
    std::span<const ScoreEdit> scoreEdits;
    bool softmaxOverQueries = false; // class rule: columns sum to 1 instead of rows
    bool maskAfterSoftmax = false;   // class rule: softmax of the unmasked scores, then closed cells set to 0
};

// Which matrices of a head to hand back; the others stay empty.
struct HeadWanted {
    bool scores = false, scaled = false, masked = false, weights = false, output = false;
};

// Rows [begin, end) of a head's stages.
struct HeadRows {
    Matrix scores, scaled, masked, weights; // (end - begin, m)
    Matrix output;                          // (end - begin, d_v)
};

class Backend {
public:
    virtual ~Backend() = default;
    virtual std::string name() const = 0;        // "cpu"
    virtual std::string description() const = 0; // for the status line and `devices`

    // x w + b: (n, a) (a, b) -> (n, b). bias is (1, b) or null.
    virtual Matrix linear(MatrixView x, MatrixView w, const Matrix* bias) const = 0;
    // Rows [begin, end) of one head. A fully masked row has weights of 0. With softmaxOverQueries the range is all
    // rows.
    virtual HeadRows attend(const HeadProblem& problem, int begin, int end, HeadWanted wanted) const = 0;
};

// The reference: products summed in double and rounded to float once.
const Backend& referenceBackend();

struct BackendInfo {
    std::string name, description;
    bool available = true;
    std::string why; // when it is not available
};
std::vector<BackendInfo> listBackends();
// "auto", "cpu", "opencl[:N]"; throws InputError with the reason.
const Backend& backendByName(std::string_view name);

} // namespace headscope
