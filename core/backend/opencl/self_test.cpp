#include "core/backend/opencl/self_test.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace headscope::opencl {

namespace {

// Numbers between -1 and 1 that are the same everywhere (a linear congruential generator).
Matrix numbers(int rows, int cols, std::uint32_t seed) {
    Matrix m(rows, cols);
    for (float& v : m.values()) {
        seed = seed * 1664525U + 1013904223U;
        v = static_cast<float>(static_cast<double>(seed) / 2147483648.0 - 1.0);
    }
    return m;
}

double difference(MatrixView a, const Matrix& expected) {
    double largest = 0, apart = 0;
    for (int r = 0; r < a.rows; ++r)
        for (int c = 0; c < a.cols; ++c) {
            const double x = a(r, c), y = expected(r, c);
            if (x == y) {
                largest = std::isinf(y) ? largest : std::max(largest, std::abs(y));
                continue;
            }
            if (!std::isfinite(x) || !std::isfinite(y))
                return INFINITY;
            largest = std::max(largest, std::abs(y));
            apart = std::max(apart, std::abs(x - y));
        }
    return apart == 0 ? 0 : apart / largest;
}

} // namespace

double selfTest(const std::function<void(const SelfTest&)>& compute) {
    constexpr int n = 37, m = 53, dK = 20, dV = 24, inner = 45, outer = 50;
    const Matrix x = numbers(n, inner, 1), bias = numbers(1, outer, 3);
    const SharedMatrix w = share(numbers(inner, outer, 2));
    const Matrix q = numbers(n, dK, 4), k = numbers(m, dK, 5), v = numbers(m, dV, 6),
                 relative = numbers(1, n + m - 1, 7);
    Matrix additive = numbers(n, m, 8);
    for (int i = 0; i < n; ++i)
        additive(i, (7 * i) % m) = KeyMask::minusInfinity;
    KeyMask mask;
    mask.additive = share(std::move(additive));
    for (int i = 0; i < n; ++i)
        mask.open.push_back({i % 5, i == 11 ? i % 5 : std::min(m, i + 9)}); // row 11 is fully masked
    HeadProblem p;
    p.q = q;
    p.k = k;
    p.v = v;
    p.scale = 0.7F;
    p.alibiSlope = 0.125F;
    p.relativeBias = relative.values();
    p.mask = &mask;
    p.softcap = 3.0F;
    p.temperature = 0.8;

    Matrix product(n, outer);
    HeadRows out{Matrix(n, m), Matrix(n, m), Matrix(n, m), Matrix(n, m), Matrix(n, dV)};
    compute({x, w, bias, &product, p, {out.scores, out.scaled, out.masked, out.weights, out.output}});

    const HeadRows right = referenceBackend().attend(p, 0, n, {true, true, true, true, true});
    return std::max({difference(product, referenceBackend().linear(x, w, &bias)), difference(out.scores, right.scores),
                     difference(out.scaled, right.scaled), difference(out.masked, right.masked),
                     difference(out.weights, right.weights), difference(out.output, right.output)});
}

} // namespace headscope::opencl
