// Backend: the few operations on host matrices that everything else is made of. The reference (Eigen, written to be
// read) is what every faster one is compared with (tests/core/backend_test.cpp: one table of cases for all of them).
// What every backend promises beside its tolerance: a result depends on the operands alone, bit for bit. Not on the
// number of threads, not on which rows, heads or stages were asked for together. So a head derived on demand equals its
// band of concat, and what is reused equals what is computed again.
// Knows nothing of models, tokens or files.
#pragma once

#include "core/tensor/matrix_window.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace headscope {

// A mask for n queries and m keys, as row ranges (linear in n) and, where needed, a dense part.
struct KeyMask {
    struct Range {
        int begin = 0, end = 0; // 0 <= begin <= end <= m; keys outside are closed
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
    MatrixView q;            // (n, d_k)
    MatrixView k;            // (m, d_k)
    MatrixView v;            // (m, d_v)
    float scale = 1.0F;      // multiplies the scores
    float alibiSlope = 0.0F; // -slope * |i - j| is added to the scaled scores
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

// Where a whole head goes: windows into matrices that the caller keeps, for example its band of concat. A window
// without data is not wanted.
struct HeadTarget {
    MatrixWindow scores, scaled, masked, weights; // (n, m)
    MatrixWindow output;                          // (n, d_v)

    HeadTarget rowRange(int begin, int end) const; // of every window
};
// Makes the matrices of what is wanted of `rows` rows of a head, and gives windows on them.
HeadTarget allocate(HeadRows& out, const HeadProblem& problem, int rows, HeadWanted wanted);

// The right operand of a product. `owner` is the matrix that it is all of, or null: for as long as that lives, a
// backend may keep what it made of it (packed, or on a device), found by the address.
struct Weights {
    MatrixView view;
    SharedMatrix owner;

    Weights(MatrixView v) : view(v) {}                                        // NOLINT: a view is a weight nobody keeps
    Weights(const Matrix& m) : view(m) {}                                     // NOLINT
    Weights(SharedMatrix shared) : view(*shared), owner(std::move(shared)) {} // NOLINT
};

// What stands between the two products of an MLP, value by value.
enum class Pointwise { Gelu, GeluTanh, Relu, Silu };

class Backend {
public:
    virtual ~Backend() = default;
    virtual std::string name() const = 0;        // "cpu": what --backend calls it
    virtual std::string description() const = 0; // for `devices`
    // For the status line: what computes, in a few words, and how far its numbers are from the CPU's where that was
    // measured (relative to the largest).
    virtual std::string place() const { return name(); }
    virtual std::optional<double> differenceFromCpu() const { return std::nullopt; }

    // x w + b: (n, a) (a, b) -> (n, b), into `out`, which overlaps no operand. bias is (1, b) or null.
    virtual void linearInto(MatrixView x, const Weights& w, const Matrix* bias, MatrixWindow out) const = 0;
    Matrix linear(MatrixView x, const Weights& w, const Matrix* bias) const;

    // Whether a column of x w + b computed alone has the bits that it has in the whole product.
    virtual bool columnsStandAlone() const { return true; }

    // Rows [begin, end) of one head. A fully masked row has weights of 0. With softmaxOverQueries the range is all
    // rows.
    virtual HeadRows attend(const HeadProblem& problem, int begin, int end, HeadWanted wanted) const = 0;

    // All rows of many heads; targets[i] belongs to heads[i]. visit, where there is one, is given the weights of every
    // row once, a block of whole rows [begin, begin + weights.rows) at a time, while they are at hand: for what is
    // derived from maps that nobody keeps. Blocks come in any order and from several threads at once.
    // Throws Cancelled when stop is requested.
    using VisitWeights = std::function<void(int head, int begin, MatrixView weights)>;
    virtual void attendAll(std::span<const HeadProblem> heads, std::span<const HeadTarget> targets,
                           const VisitWeights& visit, const std::stop_token& stop) const;

    virtual void apply(Pointwise function, std::span<float> values) const; // in place

protected:
    static int rowsPerBlock(const HeadProblem& problem); // bounds the memory of a block of attend's matrices
};

// The reference: products summed in double and rounded to float once. One thread.
const Backend& referenceBackend();

struct BackendInfo {
    std::string name, description;
    bool available = true;
    std::string why; // when it is not available
};
std::vector<BackendInfo> listBackends();
// "auto", "cpu", "reference", "opencl[:N]"; throws InputError with the reason.
const Backend& backendByName(std::string_view name);

} // namespace headscope
