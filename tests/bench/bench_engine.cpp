// bench_engine: times the reference backend's two operations, side by side in one run.
// Not a test: no number here decides anything; `--smoke` only shows that it still runs. Medians, because a shared
// machine has slow moments; ratios, because they carry over from one machine to another.
#include "core/backend/backend.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <vector>

using namespace headscope;

namespace {

// Small, even-handed numbers without a random generator: the same on every machine.
Matrix filled(int rows, int cols, unsigned seed) {
    Matrix m(rows, cols);
    unsigned state = seed;
    for (float& value : m.values()) {
        state = state * 1664525U + 1013904223U;
        value = static_cast<float>(state >> 8U) / static_cast<float>(1U << 24U) - 0.5F;
    }
    return m;
}

template<class Work>
double medianMs(int rounds, const Work& work) {
    std::vector<double> times;
    for (int i = 0; i < rounds; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    }
    std::ranges::sort(times);
    return times[times.size() / 2];
}

double gigaflops(double multiplyAdds, double ms) {
    return ms > 0 ? 2 * multiplyAdds / (ms * 1e6) : 0;
}

} // namespace

int main(int argc, char** argv) {
    const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
    const int d = smoke ? 32 : 512;
    const int heads = smoke ? 4 : 8;
    const int rounds = smoke ? 2 : 15;
    const std::vector<int> lengths = smoke ? std::vector{4, 16} : std::vector{16, 64, 256};
    const int dK = d / heads;

    const Backend& backend = referenceBackend();
    std::printf("%s: %s\nd_model %d, %d heads of %d, median of %d rounds\n", backend.name().c_str(),
                backend.description().c_str(), d, heads, dK, rounds);
    std::printf("%6s  %22s  %22s  %15s\n", "n", "linear (X W + b)", "attend (all heads)", "attend / linear");

    const Matrix w = filled(d, d, 1);
    const Matrix bias = filled(1, d, 2);
    float sink = 0; // printed at the end, so that no work is dropped
    for (const int n : lengths) {
        const Matrix x = filled(n, d, 3);
        const Matrix q = filled(n, d, 4);
        const Matrix k = filled(n, d, 5);
        const Matrix v = filled(n, d, 6);
        KeyMask everything;
        everything.open.assign(static_cast<std::size_t>(n), {0, n});

        const double linearMs = medianMs(rounds, [&] { sink += backend.linear(x, w, &bias)(0, 0); });
        const double attendMs = medianMs(rounds, [&] {
            for (int h = 0; h < heads; ++h) {
                HeadProblem problem;
                problem.q = headBand(q, h, dK);
                problem.k = headBand(k, h, dK);
                problem.v = headBand(v, h, dK);
                problem.scale = 0.125F;
                problem.mask = &everything;
                sink += backend.attend(problem, 0, n, {.weights = true, .output = true}).output(0, 0);
            }
        });
        const double linearWork = static_cast<double>(n) * d * d;
        const double attendWork = 2.0 * n * n * d; // Q K^T and A V
        std::printf("%6d  %8.3f ms %5.1f GF/s  %8.3f ms %5.1f GF/s  %15.2f\n", n, linearMs,
                    gigaflops(linearWork, linearMs), attendMs, gigaflops(attendWork, attendMs),
                    linearMs > 0 ? attendMs / linearMs : 0);
    }
    std::printf("check %g\n", static_cast<double>(sink));
    return 0;
}
