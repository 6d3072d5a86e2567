// Packing and linear layers. Included by kernels_impl.h alone.

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
        product(
            tiles, x + begin, xStride, panel + begin * panelWidth, panelWidth, end - begin,
            [&]<int Rows>(int row, int c, Vec(&tile)[Rows][2]) {
                float* place = sums + row * panelWidth + c;
                if (begin > 0)
                    addRows(place, panelWidth, tile);
                else
                    addRows(b + c, 0, tile);
                storeRows(place, panelWidth, tile);
            },
            CallAhead{});
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
