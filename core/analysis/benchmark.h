// Benchmarks of the engine that the program itself can run: three jobs that people wait for, timed in interleaved
// rounds on several backends, beside the machine's own limit. On a shared machine one absolute time says little:
// medians and the share of a limit measured in the same minute do. Not here: comparing with other programs
// (tests/bench/peers.py).
#pragma once

#include "core/attention/scenario.h"

#include <functional>

namespace headscope {

enum class Job {
    Attention, // X and W_Q, W_K, W_V, W_O to Q, K, V, all scaled scores, all weights, concat and output
    Edit,      // one entry of W_Q changes: to the scaled scores, weights and output of its head
    Model,     // a whole scenario, from its tokens to the last layer, and the weights of all its heads
};
std::string_view jobName(Job job); // "attention", "edit", "model"
std::optional<Job> jobFromName(std::string_view name);

struct BenchmarkRequest {
    Job job = Job::Attention;
    int n = 64;
    int dModel = 512, heads = 8;             // attention and edit; heads divide d_model
    std::function<Scenario(int n)> scenario; // model: a text of n tokens
    std::vector<const Backend*> backends;    // each in turn, round by round
    int rounds = 0;                          // 0: as many as about half a second holds, at least 5
};

struct BenchmarkResult {
    Job job = Job::Attention;
    int n = 0;
    std::string backend;
    int threads = 1;
    std::string isa; // of the CPU kernels; empty for other backends
    double msMedian = 0, msMin = 0;
    double gflops = 0;         // at the best round; a multiply-add is two
    double rooflineGflops = 0; // multiply-adds in registers on as many threads: 0 where no such limit was measured
    double rooflineShare = 0;
};

// One result for each backend. Throws InputError on sizes that do not fit (in memory, or each other), Cancelled.
std::vector<BenchmarkResult> benchmark(const BenchmarkRequest& request, const std::stop_token& stop = {});

} // namespace headscope
