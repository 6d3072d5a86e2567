#include "app/cli/common_options.h"

#include "app/cli/numbers.h"
#include "core/attention/overflow.h"
#include "core/tensor/parallel.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace headscope::cli {

namespace {

enum class ModelKind { Toy, OtherBuiltin, File };

ModelKind kindOf(const std::string& model) {
    if (model == "toy")
        return ModelKind::Toy;
    return isBuiltinModel(model) ? ModelKind::OtherBuiltin : ModelKind::File;
}

// What the chosen model has no use for, each by name.
void refuseUnusedModelOptions(const ModelOptions& o, const std::string& model, ModelKind kind) {
    if (kind == ModelKind::Toy)
        return;
    const std::string why =
        " is for toy; " + model +
        (kind == ModelKind::File ? " has the sizes that its file says" : " has its own sizes and weights");
    refuseIf(o.dModel.has_value(), "--d-model" + why);
    refuseIf(o.kvHeads.has_value(), "--kv-heads" + why);
    refuseIf(o.dK.has_value(), "--d-k" + why);
    refuseIf(o.dV.has_value(), "--d-v" + why);
    refuseIf(o.layers.has_value(), "--layers" + why);
    refuseIf(o.seed.has_value(), "--seed" + why);
    refuseIf(o.position.has_value(), "--position" + why);
    refuseIf(o.bias.has_value(), (o.bias.value_or(true) ? "--bias" : "--no-bias") + why);
    refuseIf(o.residual.has_value(), (o.residual.value_or(true) ? "--residual" : "--no-residual") + why);
    refuseIf(o.heads.has_value() && kind == ModelKind::OtherBuiltin,
             "--heads is for toy and attention modules; " + model + " has its own heads");
}

} // namespace

void refuseIf(bool given, const std::string& sentence) {
    if (given)
        throw InputError(sentence);
}

bool fileExists(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
}

bool isWordModel(const Model& model) {
    return !model.transformer();
}

void refuseHeadsOption(const ModelOptions& o, const Model& model) {
    refuseIf(o.heads.has_value() && model.transformer(),
             "--heads is for toy and attention modules; " + model.config().name + " has the heads that its file says");
}

bool isBuiltinModel(const std::string& name) {
    const auto& models = builtinModels();
    return std::any_of(models.begin(), models.end(), [&](const BuiltinModel& model) { return model.name == name; });
}

bool ModelOptions::anyGiven() const {
    return model || dModel || heads || kvHeads || dK || dV || layers || seed || position || bias || residual;
}

bool TextOptions::anyGiven() const {
    return text || textFile || ids || pair || pairIds || target || targetIds || x || y;
}

void addModelOptions(CommandLine& line, ModelOptions& o) {
    line.group("Model");
    line.value("--model", o.model, "NAME|PATH",
               "a built-in model or a file (" + std::string(defaultModelName()) + "); `headscope models` lists them");
    addSizeOptions(line, o);
}

void addSizeOptions(CommandLine& line, ModelOptions& o) {
    line.group("Model");
    line.value("--d-model", o.dModel, "N", "toy: width of X (64)");
    line.value("--heads", o.heads, "N", "toy: heads (8); attention modules whose file does not say");
    line.value("--kv-heads", o.kvHeads, "N", "toy: key/value heads (as many as heads)");
    line.value("--d-k", o.dK, "N", "toy: width of Q and K per head (d_model / heads)");
    line.value("--d-v", o.dV, "N", "toy: width of V per head (d_model / heads)");
    line.value("--layers", o.layers, "N", "toy: layers (1)");
    line.value("--seed", o.seed, "N", "toy: what the weights are drawn from (1)");
    line.value("--position", o.position, "NAME", "toy: none, sinusoidal, learned, rope or alibi (none)");
    line.yesNo("bias", o.bias, "toy: with b_Q, b_K, b_V, b_O (the default)");
    line.yesNo("residual", o.residual, "toy: input + output feeds the next layer (the default)");
    line.group("Options");
}

void addComputeOptions(CommandLine& line, ComputeOptions& o) {
    line.group("Text");
    line.value("--text", o.text.text, "T", "the sentence");
    line.value("--text-file", o.text.textFile, "F", "the sentence from a UTF-8 file; - is standard input");
    line.value("--ids", o.text.ids, "5,8,13", "token ids as they are, nothing added");
    line.value("--pair", o.text.pair, "T2",
               "a second text: a second segment (encoders), or the keys (toy, attention modules)");
    line.value("--pair-ids", o.text.pairIds, "5,8,13", "token ids of the keys");
    line.value("--target", o.text.target, "T", "the decoder's text (encoder-decoder models)");
    line.value("--target-ids", o.text.targetIds, "5,8,13", "its token ids (encoder-decoder models)");
    line.value("--x", o.text.x, "F.npy", "attention modules: the matrix that W_Q multiplies");
    line.value("--y", o.text.y, "F.npy", "attention modules: the matrix that W_K and W_V multiply");
    line.value("--scenario", o.scenario, "FILE", "start from a .headscope file; other options override it");
    addModelOptions(line, o.model);
    line.group("Attention");
    line.value("--mask", o.mask, "MASK",
               "none, causal, window:W, prefix:P, padding:K, model or a file (csv, npy, npz), joined by + (model)");
    line.value("--scale", o.scale, "SCALE", "what multiplies the scores: sqrt_dk, none or a number (sqrt_dk)");
    line.value("--temperature", o.temperature, "T", "divides the masked scores: 0 is argmax, inf is uniform (1)");
    line.value("--ablate", o.ablate, "L:H,...", "switch heads off before W_O");
    line.list("--rule", o.rules, "NAME", "a class rule, wrong on purpose: " + ruleNames());
    line.value("--site", o.site, "SITE", "encoder.self, decoder.self or decoder.cross (encoder-decoder models)");
    line.value("--special", o.special, "HOW",
               "special tokens: show, hide, unranged (no say in the colour range) or drop (rows divided by what is "
               "left); models that add some");
    line.flag("--words", o.words,
              "weights: join the pieces of words, sum over keys, mean over queries (subword models)");
    line.group("Selection");
    line.value("--layer", o.layer, "L", "the layer, from 0");
    line.value("--head", o.head, "H", "a head, a list as in 0,3,5-7, or all");
    line.group("Computing");
    line.value("--backend", o.backend, "NAME",
               "auto, cpu, reference or opencl[:N] (auto); `headscope devices` lists them");
    line.value("--threads", o.threads, "N", "threads (as many as the machine has cores)");
    line.group("Options");
}

void addStageOption(CommandLine& line, ComputeOptions& o) {
    line.group("Selection");
    line.value("--stage", o.stage, "ID,...", stageIds());
    line.group("Options");
}

ModelSource modelSource(const ModelOptions& o, ModelSource source) {
    if (o.model && *o.model != source.name) {
        source = ModelSource{};
        source.name = *o.model;
    }
    const ModelKind kind = kindOf(source.name);
    // "weights" without a suffix is a path too, where there is such a file.
    if (kind == ModelKind::File && source.name.find_first_of("/.") == std::string::npos && fileExists(source.name))
        source.name.insert(0, "./");
    refuseUnusedModelOptions(o, source.name, kind);
    const auto number = [](const char* option, const OptionText& text, auto& target) {
        if (text)
            target = parseInt(option, *text, 1);
    };
    if (kind == ModelKind::File)
        number("--heads", o.heads, source.heads);
    if (kind != ModelKind::Toy)
        return source;
    ToyOptions& toy = source.toy;
    number("--d-model", o.dModel, toy.dModel);
    number("--heads", o.heads, toy.heads);
    number("--kv-heads", o.kvHeads, toy.kvHeads);
    number("--d-k", o.dK, toy.dK);
    number("--d-v", o.dV, toy.dV);
    number("--layers", o.layers, toy.layers);
    if (o.seed)
        toy.seed = parseSeed("--seed", *o.seed);
    if (o.position) {
        const auto position = positionFromName(*o.position);
        if (!position)
            throw InputError("--position: expected none, sinusoidal, learned, rope or alibi, found '" + *o.position +
                             "'");
        toy.position = *position;
    }
    toy.bias = o.bias.value_or(toy.bias);
    toy.residual = o.residual.value_or(toy.residual);
    return source;
}

std::string readTextFile(const std::string& path, std::istream& standardInput) {
    constexpr std::size_t largest = std::size_t{64} << 20U; // far above any model's limit; keeps endless input out
    std::ifstream file;
    const std::string name = path == "-" ? "standard input" : path;
    if (path != "-") {
        std::error_code ignored;
        if (std::filesystem::is_directory(path, ignored))
            throw LoadError(path, "", "a text file", "a folder");
        file.open(path, std::ios::binary);
        if (!file)
            throw LoadError(path, "", "a text file", "nothing that can be opened",
                            "check the path and its permissions");
    }
    std::istream& in = path == "-" ? standardInput : file;
    std::string text;
    std::vector<char> block(std::size_t{1} << 16U);
    while (in.read(block.data(), static_cast<std::streamsize>(block.size())), in.gcount() > 0) {
        text.append(block.data(), static_cast<std::size_t>(in.gcount()));
        if (text.size() > largest)
            throw LoadError(name, "", "a text of at most " + std::to_string(largest) + " bytes", "a longer one");
    }
    if (in.bad())
        throw LoadError(name, "", "a text that can be read", "a read error");
    requireUtf8(text, name);
    return text;
}

void setThreads(const OptionText& threads) {
    constexpr int most = 256;
    const int n = threads ? parseInt("--threads", *threads, 1) : 0;
    refuseIf(n > most, "--threads: expected at most " + std::to_string(most) + ", found " + std::to_string(n));
    if (threads)
        setThreadCount(n);
}

SharedTrace traceNoted(const Scenario& scenario, const Backend& backend, const Streams& streams) {
    SharedTrace computed = trace(scenario, backend);
    if (const std::string sentence = overflowNote(*computed); !sentence.empty())
        note(streams, sentence);
    return computed;
}

const Backend& chosenBackend(const ComputeOptions& o) {
    setThreads(o.threads);
    return backendByName(o.backend.value_or("auto"));
}

std::vector<LayerIndex> parseLayers(const std::string& text, const ModelConfig& config) {
    std::vector<LayerIndex> layers;
    for (const int l : parseIndices("--layer", text, config.layers, config.name, "layer"))
        layers.emplace_back(l);
    return layers;
}

std::vector<HeadIndex> parseHeads(const std::string& text, const ModelConfig& config) {
    std::vector<HeadIndex> heads;
    for (const int h : parseIndices("--head", text, config.heads, config.name, "head"))
        heads.emplace_back(h);
    return heads;
}

std::vector<Stage> parseStages(const std::string& text, const Scenario& scenario) {
    std::vector<Stage> stages;
    for (const std::string& id : split(text, ',')) {
        const auto stage = stageFromId(id);
        if (!stage)
            throw InputError("--stage: there is no stage '" + id + "'; the stages are " + stageIds());
        if (!stageAvailable(scenario, *stage))
            throw InputError("--stage: " + whyNoStage(scenario, *stage));
        if (std::find(stages.begin(), stages.end(), *stage) == stages.end())
            stages.push_back(*stage);
    }
    return stages;
}

CellRef parseCell(const std::string& text, int rows, int cols) {
    const auto parts = split(text, ',');
    if (parts.size() != 2)
        throw InputError("--cell: expected ROW,COL as in 3,1, found '" + text + "'");
    const CellRef cell{parseInt("--cell: row", parts[0], 0), parseInt("--cell: column", parts[1], 0)};
    if (cell.row >= rows || cell.col >= cols)
        throw InputError("--cell " + text + ": the map has " + shapeText(rows, cols) + " cells, numbered from 0,0 to " +
                         std::to_string(rows - 1) + "," + std::to_string(cols - 1));
    return cell;
}

void noteTokenOptions(const ComputeOptions& o, const std::string& why, const Streams& streams) {
    if (o.words || (o.special && *o.special != "show"))
        streams.err << "headscope: note: --words and --special shape pictures and tables; " << why << '\n';
}

OutputPath outputPath(const OptionText& out, const std::vector<std::string>& suffixes) {
    std::string list;
    for (const std::string& suffix : suffixes)
        list += (list.empty() ? "" : suffix == suffixes.back() ? " or " : ", ") + suffix;
    if (!out || out->empty())
        throw InputError("--out is missing: name the file to write, ending in " + list);
    std::string suffix = std::filesystem::path(*out).extension().string();
    std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (std::find(suffixes.begin(), suffixes.end(), suffix) == suffixes.end())
        throw InputError("--out " + *out + ": expected a name ending in " + list + ", found " +
                         (suffix.empty() ? "no ending" : "'" + suffix + "'"));
    return {*out, suffix};
}

} // namespace headscope::cli
