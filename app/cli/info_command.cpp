// info: what a model is, or what a file holds and why it is no model.
#include "app/cli/commands.h"
#include "app/cli/common_options.h"
#include "app/cli/json_text.h"
#include "app/cli/model_facts.h"
#include "app/cli/numbers.h"
#include "app/cli/scenario_options.h"
#include "app/cli/table.h"
#include "core/analysis/cost.h"
#include "core/attention/head_stages.h"
#include "core/model/captured_attention.h"
#include "core/model/checkpoint.h"
#include "core/model/tensor_file.h"
#include "core/tensor/memory.h"

#include <cmath>
#include <filesystem>

namespace headscope::cli {

namespace {

struct InfoOptions {
    OptionText target, n;
    ModelOptions model;
    bool json = false;
};

// ---- what the model is
// -------------------------------------------------------------------------------------------------

void printModel(std::ostream& out, const Model& model) {
    const ModelConfig& c = model.config();
    Table table({"model", c.name});
    for (const ModelFact& fact : modelFacts(model))
        if (!fact.label.empty())
            table.row({fact.label, fact.text});
    table.print(out);
    for (std::size_t h = 0; h < c.headNames.size(); ++h)
        out << (h == 0 ? "\nheads\n" : "") << "  H" << h << "  " << c.headNames[h] << "\n";
    const std::vector<std::string> notes = modelNotes(model);
    for (std::size_t i = 0; i < notes.size(); ++i)
        out << (i == 0 ? "\nunusual\n" : "") << "  " << notes[i] << "\n";
}

Json modelJson(const Model& model) {
    const ModelConfig& c = model.config();
    Json json{{"kind", "model"}, {"name", c.name}};
    for (const ModelFact& fact : modelFacts(model))
        for (const auto& [key, value] : fact.json.items())
            json[key] = value;
    json["head_names"] = c.headNames;
    json["notes"] = modelNotes(model);
    return json;
}

// ---- what its heads cost
// -----------------------------------------------------------------------------------------------

struct ModelCost {
    AttentionCost layer;                           // of one layer, as the model is
    std::optional<HeadCountComparison> headCounts; // where d_k = d_v = d_model / heads
};

ModelCost costOf(const Model& model, int n) {
    const ModelConfig& c = model.config();
    ModelCost cost;
    cost.layer = attentionCost(n, n, c.dModel, c.heads, c.kvHeads, c.dK, c.dV, attentionHasBias(model));
    if (c.heads > 1 && c.kvHeads == c.heads && c.dK == c.dV && c.dK * c.heads == c.dModel)
        cost.headCounts = compareHeadCounts(n, c.dModel, c.heads, attentionHasBias(model));
    return cost;
}

void printCost(std::ostream& out, const ModelCost& cost, const ModelConfig& c, int n) {
    out << "\ncost of the attention of one layer at n = " << n << " (choose another with --n)\n";
    Table parts({"part", ">multiply-adds", ">share", ">parameters"});
    for (const CostPart& part : cost.layer.parts)
        parts.row({part.name, grouped(part.multiplyAdds), fixed(part.share * 100, 1) + " %", grouped(part.parameters)});
    parts.row({"all", grouped(cost.layer.multiplyAdds), "", grouped(cost.layer.parameters)});
    parts.print(out, "  ");
    out << "  The row softmax counts its exponentials, which are no multiply-adds.\n";
    if (!cost.headCounts)
        return;
    const AttentionCost& one = cost.headCounts->one;
    const AttentionCost& many = cost.headCounts->many;
    out << "\n" << c.heads << " heads of " << c.dK << " against one head of " << c.dModel << "\n";
    Table compare({"", ">multiply-adds", ">parameters", ">numbers in the maps"});
    compare.row({"one head", grouped(one.multiplyAdds), grouped(one.parameters), grouped(one.mapEntries)});
    compare.row({std::to_string(c.heads) + " heads", grouped(many.multiplyAdds), grouped(many.parameters),
                 grouped(many.mapEntries)});
    compare.print(out, "  ");
}

Json costJson(const AttentionCost& cost) {
    Json parts = Json::array();
    for (const CostPart& part : cost.parts)
        parts.push_back({{"part", part.name},
                         {"multiply_adds", part.multiplyAdds},
                         {"share", part.share},
                         {"parameters", part.parameters}});
    return {{"multiply_adds", cost.multiplyAdds},
            {"parameters", cost.parameters},
            {"map_entries", cost.mapEntries},
            {"parts", std::move(parts)}};
}

// ---- the worked example: what its article printed, and what is right
// -----------------------------------------------------

struct Comparison {
    PrintedStage printed;
    SharedMatrix correct;
    std::vector<std::string> rowLabels, colLabels;
};

std::vector<Comparison> compareWithPrinted(const Streams& streams) {
    ComputeOptions options;
    options.model.model = "worked-example";
    const Document document = openDocument(options, streams);
    const SharedTrace computed = trace(document.scenario, referenceBackend());
    std::vector<Comparison> comparisons;
    for (const PrintedStage& printed : workedExamplePrinted()) {
        const Stage stage = stageFromId(printed.stage).value();
        Comparison comparison{printed, stageMatrix(*computed, LayerIndex{0}, HeadIndex{0}, stage), {}, {}};
        for (const Token& token : document.scenario.query.tokens)
            comparison.rowLabels.push_back(token.text);
        for (int c = 0; c < printed.values.cols(); ++c)
            comparison.colLabels.push_back(isTokenByToken(stage) ? comparison.rowLabels[static_cast<std::size_t>(c)]
                                                                 : "d " + std::to_string(c));
        comparisons.push_back(std::move(comparison));
    }
    return comparisons;
}

int wrongEntries(const Comparison& comparison) {
    int wrong = 0;
    const double half = 0.5 * std::pow(10.0, -comparison.printed.decimals) + 1e-6; // printed numbers are rounded
    for (std::size_t i = 0; i < comparison.printed.values.size(); ++i)
        wrong += std::abs(comparison.printed.values.values()[i] - comparison.correct->values()[i]) > half ? 1 : 0;
    return wrong;
}

void printComparisons(std::ostream& out, const std::vector<Comparison>& comparisons) {
    out << "\n" << workedExampleNote() << "\n";
    for (const Comparison& comparison : comparisons) {
        const Matrix& printed = comparison.printed.values;
        out << "\n"
            << comparison.printed.stage << ": " << wrongEntries(comparison) << " of " << printed.size()
            << " printed entries are wrong\n";
        std::vector<std::string> titles{""};
        for (const std::string_view block : {"printed", "correct", "difference"})
            for (int c = 0; c < printed.cols(); ++c)
                titles.push_back(">" + (c == 0 ? "| " + std::string(block) + " " : std::string()) +
                                 comparison.colLabels[static_cast<std::size_t>(c)]);
        Table table(titles);
        const int decimals = comparison.printed.decimals;
        for (int r = 0; r < printed.rows(); ++r) {
            std::vector<std::string> cells{comparison.rowLabels[static_cast<std::size_t>(r)]};
            for (int c = 0; c < printed.cols(); ++c)
                cells.push_back(fixed(printed(r, c), decimals));
            for (int c = 0; c < printed.cols(); ++c)
                cells.push_back(fixed((*comparison.correct)(r, c), decimals + 2));
            for (int c = 0; c < printed.cols(); ++c)
                cells.push_back(fixed(printed(r, c) - (*comparison.correct)(r, c), decimals + 2));
            table.row(std::move(cells));
        }
        table.print(out, "  ");
    }
}

Json matrixJson(const Matrix& matrix) {
    Json rows = Json::array();
    for (int r = 0; r < matrix.rows(); ++r) {
        Json row = Json::array();
        for (const float v : matrix.row(r))
            row.push_back(std::isfinite(v) ? Json(v) : Json(fixed(v, 0)));
        rows.push_back(std::move(row));
    }
    return rows;
}

Json comparisonsJson(const std::vector<Comparison>& comparisons) {
    Json list = Json::array();
    for (const Comparison& comparison : comparisons)
        list.push_back({{"stage", comparison.printed.stage},
                        {"wrong", wrongEntries(comparison)},
                        {"printed", matrixJson(comparison.printed.values)},
                        {"correct", matrixJson(*comparison.correct)},
                        {"difference", matrixJson(difference(comparison.printed.values, *comparison.correct))}});
    return list;
}

// ---- a file
// ------------------------------------------------------------------------------------------------------------

std::string shapeOf(const TensorEntry& entry) {
    std::string text;
    for (const std::int64_t size : entry.shape)
        text += (text.empty() ? "" : " x ") + std::to_string(size);
    return text.empty() ? "one number" : text;
}

void printEntries(std::ostream& out, const TensorFile& file) {
    Table table({"name", "type", "shape", ">NaN or infinite"});
    for (const TensorEntry& entry : file.entries())
        table.row({visible(entry.name), entry.type, shapeOf(entry), std::to_string(file.countNonFinite(entry))});
    table.print(out, "  ");
}

Json entriesJson(const TensorFile& file) {
    Json list = Json::array();
    for (const TensorEntry& entry : file.entries())
        list.push_back({{"name", entry.name},
                        {"type", entry.type},
                        {"shape", entry.shape},
                        {"non_finite", file.countNonFinite(entry)}});
    return list;
}

// What a GGUF file says beside its tensors. Of a list (a vocabulary) the length. Null for other files.
Json metadataJson(const TensorFile& file) {
    const auto* gguf = dynamic_cast<const GgufFile*>(&file);
    if (!gguf)
        return nullptr;
    Json out = Json::object();
    const auto read = [&](const std::string& key) -> Json {
        try {
            return *gguf->text(key);
        } catch (const LoadError&) { // no text: a number or a list
        }
        try {
            return *gguf->number(key);
        } catch (const LoadError&) {
        }
        try {
            return {{"count", gguf->numbers(key).size()}};
        } catch (const LoadError&) {
            return {{"count", gguf->texts(key).size()}};
        }
    };
    for (const std::string& key : gguf->keys())
        out[key] = read(key);
    return out;
}

void printMetadata(std::ostream& out, const TensorFile& file) {
    const Json metadata = metadataJson(file);
    if (metadata.empty())
        return;
    constexpr std::size_t longest = 60;
    Table table({"metadata", "value"});
    for (const auto& [key, value] : metadata.items()) {
        std::string text = value.is_object()   ? "a list of " + value["count"].dump()
                           : value.is_number() ? shortest(value.get<double>())
                                               : oneLine(value);
        if (value.is_string() && text.size() > longest)
            text = "a text of " + grouped(static_cast<std::int64_t>(value.get_ref<const std::string&>().size())) +
                   " bytes";
        table.row({visible(key), visible(text)});
    }
    table.print(out, "  ");
}

// A well-formed container that is no model: everything that is in it, and why.
void describeContainer(std::ostream& out, const TensorFile& file, const std::string& why, bool json) {
    if (json) {
        out << oneLine({{"kind", "arrays"},
                        {"path", file.path()},
                        {"format", file.format()},
                        {"why_no_model", why},
                        {"metadata", metadataJson(file)},
                        {"entries", entriesJson(file)}})
            << "\n";
        return;
    }
    const std::size_t count = file.entries().size();
    out << file.path() << ": " << file.format() << " with " << count << (count == 1 ? " array" : " arrays") << "\n";
    printMetadata(out, file);
    printEntries(out, file);
    out << "no model: " << why << "\n";
}

// An archive whose arrays are much larger than itself is listed, not opened: to describe a file must not cost more than
// the file.
void refuseUnfolding(const TensorFile& file) {
    std::int64_t bytes = 0;
    for (const TensorEntry& entry : file.entries())
        bytes += std::min<std::int64_t>(entry.count, std::int64_t{1} << 40) * 4;
    constexpr std::int64_t small = std::int64_t{16} << 20;
    std::error_code ignored;
    const auto size = static_cast<std::int64_t>(std::filesystem::file_size(file.path(), ignored));
    if (file.format() == "npz" && bytes > size + small)
        throw LoadError(file.path(), "", "arrays that are opened as they are",
                        memoryText(bytes) + " deflated into " + memoryText(size), "save it with numpy.savez");
}

// Attention captured elsewhere: what the arrays' names and shapes say.
void describeCaptured(std::ostream& out, const TensorFile& file, const CapturedLayout& layout, bool json) {
    const ModelConfig& c = layout.config;
    std::vector<std::string> stages;
    for (const auto& [stage, places] : layout.stages)
        stages.push_back(stage);
    if (json) {
        out << oneLine({{"kind", "captured attention"},
                        {"name", c.name},
                        {"family", c.family},
                        {"cross", c.cross},
                        {"layers", c.layers},
                        {"heads", c.heads},
                        {"queries", layout.queries},
                        {"keys", layout.keys},
                        {"tokens", layout.tokens != nullptr},
                        {"stages", stages},
                        {"notes", c.notes},
                        {"entries", entriesJson(file)}})
            << "\n";
        return;
    }
    Table table({"model", c.name});
    table.row({"family", c.family});
    table.row({"layers", std::to_string(c.layers) + (c.cross ? " of cross-attention" : " of self-attention")});
    table.row({"heads", std::to_string(c.heads)});
    table.row({"queries x keys", shapeText(layout.queries, layout.keys)});
    std::string list;
    for (const std::string& stage : stages)
        list += (list.empty() ? "" : ", ") + stage;
    table.row({"stages", list});
    table.print(out);
    out << "\nunusual\n";
    for (const std::string& line : c.notes)
        out << "  " << line << "\n";
    out << "\n" << file.format() << " file\n";
    printEntries(out, file);
}

} // namespace

int infoCommand(const Arguments& arguments, const Streams& streams) {
    InfoOptions o;
    CommandLine line("info", "Describes a model, or the arrays of a file and why it is no model.",
                     "headscope info toy --d-model 512 --n 64");
    line.positional("NAME|FILE", o.target, "a built-in model, a model file or folder, or any file of arrays");
    line.value("--n", o.n, "N", "tokens that the cost is counted for (64)");
    line.flag("--json", o.json, "the same as JSON");
    addSizeOptions(line, o.model);
    if (!line.parse(arguments, streams.out))
        return 0;
    if (!o.target)
        throw InputError(
            "info: name a model or a file, as in `headscope info toy`; `headscope models` lists the models");
    const int n = o.n ? parseInt("--n", *o.n, 1) : 64;
    o.model.model = *o.target;
    const ModelSource source = modelSource(o.model);

    OpenedModel opened;
    std::shared_ptr<const TensorFile> file;
    std::error_code ignored;
    if (std::filesystem::exists(*o.target, ignored) && !isBuiltinModel(*o.target))
        file = std::filesystem::is_directory(*o.target) ? openFolderTensors(hubSnapshot(*o.target))
                                                        : openTensorFile(*o.target);
    try {
        if (file)
            refuseUnfolding(*file);
        opened = openModel(source);
        if (file && holdsCapturedAttention(*file)) {
            describeCaptured(streams.out, *file, capturedLayout(*file), o.json);
            return 0;
        }
    } catch (const InputError& e) {
        if (!file)
            throw;
        describeContainer(streams.out, *file, e.what(), o.json);
        return 0;
    }

    const Model& model = *opened.model;
    refuseHeadsOption(o.model, model);
    const ModelCost cost = costOf(model, n);
    std::vector<Comparison> comparisons;
    if (source.name == "worked-example")
        comparisons = compareWithPrinted(streams);
    if (o.json) {
        Json json = modelJson(model);
        json["cost"] = costJson(cost.layer);
        json["cost"]["n"] = n;
        if (cost.headCounts)
            json["cost"]["one_head"] = costJson(cost.headCounts->one);
        if (file) {
            json["unused"] = opened.unread;
            json["metadata"] = metadataJson(*file);
            json["entries"] = entriesJson(*file);
        }
        if (!comparisons.empty())
            json["printed"] = comparisonsJson(comparisons);
        streams.out << oneLine(json) << "\n";
        return 0;
    }
    printModel(streams.out, model);
    if (!opened.unread.empty())
        streams.out << "\nnot used by this family\n";
    for (const std::string& name : opened.unread)
        streams.out << "  " << visible(name) << "\n";
    printCost(streams.out, cost, model.config(), n);
    if (file) {
        streams.out << "\n" << file->format() << " file\n";
        printMetadata(streams.out, *file);
        printEntries(streams.out, *file);
    }
    if (!comparisons.empty())
        printComparisons(streams.out, comparisons);
    return 0;
}

} // namespace headscope::cli
