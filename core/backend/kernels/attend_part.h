// One block of rows of one head, from Q to O: attendRows and its steps. Included by kernels_impl.h alone.

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
// Rows that are written a little at a time, one after the other: with one line of each row in turn a long text takes an
// eighth longer on an AMD Zen 3.
struct RowWriter {
    static constexpr int step = 2 * lanes;
    float* to = nullptr;
    std::ptrdiff_t toStride = 0;
    const float* from = nullptr;
    std::ptrdiff_t fromStride = 0;
    const float* factor = nullptr; // one for each row; or none
    bool stream = false;
    int begin = 0, end = 0; // columns: whole steps
    int row = 0, rows = 0, at = 0;

    // Rows [0, count) of columns [first, last) come next.
    INLINE_MEMBER void start(int count, int first, int last) {
        row = 0;
        rows = first < last ? count : 0;
        begin = at = first;
        end = last;
    }
    INLINE_MEMBER void write(int steps) {
        for (; steps > 0 && row < rows; --steps) {
            const float* source = from + row * fromStride + at;
            float* place = to + row * toStride + at;
            Vec left = load(source), right = load(source + lanes);
            if (factor) {
                left *= factor[row];
                right *= factor[row];
            }
            if (stream) {
                storePastCache(place, left);
                storePastCache(place + lanes, right);
            } else {
                store(place, left);
                store(place + lanes, right);
            }
            at += step;
            if (at >= end) {
                at = begin;
                ++row;
            }
        }
    }
    INLINE_MEMBER void finish() { write(rows * ((end - begin) / step)); }
};
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

// Q K^T of the block into its tile, for the keys of [low, high). Where it is scaled at once, p.scaled gets it too, some
// panels at a time: past the cache while the next are multiplied, else at once.
INLINE void scoreRows(const AttendRows& p, const Tiles& tiles, int low, int high) {
    const bool atOnce = isScaledAtOnce(p), writes = atOnce && p.scaled; // then low is 0
    float* const values = p.tile; // in registers: for all the compiler knows, a store may be to p
    const std::ptrdiff_t stride = p.tileStride;
    RowWriter writer{p.scaled, p.scaledStride, values, stride, nullptr, p.stream};
    const int atATime = most(1, least(8, (high - low) / panelWidth / 4)) * panelWidth;
    for (int first = low; first < high; first += atATime) {
        const int last = least(high, first + atATime);
        forEachKBlock(p.dK, [&](int begin, int end) {
            const bool isLast = end == p.dK;
            for (int j = first; j < last; j += panelWidth) {
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
                if (writes && p.stream && isLast && first > low)
                    product(tiles, p.q + begin, p.qStride, panel, cols, end - begin, put,
                            [&](int rows) { writer.write(rows); });
                else
                    product(tiles, p.q + begin, p.qStride, panel, cols, end - begin, put);
            }
        });
        if (!writes)
            continue;
        writer.finish();
        writer.start(p.rows, first, last <= p.m ? last : p.m / RowWriter::step * RowWriter::step);
        if (!p.stream)
            writer.finish();
    }
    if (!writes)
        return;
    writer.finish();
    for (int r = 0; r < p.rows; ++r)
        writePart(p.scaled + r * p.scaledStride, values + r * stride, p.m / RowWriter::step * RowWriter::step, p.m,
                  all(1.0F), p.stream);
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
    if (!p.masked)
        return;
    float* masked = p.masked + r * p.maskedStride;
    fillPart(masked, 0, least(low, p.m), all(minusInfinity), false);
    writePart(masked, row, low, least(high, p.m), all(1.0F), false);
    fillPart(masked, high, p.m, all(minusInfinity), false);
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
    // Whole steps of two vectors around them, counted from 0: what else the block computes does not matter for the sum.
    int from, to;
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
// weights are written while they are multiplied where they go past the cache, else before.
INLINE void weighValues(const AttendRows& p, const Tiles& tiles, int low, int high, const float* inverse) {
    const int passes = (p.dV + tileColumns - 1) / tileColumns;
    const int blocks = (high + kBlock - 1) / kBlock - low / kBlock;
    const int steps = (high - low) / RowWriter::step;
    const int stepsAtOnce = (steps + passes * blocks - 1) / most(1, passes * blocks);
    const int written = low + steps * RowWriter::step;
    RowWriter writer{p.weights, p.weightsStride, p.tile, p.tileStride, inverse, p.stream};
    writer.start(p.rows, low, written);
    if (p.weights && !p.stream)
        writer.finish();
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
            if (p.weights && p.stream)
                product(tiles, p.tile + begin, p.tileStride, b, tileColumns, end - begin, put,
                        [&](int rows) { writer.write(rows * stepsAtOnce); });
            else
                product(tiles, p.tile + begin, p.tileStride, b, tileColumns, end - begin, put);
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
    if (!p.weights)
        return;
    writer.finish();
    for (int r = 0; r < p.rows; ++r)
        writePart(p.weights + r * p.weightsStride, p.tile + r * p.tileStride, written, high, all(inverse[r]), p.stream);
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
