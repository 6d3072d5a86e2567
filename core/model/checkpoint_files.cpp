// Where a checkpoint's parts are: in a hub folder (config.json, tokenizer, tensors in one file or in several with an
// index), or all in one GGUF file.
#include "core/model/checkpoint.h"
#include "core/model/encoder_decoder.h"
#include "core/tensor/sha256.h"
#include "core/text/gguf_vocabulary.h"
#include "core/text/ids_tokenizer.h"
#include "core/text/load_tokenizer.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>

namespace headscope {

namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t longestJson = std::uintmax_t{64} << 20;

std::string readText(const fs::path& path) {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    if (error)
        throw LoadError(path.string(), "", "a file that can be read", error.message());
    if (size > longestJson)
        throw LoadError(path.string(), "", "at most 64 MiB of JSON", std::to_string(size) + " bytes");
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// Several files as one: entries in the order of the files' names.
class Shards final : public TensorFile {
public:
    Shards(std::string path, const std::vector<std::shared_ptr<const TensorFile>>& files) : m_path(std::move(path)) {
        for (const auto& file : files)
            for (const TensorEntry& entry : file->entries()) {
                if (!m_files.emplace(entry.name, file).second)
                    throw LoadError(m_path, entry.name, "each tensor in one file", "it in two");
                m_entries.push_back(entry);
            }
    }
    std::string format() const override { return "safetensors in several files"; }
    const std::string& path() const override { return m_path; }
    const std::vector<TensorEntry>& entries() const override { return m_entries; }
    Floats read(const TensorEntry& e) const override { return file(e).read(*file(e).find(e.name)); }
    std::int64_t countNonFinite(const TensorEntry& e) const override {
        return file(e).countNonFinite(*file(e).find(e.name));
    }
    std::vector<std::string> readStrings(const TensorEntry& e) const override {
        return file(e).readStrings(*file(e).find(e.name));
    }

private:
    const TensorFile& file(const TensorEntry& e) const { return *m_files.at(e.name); }

    std::string m_path;
    std::vector<TensorEntry> m_entries;
    std::unordered_map<std::string, std::shared_ptr<const TensorFile>> m_files;
};

// A token's id or type, which a file may have as any number.
std::int64_t wholeNumber(double value, const std::string& file, const std::string& key) {
    constexpr double most = 2147483647;
    if (!(value >= -most && value <= most))
        throw LoadError(file, key, "whole numbers of 32 bits", std::to_string(value));
    return static_cast<std::int64_t>(value);
}

constexpr const char* singleFile = "model.safetensors";
constexpr const char* indexFile = "model.safetensors.index.json";

// The map of model.safetensors.index.json: which file of the folder has which tensor.
std::map<std::string, std::string> readIndex(const fs::path& index) {
    const nlohmann::json j = nlohmann::json::parse(readText(index), nullptr, false);
    const auto map = j.is_object() ? j.find("weight_map") : j.end();
    if (!j.is_object() || map == j.end() || !map->is_object())
        throw LoadError(index.string(), "weight_map", "an object of tensor names and file names", "none");
    std::map<std::string, std::string> files;
    for (const auto& [tensor, file] : map->items()) {
        if (!file.is_string() || file.get<std::string>().find('/') != std::string::npos)
            throw LoadError(index.string(), tensor, "the name of a file in this folder", file.dump().substr(0, 80));
        files[tensor] = file.get<std::string>();
    }
    return files;
}

std::set<std::string> shardsOf(const std::map<std::string, std::string>& index) {
    std::set<std::string> names;
    for (const auto& [tensor, file] : index)
        names.insert(file);
    return names;
}

// "bert" of "models/bert" and of "models/bert/".
std::string folderName(const std::string& folder) {
    const fs::path path = fs::absolute(folder).lexically_normal();
    return (path.has_filename() ? path : path.parent_path()).filename().string();
}

} // namespace

std::shared_ptr<const TensorFile> openFolderTensors(const std::string& folder) {
    const fs::path single = fs::path(folder) / singleFile, index = fs::path(folder) / indexFile;
    if (fs::exists(single))
        return openTensorFile(single.string());
    if (!fs::exists(index)) {
        for (const auto& [other, how] : {std::pair{"pytorch_model.bin", "FOLDER"},
                                         {"pytorch_model.bin.index.json", "FOLDER"},
                                         {"tf_model.h5", "FOLDER, from_tf=True"},
                                         {"model.onnx", "the name of the model that it was made of"}})
            if (fs::exists(fs::path(folder) / other))
                throw LoadError(folder, "", "model.safetensors", other,
                                std::string("convert it in Python: m = transformers.AutoModel.from_pretrained(") + how +
                                    "); m.save_pretrained(FOLDER, safe_serialization=True)");
        throw LoadError(folder, "", "model.safetensors or model.safetensors.index.json", "neither");
    }
    const std::map<std::string, std::string> map = readIndex(index);
    const auto names = shardsOf(map);
    std::vector<std::shared_ptr<const TensorFile>> files;
    files.reserve(names.size());
    for (const std::string& name : names)
        files.push_back(openTensorFile((fs::path(folder) / name).string()));
    auto all = std::make_shared<const Shards>(folder, files);
    for (const auto& [tensor, file] : map)
        if (!all->find(tensor))
            throw LoadError(index.string(), tensor, "this tensor in " + file, "no such tensor there");
    return all;
}

std::string hubSnapshot(const std::string& folder) {
    const fs::path snapshots = fs::path(folder) / "snapshots", main = fs::path(folder) / "refs" / "main";
    std::error_code ignored;
    if (fs::exists(fs::path(folder) / "config.json", ignored) || !fs::is_directory(snapshots, ignored))
        return folder;
    if (fs::exists(main, ignored)) {
        std::string name = readText(main);
        while (!name.empty() && (name.back() == '\n' || name.back() == '\r'))
            name.pop_back();
        if (!name.empty() && name.find('/') == std::string::npos && fs::is_directory(snapshots / name, ignored))
            return (snapshots / name).string();
    }
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(snapshots, ignored))
        all.push_back(entry.path().string());
    if (all.size() != 1)
        throw LoadError(folder, "snapshots", "one folder, or refs/main naming it", std::to_string(all.size()),
                        "name the folder of the snapshot itself");
    return all.front();
}

CheckpointConfig openFolderConfig(const std::string& folder) {
    const fs::path path = fs::path(folder) / "config.json";
    if (!fs::exists(path))
        throw LoadError(folder, "config.json", "the model's sizes in this file", "no such file",
                        "copy it from where the model comes from");
    CheckpointConfig config = parseConfigJson(readText(path), path.string());
    // How a target begins and ends may stand in a file of its own; config.json comes first.
    const fs::path generation = fs::path(folder) / "generation_config.json";
    if (isEncoderDecoder(config) && fs::exists(generation))
        readGenerationJson(readText(generation), config);
    return config;
}

CheckpointConfig configOfGguf(const GgufFile& file) {
    CheckpointConfig c;
    c.file = file.path();
    c.gguf = true;
    c.family = file.text("general.architecture").value_or("");
    if (c.family.empty())
        throw LoadError(c.file, "general.architecture", "the name of an architecture", "nothing");
    const auto take = [&](const char* meaning, const char* key) {
        if (const auto value = file.number(c.family + "." + key))
            c.numbers[meaning] = *value;
    };
    take("layers", "block_count");
    take("d_model", "embedding_length");
    take("heads", "attention.head_count");
    take("kv_heads", "attention.head_count_kv");
    take("head_dim", "attention.key_length");
    take("norm_epsilon", "attention.layer_norm_epsilon");
    take("norm_epsilon", "attention.layer_norm_rms_epsilon");
    take("positions", "context_length");
    take("rope_theta", "rope.freq_base");
    take("rope_dims", "rope.dimension_count");
    take("sliding_window", "attention.sliding_window");
    const std::string scaling = file.text(c.family + ".rope.scaling.type").value_or("none");
    c.strings["rope_scaling"] = scaling;
    take("rope_factor", "rope.scaling.factor");
    take("rope_length", "rope.scaling.original_context_length");
    take("rope_magnitude", "rope.scaling.attn_factor");
    if (scaling != "none" && scaling != "linear" && scaling != "yarn")
        throw LoadError(c.file, c.family + ".rope.scaling.type", "none, linear or yarn", scaling);
    if (const TensorEntry* factors = file.find("rope_freqs.weight")) // Llama 3.1: one factor a pair
        for (const float f : file.read(*factors))
            c.ropeScaling.factors.push_back(f);
    return c;
}

std::shared_ptr<const Tokenizer> tokenizerOfGguf(const GgufFile& file) {
    const std::string at = "tokenizer.ggml.";
    const auto id = [&](const char* key) -> std::optional<std::int64_t> {
        const auto value = file.number(at + key);
        return value ? std::optional(wholeNumber(*value, file.path(), at + key)) : std::nullopt;
    };
    const auto flag = [&](const char* key) -> std::optional<bool> {
        const auto value = file.number(at + key);
        return value ? std::optional(*value != 0) : std::nullopt;
    };
    GgufVocabulary v;
    v.model = file.text(at + "model").value_or("");
    v.pre = file.text(at + "pre").value_or("");
    v.tokens = file.texts(at + "tokens");
    for (const double score : file.numbers(at + "scores"))
        v.scores.push_back(static_cast<float>(score));
    for (const double type : file.numbers(at + "token_type"))
        v.types.push_back(static_cast<std::int32_t>(wholeNumber(type, file.path(), at + "token_type")));
    v.merges = file.texts(at + "merges");
    v.bos = id("bos_token_id"), v.eos = id("eos_token_id"), v.unknown = id("unknown_token_id");
    v.sep = id("seperator_token_id"), v.cls = id("cls_token_id"); // spelled so in the format
    v.pad = id("padding_token_id"), v.mask = id("mask_token_id");
    v.addBos = flag("add_bos_token"), v.addEos = flag("add_eos_token"), v.addSpacePrefix = flag("add_space_prefix");
    return makeGgufTokenizer(std::move(v), file.path());
}

// Asked once for the whole model, before the first number is read: all tensors as float, and twice the largest, which
// is held as it is read and as it is applied.
static void requireModelMemory(const TensorFile& tensors) {
    std::uint64_t all = 0, largest = 0;
    for (const TensorEntry& e : tensors.entries()) {
        const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(e.count, 0));
        all += count;
        largest = std::max(largest, count);
    }
    requireFreeMemory((all + 2 * largest) * sizeof(float), tensors.path(), "");
}

OpenedModel openFolder(ModelSource source, const OpenHooks& hooks) {
    const std::string& folder = source.name;
    const CheckpointConfig config = openFolderConfig(folder);
    const auto tensors = openFolderTensors(folder);
    requireModelMemory(*tensors);
    const WatchedTensors watched(*tensors, hooks);
    const auto tokenizer = [&](bool target) {
        return hasTokenizer(folder) ? loadTokenizer(folder, {.target = target}) : makeIdsTokenizer(folder);
    };
    SharedModel model = isEncoderDecoder(config) ? buildEncoderDecoder(config, watched, tokenizer(false),
                                                                       tokenizer(true), folderName(folder))
                                                 : buildModel(config, watched, tokenizer(false), folderName(folder));
    return {std::move(source), std::move(model), nullptr, nullptr, watched.unread()};
}

OpenedModel openGguf(ModelSource source, const GgufFile& gguf, const OpenHooks& hooks) {
    requireModelMemory(gguf);
    const WatchedTensors watched(gguf, hooks);
    const bool hasVocabulary = gguf.text("tokenizer.ggml.model").has_value();
    SharedModel model =
        buildModel(configOfGguf(gguf), watched, hasVocabulary ? tokenizerOfGguf(gguf) : makeIdsTokenizer(source.name),
                   fs::path(source.name).filename().string());
    return {std::move(source), std::move(model), nullptr, nullptr, watched.unread()};
}

static std::string sumOf(std::span<const std::uint8_t> bytes, const OpenHooks& hooks) {
    constexpr std::size_t atOnce = std::size_t{4} << 20U; // some 20 ms
    Sha256 sum;
    for (std::size_t begin = 0; begin < bytes.size(); begin += atOnce) {
        if (hooks.stop.stop_requested())
            throw Cancelled();
        sum.add(bytes.subspan(begin, std::min(atOnce, bytes.size() - begin)));
        if (hooks.progress)
            hooks.progress(static_cast<double>(begin) / static_cast<double>(bytes.size()));
    }
    return sum.digits();
}

// Of a file, summed once as long as it stays as it is: a checkpoint takes seconds.
static std::string fileSha256(const std::string& path, const OpenHooks& hooks) {
    struct Known {
        std::uintmax_t size = 0;
        fs::file_time_type written;
        std::string sum;
    };
    static std::mutex mutex;
    static std::map<std::string, Known> all;
    const FileBytes file = mapFile(path);
    std::error_code ignored;
    const fs::file_time_type written = fs::last_write_time(path, ignored);
    const std::string name = fs::absolute(path).string();
    {
        const std::scoped_lock lock(mutex);
        if (const auto it = all.find(name);
            it != all.end() && it->second.size == file.size() && it->second.written == written)
            return it->second.sum;
    }
    std::string sum = sumOf(file.bytes, hooks);
    // One that was written just now could be written again within the same tick of its clock.
    if (fs::file_time_type::clock::now() - written > std::chrono::seconds(2)) {
        const std::scoped_lock lock(mutex);
        all[name] = {file.size(), written, sum};
    }
    return sum;
}

std::string checkpointSha256(const std::string& path, const OpenHooks& hooks) {
    if (!fs::is_directory(path))
        return fileSha256(path, hooks);
    const fs::path single = fs::path(path) / singleFile, index = fs::path(path) / indexFile;
    if (fs::exists(single) || !fs::exists(index))
        return fileSha256(single.string(), hooks);
    const std::set<std::string> shards = shardsOf(readIndex(index));
    std::string sums;
    const double share = 1.0 / static_cast<double>(shards.size());
    double begin = 0;
    for (const std::string& name : shards) {
        sums += fileSha256((fs::path(path) / name).string(), partOf(hooks, begin, share)) + "\n";
        begin += share;
    }
    return sha256({reinterpret_cast<const std::uint8_t*>(sums.data()), sums.size()});
}

} // namespace headscope
