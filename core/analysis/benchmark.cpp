#include "core/analysis/benchmark.h"

#include "core/attention/head_edit.h"
#include "core/backend/kernels/kernels.h"
#include "core/model/builtin.h"
#include "core/tensor/aligned_floats.h"
#include "core/tensor/errors.h"
#include "core/tensor/memory.h"
#include "core/tensor/parallel.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>
#include <random>

namespace headscope {

namespace {

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// A job, ready to be run again and again in memory that is warm.
struct Work {
    std::function<void()> run;
    double multiplyAdds = 0;
};

Matrix drawn(int rows, int cols, unsigned seed, double spread) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(0.0, spread);
    Matrix m(rows, cols);
    for (float& v : m.values())
        v = static_cast<float>(normal(random));
    return m;
}

// Matrices with rows of whole cache lines, touched once.
struct Arena {
    std::vector<AlignedFloats> blocks;
    MatrixWindow matrix(int rows, int cols) {
        const std::ptrdiff_t stride = (cols + 15) / 16 * 16;
        AlignedFloats& block = blocks.emplace_back(static_cast<std::size_t>(rows) * static_cast<std::size_t>(stride));
        std::fill_n(block.data(), block.size(), 0.0F);
        return {block.data(), rows, cols, stride};
    }
};

struct AttentionJob {
    int n, d, heads;
    Matrix x;
    std::array<SharedMatrix, 4> w; // Q, K, V, O
    std::array<Matrix, 4> b;
    Arena arena;
    std::array<MatrixWindow, 3> qkv;
    MatrixWindow concat, output;
    KeyMask mask;
    std::vector<HeadProblem> problems;
    std::vector<HeadTarget> targets;

    AttentionJob(int rows, int width, int headCount)
        : n(rows), d(width), heads(headCount), x(drawn(rows, width, 1, 1.0)) {
        for (unsigned i = 0; i < 4; ++i) {
            w[i] = share(drawn(d, d, i + 2, 1.0 / std::sqrt(d)));
            b[i] = drawn(1, d, i + 6, 0.1);
        }
        for (MatrixWindow& m : qkv)
            m = arena.matrix(n, d);
        concat = arena.matrix(n, d);
        output = arena.matrix(n, d);
        mask.open.assign(static_cast<std::size_t>(n), {0, n});
        const int dK = d / heads;
        for (int h = 0; h < heads; ++h) {
            const auto band = [&](const MatrixWindow& all) { return all.colRange(h * dK, (h + 1) * dK); };
            HeadProblem p;
            p.q = band(qkv[0]);
            p.k = band(qkv[1]);
            p.v = band(qkv[2]);
            p.scale = static_cast<float>(1.0 / std::sqrt(dK));
            p.mask = &mask;
            problems.push_back(p);
            HeadTarget t;
            t.scaled = arena.matrix(n, n);
            t.weights = arena.matrix(n, n);
            t.output = band(concat);
            targets.push_back(t);
        }
    }
    void run(const Backend& backend) const {
        for (std::size_t i = 0; i < 3; ++i)
            backend.linearInto(x, w[i], &b[i], qkv[i]);
        backend.attendAll(problems, targets, {}, {});
        backend.linearInto(concat, w[3], &b[3], output);
    }
};

std::string sentence(int words) {
    std::string text;
    for (int i = 0; i < words; ++i)
        text += (i ? " w" : "w") + std::to_string(i);
    return text;
}

Work workOf(const BenchmarkRequest& r, const Backend& backend) {
    const double n = r.n, d = r.dModel;
    switch (r.job) {
    case Job::Attention: {
        requireMemory(static_cast<std::int64_t>(4 * (2 * r.heads * n * n + 6 * n * d + 12 * d * d)),
                      "the maps of " + std::to_string(r.heads) + " heads of " + std::to_string(r.n) + " tokens",
                      "choose a smaller --n or --d-model");
        const auto job = std::make_shared<const AttentionJob>(r.n, r.dModel, r.heads);
        return {[job, &backend] { job->run(backend); }, 4 * n * d * d + 2 * n * n * d};
    }
    case Job::Edit: {
        if (const int most = ModelConfig().maxTokens; r.n > most) // before its text is made
            throw InputError("--n: expected at most " + std::to_string(most) + " tokens for an edit of toy, found " +
                             std::to_string(r.n));
        ScenarioRequest request;
        request.source.name = "toy";
        request.source.toy.dModel = r.dModel;
        request.source.toy.heads = r.heads;
        request.text = sentence(r.n);
        const SharedTrace t = trace(makeScenario(std::move(request)), backend);
        const auto round = std::make_shared<int>(0);
        return {[t, round] {
                    const ModelConfig& c = t->config();
                    const int i = (*round)++, head = i % c.heads; // another entry every time
                    static_cast<void>(headAfterEdit(*t, {LayerIndex{0}, WeightKind::WQ}, i % c.dModel,
                                                    head * c.dK + i % c.dK, 0.01F * static_cast<float>(i % 100),
                                                    HeadIndex{head}, {.scaled = true, .weights = true}));
                },
                n * d + n * n * (d / r.heads)};
    }
    case Job::Model: {
        const auto s = std::make_shared<const Scenario>(r.scenario(r.n));
        const ModelConfig& c = s->model->config();
        const double rows = s->queries(), keys = s->keys(), width = c.dModel;
        const double mlps = !s->model->transformer() || c.dFeedForward == 0 ? 0.0
                            : s->model->transformer()->blocks[0].gate.w     ? 3.0
                                                                            : 2.0;
        const double perLayer = rows * width * c.heads * c.dK + keys * c.dModelKey * c.kvHeads * (c.dK + c.dV) +
                                2.0 * rows * keys * c.heads * (c.dK + c.dV) / 2 +
                                rows * keys * c.heads * c.dK + // the weights once more, for the maps
                                rows * c.heads * c.dV * width + mlps * rows * width * c.dFeedForward;
        return {[s, &backend] {
                    const SharedTrace t = trace(*s, backend);
                    for (int l = 0; l < t->config().layers; ++l)
                        for (int h = 0; h < t->config().heads; ++h)
                            static_cast<void>(headStages(*t, LayerIndex{l}, HeadIndex{h}, {.weights = true}));
                },
                perLayer * c.layers};
    }
    }
    return {};
}

// Multiply-adds in registers, on all threads at once and for about as long as the job takes (a processor is faster for
// an instant than it can go on): what no program on this machine can pass.
double rooflineGflops(double ms) {
    const int threads = threadCount();
    std::vector<double> done(static_cast<std::size_t>(threads));
    const Clock::time_point begin = Clock::now();
    parallelFor(threads, [&](int i) {
        float sink = 1.0F;
        double& sum = done[static_cast<std::size_t>(i)];
        do
            sum += kernels().multiplyAdds(20000, &sink);
        while (millisecondsSince(begin) < ms);
        sum *= sink == 0.25F ? 0.0 : 1.0; // so that it is not left out
    });
    return 2 * std::accumulate(done.begin(), done.end(), 0.0) / (millisecondsSince(begin) * 1e6);
}

} // namespace

std::string_view jobName(Job job) {
    switch (job) {
    case Job::Attention:
        return "attention";
    case Job::Edit:
        return "edit";
    case Job::Model:
        return "model";
    }
    return "";
}

std::optional<Job> jobFromName(std::string_view name) {
    for (const Job job : {Job::Attention, Job::Edit, Job::Model})
        if (jobName(job) == name)
            return job;
    return std::nullopt;
}

std::vector<BenchmarkResult> benchmark(const BenchmarkRequest& r, const std::stop_token& stop) {
    if (r.job != Job::Model && (r.heads < 1 || r.dModel % r.heads != 0))
        throw InputError("d_model = " + std::to_string(r.dModel) + " is not divisible by " + std::to_string(r.heads) +
                         " heads; choose --d-model and --heads so that it is");
    std::vector<Work> works;
    for (const Backend* backend : r.backends)
        works.push_back(workOf(r, *backend));
    std::vector<std::vector<double>> times(works.size());
    double roofline = 0;
    const Clock::time_point begin = Clock::now();
    // The first round warms caches and pages and is not counted.
    for (int round = 0; r.rounds > 0 ? round <= r.rounds : round <= 5 || millisecondsSince(begin) < 500; ++round) {
        for (std::size_t i = 0; i < works.size(); ++i) {
            if (stop.stop_requested())
                throw Cancelled();
            const Clock::time_point start = Clock::now();
            works[i].run();
            if (round > 0)
                times[i].push_back(millisecondsSince(start));
        }
        const double lastRun = times.front().empty() ? 0.0 : times.front().back();
        roofline = std::max(roofline, rooflineGflops(std::min(lastRun, 100.0)));
    }
    std::vector<BenchmarkResult> results;
    for (std::size_t i = 0; i < works.size(); ++i) {
        std::ranges::sort(times[i]);
        BenchmarkResult out;
        out.job = r.job;
        out.n = r.n;
        out.backend = r.backends[i]->name();
        const bool isCpu = out.backend == "cpu";
        out.threads = isCpu ? threadCount() : 1;
        out.isa = isCpu ? kernels().isa : "";
        out.msMedian = times[i][times[i].size() / 2];
        out.msMin = times[i].front();
        out.gflops = 2 * works[i].multiplyAdds / (out.msMin * 1e6);
        out.rooflineGflops = roofline;
        out.rooflineShare = out.gflops / roofline;
        results.push_back(out);
    }
    return results;
}

} // namespace headscope
