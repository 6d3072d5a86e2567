// How far from exact arithmetic attention may be on inputs of unit scale: 5e-6 for every weight and for every entry of
// the output, on every level of the processor and on OpenCL. What is exact is computed here, in double, from the
// formulas alone.
#include "core/backend/backend.h"
#include "core/backend/kernels/kernels.h"
#include "core/tensor/errors.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

namespace headscope::testing {
namespace {

constexpr double bound = 5e-6;

// X (n, d) through the heads of one layer; keys j <= i where it is causal.
struct Layer {
    int n = 0, d = 0, heads = 0;
    bool causal = false;
    Matrix x = drawn(n, d, 1);
    std::vector<SharedMatrix> w; // W_Q, W_K, W_V, W_O: (d, d)
    std::vector<Matrix> b;       // (1, d)

    Layer(int rows, int width, int headCount, bool isCausal) : n(rows), d(width), heads(headCount), causal(isCausal) {
        const float spread = 1.0F / std::sqrt(static_cast<float>(d)); // a row of X W is of unit scale too
        for (unsigned i = 0; i < 4; ++i) {
            w.push_back(share(drawn(d, d, 2 + i, spread)));
            b.push_back(drawn(1, d, 6 + i, 0.1F));
        }
    }
    int keysOf(int i) const { return causal ? i + 1 : n; }
};

struct Result {
    std::vector<Matrix> weights; // (n, n) per head
    Matrix output;               // (n, d)
};

using Doubles = std::vector<std::vector<double>>;

Doubles exactLinear(const Doubles& x, const Matrix& w, const Matrix& b) {
    Doubles out(x.size(), std::vector<double>(static_cast<std::size_t>(w.cols())));
    for (std::size_t i = 0; i < x.size(); ++i) {
        std::ranges::copy(b.row(0), out[i].begin());
        for (int k = 0; k < w.rows(); ++k) {
            for (int c = 0; c < w.cols(); ++c) {
                out[i][static_cast<std::size_t>(c)] += x[i][static_cast<std::size_t>(k)] * w(k, c);
            }
        }
    }
    return out;
}

struct Exact {
    std::vector<Doubles> weights;
    Doubles output;
};

Exact exactly(const Layer& l) {
    Doubles x;
    for (int i = 0; i < l.n; ++i) {
        x.emplace_back(l.x.row(i).begin(), l.x.row(i).end());
    }
    const Doubles q = exactLinear(x, *l.w[0], l.b[0]), k = exactLinear(x, *l.w[1], l.b[1]),
                  v = exactLinear(x, *l.w[2], l.b[2]);
    Exact e;
    const auto n = static_cast<std::size_t>(l.n), width = static_cast<std::size_t>(l.d / l.heads);
    Doubles concat(n, std::vector<double>(static_cast<std::size_t>(l.d)));
    for (std::size_t first = 0; first < static_cast<std::size_t>(l.d); first += width) {
        Doubles a(n, std::vector<double>(n));
        for (std::size_t i = 0; i < n; ++i) {
            const auto keys = static_cast<std::size_t>(l.keysOf(static_cast<int>(i)));
            double sum = 0;
            for (std::size_t j = 0; j < keys; ++j) {
                double score = 0;
                for (std::size_t c = first; c < first + width; ++c) {
                    score += q[i][c] * k[j][c];
                }
                a[i][j] = std::exp(score / std::sqrt(static_cast<double>(width)));
                sum += a[i][j];
            }
            for (std::size_t j = 0; j < keys; ++j) {
                a[i][j] /= sum;
                for (std::size_t c = first; c < first + width; ++c) {
                    concat[i][c] += a[i][j] * v[j][c];
                }
            }
        }
        e.weights.push_back(std::move(a));
    }
    e.output = exactLinear(concat, *l.w[3], l.b[3]);
    return e;
}

Result computed(const Layer& l, const Backend& backend) {
    const Matrix q = backend.linear(l.x, l.w[0], &l.b[0]), k = backend.linear(l.x, l.w[1], &l.b[1]),
                 v = backend.linear(l.x, l.w[2], &l.b[2]);
    KeyMask mask;
    for (int i = 0; i < l.n; ++i) {
        mask.open.push_back({0, l.keysOf(i)});
    }
    const int width = l.d / l.heads;
    Result r;
    Matrix concat(l.n, l.d);
    for (int h = 0; h < l.heads; ++h) {
        HeadProblem p;
        p.q = headBand(q, h, width);
        p.k = headBand(k, h, width);
        p.v = headBand(v, h, width);
        p.scale = 1.0F / std::sqrt(static_cast<float>(width));
        p.mask = &mask;
        HeadRows rows = backend.attend(p, 0, l.n, {.weights = true, .output = true});
        copyInto(rows.output, MatrixWindow(concat).colRange(h * width, (h + 1) * width));
        r.weights.push_back(std::move(rows.weights));
    }
    r.output = backend.linear(concat, l.w[3], &l.b[3]);
    return r;
}

double farthest(const Matrix& actual, const Doubles& exact) {
    double largest = 0;
    for (int i = 0; i < actual.rows(); ++i) {
        for (int j = 0; j < actual.cols(); ++j) {
            const double off = std::abs(actual(i, j) - exact[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]);
            largest = std::isnan(off) ? INFINITY : std::max(largest, off);
        }
    }
    return largest;
}

std::vector<Layer> layers() {
    std::vector<Layer> all;
    all.emplace_back(16, 64, 8, false);
    all.emplace_back(75, 96, 3, true);
    all.emplace_back(64, 512, 8, false);
    all.emplace_back(150, 192, 12, true);
    return all;
}

void expectExact(const Backend& backend) {
    static const std::vector<Layer> all = layers();
    static const std::vector<Exact> exact = [] {
        std::vector<Exact> results;
        for (const Layer& l : all) {
            results.push_back(exactly(l));
        }
        return results;
    }();
    for (std::size_t i = 0; i < all.size(); ++i) {
        SCOPED_TRACE("n " + std::to_string(all[i].n) + ", d " + std::to_string(all[i].d));
        const Result r = computed(all[i], backend);
        double weights = 0;
        for (std::size_t h = 0; h < r.weights.size(); ++h) {
            weights = std::max(weights, farthest(r.weights[h], exact[i].weights[h]));
        }
        EXPECT_LE(weights, bound) << "weights";
        EXPECT_LE(farthest(r.output, exact[i].output), bound) << "output";
    }
}

// The CPU backend with every level that this machine runs.
class Accuracy : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        m_isa = kernels().isa;
        chooseIsa(GetParam());
    }
    void TearDown() override { chooseIsa(m_isa); }

private:
    std::string m_isa;
};
std::vector<std::string> levels() {
    const auto all = isas();
    return {all.begin(), all.end()};
}
INSTANTIATE_TEST_SUITE_P(Isas, Accuracy, ::testing::ValuesIn(levels()), [](const auto& param) { return param.param; });

TEST_P(Accuracy, WeightsAndOutputAreWithin5e6OfExact) {
    expectExact(backendByName("cpu"));
}

TEST(AccuracyOf, TheReferenceIsWithin5e6) {
    expectExact(referenceBackend());
}

TEST(AccuracyOf, OpenClIsWithin5e6) {
    int devices = 0;
    for (const BackendInfo& info : listBackends()) {
        if (info.name.starts_with("opencl") && info.available) {
            SCOPED_TRACE(info.description);
            expectExact(backendByName(info.name));
            ++devices;
        }
    }
    if (devices == 0) {
        GTEST_SKIP() << "skipped: there is no OpenCL device (package pocl-opencl-icd)";
    }
}

TEST(Isas, GiveEqualResultsWithin5e6) {
    const std::string before = kernels().isa;
    for (const Layer& l : layers()) {
        std::vector<Result> results;
        for (const std::string& isa : levels()) {
            chooseIsa(isa);
            results.push_back(computed(l, backendByName("cpu")));
            for (const Result& other : results) {
                SCOPED_TRACE("n " + std::to_string(l.n) + ", level " + isa);
                for (std::size_t h = 0; h < other.weights.size(); ++h) {
                    EXPECT_LE(distance(results.back().weights[h], other.weights[h]), bound);
                }
                EXPECT_LE(distance(results.back().output, other.output), bound);
            }
        }
    }
    chooseIsa(before);
}

TEST(Isas, ALevelThatThisMachineDoesNotHaveIsRefused) {
    EXPECT_THROW(chooseIsa("v9"), InputError);
}

} // namespace
} // namespace headscope::testing
