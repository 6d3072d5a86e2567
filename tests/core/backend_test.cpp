// One table of cases for the CPU backends: each agrees with the reference, on every level of the processor's
// instructions, and gives the same bits whoever asks, for whichever rows, with however many threads. OpenCL, with its
// own tolerance, has its own table (opencl_test.cpp).
#include "core/backend/backend.h"
#include "core/backend/kernels/kernels.h"
#include "core/tensor/errors.h"
#include "core/tensor/parallel.h"
#include "tests/support/scenarios.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <mutex>
#include <set>
#include <thread>

namespace headscope::testing {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
// On inputs of unit scale. What all of them may be off from exact arithmetic stands in accuracy_test.cpp.
constexpr double tolerance = 2e-6;

// A head with everything that it looks at.
struct Case {
    std::string name;
    int n = 7, m = 7, dK = 8, dV = 8;
    HeadProblem options{};              // q, k, v, mask and spans are set by `problem`
    std::vector<KeyMask::Range> open{}; // empty: all
    SharedMatrix additive{};
    std::vector<ScoreEdit> edits{};
    bool relative = false;
};

struct Head {
    Matrix q, k, v;
    KeyMask mask;
    std::vector<float> relative;
    std::vector<ScoreEdit> edits;
    HeadProblem problem;

    explicit Head(const Case& c, unsigned seed = 1)
        : q(drawn(c.n, c.dK, seed)), k(drawn(c.m, c.dK, seed + 1)), v(drawn(c.m, c.dV, seed + 2)), edits(c.edits) {
        mask.open = c.open;
        if (mask.open.empty()) {
            mask.open.assign(static_cast<std::size_t>(c.n), {0, c.m});
        }
        mask.additive = c.additive;
        if (c.relative) {
            const Matrix values = drawn(1, c.n + c.m - 1, seed + 3);
            relative.assign(values.values().begin(), values.values().end());
        }
        problem = c.options;
        problem.q = q;
        problem.k = k;
        problem.v = v;
        problem.mask = &mask;
        problem.scale = c.options.scale / std::sqrt(static_cast<float>(c.dK));
        problem.relativeBias = relative;
        problem.scoreEdits = edits;
    }
    Head(const Head&) = delete;
    Head& operator=(const Head&) = delete;
};

std::vector<KeyMask::Range> ranges(int n, const auto& of) {
    std::vector<KeyMask::Range> all;
    for (int i = 0; i < n; ++i) {
        all.push_back(of(i));
    }
    return all;
}

SharedMatrix additiveMask(int n, int m) {
    Matrix a = drawn(n, m, 77);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < m; ++j) {
            if ((i * 7 + j * 3) % 5 == 0 || i == 2) {
                a(i, j) = -inf; // row 2 is closed altogether
            }
        }
    }
    return share(std::move(a));
}

std::vector<Case> cases() {
    std::vector<Case> all;
    // Sizes around every border of the kernels: vectors, panels of 32, tiles of 12 and 24 rows, blocks of 256.
    for (const auto& [n, m, dK, dV] : std::vector<std::array<int, 4>>{{1, 1, 1, 1},
                                                                      {1, 5, 3, 2},
                                                                      {2, 31, 4, 5},
                                                                      {12, 32, 16, 16},
                                                                      {13, 33, 17, 31},
                                                                      {24, 64, 64, 64},
                                                                      {25, 65, 63, 33},
                                                                      {49, 255, 32, 40},
                                                                      {50, 257, 80, 96},
                                                                      {7, 300, 300, 7},
                                                                      {97, 97, 24, 24},
                                                                      {3, 513, 513, 65}}) {
        Case c{.name = "sizes " + std::to_string(n) + " " + std::to_string(m) + " " + std::to_string(dK) + " " +
                       std::to_string(dV)};
        c.n = n;
        c.m = m;
        c.dK = dK;
        c.dV = dV;
        all.push_back(c);
    }
    Case base{.name = "base"};
    base.n = base.m = 75;
    base.dK = 12;
    base.dV = 20;
    const auto add = [&](const std::string& name, const auto& change) {
        Case c = base;
        c.name = name;
        change(c);
        all.push_back(c);
    };
    const auto causal = [](int i) { return KeyMask::Range{0, i + 1}; };
    add("causal", [&](Case& c) { c.open = ranges(c.n, causal); });
    add("window", [&](Case& c) {
        c.open = ranges(c.n, [&](int i) { return KeyMask::Range{std::max(0, i - 3), std::min(c.m, i + 4)}; });
    });
    add("padding", [&](Case& c) { c.open = ranges(c.n, [&](int) { return KeyMask::Range{0, c.m - 20}; }); });
    add("closed rows", [&](Case& c) {
        c.open = ranges(c.n, [&](int i) { return i % 3 ? KeyMask::Range{i / 2, i} : KeyMask::Range{5, 5}; });
    });
    add("all closed", [&](Case& c) { c.open = ranges(c.n, [](int) { return KeyMask::Range{0, 0}; }); });
    add("additive", [&](Case& c) { c.additive = additiveMask(c.n, c.m); });
    add("additive causal", [&](Case& c) {
        c.additive = additiveMask(c.n, c.m);
        c.open = ranges(c.n, causal);
    });
    add("cross", [&](Case& c) { c.m = 141; });
    add("alibi", [&](Case& c) { c.options.alibiSlope = 0.25F; });
    add("alibi causal cross", [&](Case& c) {
        c.m = 90;
        c.options.alibiSlope = 0.5F;
        c.open = ranges(c.n, causal);
    });
    add("relative bias", [&](Case& c) { c.relative = true; });
    add("relative bias cross causal", [&](Case& c) {
        c.relative = true;
        c.m = 40;
        c.open = ranges(c.n, [&](int i) { return KeyMask::Range{0, std::min(c.m, i + 1)}; });
    });
    add("softcap", [&](Case& c) { c.options.softcap = 1.5F; });
    add("softcap causal additive", [&](Case& c) {
        c.options.softcap = 30;
        c.additive = additiveMask(c.n, c.m);
        c.open = ranges(c.n, causal);
    });
    add("cold", [&](Case& c) { c.options.temperature = 0.05; });
    add("nearly argmax", [&](Case& c) { c.options.temperature = 1e-30; });
    add("warm", [&](Case& c) { c.options.temperature = 40; });
    add("argmax", [&](Case& c) { c.options.temperature = 0; });
    add("argmax causal", [&](Case& c) {
        c.options.temperature = 0;
        c.open = ranges(c.n, causal);
    });
    add("uniform", [&](Case& c) { c.options.temperature = inf; });
    add("uniform additive", [&](Case& c) {
        c.options.temperature = inf;
        c.additive = additiveMask(c.n, c.m);
    });
    add("edited scores", [&](Case& c) {
        c.edits = {{0, 0, 3}, {40, 74, -8}, {40, 3, 50}, {74, 33, -inf}, {74, 1, 1}};
    });
    add("edited to infinity", [&](Case& c) { c.edits = {{3, 3, inf}, {4, 0, 3e38F}}; });
    add("large scores", [&](Case& c) { c.options.scale = 1000; });
    add("negative scale", [&](Case& c) { c.options.scale = -1; });
    add("scale 0", [&](Case& c) { c.options.scale = 0; });
    add("softmax over queries", [&](Case& c) {
        c.options.softmaxOverQueries = true;
        c.open = ranges(c.n, causal);
    });
    add("mask after softmax", [&](Case& c) {
        c.options.maskAfterSoftmax = true;
        c.open = ranges(c.n, causal);
    });
    return all;
}

constexpr HeadWanted everything{true, true, true, true, true};

// Infinities at the same places, finite numbers within the tolerance of the largest of them (at least 1).
void expectClose(const Matrix& actual, const Matrix& expected, const std::string& what, double bound = tolerance) {
    double size = 1;
    for (const float v : expected.values()) {
        size = std::isfinite(v) ? std::max(size, std::abs(static_cast<double>(v))) : size;
    }
    EXPECT_LE(distance(actual, expected) / size, bound) << what;
}

void expectAgreement(const HeadRows& actual, const HeadRows& expected, double score) {
    expectClose(actual.scores, expected.scores, "scores");
    expectClose(actual.scaled, expected.scaled, "scaled");
    expectClose(actual.masked, expected.masked, "masked");
    // What a rounded score is off moves a weight by as much at most, over the temperature.
    expectClose(actual.weights, expected.weights, "weights", tolerance * score);
    expectClose(actual.output, expected.output, "output", tolerance * score);
}

double sharpness(const HeadProblem& p) {
    return std::max(1.0, std::abs(p.scale) * std::sqrt(static_cast<double>(p.q.cols)) /
                             std::clamp(p.temperature, 1e-3, 1.0));
}

// The CPU backend with every level of instructions that this machine has, and the reference itself.
class Backends : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        const std::string name = GetParam();
        const std::size_t slash = name.find('_');
        m_isa = kernels().isa;
        if (slash != std::string::npos) {
            chooseIsa(name.substr(slash + 1));
        }
        backend = &backendByName(name.substr(0, slash));
    }
    void TearDown() override { chooseIsa(m_isa); }
    const Backend* backend = nullptr;

private:
    std::string m_isa;
};

std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const std::string_view isa : isas()) {
        all.push_back("cpu_" + std::string(isa));
    }
    all.emplace_back("reference");
    return all;
}
INSTANTIATE_TEST_SUITE_P(All, Backends, ::testing::ValuesIn(names()), [](const auto& param) {
    std::string name = param.param;
    std::ranges::replace(name, ':', '_');
    return name;
});

TEST_P(Backends, EveryStageAgreesWithTheReference) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(c.name);
        const Head head(c);
        expectAgreement(backend->attend(head.problem, 0, c.n, everything),
                        referenceBackend().attend(head.problem, 0, c.n, everything), sharpness(head.problem));
    }
}

TEST_P(Backends, OpenRowsSumToOneAndClosedCellsAreZero) {
    for (const Case& c : cases()) {
        if (c.options.softmaxOverQueries || c.options.maskAfterSoftmax) {
            continue;
        }
        SCOPED_TRACE(c.name);
        const Head head(c);
        const Matrix a = backend->attend(head.problem, 0, c.n, {.weights = true}).weights;
        for (int i = 0; i < c.n; ++i) {
            double sum = 0;
            bool anyOpen = false;
            for (int j = 0; j < c.m; ++j) {
                sum += a(i, j);
                anyOpen = anyOpen || head.mask.isOpen(i, j);
                if (!head.mask.isOpen(i, j)) {
                    EXPECT_EQ(a(i, j), 0.0F) << i << ", " << j;
                }
            }
            EXPECT_NEAR(sum, anyOpen ? 1.0 : 0.0, 2e-6) << "row " << i;
        }
    }
}

TEST_P(Backends, ARowIsTheSameWhoeverAsksForIt) {
    for (const Case& c : cases()) {
        if (c.options.softmaxOverQueries) {
            continue; // rows belong together
        }
        SCOPED_TRACE(c.name);
        const Head head(c);
        const HeadRows whole = backend->attend(head.problem, 0, c.n, everything);
        for (const auto& [begin, end] : {std::pair{0, 1}, {c.n - 1, c.n}, {c.n / 3, c.n}, {c.n / 2, c.n / 2 + 1}}) {
            const HeadRows part = backend->attend(head.problem, begin, end, {.weights = true, .output = true});
            EXPECT_EQ(part.weights, copy(MatrixView(whole.weights).rowRange(begin, end))) << begin << ".." << end;
            EXPECT_EQ(part.output, copy(MatrixView(whole.output).rowRange(begin, end))) << begin << ".." << end;
            EXPECT_EQ(backend->attend(head.problem, begin, end, {.masked = true}).masked,
                      copy(MatrixView(whole.masked).rowRange(begin, end)));
        }
    }
}

TEST_P(Backends, WhatElseIsAskedForChangesNoBit) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(c.name);
        const Head head(c);
        const HeadRows all = backend->attend(head.problem, 0, c.n, everything);
        for (const HeadWanted& wanted :
             {HeadWanted{.scaled = true}, HeadWanted{.scaled = true, .weights = true},
              HeadWanted{.scaled = true, .weights = true, .output = true}, HeadWanted{.scaled = true, .output = true},
              HeadWanted{.scaled = true, .masked = true}, HeadWanted{.weights = true}, HeadWanted{.output = true}}) {
            const HeadRows some = backend->attend(head.problem, 0, c.n, wanted);
            EXPECT_EQ(some.scaled, wanted.scaled ? all.scaled : Matrix());
            EXPECT_EQ(some.masked, wanted.masked ? all.masked : Matrix());
            EXPECT_EQ(some.weights, wanted.weights ? all.weights : Matrix());
            EXPECT_EQ(some.output, wanted.output ? all.output : Matrix());
        }
    }
}

// A comparison of a class rule with the right way shows nothing where the rule changes nothing.
TEST_P(Backends, AClassRuleChangesNoBitOfTheStagesBeforeIt) {
    for (const Case& c : cases()) {
        if (c.options.softmaxOverQueries || c.options.maskAfterSoftmax) {
            continue;
        }
        SCOPED_TRACE(c.name);
        const Head head(c);
        const HeadRows right = backend->attend(head.problem, 0, c.n, everything);
        HeadProblem wrong = head.problem;
        wrong.softmaxOverQueries = true;
        const HeadRows overQueries = backend->attend(wrong, 0, c.n, everything);
        EXPECT_EQ(overQueries.scores, right.scores);
        EXPECT_EQ(overQueries.scaled, right.scaled);
        EXPECT_EQ(overQueries.masked, right.masked);
        wrong = head.problem;
        wrong.maskAfterSoftmax = true;
        const HeadRows maskedLate = backend->attend(wrong, 0, c.n, everything);
        EXPECT_EQ(maskedLate.scores, right.scores);
        EXPECT_EQ(maskedLate.scaled, right.scaled);
    }
}

// Maps that do not fit into the cache are written past it.
TEST_P(Backends, LargeMapsHaveTheBitsOfTheirRows) {
    Case c{.name = "large"};
    c.n = c.m = 1024;
    c.dK = 16;
    c.dV = 40;
    const Head head(c);
    constexpr HeadWanted maps{.scaled = true, .weights = true, .output = true};
    const HeadRows whole = backend->attend(head.problem, 0, c.n, maps);
    for (const int begin : {0, 17, 500, 1000}) {
        const HeadRows part = backend->attend(head.problem, begin, begin + 24, maps);
        EXPECT_EQ(part.scaled, copy(MatrixView(whole.scaled).rowRange(begin, begin + 24)));
        EXPECT_EQ(part.weights, copy(MatrixView(whole.weights).rowRange(begin, begin + 24)));
        EXPECT_EQ(part.output, copy(MatrixView(whole.output).rowRange(begin, begin + 24)));
    }
}

TEST_P(Backends, ManyHeadsAtOnceAreTheHeadsOneByOne) {
    const auto all = cases();
    std::vector<std::unique_ptr<Head>> heads;
    std::vector<HeadProblem> problems;
    std::vector<HeadRows> alone;
    for (std::size_t i = 0; i < all.size(); ++i) {
        heads.push_back(std::make_unique<Head>(all[i], static_cast<unsigned>(i)));
        problems.push_back(heads.back()->problem);
        if (i > 20) { // a group of query heads of one KV head
            problems.push_back(heads.back()->problem);
        }
    }
    for (const HeadProblem& p : problems) {
        alone.push_back(backend->attend(p, 0, p.q.rows, everything));
    }
    for (const int threads : {1, 2, 5}) {
        setThreadCount(threads);
        // Outputs go into a band of something wider, as in concat; its neighbours stay.
        std::vector<Matrix> weights, bands;
        std::vector<HeadRows> stages; // whose memory is full of something else: every cell has to be written
        std::vector<HeadTarget> targets(problems.size());
        for (const HeadProblem& p : problems) {
            const Matrix full(p.q.rows, p.k.rows, -3.0F);
            weights.push_back(full);
            stages.push_back({full, full, full, {}, {}});
            bands.emplace_back(p.q.rows, p.v.cols + 2, -3.0F);
        }
        std::mutex lock;
        std::vector<std::multiset<int>> seen(problems.size());
        bool sameAsTarget = true;
        for (std::size_t i = 0; i < problems.size(); ++i) {
            targets[i].scores = stages[i].scores;
            targets[i].scaled = stages[i].scaled;
            targets[i].masked = stages[i].masked;
            targets[i].weights = weights[i];
            targets[i].output = MatrixWindow(bands[i]).colRange(1, problems[i].v.cols + 1);
        }
        targets[3].weights = {}; // not wanted here, visited all the same
        backend->attendAll(problems, targets,
                           [&](int head, int begin, MatrixView a) {
                               const std::lock_guard guard(lock);
                               const Matrix& expected = alone[static_cast<std::size_t>(head)].weights;
                               for (int r = 0; r < a.rows; ++r) {
                                   seen[static_cast<std::size_t>(head)].insert(begin + r);
                                   sameAsTarget = sameAsTarget && std::ranges::equal(a.row(r), expected.row(begin + r));
                               }
                           },
                           {});
        EXPECT_TRUE(sameAsTarget);
        for (std::size_t i = 0; i < problems.size(); ++i) {
            SCOPED_TRACE(i);
            const int n = problems[i].q.rows, dV = problems[i].v.cols;
            if (i != 3) {
                EXPECT_EQ(weights[i], alone[i].weights);
            }
            EXPECT_EQ(stages[i].scores, alone[i].scores);
            EXPECT_EQ(stages[i].scaled, alone[i].scaled);
            EXPECT_EQ(stages[i].masked, alone[i].masked);
            EXPECT_EQ(copy(MatrixView(bands[i]).colRange(1, dV + 1)), alone[i].output);
            for (int r = 0; r < n; ++r) {
                EXPECT_EQ(bands[i](r, 0), -3.0F);
                EXPECT_EQ(bands[i](r, dV + 1), -3.0F);
                EXPECT_EQ(seen[i].count(r), 1U);
            }
        }
    }
    setThreadCount(0);
}

TEST_P(Backends, ALinearLayerAgreesAndIsTheSameWhoeverAsksForIt) {
    for (const auto& [n, k, width] : std::vector<std::array<int, 3>>{
             {1, 1, 1}, {1, 7, 33}, {5, 64, 64}, {16, 300, 31}, {13, 257, 96}, {193, 48, 65}, {400, 520, 160}}) {
        SCOPED_TRACE(std::to_string(n) + " " + std::to_string(k) + " " + std::to_string(width));
        const Matrix x = drawn(n, k, 3), bias = drawn(1, width, 4);
        const SharedMatrix w = share(drawn(k, width, 5, 1.0F / std::sqrt(static_cast<float>(k))));
        const Matrix whole = backend->linear(x, w, &bias);
        expectClose(whole, referenceBackend().linear(x, w, &bias), "with a bias");
        expectClose(backend->linear(x, w, nullptr), referenceBackend().linear(x, w, nullptr), "without");
        EXPECT_EQ(backend->linear(x, *w, &bias), whole) << "kept or not";
        for (const int threads : {1, 3}) {
            setThreadCount(threads);
            EXPECT_EQ(backend->linear(x, w, &bias), whole) << threads << " threads";
        }
        setThreadCount(0);
        EXPECT_EQ(backend->linear(MatrixView(x).rowRange(n / 2, n), w, &bias),
                  copy(MatrixView(whole).rowRange(n / 2, n)));
        const int half = width / 2;
        EXPECT_EQ(backend->linear(x, MatrixView(*w).colRange(half, width), nullptr),
                  copy(MatrixView(backend->linear(x, w, nullptr)).colRange(half, width)));
        const Matrix ownBias(1, 1, bias(0, half));
        EXPECT_EQ(backend->linear(x, MatrixView(*w).colRange(half, half + 1), &ownBias),
                  copy(MatrixView(whole).colRange(half, half + 1)))
            << "one column alone";
    }
}

TEST_P(Backends, ChangedWeightsAreNotMistakenForTheOldOnes) {
    const Matrix x = drawn(4, 40, 1);
    for (unsigned i = 0; i < 50; ++i) { // at addresses that come again
        const SharedMatrix w = share(drawn(40, 40, i));
        expectClose(backend->linear(x, w, nullptr), referenceBackend().linear(x, w, nullptr), "edit", 1e-5);
    }
}

TEST_P(Backends, PointwiseFunctionsAgree) {
    std::vector<float> x{0.0F, -0.0F, 1e-30F, -1e-30F, 500, -500, 3e38F, -3e38F};
    for (int i = -3000; i <= 3000; ++i) {
        x.push_back(static_cast<float>(i) / 200.0F);
    }
    for (const Pointwise function : {Pointwise::Gelu, Pointwise::GeluTanh, Pointwise::Relu, Pointwise::Silu}) {
        std::vector<float> actual = x, expected = x;
        backend->apply(function, actual);
        referenceBackend().apply(function, expected);
        for (std::size_t i = 0; i < x.size(); ++i) {
            EXPECT_NEAR(actual[i], expected[i], 2.5e-7 * std::max(1.0, std::abs(static_cast<double>(x[i]))))
                << static_cast<int>(function) << " of " << x[i];
        }
    }
}

TEST_P(Backends, StopsWhenAsked) {
    const Head head(cases().front());
    HeadTarget target;
    Matrix weights(1, 1);
    target.weights = weights;
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(backend->attendAll({&head.problem, 1}, {&target, 1}, {}, stop.get_token()), Cancelled);
}

TEST(Parallel, EveryPieceIsDoneOnceAndAnExceptionComesOut) {
    for (const int threads : {1, 2, 7}) {
        setThreadCount(threads);
        EXPECT_EQ(threadCount(), threads);
        for (int round = 0; round < 200; ++round) {
            std::vector<std::atomic<int>> done(37);
            parallelFor(37, [&](int i) {
                parallelFor(3, [&](int) { ++done[static_cast<std::size_t>(i)]; }); // one inside another: on one thread
            });
            EXPECT_TRUE(std::ranges::all_of(done, [](const std::atomic<int>& d) { return d == 3; }));
        }
        EXPECT_THROW(parallelFor(100, [](int i) { i == 50 ? throw Cancelled() : void(); }), Cancelled);
    }
    setThreadCount(0);
    std::vector<std::thread> callers; // several at once: one has the pool, the others work alone
    std::atomic<int> sum = 0;
    for (int i = 0; i < 4; ++i) {
        callers.emplace_back([&] {
            for (int round = 0; round < 200; ++round) {
                parallelFor(10, [&](int k) { sum += k; });
            }
        });
    }
    for (std::thread& caller : callers) {
        caller.join();
    }
    EXPECT_EQ(sum, 4 * 200 * 45);
}

} // namespace
} // namespace headscope::testing
