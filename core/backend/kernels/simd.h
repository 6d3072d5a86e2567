// Vectors as g++ and clang know them, in the width of the level this file is compiled for. Included by kernels_impl.h
// alone. Nothing from the standard library: an inline function of it, compiled here for a large machine, could be the
// copy that the linker keeps for everybody.
#define INLINE_MEMBER inline __attribute__((always_inline))
#define INLINE static INLINE_MEMBER
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

#if defined(__AVX512F__)
constexpr int lanes = 16, mostRows = 12; // 24 sums, 2 columns and a broadcast in 32 registers
#elif defined(__AVX__)
constexpr int lanes = 8, mostRows = 6; // 12 + 2 + 1 in 16
#else
constexpr int lanes = 4, mostRows = 6;
#endif

typedef float Vec __attribute__((vector_size(lanes * 4), may_alias));
typedef float VecAnywhere __attribute__((vector_size(lanes * 4), aligned(4), may_alias));
typedef int VecInt __attribute__((vector_size(lanes * 4), may_alias));

INLINE Vec load(const float* p) {
    return *reinterpret_cast<const VecAnywhere*>(p);
}
INLINE void store(float* p, Vec v) {
    *reinterpret_cast<VecAnywhere*>(p) = v;
}
INLINE Vec all(float x) {
    return x - Vec{};
}
INLINE VecInt bits(Vec v) {
    return reinterpret_cast<VecInt&>(v);
}
INLINE Vec fromBits(VecInt v) {
    return reinterpret_cast<Vec&>(v);
}
// a where the mask is all ones, else b.
INLINE Vec choose(VecInt mask, Vec a, Vec b) {
    return fromBits((mask & bits(a)) | (~mask & bits(b)));
}
INLINE Vec magnitude(Vec v) {
    return fromBits(bits(v) & 0x7fffffff);
}
INLINE Vec withSignOf(Vec v, Vec sign) {
    return fromBits(bits(v) | (bits(sign) & static_cast<int>(0x80000000U)));
}
INLINE int least(int a, int b) {
    return a < b ? a : b;
}
INLINE int most(int a, int b) {
    return a > b ? a : b;
}
INLINE Vec larger(Vec a, Vec b) {
#if defined(__AVX512F__)
    return reinterpret_cast<Vec>(_mm512_max_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b)));
#elif defined(__AVX__)
    return reinterpret_cast<Vec>(_mm256_max_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
#elif defined(__SSE__)
    return reinterpret_cast<Vec>(_mm_max_ps(reinterpret_cast<__m128>(a), reinterpret_cast<__m128>(b)));
#else
    return choose(a > b, a, b);
#endif
}
INLINE void storePastCache(float* p, Vec v) {
#if defined(__AVX512F__)
    _mm512_stream_ps(p, reinterpret_cast<__m512>(v));
#elif defined(__AVX__)
    _mm256_stream_ps(p, reinterpret_cast<__m256>(v));
#elif defined(__SSE__)
    _mm_stream_ps(p, reinterpret_cast<__m128>(v));
#else
    store(p, v);
#endif
}
INLINE void endOfStream() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}
// The first `count` lanes only; count may be 0 or less, or more than there are.
#if defined(__AVX512F__)
INLINE __mmask16 firstLanes(int count) {
    return static_cast<__mmask16>(count >= lanes ? 0xffff : (1U << static_cast<unsigned>(most(count, 0))) - 1);
}
INLINE Vec loadSome(const float* p, int count) {
    return reinterpret_cast<Vec>(_mm512_maskz_loadu_ps(firstLanes(count), p));
}
INLINE void storeSome(float* p, Vec v, int count) {
    _mm512_mask_storeu_ps(p, firstLanes(count), reinterpret_cast<__m512>(v));
}
#elif defined(__AVX__)
INLINE __m256i firstLanes(int count) {
    const VecInt place = {0, 1, 2, 3, 4, 5, 6, 7};
    return reinterpret_cast<__m256i>(place < count);
}
INLINE Vec loadSome(const float* p, int count) {
    return reinterpret_cast<Vec>(_mm256_maskload_ps(p, firstLanes(count)));
}
INLINE void storeSome(float* p, Vec v, int count) {
    _mm256_maskstore_ps(p, firstLanes(count), reinterpret_cast<__m256>(v));
}
#else
INLINE Vec loadSome(const float* p, int count) {
    Vec v{};
    for (int i = 0; i < least(count, lanes); ++i)
        v[i] = p[i];
    return v;
}
INLINE void storeSome(float* p, Vec v, int count) {
    for (int i = 0; i < least(count, lanes); ++i)
        p[i] = v[i];
}
#endif
// Over all lanes, by halves: lane l with lane l + half.
#if defined(__clang__) // which has no shuffle by a vector of places
INLINE Vec rotated(Vec v, int by) {
    Vec out;
    for (int l = 0; l < lanes; ++l)
        out[l] = v[(l + by) % lanes];
    return out;
}
#else
INLINE Vec rotated(Vec v, int by) {
    VecInt from;
    for (int l = 0; l < lanes; ++l)
        from[l] = (l + by) % lanes;
    return __builtin_shuffle(v, from);
}
#endif
template<int Half = lanes / 2>
INLINE float largestOf(Vec v) {
    v = larger(v, rotated(v, Half));
    if constexpr (Half > 1)
        return largestOf<Half / 2>(v);
    else
        return v[0];
}
template<int Half = lanes / 2>
INLINE float sumOf(Vec v) {
    v += rotated(v, Half);
    if constexpr (Half > 1)
        return sumOf<Half / 2>(v);
    else
        return v[0];
}

// 2^t to about 1 ulp, and 0 where that is less than the smallest normal number (what is below costs an Intel processor
// a hundred cycles each). t is at most 126. A polynomial on the fraction (own least-squares fit at Chebyshev points,
// off by 2e-9), times the power of two of the rest. Several vectors at once, step by step: each waits for its last step
// while the others have theirs.
template<int Count>
INLINE void powersOfTwo(Vec (&t)[Count]) {
    Vec p[Count];
#if defined(__AVX512F__)
    __m512 whole[Count];
    __mmask16 isNormal[Count]; // not so: NaN, as -inf times 0 is
    UNROLL
    for (int i = 0; i < Count; ++i) {
        isNormal[i] = _mm512_cmp_ps_mask(reinterpret_cast<__m512>(t[i]), _mm512_set1_ps(-126.0F), _CMP_GE_OQ);
        whole[i] = _mm512_roundscale_ps(reinterpret_cast<__m512>(t[i]), 0);
        t[i] -= reinterpret_cast<Vec>(whole[i]); // -0.5 .. 0.5
    }
#else
    Vec whole[Count]; // in the low bits: adding 1.5 * 2^23 rounds to the nearest integer
    UNROLL
    for (int i = 0; i < Count; ++i) {
        t[i] = larger(t[i], all(-127.0F)); // which becomes 0 below
        whole[i] = t[i] + 12582912.0F;
        t[i] -= whole[i] - 12582912.0F;
    }
#endif
    constexpr float polynomial[] = {
        1.53533617e-04F, 1.33988739e-03F, 9.61843785e-03F, 5.55033236e-02F, 2.40226477e-01F, 6.93147182e-01F, 1.0F};
    UNROLL
    for (int i = 0; i < Count; ++i)
        p[i] = all(polynomial[0]);
    UNROLL
    for (int term = 1; term < 7; ++term) {
        UNROLL
        for (int i = 0; i < Count; ++i)
            p[i] = p[i] * t[i] + polynomial[term];
    }
    UNROLL
    for (int i = 0; i < Count; ++i) {
#if defined(__AVX512F__)
        t[i] = reinterpret_cast<Vec>(_mm512_maskz_scalef_ps(isNormal[i], reinterpret_cast<__m512>(p[i]), whole[i]));
#else
        t[i] = fromBits(bits(p[i]) + (bits(whole[i]) << 23)); // added to the exponent
#endif
    }
}
constexpr float log2e = 1.44269504F;
INLINE Vec exponential(Vec x) { // x at most 87
    Vec t[1] = {x * log2e};
    powersOfTwo(t);
    return t[0];
}
INLINE Vec hyperbolicTangent(Vec x) {
    const Vec size = magnitude(x);
    const Vec e = exponential(size * -2.0F);
    const Vec s = x * x;
    // x - x^3/3 + 2x^5/15 - 17x^7/315 + 62x^9/2835 where 1 - e would cancel.
    const Vec series = x * (1.0F + s * (-1.0F / 3 + s * (2.0F / 15 + s * (-17.0F / 315 + s * (62.0F / 2835)))));
    return choose(size < 0.25F, series, withSignOf((1.0F - e) / (1.0F + e), x));
}

// log2 of a normal number: its exponent, and a polynomial on the mantissa between sqrt(1/2) and sqrt(2) (own fit, off
// by 7e-9).
INLINE Vec binaryLogarithm(Vec x) {
    const VecInt exponent = (bits(x) - 0x3f3504f3) >> 23;
    const Vec f = fromBits(bits(x) - (exponent << 23)) - 1.0F;
    Vec p = all(1.25412449e-01F);
    p = p * f - 2.10303351e-01F;
    p = p * f + 2.17379376e-01F;
    p = p * f - 2.38519430e-01F;
    p = p * f + 2.87656665e-01F;
    p = p * f - 3.60721201e-01F;
    p = p * f + 4.80922520e-01F;
    p = p * f - 7.21347153e-01F;
    p = p * f + 1.44269490F;
    return p * f + __builtin_convertvector(exponent, Vec);
}

// Rows become columns, in registers: blocks off the diagonal change places, half by half.
#if !defined(__clang__) // which has no shuffle by a vector of places
INLINE VecInt places(int half, bool upper) {
    VecInt p;
    for (int l = 0; l < lanes; ++l)
        p[l] = (l & half) ? lanes + l - (upper ? 0 : half) : l + (upper ? half : 0);
    return p;
}
template<int Half>
INLINE void swapBlocks(Vec (&rows)[lanes]) {
    const VecInt lower = places(Half, false), upper = places(Half, true);
    UNROLL
    for (int i = 0; i < lanes; ++i)
        if (!(i & Half)) {
            const Vec a = rows[i], b = rows[i + Half];
            rows[i] = __builtin_shuffle(a, b, lower);
            rows[i + Half] = __builtin_shuffle(a, b, upper);
        }
    if constexpr (Half > 1)
        swapBlocks<Half / 2>(rows);
}
INLINE void transpose(Vec (&rows)[lanes]) {
    swapBlocks<lanes / 2>(rows);
}
#endif
