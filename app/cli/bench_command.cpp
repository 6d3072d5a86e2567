// bench: times the engine on this machine, beside the limit of its multiply-adds measured in the same minute.
#include "app/cli/commands.h"
#include "app/cli/common_options.h"
#include "app/cli/json_text.h"
#include "app/cli/numbers.h"
#include "app/cli/table.h"
#include "core/analysis/benchmark.h"

namespace headscope::cli {

namespace {

struct BenchOptions {
    OptionText job, n, backend, threads, rounds;
    ModelOptions model;
    bool json = false;
};

Job parseJob(const std::string& text) {
    if (const auto job = jobFromName(text))
        return *job;
    throw InputError("--job: expected attention, edit or model, found '" + text + "'");
}

// attention and edit need two sizes, model a model.
void refuseUnusedOptions(const BenchOptions& o, Job job) {
    const ModelOptions& m = o.model;
    if (job == Job::Model)
        return; // modelSource refuses what the model does not use
    const auto refuse = [&](bool given, const char* option) {
        if (given)
            throw InputError(std::string(option) + " is not used by --job " + std::string(jobName(job)) +
                             ": it has --d-model and --heads; --job model times a model");
    };
    refuse(m.model.has_value(), "--model");
    refuse(m.kvHeads.has_value(), "--kv-heads");
    refuse(m.dK.has_value(), "--d-k");
    refuse(m.dV.has_value(), "--d-v");
    refuse(m.layers.has_value(), "--layers");
    refuse(m.seed.has_value(), "--seed");
    refuse(m.position.has_value(), "--position");
    refuse(m.bias.has_value(), "--bias");
    refuse(m.residual.has_value(), "--residual");
}

// A text of n tokens: numbered words, or ids where the model has numbers for its tokens.
Scenario scenarioOf(const ModelSource& source, const SharedModel& model, int n) {
    if (const int most = model->config().maxTokens; n > most)
        throw InputError("--n: expected at most " + std::to_string(most) + " tokens for " + source.name + ", found " +
                         std::to_string(n));
    ScenarioRequest request;
    request.source = source;
    if (isWordModel(*model)) {
        std::string text;
        for (int i = 0; i < n; ++i)
            text += (i ? " w" : "w") + std::to_string(i);
        request.text = text;
    } else {
        std::vector<std::int64_t> ids;
        for (std::int64_t i = 0; i < n; ++i)
            ids.push_back((i * 37 + 11) % std::max(1, model->config().vocabulary));
        request.ids = ids;
    }
    return makeScenario(std::move(request));
}

void printTable(std::ostream& out, const std::vector<BenchmarkResult>& results) {
    Table table(
        {"job", ">n", "backend", ">threads", "isa", ">ms (median)", ">ms (best)", ">GFLOP/s", ">limit", ">share"});
    for (const BenchmarkResult& r : results)
        table.row({std::string(jobName(r.job)), std::to_string(r.n), r.backend, std::to_string(r.threads),
                   r.isa.empty() ? "-" : r.isa, fixed(r.msMedian, 4), fixed(r.msMin, 4), fixed(r.gflops, 1),
                   fixed(r.rooflineGflops, 1), fixed(100 * r.rooflineShare, 1) + " %"});
    table.print(out);
}

void printJson(std::ostream& out, const std::vector<BenchmarkResult>& results) {
    std::vector<Json> items;
    for (const BenchmarkResult& r : results)
        items.push_back({{"job", jobName(r.job)},
                         {"n", r.n},
                         {"backend", r.backend},
                         {"threads", r.threads},
                         {"isa", r.isa},
                         {"ms_median", r.msMedian},
                         {"ms_min", r.msMin},
                         {"gflops", r.gflops},
                         {"roofline_gflops", r.rooflineGflops},
                         {"roofline_share", r.rooflineShare}});
    printJsonList(out, items);
}

} // namespace

int benchCommand(const Arguments& arguments, const Streams& streams) {
    BenchOptions o;
    CommandLine line("bench", "Times the engine, beside what this machine's multiply-adds allow at most.",
                     "headscope bench --job attention --n 64,512 --backend cpu,reference");
    line.value("--job", o.job, "JOB",
               "attention (X to Q, K, V, scores, weights, output), edit (one entry of W_Q to the maps of its head) or "
               "model (the whole of --model) (attention)");
    line.value("--n", o.n, "N,...", "tokens (attention 16,64,256,1024; edit 64; model 16,128)");
    line.value("--backend", o.backend, "NAME,...", "backends, in turn (cpu); `headscope devices` lists them");
    line.value("--threads", o.threads, "N", "threads (as many as the machine has cores)");
    line.value("--rounds", o.rounds, "N", "times that each is run (half a second's worth, at least 5)");
    line.flag("--json", o.json, "a list of objects");
    addModelOptions(line, o.model);
    if (!line.parse(arguments, streams.out))
        return 0;

    BenchmarkRequest request;
    request.job = parseJob(o.job.value_or("attention"));
    refuseUnusedOptions(o, request.job);
    const char* usual = request.job == Job::Attention ? "16,64,256,1024" : request.job == Job::Edit ? "64" : "16,128";
    std::vector<int> sizes;
    for (const std::string& n : split(o.n.value_or(usual), ','))
        sizes.push_back(parseInt("--n", n, 1));
    if (o.rounds)
        request.rounds = parseInt("--rounds", *o.rounds, 1);
    setThreads(o.threads);
    for (const std::string& name : split(o.backend.value_or("auto"), ','))
        request.backends.push_back(&backendByName(name));
    if (request.job == Job::Model) {
        const ModelSource source = modelSource(o.model);
        const SharedModel model = openModel(source).model;
        refuseHeadsOption(o.model, *model);
        request.scenario = [source, model](int n) { return scenarioOf(source, model, n); };
    } else {
        request.dModel = o.model.dModel ? parseInt("--d-model", *o.model.dModel, 1) : 512;
        request.heads = o.model.heads ? parseInt("--heads", *o.model.heads, 1) : 8;
    }

    std::vector<BenchmarkResult> results;
    for (const int n : sizes) {
        request.n = n;
        const auto more = benchmark(request);
        results.insert(results.end(), more.begin(), more.end());
    }
    if (o.json)
        printJson(streams.out, results);
    else
        printTable(streams.out, results);
    return 0;
}

} // namespace headscope::cli
