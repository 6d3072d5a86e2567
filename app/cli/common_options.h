// The options that commands share. Knows which were given, so that one that the chosen model does not use is refused by
// name. Not here: how they become a scenario (scenario_options.h).
#pragma once

#include "app/cli/command_line.h"
#include "app/cli/streams.h"
#include "core/attention/trace.h"
#include "core/attention/view.h"
#include "core/model/builtin.h"
#include "core/tensor/errors.h"

#include <optional>
#include <string>
#include <vector>

namespace headscope::cli {

using OptionText = std::optional<std::string>; // as typed; empty when it was not given

struct ModelOptions {
    OptionText model;
    OptionText dModel, heads, kvHeads, dK, dV, layers, seed, position;
    std::optional<bool> bias, residual;

    bool anyGiven() const;
};

struct TextOptions {
    OptionText text, textFile, ids, pair, pairIds, target, targetIds, x, y;

    bool anyGiven() const;
};

// Everything that decides a trace, and the selection of layers, heads and stages.
struct ComputeOptions {
    ModelOptions model;
    TextOptions text;
    OptionText scenario;
    OptionText mask, scale, temperature, ablate, site, special, backend, threads;
    std::vector<std::string> rules;
    bool words = false;
    OptionText layer, head, stage;
};

void addModelOptions(CommandLine& line, ModelOptions& options);
void addSizeOptions(CommandLine& line, ModelOptions& options);      // without --model
void addComputeOptions(CommandLine& line, ComputeOptions& options); // model and text options included
void addStageOption(CommandLine& line, ComputeOptions& options);    // for the commands that take one

void refuseIf(bool given, const std::string& sentence); // throws it as InputError
bool fileExists(const std::string& path);
bool isBuiltinModel(const std::string& name);
bool isWordModel(const Model& model); // its tokens are whole words, and it adds no special ones

// Each throws InputError naming the option that does not fit.
ModelSource modelSource(const ModelOptions& options, ModelSource base = {});    // what was not given stays as in base
void refuseHeadsOption(const ModelOptions& options, const Model& model);        // --heads beside a trained model
std::string readTextFile(const std::string& path, std::istream& standardInput); // "-" is standard input; valid UTF-8
void setThreads(const OptionText& threads);                                     // --threads, for the whole program
// The scenario traced; what is beyond the range of float32 is noted.
SharedTrace traceNoted(const Scenario& scenario, const Backend& backend, const Streams& streams);
const Backend& chosenBackend(const ComputeOptions& options);

std::vector<LayerIndex> parseLayers(const std::string& text, const ModelConfig& config);
std::vector<HeadIndex> parseHeads(const std::string& text, const ModelConfig& config);
std::vector<Stage> parseStages(const std::string& text, const Scenario& scenario);
CellRef parseCell(const std::string& text, int rows, int cols); // "ROW,COL"

// Says that --words and --special change nothing in what a command writes, when one was given.
void noteTokenOptions(const ComputeOptions& options, const std::string& why, const Streams& streams);

// The path to write to; its suffix in lower case must be one of `suffixes` (".png", ".svg").
struct OutputPath {
    std::string path, suffix;
};
OutputPath outputPath(const OptionText& out, const std::vector<std::string>& suffixes);

} // namespace headscope::cli
