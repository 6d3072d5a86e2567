// A product in register tiles: the multiply-adds of the whole program. Included by kernels_impl.h alone. Not here: what
// becomes of a tile (linear_part.h, attend_part.h).

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

    INLINE_MEMBER RowPointers(Float* first, std::ptrdiff_t apart) : stride(apart) {
        UNROLL
        for (int g = 0; g < (Rows + 3) / 4; ++g) {
            four[g] = first + g * 4 * stride;
            asm("" : "+r"(four[g])); // not to be put together again
        }
    }
    INLINE_MEMBER Float* operator[](int r) const { return four[r / 4] + r % 4 * stride; }
    INLINE_MEMBER void nextColumn() {
        UNROLL
        for (Float*& p : four)
            ++p;
    }
};

// sums += A (Rows, k) times k rows of a panel. At each of them a line of `ahead` is called for, if anything: what comes
// from the third cache takes longer than the processor can look ahead.
constexpr int line = 16;
template<int Rows, bool CallsAhead>
INLINE void multiplyAdd(const float* a, std::ptrdiff_t stride, const float* b, int k, Vec (&sums)[Rows][2],
                        const float* ahead) {
    RowPointers<Rows, const float> row(a, stride);
    for (int i = 0; i < k; ++i, ahead += line) {
        if constexpr (CallsAhead)
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

// What may happen while a tile is computed: nothing, where the panel is near; its next rows are called for; or that and
// a function.
struct Nothing {};
struct CallAhead {};

// The same, and meanwhile(rows) for every few rows of the tile, evenly spread over the multiplications.
// Stores that wait for their memory hold the lines through which a panel comes into the first cache: a few at a time
// cost nothing, all at once stop the multiplying.
template<int Rows, class Meanwhile>
INLINE void multiplyAdd(const float* a, std::ptrdiff_t stride, const float* b, int k, Vec (&sums)[Rows][2],
                        const float* ahead, const Meanwhile& meanwhile) {
    constexpr int few = 2, parts = (Rows + few - 1) / few;
    for (int part = 0, i = 0; part < parts; ++part) {
        const int end = k * (part + 1) / parts;
        multiplyAdd<Rows, true>(a + i, stride, b + i * panelWidth, end - i, sums, ahead + i * line);
        i = end;
        meanwhile(least(few, Rows - part * few));
    }
}

// Rows of A (Rows, k) times `cols` columns of a panel: those of A stay in the first cache from one to the next.
template<int Rows, class Put, class Meanwhile>
INLINE void tile(int row, const float* a, std::ptrdiff_t stride, const float* b, int cols, int k, const float* ahead,
                 const Put& put, const Meanwhile& meanwhile) {
    for (int c = 0; c < cols; c += tileColumns) {
        Vec sums[Rows][2] = {};
        if constexpr (same<Meanwhile, Nothing> || same<Meanwhile, CallAhead>)
            multiplyAdd<Rows, same<Meanwhile, CallAhead>>(a, stride, b + c, k, sums, ahead);
        else
            multiplyAdd<Rows>(a, stride, b + c, k, sums, ahead, meanwhile);
        put(row, c, sums);
    }
}

// A (rows, k) times k rows of a panel, `cols` columns of it, in register tiles: put(row, column, Vec (&sums)[Rows][2])
// takes what came out of each. meanwhile(rows) is called while a tile is computed, for some of its rows in turn.
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
