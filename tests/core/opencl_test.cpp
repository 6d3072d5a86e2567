// OpenCL beside the reference: every shape of the kernels, whole traces, the laws, and devices that fail. Without a
// device the tests are skipped and say so.
#include "core/backend/backend.h"
#include "core/tensor/errors.h"
#include "tests/support/golden.h"
#include "tests/support/scenarios.h"
#ifdef HEADSCOPE_WITH_OPENCL
#include "core/backend/notes.h"
#include "core/backend/opencl/opencl_backend.h"
#include "core/backend/opencl/self_test.h"
#endif

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

namespace headscope::testing {
namespace {

#ifndef HEADSCOPE_WITH_OPENCL

TEST(OpenCl, ABuildWithoutItSaysSo) {
    try {
        backendByName("opencl:1");
        FAIL() << "there is no such backend";
    } catch (const InputError& e) {
        EXPECT_NE(std::string(e.what()).find("this build has no OpenCL"), std::string::npos) << e.what();
    }
    EXPECT_FALSE(listBackends().back().available);
}

#else

using opencl::Options;

constexpr float inf = std::numeric_limits<float>::infinity();

// A head that keeps what it looks at. `change` sets the options of the problem and the mask.
struct Head {
    std::string name;
    Matrix q, k, v;
    KeyMask mask;
    std::vector<float> relative;
    std::vector<ScoreEdit> edits;
    HeadProblem problem;

    template<class Change>
    Head(std::string called, int n, int m, int dK, int dV, const Change& change)
        : name(std::move(called)), q(drawn(n, dK, 1)), k(drawn(m, dK, 2)), v(drawn(m, dV, 3)) {
        problem.q = q;
        problem.k = k;
        problem.v = v;
        problem.scale = 1.0F / std::sqrt(static_cast<float>(dK));
        problem.mask = &mask;
        mask.open.assign(static_cast<std::size_t>(n), {0, m});
        change(*this);
        problem.relativeBias = relative;
        problem.scoreEdits = edits;
    }
    Head(const Head&) = delete;
    Head& operator=(const Head&) = delete;
    int n() const { return q.rows(); }
    int m() const { return k.rows(); }
};
using Heads = std::vector<std::unique_ptr<Head>>;

void openRows(Head& h, const auto& range) {
    for (int i = 0; i < h.n(); ++i) {
        h.mask.open[static_cast<std::size_t>(i)] = range(i);
    }
}
void causal(Head& h) {
    openRows(h, [&](int i) { return KeyMask::Range{0, std::min(i + 1, h.m())}; });
}
void addMask(Head& h) {
    Matrix a = drawn(h.n(), h.m(), 9);
    for (int i = 0; i < h.n(); ++i) {
        for (int j = 0; j < h.m(); ++j) {
            if ((i * 7 + j * 3) % 5 == 0 || i == 2) {
                a(i, j) = -inf; // row 2 is closed altogether
            }
        }
    }
    h.mask.additive = share(std::move(a));
}
void addRelative(Head& h) {
    const Matrix values = drawn(1, h.n() + h.m() - 1, 4);
    h.relative.assign(values.values().begin(), values.values().end());
}

Heads heads() {
    Heads all;
    const auto add = [&](const std::string& name, const auto& change, int n = 37, int m = 37, int dK = 12,
                         int dV = 20) { all.push_back(std::make_unique<Head>(name, n, m, dK, dV, change)); };
    const auto nothing = [](Head&) {};
    for (const auto& [n, m, dK, dV] : std::vector<std::array<int, 4>>{
             {1, 1, 1, 1}, {1, 5, 3, 2}, {12, 32, 16, 16}, {13, 33, 17, 31}, {65, 129, 64, 64}, {3, 513, 300, 65}}) {
        add("sizes " + std::to_string(n) + " " + std::to_string(m), nothing, n, m, dK, dV);
    }
    add("causal", causal);
    add("causal, more keys", causal, 20, 50);
    add("window", [](Head& h) {
        openRows(h, [&](int i) { return KeyMask::Range{std::max(0, i - 3), std::min(h.m(), i + 4)}; });
    });
    add("closed rows", [](Head& h) {
        openRows(h, [](int i) { return i % 3 ? KeyMask::Range{i / 2, i} : KeyMask::Range{5, 5}; });
    });
    add("all closed", [](Head& h) { openRows(h, [](int) { return KeyMask::Range{0, 0}; }); });
    add("additive", addMask);
    add("additive causal", [](Head& h) {
        addMask(h);
        causal(h);
    });
    add(
        "alibi", [](Head& h) { h.problem.alibiSlope = 0.25F; }, 30, 50);
    add("relative bias", addRelative);
    add(
        "relative bias causal",
        [](Head& h) {
            addRelative(h);
            causal(h);
        },
        50, 30);
    add("softcap", [](Head& h) {
        h.problem.softcap = 1.5F;
        addMask(h);
    });
    for (const double t : {0.0, 1e-300, 1e-30, 0.05, 40.0, 1e300, HUGE_VAL}) {
        add("temperature " + std::to_string(t), [t](Head& h) {
            h.problem.temperature = t;
            addMask(h);
            causal(h);
        });
    }
    add("ties at temperature 0", [](Head& h) {
        h.problem.temperature = 0;
        h.problem.scale = 0;
    });
    add("edited scores", [](Head& h) {
        h.edits = {{0, 0, 3}, {30, 36, -8}, {30, 3, 50}, {12, 33, -inf}, {5, 1, inf}, {6, 6, 3e38F}};
    });
    add("large scores", [](Head& h) { h.problem.scale = 1000; });
    add("softmax over queries", [](Head& h) {
        h.problem.softmaxOverQueries = true;
        causal(h);
    });
    add("mask after softmax", [](Head& h) {
        h.problem.maskAfterSoftmax = true;
        addMask(h);
        causal(h);
    });
    add("beyond the range of float", [](Head& h) {
        for (float& x : h.q.values()) {
            x *= 1e30F;
        }
        for (float& x : h.k.values()) {
            x *= 1e30F;
        }
    });
    return all;
}

constexpr HeadWanted everything{true, true, true, true, true};

// Infinities in the same places, numbers within `bound` of the largest of them (at least 1).
void expectClose(const Matrix& actual, const Matrix& expected, const std::string& what, double bound = 1e-5) {
    double size = 1;
    for (const float v : expected.values()) {
        size = std::isfinite(v) ? std::max(size, std::abs(static_cast<double>(v))) : size;
    }
    EXPECT_LE(distance(actual, expected) / size, bound) << what;
}

void expectClose(const HeadRows& actual, const HeadRows& expected, double sharpness = 1) {
    expectClose(actual.scores, expected.scores, "scores");
    expectClose(actual.scaled, expected.scaled, "scaled");
    expectClose(actual.masked, expected.masked, "masked");
    expectClose(actual.weights, expected.weights, "weights", 1e-5 * sharpness);
    expectClose(actual.output, expected.output, "output", 1e-5 * sharpness);
}

// What a rounded score is off by moves a weight by as much, over the temperature.
double sharpness(const HeadProblem& p) {
    return std::max(1.0, std::abs(p.scale) * std::sqrt(p.q.cols) / std::clamp(p.temperature, 0.01, 1.0));
}

// The ways in which the kernels can be shaped and the work be cut.
Options optionsOf(const std::string& variant) {
    Options options;
    if (variant == "groups") {
        options.sharedGroups = true;
    } else if (variant == "blocks") {
        options.blockCells = 256;
    } else if (variant == "clblast") {
        options.clblast = Options::Library::Always;
    } else if (variant == "cramped") {
        options.weightBytes = 5000;
    }
    return options;
}

std::unique_ptr<OpenClBackend> backendOf(const Options& options) {
    auto backend = makeOpenClBackend(0, options);
    takeNotes();
    return backend;
}

class OpenCl : public ::testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        backend = backendOf(optionsOf(GetParam()));
        if (!backend) {
            GTEST_SKIP() << "skipped: there is no OpenCL device (package pocl-opencl-icd)";
        }
        ASSERT_TRUE(backend->works()) << backend->description();
    }
    void TearDown() override { EXPECT_TRUE(takeNotes().empty()) << "the device failed"; }
    std::unique_ptr<OpenClBackend> backend;
};
INSTANTIATE_TEST_SUITE_P(Shapes, OpenCl, ::testing::Values("plain", "groups", "blocks", "clblast", "cramped"),
                         [](const auto& param) { return param.param; });

TEST_P(OpenCl, EveryStageAgreesWithTheReference) {
    for (const auto& h : heads()) {
        SCOPED_TRACE(h->name);
        expectClose(backend->attend(h->problem, 0, h->n(), everything),
                    referenceBackend().attend(h->problem, 0, h->n(), everything), sharpness(h->problem));
    }
}

TEST_P(OpenCl, ARowIsTheSameWhoeverAsksForIt) {
    for (const auto& h : heads()) {
        if (h->problem.softmaxOverQueries) {
            continue; // rows belong together
        }
        SCOPED_TRACE(h->name);
        const int n = h->n();
        const HeadRows whole = backend->attend(h->problem, 0, n, everything);
        for (const auto& [begin, end] : {std::pair{0, 1}, {n - 1, n}, {n / 3, n}, {n / 2, n / 2 + 1}}) {
            const auto part = [&](const Matrix& m) { return copy(MatrixView(m).rowRange(begin, end)); };
            const HeadRows last = backend->attend(h->problem, begin, end, {.weights = true, .output = true});
            EXPECT_EQ(last.weights, part(whole.weights));
            EXPECT_EQ(last.output, part(whole.output));
            EXPECT_EQ(backend->attend(h->problem, begin, end, {.scores = true}).scores, part(whole.scores));
            EXPECT_EQ(backend->attend(h->problem, begin, end, {.scaled = true}).scaled, part(whole.scaled));
            EXPECT_EQ(backend->attend(h->problem, begin, end, {.masked = true}).masked, part(whole.masked));
            EXPECT_EQ(backend->attend(h->problem, begin, end, {.output = true}).output, part(whole.output));
        }
    }
}

// All heads at once, output into a band of something wider, every second head's weights only visited.
struct Together {
    std::vector<Matrix> weights, bands;
    std::vector<std::multiset<int>> visited;

    Together(const Backend& backend, const Heads& all) : visited(all.size()) {
        std::vector<HeadProblem> problems;
        std::vector<HeadTarget> targets(all.size());
        for (const auto& h : all) {
            problems.push_back(h->problem);
            weights.emplace_back(h->n(), h->m(), -3.0F);
            bands.emplace_back(h->n(), h->v.cols() + 2, -3.0F);
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (i % 2 == 0) {
                targets[i].weights = weights[i];
            }
            targets[i].output = MatrixWindow(bands[i]).colRange(1, all[i]->v.cols() + 1);
        }
        std::mutex lock;
        backend.attendAll(problems, targets,
                          [&](int head, int begin, MatrixView block) {
                              const std::lock_guard guard(lock);
                              const auto i = static_cast<std::size_t>(head);
                              for (int r = 0; r < block.rows; ++r) {
                                  visited[i].insert(begin + r);
                                  std::ranges::copy(block.row(r), weights[i].row(begin + r).begin());
                              }
                          },
                          {});
    }

    void expectEachRowOnceAndNothingBeside() const {
        for (std::size_t i = 0; i < bands.size(); ++i) {
            for (int r = 0; r < bands[i].rows(); ++r) {
                EXPECT_EQ(visited[i].count(r), 1U) << "head " << i << " row " << r;
                EXPECT_EQ(bands[i](r, 0), -3.0F);
                EXPECT_EQ(bands[i](r, bands[i].cols() - 1), -3.0F);
            }
        }
    }
    Matrix output(std::size_t i) const { return copy(MatrixView(bands[i]).colRange(1, bands[i].cols() - 1)); }
};

TEST_P(OpenCl, ManyHeadsAtOnceAreTheHeadsOneByOne) {
    const Heads all = heads();
    const Together together(*backend, all);
    together.expectEachRowOnceAndNothingBeside();
    for (std::size_t i = 0; i < all.size(); ++i) {
        SCOPED_TRACE(all[i]->name);
        const HeadRows alone = backend->attend(all[i]->problem, 0, all[i]->n(), {.weights = true, .output = true});
        EXPECT_EQ(together.weights[i], alone.weights);
        EXPECT_EQ(together.output(i), alone.output);
    }
}

TEST_P(OpenCl, ALinearLayerAgreesAndIsTheSameWhoeverAsksForIt) {
    for (const auto& [n, k, width] : std::vector<std::array<int, 3>>{
             {1, 1, 1}, {1, 7, 33}, {16, 300, 31}, {13, 257, 96}, {193, 48, 65}, {300, 520, 160}}) {
        SCOPED_TRACE(std::to_string(n) + " " + std::to_string(k) + " " + std::to_string(width));
        const Matrix x = drawn(n, k, 3), bias = drawn(1, width, 4);
        const SharedMatrix w = share(drawn(k, width, 5, 1.0F / std::sqrt(static_cast<float>(k))));
        const Matrix whole = backend->linear(x, w, &bias);
        expectClose(whole, referenceBackend().linear(x, w, &bias), "with a bias");
        expectClose(backend->linear(x, w, nullptr), referenceBackend().linear(x, w, nullptr), "without");
        EXPECT_EQ(backend->linear(x, *w, &bias), whole) << "kept or not";
        EXPECT_EQ(backend->linear(MatrixView(x).rowRange(n / 2, n), w, &bias),
                  copy(MatrixView(whole).rowRange(n / 2, n)));
    }
}

TEST_P(OpenCl, ChangedWeightsAreNotMistakenForTheOldOnes) {
    const Matrix x = drawn(4, 40, 1);
    for (unsigned i = 0; i < 30; ++i) { // at addresses that come again
        const SharedMatrix w = share(drawn(40, 40, i));
        expectClose(backend->linear(x, w, nullptr), referenceBackend().linear(x, w, nullptr), "edit");
    }
}

std::vector<std::pair<std::string, Scenario>> scenarios() {
    const char* text = "the cat sat on the mat and the dog saw it";
    ToyOptions o;
    o.dModel = 32;
    o.heads = 4;
    o.kvHeads = 2;
    o.layers = 3;
    std::vector<std::pair<std::string, Scenario>> all;
    all.emplace_back("grouped", toy(o, text));
    o.position = Position::Rope;
    all.emplace_back("rope", toy(o, text));
    o.position = Position::Alibi;
    all.emplace_back("alibi", toy(o, text));
    all.emplace_back("cross", crossToy(o, "a cat sat", text));
    all.emplace_back("patterns", patterns("the cat and the dog ."));
    all.emplace_back("worked example", workedExample());
    all.emplace_back("mini", makeScenario(requestOf("mini", text)));
    all.emplace_back("story", makeScenario(requestOf("story", "Once upon a time there was a little dog")));
    Scenario rule = withRule(toy(o, text), Rule::MaskAfterSoftmax);
    rule.mask = parseMask("causal+window:3");
    all.emplace_back("mask after softmax", rule);
    all.emplace_back("softmax over queries", withRule(toy(o, text), Rule::SoftmaxQueries));
    all.emplace_back("average heads", withRule(toy(o, text), Rule::AverageHeads));
    return all;
}

void expectSameTrace(const SharedTrace& actual, const SharedTrace& expected) {
    for (int l = 0; l < expected->config().layers; ++l) {
        for (int h = 0; h < expected->config().heads; ++h) {
            for (const Stage stage : availableStages(expected->scenario)) {
                expectClose(stageOf(actual, stage, h, l), stageOf(expected, stage, h, l),
                            "L" + std::to_string(l) + " H" + std::to_string(h) + " stage " +
                                std::to_string(static_cast<int>(stage)),
                            OpenClBackend::tolerance);
            }
        }
    }
}

class OpenClDevice : public ::testing::Test {
protected:
    void SetUp() override {
        backend = backendOf({});
        if (!backend) {
            GTEST_SKIP() << "skipped: there is no OpenCL device (package pocl-opencl-icd)";
        }
    }
    std::unique_ptr<OpenClBackend> backend;
};

TEST_F(OpenClDevice, WholeTracesAgreeWithTheReference) {
    for (const auto& [name, scenario] : scenarios()) {
        SCOPED_TRACE(name);
        expectSameTrace(trace(scenario, *backend), trace(scenario, referenceBackend()));
    }
    EXPECT_TRUE(takeNotes().empty());
}

TEST_F(OpenClDevice, ADerivedHeadIsItsBandOfConcatBitForBit) {
    for (const auto& [name, scenario] : scenarios()) {
        SCOPED_TRACE(name);
        const SharedTrace t = trace(scenario, *backend);
        for (int l = 0; l < t->config().layers; ++l) {
            for (int h = 0; h < t->config().heads; ++h) {
                EXPECT_EQ(stageOf(t, Stage::HeadOutput, h, l),
                          copy(headBand(stageOf(t, Stage::Concat, 0, l), h, t->config().dV)));
            }
        }
    }
}

TEST_F(OpenClDevice, AFollowingTraceEqualsAFreshOneBitForBit) {
    const Scenario start = scenarios().front().second;
    const SharedTrace before = trace(start, *backend);
    const Scenario next = edited(start, {LayerIndex{1}, WeightKind::WQ}, [](Matrix& w) { w(3, 3) += 0.5F; });
    const SharedTrace following = trace(next, *backend, before.get()), fresh = trace(next, *backend);
    EXPECT_EQ(following->reusedLayers, 1);
    for (int l = 0; l < 3; ++l) {
        EXPECT_EQ(stageOf(following, Stage::Concat, 0, l), stageOf(fresh, Stage::Concat, 0, l));
        EXPECT_EQ(stageOf(following, Stage::Output, 0, l), stageOf(fresh, Stage::Output, 0, l));
    }
}

TEST_F(OpenClDevice, ThreadsDoNotDisturbEachOther) {
    const Heads all = heads();
    std::vector<HeadRows> alone;
    for (const auto& h : all) {
        alone.push_back(backend->attend(h->problem, 0, h->n(), everything));
    }
    std::vector<std::thread> threads;
    std::atomic<int> different = 0;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (std::size_t i = 0; i < all.size(); ++i) {
                const std::size_t at = (i + static_cast<std::size_t>(t) * 5) % all.size();
                const HeadRows rows = backend->attend(all[at]->problem, 0, all[at]->n(), everything);
                different += rows.weights != alone[at].weights || rows.output != alone[at].output;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(different, 0);
}

TEST_F(OpenClDevice, StopsWhenAsked) {
    const Heads all = heads();
    Matrix weights(1, 1);
    HeadTarget target;
    target.weights = weights;
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(backend->attendAll({&all[0]->problem, 1}, {&target, 1}, {}, stop.get_token()), Cancelled);
}

// Whichever call of the driver is the first to fail: every number is there, and one sentence says what happened.
TEST_F(OpenClDevice, ADeviceThatFailsAtAnyCallLosesNothing) {
    Heads all = heads();
    std::erase_if(all, [](const auto& h) { return h->n() > 40 || h->problem.temperature != 1.0; });
    std::vector<HeadRows> expected;
    for (const auto& h : all) {
        expected.push_back(referenceBackend().attend(h->problem, 0, h->n(), {.weights = true, .output = true}));
    }
    const Matrix x = drawn(20, 24, 1);
    const SharedMatrix w = share(drawn(24, 24, 2));
    bool failed = true;
    int calls = 0;
    for (; failed; calls += calls < 100 ? 7 : 61) {
        SCOPED_TRACE("the device fails after " + std::to_string(calls) + " calls");
        Options options;
        options.failAfter = calls;
        options.blockCells = 1024; // more than one block a head
        const auto failing = makeOpenClBackend(0, options);
        expectClose(failing->linear(x, w, nullptr), referenceBackend().linear(x, w, nullptr), "linear");
        const Together together(*failing, all);
        together.expectEachRowOnceAndNothingBeside();
        for (std::size_t i = 0; i < all.size(); ++i) {
            SCOPED_TRACE(all[i]->name);
            expectClose(together.weights[i], expected[i].weights, "weights", 1e-5 * sharpness(all[i]->problem));
            expectClose(together.output(i), expected[i].output, "output", 1e-5 * sharpness(all[i]->problem));
        }
        const std::vector<std::string> notes = takeNotes();
        failed = !notes.empty();
        EXPECT_EQ(failing->works(), !failed);
        if (failed) {
            ASSERT_EQ(notes.size(), 1U);
            EXPECT_NE(notes[0].find("CL_OUT_OF_RESOURCES"), std::string::npos) << notes[0];
            EXPECT_NE(failing->description().find("the CPU computes"), std::string::npos) << failing->description();
        }
        ASSERT_LT(calls, 20000) << "it never works";
    }
    EXPECT_GT(calls, 200) << "the failures did not reach the heads";
}

TEST_F(OpenClDevice, WhatDoesNotFitIntoItsMemoryIsComputedByTheCpu) {
    const int m = 40;
    const SharedMatrix w = share(drawn(4, m, 1));
    Options options;
    options.largestBuffer = 100;
    const auto small = makeOpenClBackend(0, options);
    EXPECT_EQ(small->linear(drawn(3, 4, 2), w, nullptr), backendByName("cpu").linear(drawn(3, 4, 2), w, nullptr));
    const auto notes = takeNotes();
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_NE(notes[0].find("buffer"), std::string::npos) << notes[0];
}

TEST_F(OpenClDevice, WeightsInSeveralStripsAreTheSame) {
    Options options;
    options.largestBuffer = 1 << 16; // 64 KiB: 300 columns of 100 rows do not fit
    options.blockCells = 1024;
    const auto small = makeOpenClBackend(0, options);
    const Matrix x = drawn(5, 100, 1), bias = drawn(1, 300, 2);
    const SharedMatrix w = share(drawn(100, 300, 3));
    EXPECT_EQ(small->linear(x, w, &bias), backend->linear(x, w, &bias));
    EXPECT_TRUE(takeNotes().empty());
}

TEST_F(OpenClDevice, TheListNamesItAndItsDifferenceFromTheCpu) {
    const std::vector<BackendInfo> list = listBackends();
    const auto found = std::ranges::find(list, "opencl:0", &BackendInfo::name);
    ASSERT_NE(found, list.end());
    EXPECT_TRUE(found->available) << found->why;
    EXPECT_NE(found->description.find("differs from the CPU by"), std::string::npos) << found->description;
    EXPECT_EQ(backendByName("opencl:0").name(), "opencl:0");
    for (const char* wrong : {"opencl:", "opencl:99", "opencl:-1", "opencl:x", "opencl:0x"}) {
        EXPECT_THROW(backendByName(wrong), InputError) << wrong;
    }
}

TEST(OpenClSelfTest, SeesAWrongNumber) {
    const auto byReference = [](const opencl::SelfTest& t) {
        referenceBackend().linearInto(t.x, t.w, &t.bias, MatrixWindow(*t.product));
        referenceBackend().attendAll({&t.problem, 1}, {&t.target, 1}, {}, {});
    };
    EXPECT_EQ(opencl::selfTest(byReference), 0);
    const double off = opencl::selfTest([&](const opencl::SelfTest& t) {
        byReference(t);
        t.target.weights.row(3)[5] += 0.01F;
    });
    EXPECT_GT(off, OpenClBackend::tolerance);
    EXPECT_EQ(opencl::selfTest([&](const opencl::SelfTest& t) {
                  byReference(t);
                  t.target.masked.row(11)[0] = 0; // a closed cell
              }),
              INFINITY);
    EXPECT_GT(opencl::selfTest([](const opencl::SelfTest&) {}), OpenClBackend::tolerance) << "nothing computed";
}

#endif

} // namespace
} // namespace headscope::testing
