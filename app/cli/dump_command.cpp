#include "app/cli/commands.h"
#include "app/cli/common_options.h"
#include "app/cli/numbers.h"
#include "app/cli/scenario_options.h"
#include "core/analysis/shown.h"
#include "core/exchange/atomic_file.h"
#include "core/exchange/dump.h"

#include <ostream>

namespace headscope::cli {

namespace {

struct DumpCommandOptions {
    ComputeOptions compute;
    OptionText out;
    bool weights = false, hidden = false, logits = false;
};

// A csv is one matrix: one stage of one layer and, where it exists per head, of one head.
LabelledMatrix theOneMatrix(const AttentionTrace& trace, DumpOptions options, const DumpCommandOptions& given) {
    const ModelConfig& config = trace.config();
    const std::string path = *given.out;
    const std::string only = "--out " + path + ": a csv holds exactly one matrix";
    if (given.weights || given.hidden || given.logits)
        throw InputError(only + ", and " +
                         (given.weights  ? "--weights"
                          : given.hidden ? "--hidden"
                                         : "--logits") +
                         " adds others; write them to .npz or .json");
    if (options.stages.empty())
        throw InputError(only + "; choose its stage with --stage, one of " + stageIds());
    if (options.stages.size() > 1)
        throw InputError(only + ", found " + std::to_string(options.stages.size()) +
                         " stages; choose one with --stage");
    const auto layers = options.layers.empty() ? parseLayers("all", config) : options.layers;
    if (layers.size() > 1)
        throw InputError(only + ", found " + std::to_string(layers.size()) + " layers; choose one with --layer");
    const StageInfo& stage = stageInfo(options.stages[0]);
    const auto heads = options.heads.empty() ? parseHeads("all", config) : options.heads;
    const bool perHead = stage.scope != StageScope::AllHeads;
    if (perHead && heads.size() > 1)
        throw InputError(only + ", found " + std::string(stage.id) + " of " + std::to_string(heads.size()) +
                         " heads; choose one with --head");
    // The table of what a picture would show.
    return labelledMatrix(shownStage(trace, layers[0], heads[0], stage.stage, options.view));
}

} // namespace

int dumpCommand(const Arguments& arguments, const Streams& streams) {
    DumpCommandOptions o;
    CommandLine line(
        "dump", "Writes the numbers of every stage: .npz (numpy), .json, or .csv (one matrix).",
        "headscope dump --model toy --d-model 64 --heads 8 --text \"The cat sat on the mat\" --weights --out t.npz");
    line.value("--out", o.out, "F", "the file; its ending chooses .npz, .json or .csv");
    line.flag("--weights", o.weights, "also W_Q, W_K, W_V, W_O, b_Q, b_K, b_V, b_O");
    line.flag("--hidden", o.hidden, "also hidden: the last layer's output, after the final norm where there is one");
    line.flag("--logits", o.logits, "also the logits (models with an output layer)");
    addComputeOptions(line, o.compute);
    addStageOption(line, o.compute);
    line.helpText(
        "Default: all layers, heads and stages. Arrays are named layers.L.self.STAGE or layers.L.cross.STAGE.\n");
    if (!line.parse(arguments, streams.out))
        return 0;

    const OutputPath out = outputPath(o.out, {".npz", ".json", ".csv"});
    const Document document = openDocument(o.compute, streams);
    const Scenario& scenario = document.scenario;
    const ModelConfig& config = scenario.model->config();

    DumpOptions options;
    options.view = document.view;
    if (o.compute.layer)
        options.layers = parseLayers(*o.compute.layer, config);
    if (o.compute.head)
        options.heads = parseHeads(*o.compute.head, config);
    if (o.compute.stage)
        options.stages = parseStages(*o.compute.stage, scenario);
    options.weights = o.weights;
    options.hidden = o.hidden;
    options.logits = o.logits;
    requireDumpable(scenario, options);

    const SharedTrace computed = traceNoted(scenario, chosenBackend(o.compute), streams);
    if (out.suffix == ".csv") {
        const LabelledMatrix matrix = theOneMatrix(*computed, options, o);
        writeFileAtomically(out.path, [&](std::ostream& file) { writeCsv(file, matrix); });
        return 0;
    }
    noteTokenOptions(o.compute, "arrays hold every token", streams);
    const std::vector<NamedArray> arrays = dumpArrays(*computed, options);
    writeFileAtomically(out.path, [&](std::ostream& file) {
        if (out.suffix == ".npz")
            writeNpz(file, arrays);
        else
            writeJson(file, arrays);
    });
    return 0;
}

} // namespace headscope::cli
