// The source of every level: included once by kernels_v2.cpp, kernels_v3.cpp, kernels_v4.cpp and kernels_plain.cpp,
// each compiled for its machine and each defining HEADSCOPE_LEVEL, the name of the namespace and of the table. See
// kernels.h for what the functions promise and simd.h for the vectors. Nothing of the standard library here.
#include "core/backend/kernels/kernels.h"

#if defined(__GNUC__) && !defined(__clang__) // g++'s own intrinsics
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace headscope::HEADSCOPE_LEVEL {

#include "core/backend/kernels/simd.h"

constexpr int tileColumns = 2 * lanes;
constexpr int kBlock = 64; // short chains of additions: rounding grows with them, and the next block costs a few loads
constexpr float minusInfinity = -__builtin_inff();

template<class A, class B>
constexpr bool same = false;
template<class A>
constexpr bool same<A, A> = true;

// Rows of memory, `stride` floats apart. Four share a pointer: with one for each of twelve the compiler runs out of
// registers, and what it puts aside costs a turn of the multipliers every time.
template<int Rows, class Float>
struct RowPointers {
    Float* four[(Rows + 3) / 4];
    std::ptrdiff_t stride;

    __attribute__((always_inline)) RowPointers(Float* first, std::ptrdiff_t apart) : stride(apart) {
        UNROLL
        for (int g = 0; g < (Rows + 3) / 4; ++g) {
            four[g] = first + g * 4 * stride;
            asm("" : "+r"(four[g])); // not to be put together again
        }
    }
    __attribute__((always_inline)) Float* operator[](int r) const { return four[r / 4] + r % 4 * stride; }
    __attribute__((always_inline)) void nextColumn() {
        UNROLL
        for (Float*& p : four)
            ++p;
    }
};

// sums += A (Rows, k) times k rows of a panel. At each of them a line of `ahead` is called for: what comes from the
// third cache takes longer than the processor can look ahead.
constexpr int line = 16;
template<int Rows>
INLINE void multiplyAdd(const float* a, std::ptrdiff_t stride, const float* b, int k, Vec (&sums)[Rows][2],
                        const float* ahead) {
    RowPointers<Rows, const float> row(a, stride);
    for (int i = 0; i < k; ++i, ahead += line) {
        __builtin_prefetch(ahead);
        const Vec left = load(b), right = load(b + lanes);
        b += panelWidth;
        UNROLL
        for (int r = 0; r < Rows; ++r) {
            const Vec x = all(row[r][0]);
            sums[r][0] += x * left;
            sums[r][1] += x * right;
        }
        row.nextColumn();
    }
}

// Rows in register tiles of nearly equal height.
struct Tiles {
    int count, height, taller; // the first `taller` have one row more
};
INLINE Tiles tilesOf(int rows) {
    const int count = (rows + mostRows - 1) / mostRows;
    return {count, rows / count, rows % count};
}

struct Nothing {};

// The same, and meanwhile(first row, rows) for every few rows of the tile, evenly spread over the multiplications.
// Stores that wait for their memory hold the lines through which a panel comes into the first cache: a few at a time
// cost nothing, all at once stop the multiplying.
template<int Rows, class Meanwhile>
INLINE void multiplyAdd(const float* a, std::ptrdiff_t stride, const float* b, int k, Vec (&sums)[Rows][2],
                        const float* ahead, const Meanwhile& meanwhile) {
    constexpr int few = 2, parts = (Rows + few - 1) / few;
    for (int part = 0, i = 0; part < parts; ++part) {
        const int end = k * (part + 1) / parts;
        multiplyAdd<Rows>(a + i, stride, b + i * panelWidth, end - i, sums, ahead + i * line);
        i = end;
        meanwhile(part * few, least(few, Rows - part * few));
    }
}

// Rows of A (Rows, k) times `cols` columns of a panel: those of A stay in the first cache from one to the next.
template<int Rows, class Put, class Meanwhile>
INLINE void tile(int row, const float* a, std::ptrdiff_t stride, const float* b, int cols, int k, const float* ahead,
                 const Put& put, const Meanwhile& meanwhile) {
    for (int c = 0; c < cols; c += tileColumns) {
        Vec sums[Rows][2] = {};
        if constexpr (same<Meanwhile, Nothing>)
            multiplyAdd<Rows>(a, stride, b + c, k, sums, ahead);
        else
            multiplyAdd<Rows>(a, stride, b + c, k, sums, ahead,
                              [&](int r, int count) { meanwhile(row + r, count, c); });
        put(row, c, sums);
    }
}

// A (rows, k) times k rows of a panel, `cols` columns of it, in register tiles: put(row, column, Vec (&sums)[Rows][2])
// takes what came out of each. meanwhile(first row, rows, column) is called for the rows of a tile while it is
// computed.
template<class Put, class Meanwhile = Nothing>
INLINE void product(const Tiles& tiles, const float* a, std::ptrdiff_t stride, const float* b, int cols, int k,
                    const Put& put, const Meanwhile& meanwhile = {}) {
    for (int i = 0, row = 0; i < tiles.count; ++i) {
        // The panel's next k rows: half of their lines with each of two tiles.
        const float* ahead = b + k * panelWidth + i % 2 * (k * line);
        const int height = tiles.height + (i < tiles.taller ? 1 : 0);
        switch (height) {
#define HEADSCOPE_TILE(Rows)                                                                                           \
    case Rows:                                                                                                         \
        tile<Rows>(row, a, stride, b, cols, k, ahead, put, meanwhile);                                                 \
        break;
            HEADSCOPE_TILE(1)
            HEADSCOPE_TILE(2)
            HEADSCOPE_TILE(3)
            HEADSCOPE_TILE(4)
            HEADSCOPE_TILE(5)
            HEADSCOPE_TILE(6)
#if defined(__AVX512F__)
            HEADSCOPE_TILE(7)
            HEADSCOPE_TILE(8)
            HEADSCOPE_TILE(9)
            HEADSCOPE_TILE(10)
            HEADSCOPE_TILE(11)
            HEADSCOPE_TILE(12)
#endif
#undef HEADSCOPE_TILE
        }
        row += height;
        a += height * stride;
    }
}

// What is done with a register tile: rows of memory are `stride` apart.
template<int Rows>
INLINE void addRows(const float* from, std::ptrdiff_t stride, Vec (&sums)[Rows][2]) {
    const RowPointers<Rows, const float> row(from, stride);
    UNROLL
    for (int r = 0; r < Rows; ++r) {
        sums[r][0] = load(row[r]) + sums[r][0];
        sums[r][1] = load(row[r] + lanes) + sums[r][1];
    }
}
template<int Rows>
INLINE void scaleRows(Vec factor, Vec (&sums)[Rows][2]) {
    UNROLL
    for (int r = 0; r < Rows; ++r) {
        sums[r][0] *= factor;
        sums[r][1] *= factor;
    }
}
template<int Rows>
INLINE void storeRows(float* to, std::ptrdiff_t stride, const Vec (&sums)[Rows][2]) {
    const RowPointers<Rows, float> row(to, stride);
    UNROLL
    for (int r = 0; r < Rows; ++r) {
        store(row[r], sums[r][0]);
        store(row[r] + lanes, sums[r][1]);
    }
}

// k in equal blocks of at most kBlock; visit(begin, end).
template<class Visit>
INLINE void forEachKBlock(int k, const Visit& visit) {
    const int blocks = most(1, (k + kBlock - 1) / kBlock);
    for (int i = 0, begin = 0; i < blocks; ++i) {
        const int end = begin + (k - begin) / (blocks - i);
        visit(begin, end);
        begin = end;
    }
}

static void packPanel(const float* w, std::ptrdiff_t stride, int k, int n, int p, float* panel) {
    const float* from = w + p * panelWidth;
    const int cols = least(panelWidth, n - p * panelWidth);
    for (int i = 0; i < k; ++i, from += stride, panel += panelWidth) {
        if (cols == panelWidth) {
            UNROLL
            for (int c = 0; c < panelWidth; c += lanes)
                store(panel + c, load(from + c));
            continue;
        }
        for (int c = 0; c < panelWidth; ++c)
            panel[c] = c < cols ? from[c] : 0.0F;
    }
}

static void packTransposed(const float* w, std::ptrdiff_t stride, int k, int n, int p, float* panel) {
    const float* from = w + p * panelWidth * stride;
    const int cols = least(panelWidth, n - p * panelWidth);
    int done = 0; // of k
#if !defined(__clang__)
    for (; cols == panelWidth && done + lanes <= k; done += lanes)
        for (int c = 0; c < panelWidth; c += lanes) {
            Vec rows[lanes];
            UNROLL
            for (int i = 0; i < lanes; ++i)
                rows[i] = load(from + (c + i) * stride + done);
            transpose(rows);
            UNROLL
            for (int i = 0; i < lanes; ++i)
                store(panel + (done + i) * panelWidth + c, rows[i]);
        }
#endif
    constexpr int step = 16; // one line of the cache per row of w
    for (int begin = done; begin < k; begin += step) {
        const int end = least(k, begin + step);
        for (int c = 0; c < cols; ++c)
            for (int i = begin; i < end; ++i)
                panel[i * panelWidth + c] = from[c * stride + i];
        for (int i = begin; i < end; ++i)
            for (int c = cols; c < panelWidth; ++c)
                panel[i * panelWidth + c] = 0.0F;
    }
}

static void linearPanel(const float* x, std::ptrdiff_t xStride, int rows, int k, const float* panel, const float* bias,
                        float* out, std::ptrdiff_t outStride, int cols) {
    // Summed here and written once: rows of `out` are often a power of two apart and meet in the same lines of the
    // cache.
    alignas(64) float sums[rowsPerLinear * panelWidth];
    alignas(64) float b[panelWidth] = {};
    for (int c = 0; bias && c < cols; ++c)
        b[c] = bias[c];
    const Tiles tiles = tilesOf(rows);
    forEachKBlock(k, [&](int begin, int end) {
        product(tiles, x + begin, xStride, panel + begin * panelWidth, panelWidth, end - begin,
                [&]<int Rows>(int row, int c, Vec(&tile)[Rows][2]) {
                    float* place = sums + row * panelWidth + c;
                    if (begin > 0)
                        addRows(place, panelWidth, tile);
                    else
                        addRows(b + c, 0, tile);
                    storeRows(place, panelWidth, tile);
                });
    });
    for (int r = 0; r < rows; ++r) {
        const float* from = sums + r * panelWidth;
        float* to = out + r * outStride;
        if (cols == panelWidth) {
            UNROLL
            for (int c = 0; c < panelWidth; c += lanes)
                store(to + c, load(from + c));
            continue;
        }
        for (int c = 0; c < cols; ++c)
            to[c] = from[c];
    }
}

// 2 * lanes rows (beyond `rows`, the last one again) times one column. A vector holds one k of many rows, so that every
// row is summed in linearPanel's order: x is turned in registers.
static void columnTile(const float* x, std::ptrdiff_t xStride, int rows, int k, const float* column, float bias,
                       float* out) {
    constexpr int groups = 2; // their chains of additions run side by side
    const float* from[groups * lanes];
    for (int r = 0; r < groups * lanes; ++r)
        from[r] = x + least(r, rows - 1) * xStride;
    Vec totals[groups] = {all(bias), all(bias)};
    forEachKBlock(k, [&](int begin, int end) {
        Vec sums[groups] = {};
        int i = begin;
#if !defined(__clang__)
        for (; i + lanes <= end; i += lanes)
            for (int g = 0; g < groups; ++g) {
                Vec turned[lanes];
                UNROLL
                for (int l = 0; l < lanes; ++l)
                    turned[l] = load(from[g * lanes + l] + i);
                transpose(turned);
                UNROLL
                for (int l = 0; l < lanes; ++l)
                    sums[g] += turned[l] * all(column[i + l]);
            }
#endif
        for (; i < end; ++i)
            for (int g = 0; g < groups; ++g) {
                Vec values;
                for (int l = 0; l < lanes; ++l)
                    values[l] = from[g * lanes + l][i];
                sums[g] += values * all(column[i]);
            }
        for (int g = 0; g < groups; ++g)
            totals[g] = sums[g] + totals[g];
    });
    for (int g = 0; g < groups; ++g)
        storeSome(out + g * lanes, totals[g], least(lanes, rows - g * lanes));
}

static void linearColumn(const float* x, std::ptrdiff_t xStride, int rows, int k, const float* column, float bias,
                         float* out) {
    for (int row = 0; row < rows; row += 2 * lanes)
        columnTile(x + row * xStride, xStride, least(2 * lanes, rows - row), k, column, bias, out + row);
}

// to[begin, end) = value. With `stream`, here and below, past the cache: places are multiples of lanes.
INLINE void fillPart(float* to, int begin, int end, Vec value, bool stream) {
    int j = begin;
    if (stream)
        for (; j + lanes <= end; j += lanes)
            storePastCache(to + j, value);
    for (; j + lanes <= end; j += lanes)
        store(to + j, value);
    if (j < end)
        storeSome(to + j, value, end - j);
}
// to[begin, end) = from * factor.
INLINE void writePart(float* to, const float* from, int begin, int end, Vec factor, bool stream) {
    int j = begin;
    if (stream)
        for (; j + lanes <= end; j += lanes)
            storePastCache(to + j, load(from + j) * factor);
    for (; j + lanes <= end; j += lanes)
        store(to + j, load(from + j) * factor);
    if (j < end)
        storeSome(to + j, load(from + j) * factor, end - j);
}
// Two vectors of each of some rows: change(r, vector) of what is in `from`.
template<class Change>
INLINE void writePairs(float* to, std::ptrdiff_t toStride, const float* from, std::ptrdiff_t fromStride, int rows,
                       bool stream, const Change& change) {
    for (int r = 0; r < rows; ++r, to += toStride, from += fromStride) {
        const Vec left = change(r, load(from)), right = change(r, load(from + lanes));
        if (stream) {
            storePastCache(to, left);
            storePastCache(to + lanes, right);
        } else {
            store(to, left);
            store(to + lanes, right);
        }
    }
}
// A row of a result: `count` values of `from` inside [begin, end), `outside` elsewhere. begin and end are multiples of
// lanes, but the last vector may reach over count.
INLINE void writeRow(float* to, int count, const float* from, int begin, int end, Vec factor, float outside,
                     bool stream) {
    fillPart(to, 0, least(begin, count), all(outside), stream);
    writePart(to, from, begin, least(end, count), factor, stream);
    fillPart(to, end, count, all(outside), stream);
}

INLINE void addToRow(float* row, const float* values, int begin, int end) {
    int j = begin;
    for (; j + lanes <= end; j += lanes)
        store(row + j, load(row + j) + load(values + j));
    for (; j < end; ++j)
        row[j] += values[j];
}

struct Range {
    int begin, end;
};
// The keys that take part in the softmax of row r, as far as they are in [low, high).
INLINE Range openRange(const AttendRows& p, int r, int low, int high) {
    if (p.maskAfterSoftmax)
        return {low, least(high, p.m)};
    const int begin = least(most(low, p.open[r].begin), high);
    return {begin, most(begin, least(high, p.open[r].end))};
}
INLINE bool isClosed(const AttendRows& p, int r, int j) {
    return j < p.open[r].begin || j >= p.open[r].end ||
           (p.additive && p.additive[r * p.additiveStride + j] == minusInfinity);
}

// Whether Q K^T times the scale is what the mask is added to: then it is scaled, and written, where it is computed.
INLINE bool isScaledAtOnce(const AttendRows& p) {
    return !p.scores && p.editCount == 0 && p.alibiSlope == 0.0F && !p.relativeBias;
}

// Q K^T of the block into its tile, for the keys of [low, high). Where it is scaled at once, p.scaled gets it too, each
// panel while the next is multiplied.
INLINE void scoreRows(const AttendRows& p, const Tiles& tiles, int low, int high) {
    const bool atOnce = isScaledAtOnce(p);
    float *const values = p.tile, *const scaled = p.scaled; // in registers: for all the compiler knows, a store may be
    const std::ptrdiff_t stride = p.tileStride, scaledStride = p.scaledStride; // to p
    forEachKBlock(p.dK, [&](int begin, int end) {
        const bool isLast = end == p.dK, writes = isLast && atOnce && p.scaled;
        for (int j = low; j < high; j += panelWidth) {
            const float* panel = p.keys + (static_cast<std::ptrdiff_t>(j) * p.dK + begin * panelWidth);
            const int cols = least(panelWidth, p.m - j); // prepareRow closes what is left out
            const auto put = [&]<int Rows>(int row, int c, Vec(&tile)[Rows][2]) {
                float* to = values + (row * stride + j + c);
                if (begin > 0)
                    addRows(to, stride, tile);
                if (isLast && atOnce)
                    scaleRows(all(p.scale), tile);
                storeRows(to, stride, tile);
            };
            const auto writeLastPanel = [=, &p](int row, int rows, int c) {
                writePairs(scaled + (row * scaledStride + j - panelWidth + c), scaledStride,
                           values + (row * stride + j - panelWidth + c), stride, rows, p.stream,
                           [](int, Vec v) { return v; });
            };
            if (writes && j > low)
                product(tiles, p.q + begin, p.qStride, panel, cols, end - begin, put, writeLastPanel);
            else
                product(tiles, p.q + begin, p.qStride, panel, cols, end - begin, put);
        }
    });
    if (!atOnce || !p.scaled)
        return;
    for (int r = 0; r < p.rows; ++r) // low is 0
        writePart(p.scaled + r * p.scaledStride, p.tile + r * p.tileStride, most(0, high - panelWidth), p.m, all(1.0F),
                  p.stream);
}

// Edits, scale, positions: what makes the scaled scores of row r of its products, in columns [low, high) of `row`.
INLINE void scaleRow(const AttendRows& p, int r, float* row, int low, int high) {
    const int i = p.firstRow + r;
    for (int e = 0; e < p.editCount; ++e)
        if (p.edits[e].row == i && p.edits[e].col >= low && p.edits[e].col < high)
            row[p.edits[e].col] = p.edits[e].value;
    if (p.scores)
        writePart(p.scores + r * p.scoresStride, row, 0, p.m, all(1.0F), false);
    for (int j = low; j < high; j += lanes)
        store(row + j, load(row + j) * p.scale);
    if (p.alibiSlope != 0.0F) {
        Vec place;
        for (int l = 0; l < lanes; ++l)
            place[l] = static_cast<float>(low + l - i);
        for (int j = low; j < high; j += lanes, place += all(lanes))
            store(row + j, load(row + j) - magnitude(place) * p.alibiSlope);
    }
    if (p.relativeBias)
        addToRow(row, p.relativeBias + (p.n - 1 - i), low, least(high, p.m));
}

// What happens to the scores of row r before the softmax. row holds [low, high), a range of whole panels; afterwards
// closed cells are -inf.
INLINE void prepareRow(const AttendRows& p, int r, float* row, int low, int high) {
    if (!isScaledAtOnce(p)) {
        scaleRow(p, r, row, low, high);
        if (p.scaled)
            writePart(p.scaled + r * p.scaledStride, row, 0, p.m, all(1.0F), p.stream);
    }
    const Range open = openRange(p, r, low, high);
    if (p.maskAfterSoftmax) {
        for (int j = open.end; j < high; ++j) // no keys
            row[j] = minusInfinity;
        if (!p.masked)
            return;
        float* masked = p.masked + r * p.maskedStride;
        for (int j = 0; j < p.m; ++j)
            masked[j] =
                isClosed(p, r, j) ? minusInfinity : row[j] + (p.additive ? p.additive[r * p.additiveStride + j] : 0.0F);
        for (int j = 0; p.softcap > 0.0F && j < p.m; ++j)
            if (masked[j] != minusInfinity)
                masked[j] = hyperbolicTangent(all(masked[j] * (1.0F / p.softcap)))[0] * p.softcap;
        return;
    }
    if (p.additive)
        addToRow(row, p.additive + r * p.additiveStride, open.begin, open.end);
    if (p.softcap > 0.0F)
        for (int j = open.begin / lanes * lanes; j < open.end; j += lanes) {
            const Vec s = load(row + j);
            const Vec capped = hyperbolicTangent(s * (1.0F / p.softcap)) * p.softcap;
            store(row + j, choose(s == minusInfinity, s, capped));
        }
    for (int j = low; j < open.begin; ++j)
        row[j] = minusInfinity;
    for (int j = open.end; j < high; ++j)
        row[j] = minusInfinity;
    if (p.masked)
        writeRow(p.masked + r * p.maskedStride, p.m, row, low, high, all(1.0F), minusInfinity, false);
}

// Of [from, to), whole pairs of vectors. Four chains: each waits for its last step while the others have theirs.
INLINE float largestOfRow(const float* row, int from, int to) {
    Vec top[4] = {all(minusInfinity), all(minusInfinity), all(minusInfinity), all(minusInfinity)};
    int j = from;
    for (; j + 4 * lanes <= to; j += 4 * lanes) {
        UNROLL
        for (int i = 0; i < 4; ++i)
            top[i] = larger(top[i], load(row + j + i * lanes));
    }
    for (; j < to; j += 2 * lanes) {
        top[0] = larger(top[0], load(row + j));
        top[1] = larger(top[1], load(row + j + lanes));
    }
    return largestOf(larger(larger(top[0], top[1]), larger(top[2], top[3])));
}

// The softmax of a row, in steps: a step of all rows at once keeps none waiting for another.
struct RowSoftmax {
    Range open; // the keys that take part
    int from,
        to; // whole steps of two vectors around them, counted from 0: what else the block computes does not matter
    float largest; // score
    bool isCareful;
    Vec sum; // of the exponentials
};

// Zeros outside the open cells and the largest of these.
INLINE void beginSoftmax(const AttendRows& p, int r, float* row, int low, int high, RowSoftmax& s) {
    s.open = openRange(p, r, low, high);
    const auto [begin, end] = s.open;
    s.from = begin / tileColumns * tileColumns;
    s.to = begin == end ? s.from : least(high, (end + tileColumns - 1) / tileColumns * tileColumns);
    for (int j = low; j < s.from; j += lanes)
        store(row + j, Vec{});
    for (int j = s.to; j < high; j += lanes)
        store(row + j, Vec{});
    s.largest = largestOfRow(row, s.from, s.to);
    s.isCareful = begin < end && (!(magnitude(all(s.largest))[0] < __builtin_inff()) ||
                                  !(p.temperature > 0 && p.temperature < __builtin_inf()));
}

// exp(row - largest), unnormalised, in place.
INLINE void exponentials(const AttendRows& p, int r, float* row, RowSoftmax& s) {
    if (s.isCareful) {
        for (int j = s.from; j < s.open.begin; ++j)
            row[j] = 0.0F;
        for (int j = s.open.end; j < s.to; ++j)
            row[j] = 0.0F;
        const bool addsClose = p.additive && !p.maskAfterSoftmax;
        p.carefulSoftmax(row, s.open.begin, s.open.end, addsClose ? p.additive + r * p.additiveStride : nullptr,
                         p.temperature);
        return;
    }
    const double perUnit = static_cast<double>(log2e) / p.temperature;
    const Vec factor = all(perUnit < 1e38 ? static_cast<float>(perUnit) : 1e38F), shift = all(s.largest);
    Vec sum{}, sum2{};
    const auto some = [&]<int Count>(int j, Vec(&t)[Count]) {
        UNROLL
        for (int i = 0; i < Count; ++i)
            t[i] = (load(row + j + i * lanes) - shift) * factor;
        powersOfTwo(t);
        UNROLL
        for (int i = 0; i < Count; i += 2) {
            store(row + j + i * lanes, t[i]);
            store(row + j + (i + 1) * lanes, t[i + 1]);
            sum += t[i];
            sum2 += t[i + 1];
        }
    };
    int j = s.from;
    for (Vec t[4]; j + 2 * tileColumns <= s.to; j += 2 * tileColumns)
        some(j, t);
    for (Vec t[2]; j < s.to; j += tileColumns)
        some(j, t);
    s.sum = sum + sum2;
}

// What the exponentials have to be multiplied by.
INLINE float inverseSum(const RowSoftmax& s) {
    if (s.open.begin == s.open.end)
        return 0.0F;
    return s.isCareful ? 1.0F : 1.0F / sumOf(s.sum);
}

// A V of the block: the tile holds exp of the scores in [low, high), `inverse` what makes weights of a row of them. The
// weights are written while they are multiplied, in each pass over the values an equal part.
INLINE void weighValues(const AttendRows& p, const Tiles& tiles, int low, int high, const float* inverse) {
    const int passes = (p.dV + tileColumns - 1) / tileColumns;
    for (int pass = 0; pass < passes; ++pass) {
        const int c = pass * tileColumns;
        alignas(64) float sums[rowsPerTile * tileColumns];
        for (int i = 0; i < rowsPerTile * tileColumns; i += lanes)
            store(sums + i, Vec{});
        const float* panel =
            p.values + (static_cast<std::ptrdiff_t>(c / panelWidth) * p.m * panelWidth + c % panelWidth);
        // Blocks of keys counted from 0: what else the block computes does not matter for the sum.
        for (int j = low / kBlock * kBlock; j < high; j += kBlock) {
            const int begin = most(j, low), end = least(j + kBlock, high);
            const float* b = panel + static_cast<std::ptrdiff_t>(begin) * panelWidth;
            const auto put = [&]<int Rows>(int row, int, Vec(&tile)[Rows][2]) {
                addRows(sums + row * tileColumns, tileColumns, tile);
                storeRows(sums + row * tileColumns, tileColumns, tile);
            };
            const int pairs = (end - begin + 2 * lanes - 1) / (2 * lanes),
                      step = (pairs + passes - 1) / passes * 2 * lanes;
            const int from = least(begin + pass * step, end), to = least(from + step, end);
            const auto writeWeights = [=, &p](int row, int rows, int) {
                for (int k = from; k < to; k += 2 * lanes)
                    writePairs(p.weights + (row * p.weightsStride + k), p.weightsStride,
                               p.tile + (row * p.tileStride + k), p.tileStride, rows, p.stream,
                               [=](int r, Vec v) { return v * all(inverse[row + r]); });
            };
            if (p.weights && (to - from) % (2 * lanes) == 0) {
                product(tiles, p.tile + begin, p.tileStride, b, tileColumns, end - begin, put, writeWeights);
                continue;
            }
            product(tiles, p.tile + begin, p.tileStride, b, tileColumns, end - begin, put);
            for (int r = 0; p.weights && r < p.rows; ++r)
                writePart(p.weights + r * p.weightsStride, p.tile + r * p.tileStride, from, to, all(inverse[r]),
                          p.stream);
        }
        for (int r = 0; r < p.rows; ++r) {
            const float* from = sums + r * tileColumns;
            float* to = p.output + r * p.outputStride + c;
            const Vec factor = all(inverse[r]), left = load(from) * factor, right = load(from + lanes) * factor;
            if (c + tileColumns <= p.dV) {
                store(to, left);
                store(to + lanes, right);
            } else {
                storeSome(to, left, least(p.dV - c, lanes));
                storeSome(to + lanes, right, p.dV - c - lanes);
            }
        }
    }
}

static void attendRows(const AttendRows& p) {
    // The keys that any of these rows may see, in whole panels: closed panels cost nothing.
    int low = p.m, high = 0;
    for (int r = 0; r < p.rows; ++r)
        if (p.open[r].begin < p.open[r].end) {
            low = least(low, p.open[r].begin);
            high = most(high, p.open[r].end);
        }
    if (p.scores || p.scaled || p.maskAfterSoftmax) { // of every cell
        low = 0;
        high = p.m;
    }
    if (low >= high)
        low = high = 0;
    low = low / panelWidth * panelWidth;
    high = (high + panelWidth - 1) / panelWidth * panelWidth;

    const Tiles tiles = tilesOf(p.rows);
    scoreRows(p, tiles, low, high);

    const bool needsSoftmax = p.weights || p.output;
    RowSoftmax softmax[rowsPerTile];
    float inverse[rowsPerTile];
    const auto row = [&](int r) { return p.tile + r * p.tileStride; };
    for (int r = 0; r < p.rows; ++r) {
        prepareRow(p, r, row(r), low, high);
        if (needsSoftmax)
            beginSoftmax(p, r, row(r), low, high, softmax[r]);
    }
    for (int r = 0; needsSoftmax && r < p.rows; ++r)
        exponentials(p, r, row(r), softmax[r]);
    for (int r = 0; needsSoftmax && r < p.rows; ++r) {
        inverse[r] = inverseSum(softmax[r]);
        for (int j = 0; p.maskAfterSoftmax && j < p.m; ++j)
            row(r)[j] = isClosed(p, r, j) ? 0.0F : row(r)[j];
        if (p.weights) {
            float* weights = p.weights + r * p.weightsStride;
            fillPart(weights, 0, least(low, p.m), Vec{}, p.stream);
            fillPart(weights, high, p.m, Vec{}, p.stream);
            if (!p.output)
                writePart(weights, row(r), low, least(high, p.m), all(inverse[r]), p.stream);
        }
    }
    if (p.output)
        weighValues(p, tiles, low, least(high, p.m), inverse);
    if (p.stream)
        endOfStream();
}

// x Phi(x) = x/2 (1 + erf(x/sqrt 2)). erf: a polynomial below 1, 1 - exp(a polynomial) above; both own least-squares
// fits at Chebyshev points, off by less than 2e-9 before rounding.
INLINE Vec gelu(Vec x) {
    const Vec z = x * 0.707106781F, size = larger(magnitude(z), all(0.0F)), s = z * z;
    const Vec near =
        z * (1.12837916F +
             s * (-3.76126060e-1F +
                  s * (1.12834301e-1F +
                       s * (-2.68485914e-2F + s * (5.17974962e-3F + s * (-7.94235694e-4F + s * 7.64711983e-5F))))));
    const Vec t = choose(size < 4.0F, size, all(4.0F)); // erf is 1 - 1.5e-8 there
    const Vec power =
        -3.53719640e-4F +
        t * (-1.12704004F +
             t * (-6.38225678e-1F +
                  t * (-1.03037368e-1F + t * (2.18053172e-2F + t * (-2.93960719e-3F + t * 1.85573998e-4F)))));
    const Vec far = withSignOf(1.0F - exponential(power), z);
    return 0.5F * x * (1.0F + choose(size < 1.0F, near, far));
}
// x / (1 + exp(-k x)): with k = 1 the SiLU.
INLINE Vec timesLogistic(Vec x, Vec k) {
    const Vec power = -(x * k);
    return x / (1.0F + exponential(choose(power < 87.0F, power, all(87.0F))));
}
INLINE Vec pointwise(Pointwise function, Vec x) {
    switch (function) {
    case Pointwise::Gelu:
        return gelu(x);
    case Pointwise::GeluTanh: // (1 + tanh u) / 2 = 1 / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3)
        return timesLogistic(x, 1.59576912F * (1.0F + 0.044715F * x * x));
    case Pointwise::Relu:
        return larger(x, Vec{});
    case Pointwise::Silu:
        return timesLogistic(x, all(1.0F));
    }
    return x;
}
static void apply(Pointwise function, float* values, std::size_t count) {
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes)
        store(values + i, pointwise(function, load(values + i)));
    const int rest = static_cast<int>(count - i);
    storeSome(values + i, pointwise(function, loadSome(values + i, rest)), rest);
}

typedef double VecDouble __attribute__((vector_size(lanes * 8)));

static void rowSums(const float* row, int m, int i, int begin, int end, const float* additive, float even,
                    RowSums* out) {
    constexpr int atOnce = 512; // sums in float over so many, then in double
    *out = {};
    VecDouble sum{};
    Vec top = all(minusInfinity);
    Vec places;
    for (int l = 0; l < lanes; ++l)
        places[l] = static_cast<float>(l);
    for (int first = 0; first < m; first += atOnce) {
        Vec entropy{}, distance{}, apart{};
        for (int j = first; j < least(m, first + atOnce); j += lanes) {
            const int count = least(lanes, m - j);
            const Vec w = count == lanes ? load(row + j) : loadSome(row + j, count);
            const Vec column = places + static_cast<float>(j);
            sum += __builtin_convertvector(w, VecDouble);
            top = larger(top, count == lanes ? w : choose(column < static_cast<float>(m), w, top));
            entropy -= choose(w > 1.2e-38F, w * binaryLogarithm(w), Vec{});
            distance += w * magnitude(column - static_cast<float>(i));
            VecInt open = (column >= static_cast<float>(begin)) & (column < static_cast<float>(end));
            if (additive)
                open &= (count == lanes ? load(additive + j) : loadSome(additive + j, count)) != minusInfinity;
            apart += magnitude(w - choose(open, all(even), Vec{}));
        }
        out->entropy += static_cast<double>(sumOf(entropy));
        out->distance += static_cast<double>(sumOf(distance));
        out->apart += static_cast<double>(sumOf(apart));
    }
    for (int l = 0; l < lanes; ++l)
        out->sum += sum[l];
    out->largest = largestOf(top);
}

static void poolRow(const float* row, int m, float* pooled, int cols) {
    for (int c = 0, j = 0; c < cols; ++c) {
        const int end = static_cast<int>((static_cast<long>(c + 1) * m + cols - 1) / cols);
        Vec top = all(pooled[c]);
        for (; j + lanes <= end; j += lanes)
            top = larger(top, load(row + j));
        float largest = largestOf(top);
        for (; j < end; ++j)
            largest = row[j] > largest ? row[j] : largest;
        pooled[c] = largest;
    }
}

static void extent(const float* row, int m, float* lo, float* hi) {
    constexpr float most = 3.40282347e38F;
    Vec least = all(*lo), largest = all(*hi);
    for (int j = 0; j < m; j += lanes) {
        const Vec v = j + lanes <= m ? load(row + j) : loadSome(row + j, m - j);
        VecInt counts = magnitude(v) <= most; // neither infinite nor NaN
        if (j + lanes > m)
            for (int l = m - j; l < lanes; ++l)
                counts[l] = 0;
        least = choose(counts & (v < least), v, least);
        largest = choose(counts & (v > largest), v, largest);
    }
    *lo = -largestOf(-least);
    *hi = largestOf(largest);
}

static double multiplyAdds(long rounds, float* sink) {
    constexpr int sums = 2 * mostRows; // as many as a register tile: enough to hide how long each takes
    Vec s[sums];
    UNROLL
    for (int i = 0; i < sums; ++i)
        s[i] = all(static_cast<float>(i));
    Vec x = all(0.999F), y = all(sink[0]);
    for (long round = 0; round < rounds; ++round) {
        UNROLL
        for (int i = 0; i < sums; ++i)
            s[i] = s[i] * x + y;
#if defined(__x86_64__)
        asm volatile("" : "+x"(x), "+x"(y)); // not a loop to be simplified
#endif
    }
    Vec total{};
    UNROLL
    for (int i = 0; i < sums; ++i)
        total += s[i];
    sink[0] = sumOf(total);
    return static_cast<double>(rounds) * sums * lanes;
}

extern const Kernels table;
const Kernels table{HEADSCOPE_LEVEL_NAME, packPanel, packTransposed, linearPanel, linearColumn,
                    attendRows,           apply,     rowSums,        poolRow,     extent,
                    multiplyAdds};

} // namespace headscope::HEADSCOPE_LEVEL
