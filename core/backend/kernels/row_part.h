// What is done with values and rows one by one: activations, sums, pooling, extents; and the machine's limit. Included
// by kernels_impl.h alone.

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
