// Checkpoints in containers that the product does not read, as the tensors that its families know: minGPT's JSON with
// base64 values, and the .bin files of llama2.c.
#pragma once

#include "core/exchange/base64.h"
#include "core/model/checkpoint.h"
#include "tests/support/files.h"

#include <nlohmann/json.hpp>

#include <cstring>
#include <map>

namespace headscope::testing {

// Named tensors in memory.
class MemoryTensors final : public TensorFile {
public:
    explicit MemoryTensors(std::string path) : m_path(std::move(path)) {}
    void add(const std::string& name, std::vector<std::int64_t> shape, std::vector<float> values) {
        m_entries.push_back({name, "F32", std::move(shape), static_cast<std::int64_t>(values.size())});
        m_values[name] = std::move(values);
    }
    std::string format() const override { return "memory"; }
    const std::string& path() const override { return m_path; }
    const std::vector<TensorEntry>& entries() const override { return m_entries; }
    std::vector<float> read(const TensorEntry& e) const override { return m_values.at(e.name); }
    std::int64_t countNonFinite(const TensorEntry&) const override { return 0; }
    std::vector<std::string> readStrings(const TensorEntry& e) const override {
        throw LoadError(m_path, e.name, "strings", "numbers");
    }

private:
    std::string m_path;
    std::vector<TensorEntry> m_entries;
    std::map<std::string, std::vector<float>> m_values;
};

struct ForeignCheckpoint {
    CheckpointConfig config;
    MemoryTensors tensors;
};

//  minGPT: {"config": {...}, "transformer.h.0.attn.c_attn.weight": {"shape": [...], "data": base64 of float32}, ...}
//  GPT-2's names, but linear layers are kept as (out, in); "attn.bias" is the causal mask.
inline ForeignCheckpoint readMinGpt(const std::string& path) {
    const nlohmann::json j = nlohmann::json::parse(readFile(path));
    ForeignCheckpoint out{{}, MemoryTensors(path)};
    out.config.file = path;
    out.config.family = "gpt2";
    out.config.numbers = {{"layers", j["config"]["n_layer"].get<double>()},
                          {"heads", j["config"]["n_head"].get<double>()},
                          {"norm_epsilon", 1e-5},
                          {"d_model", j["transformer.wte.weight"]["shape"][1].get<double>()}};
    out.config.strings["activation"] = "gelu_new";
    for (const auto& [name, tensor] : j.items()) {
        if (name == "config" || name.ends_with(".attn.bias"))
            continue;
        auto shape = tensor["shape"].get<std::vector<std::int64_t>>();
        std::vector<float> values = *floatsFromBase64(tensor["data"].get<std::string>());
        if (shape.size() == 2 && name.starts_with("transformer.h.")) {
            std::vector<float> applied;
            for (std::int64_t in = 0; in < shape[1]; ++in)
                for (std::int64_t o = 0; o < shape[0]; ++o)
                    applied.push_back(values[static_cast<std::size_t>(o * shape[1] + in)]);
            values = std::move(applied);
            std::swap(shape[0], shape[1]);
        }
        out.tensors.add(name, std::move(shape), std::move(values));
    }
    return out;
}

//  llama2.c: i32 dim, hidden, layers, heads, kv heads, vocabulary (negative: an output layer of its own), longest text;
//  then float32, each for all layers: token rows, attention norms, wq, wk, wv, wo, MLP norms, w1, w2, w3, the final
//  norm. Rotary pairs are interleaved, as GGUF has them: so the tensors get GGUF's names.
inline ForeignCheckpoint readLlama2c(const std::string& path) {
    const std::string bytes = readFile(path);
    std::int32_t header[7];
    std::memcpy(header, bytes.data(), sizeof header);
    const std::int32_t dim = header[0], hidden = header[1], layers = header[2], heads = header[3], kvHeads = header[4],
                       vocabulary = header[5], longest = header[6];
    ForeignCheckpoint out{{}, MemoryTensors(path)};
    out.config.file = path;
    out.config.family = "llama";
    out.config.gguf = true;
    out.config.numbers = {{"layers", layers},     {"d_model", dim},        {"heads", heads},      {"kv_heads", kvHeads},
                          {"norm_epsilon", 1e-5}, {"rope_theta", 10000.0}, {"positions", longest}};
    std::size_t at = sizeof header;
    const auto take = [&](const std::string& name, std::vector<std::int64_t> shape) {
        std::int64_t count = 1;
        for (const std::int64_t n : shape)
            count *= n;
        std::vector<float> values(static_cast<std::size_t>(count));
        std::memcpy(values.data(), bytes.data() + at, values.size() * 4);
        at += values.size() * 4;
        out.tensors.add(name, std::move(shape), std::move(values));
    };
    const auto takeLayers = [&](const std::string& name, const std::vector<std::int64_t>& shape) {
        for (int l = 0; l < layers; ++l)
            take("blk." + std::to_string(l) + "." + name + ".weight", shape);
    };
    const std::int64_t kvWidth = std::int64_t{dim} / heads * kvHeads;
    take("token_embd.weight", {vocabulary, dim});
    takeLayers("attn_norm", {dim});
    takeLayers("attn_q", {dim, dim});
    takeLayers("attn_k", {kvWidth, dim});
    takeLayers("attn_v", {kvWidth, dim});
    takeLayers("attn_output", {dim, dim});
    takeLayers("ffn_norm", {dim});
    takeLayers("ffn_gate", {hidden, dim});
    takeLayers("ffn_down", {dim, hidden});
    takeLayers("ffn_up", {hidden, dim});
    take("output_norm.weight", {dim});
    return out;
}

} // namespace headscope::testing
