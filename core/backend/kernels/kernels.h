// The inner loops of the fast CPU backend, compiled once plainly for any processor and once for each level of x86-64
// from the same source, kernels_impl.h. kernels() is the best that this machine runs; HEADSCOPE_ISA=plain|v2|v3|v4
// chooses another. Not here: threads, memory, who calls what with which rows (cpu_backend.cpp).
//
// The right side of a product is packed in panels of 32 columns, k after k, the last panel filled up with zeros:
//     panel p: [k = 0 .. K) x [column p*32 .. p*32+32), 32 floats in a row
// so that a register tile reads it in a straight line. Every element of a result is one chain of multiply-adds over k
// in blocks of kBlock: the same for every tile shape, hence independent of which rows are computed together.
#pragma once

#include "core/backend/backend.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace headscope {

// One block of rows of one head, from Q to O. What is null is not wanted.
struct AttendRows {
    int rows = 0;              // at most rowsPerTile
    int firstRow = 0, n = 0;   // the block's place among the n queries
    int m = 0, dK = 0, dV = 0; // keys, widths
    const float* q = nullptr;  // (rows, d_k)
    std::ptrdiff_t qStride = 0;
    const float* keys = nullptr;   // K^T (d_k, m), packed
    const float* values = nullptr; // V (m, d_v), packed
    float scale = 1, alibiSlope = 0, softcap = 0;
    double temperature = 1;
    const float* relativeBias = nullptr;  // HeadProblem::relativeBias
    const KeyMask::Range* open = nullptr; // per row of the block
    const float* additive = nullptr;      // (rows, m)
    std::ptrdiff_t additiveStride = 0;
    bool maskAfterSoftmax = false;    // class rule: the mask only sets weights to 0
    const ScoreEdit* edits = nullptr; // those of the head; the ones of other rows are skipped
    int editCount = 0;

    float *scores = nullptr, *scaled = nullptr, *masked = nullptr, *weights = nullptr, *output = nullptr;
    std::ptrdiff_t scoresStride = 0, scaledStride = 0, maskedStride = 0, weightsStride = 0, outputStride = 0;
    bool stream = false; // scaled and weights past the cache: rows start at 64 bytes and are a multiple of them

    float* tile = nullptr; // (rows, tileStride): scratch; tileStride is at least m rounded up to 32
    std::ptrdiff_t tileStride = 0;
    // Softmax of the open cells of one row, in place, where the quick way does not do: temperature 0 or infinity,
    // scores that are not finite. Cells outside [begin, end) are not touched; additive may be null.
    void (*carefulSoftmax)(float* row, int begin, int end, const float* additive, double temperature) = nullptr;
};

// What is said about one row of weights.
struct RowSums {
    double sum = 0, entropy = 0 /* bits */, distance = 0 /* sum of w |i - j| */,
           apart = 0 /* of |w - even|, open keys */;
    float largest = 0;
};

struct Kernels {
    const char* isa; // "v4", "plain"

    // Panel p of a (k, n) matrix.
    void (*packPanel)(const float* w, std::ptrdiff_t stride, int k, int n, int p, float* panel);
    // Panel p of the transpose of an (n, k) matrix: rows p*32 .. become columns.
    void (*packTransposed)(const float* w, std::ptrdiff_t stride, int k, int n, int p, float* panel);
    // (rows, k) times one panel plus bias (null or `cols` values) into (rows, cols); cols <= 32, rows <= rowsPerLinear.
    void (*linearPanel)(const float* x, std::ptrdiff_t xStride, int rows, int k, const float* panel, const float* bias,
                        float* out, std::ptrdiff_t outStride, int cols);
    // (rows, k) times one column of k values plus a bias into `rows` values: bit for bit a column of linearPanel's.
    void (*linearColumn)(const float* x, std::ptrdiff_t xStride, int rows, int k, const float* column, float bias,
                         float* out);
    void (*attendRows)(const AttendRows& block);
    void (*apply)(Pointwise function, float* values, std::size_t count);
    // Of row i of the weights, m values; keys outside [begin, end), or with -inf in `additive`, are closed.
    void (*rowSums)(const float* row, int m, int i, int begin, int end, const float* additive, float even,
                    RowSums* out);
    // pooled[c] = max of pooled[c] and the values whose column j has j * cols / m == c.
    void (*poolRow)(const float* row, int m, float* pooled, int cols);
    // lo and hi reach on to the smallest and the largest finite number of a row.
    void (*extent)(const float* row, int m, float* lo, float* hi);
    // Multiply-adds from registers to registers, nothing else: the machine's limit. Returns how many were done.
    double (*multiplyAdds)(long rounds, float* sink);
};

inline constexpr int panelWidth = 32;
inline constexpr int rowsPerLinear = 96; // a block of rows that stays in the second cache beside a panel
inline constexpr int rowsPerTile = 24;   // of AttendRows

inline int blocksOf(int count, int perBlock) {
    return (count + perBlock - 1) / perBlock;
}
inline int panelsOf(int cols) {
    return blocksOf(cols, panelWidth);
}

const Kernels& kernels();              // throws InputError when HEADSCOPE_ISA names one that cannot be used
std::vector<std::string_view> isas();  // those that this machine runs, worst first
void chooseIsa(std::string_view name); // one of isas(); for tests

} // namespace headscope
