// Checkpoints in containers that the product does not read, as the tensors that its families know: minGPT's JSON with
// base64 values, and the .bin files of llama2.c.
#pragma once

#include "core/exchange/base64.h"
#include "core/model/checkpoint.h"
#include "core/model/encoder_decoder.h"
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
    Floats read(const TensorEntry& e) const override {
        const std::vector<float>& values = m_values.at(e.name);
        return {values.begin(), values.end()};
    }
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

//  CTranslate2: a pre-norm Transformer; linear_0 of a self-attention holds q, k and v, linear_1 of cross-attention k
//  and v, as (out, in). Embeddings count sqrt(d) times; positions from 1 on are added, sines before cosines (as
//  OpenNMT-tf has them: Vaswani et al. 2017 with d/2 - 1 for d/2 in the exponent).
inline ForeignCheckpoint readCTranslate2(const std::string& path) {
    const auto file = openTensorFile(path);
    constexpr int layers = 6, heads = 8, longest = 64;
    ForeignCheckpoint out{{}, MemoryTensors(path)};
    out.config.file = path;
    out.config.family = "bart";
    const auto values = [&](const std::string& name) {
        const Floats read = file->read(*file->find(name));
        return std::vector<float>(read.begin(), read.end());
    };
    const std::int64_t d = file->find("encoder/embeddings/weight")->shape[1];
    out.config.numbers = {{"layers", layers},     {"heads", heads},    {"d_model", static_cast<double>(d)},
                          {"norm_epsilon", 1e-5}, {"target_start", 1}, {"target_end", 2}};
    out.config.strings["activation"] = "relu";
    // Rows of a packed layer, part `which` of `parts`.
    const auto linear = [&](const std::string& from, const std::string& to, std::size_t which, std::size_t parts) {
        const std::vector<float> w = values(from + "/weight"), b = values(from + "/bias");
        const auto part = [&](const std::vector<float>& all) {
            const auto size = static_cast<std::ptrdiff_t>(all.size() / parts);
            const auto first = all.begin() + static_cast<std::ptrdiff_t>(which) * size;
            return std::vector<float>(first, first + size);
        };
        const auto rows = static_cast<std::int64_t>(b.size() / parts);
        out.tensors.add(to + ".weight", {rows, static_cast<std::int64_t>(w.size() / b.size())}, part(w));
        out.tensors.add(to + ".bias", {rows}, part(b));
    };
    const auto norm = [&](const std::string& from, const std::string& to) {
        out.tensors.add(to + ".weight", {d}, values(from + "/gamma"));
        out.tensors.add(to + ".bias", {d}, values(from + "/beta"));
    };
    for (const std::string side : {"encoder", "decoder"}) {
        std::vector<float> table = values(side + "/embeddings/weight"), positions;
        for (float& v : table)
            v = static_cast<float>(v * std::sqrt(static_cast<double>(d)));
        for (int i = 1; i <= longest; ++i)
            for (int c = 0; c < d; ++c) {
                const double half = static_cast<double>(d) / 2;
                const double angle = i * std::pow(10000.0, -static_cast<double>(c % (d / 2)) / (half - 1));
                positions.push_back(static_cast<float>(c < d / 2 ? std::sin(angle) : std::cos(angle)));
            }
        out.tensors.add(side + ".embed_tokens.weight", {static_cast<std::int64_t>(table.size()) / d, d}, table);
        out.tensors.add(side + ".embed_positions.weight", {longest, d}, positions);
        for (int l = 0; l < layers; ++l) {
            const std::string from = side + "/layer_" + std::to_string(l) + "/",
                              to = side + ".layers." + std::to_string(l) + ".";
            std::size_t which = 0;
            for (const char* projection : {"q_proj", "k_proj", "v_proj"})
                linear(from + "self_attention/linear_0", to + "self_attn." + projection, which++, 3);
            linear(from + "self_attention/linear_1", to + "self_attn.out_proj", 0, 1);
            norm(from + "self_attention/layer_norm", to + "self_attn_layer_norm");
            linear(from + "ffn/linear_0", to + "fc1", 0, 1);
            linear(from + "ffn/linear_1", to + "fc2", 0, 1);
            norm(from + "ffn/layer_norm", to + "final_layer_norm");
            if (side == "encoder")
                continue;
            linear(from + "attention/linear_0", to + "encoder_attn.q_proj", 0, 1);
            linear(from + "attention/linear_1", to + "encoder_attn.k_proj", 0, 2);
            linear(from + "attention/linear_1", to + "encoder_attn.v_proj", 1, 2);
            linear(from + "attention/linear_2", to + "encoder_attn.out_proj", 0, 1);
            norm(from + "attention/layer_norm", to + "encoder_attn_layer_norm");
        }
        norm(side + "/layer_norm", side + ".layer_norm");
    }
    out.tensors.add("lm_head.weight", file->find("decoder/projection/weight")->shape,
                    values("decoder/projection/weight"));
    out.tensors.add("final_logits_bias", file->find("decoder/projection/bias")->shape,
                    values("decoder/projection/bias"));
    return out;
}
// BART's names around a pre-norm block.
inline EncoderDecoderNames cTranslate2Names() {
    EncoderDecoderNames names = *encoderDecoderNames("bart", false);
    for (FamilyNames* stack : {&names.encoder, &names.decoder, &names.cross}) {
        stack->block = BlockForm::PreNorm;
        stack->embeddingNorm = "";
        stack->positionOffset = 0;
    }
    names.encoder.token = "encoder.embed_tokens";
    names.decoder.token = names.cross.token = "decoder.embed_tokens";
    names.encoder.finalNorm = "encoder.layer_norm";
    names.cross.finalNorm = "decoder.layer_norm";
    return names;
}

} // namespace headscope::testing
