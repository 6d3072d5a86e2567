// A GPT-2 checkpoint of any size as a hub folder: random numbers, byte-level pieces of one letter each. For what takes
// a while with a large one: opening, summing, cancelling. Needs no test framework.
#pragma once

#include "core/text/byte_alphabet.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace headscope::testing {

struct LargeCheckpoint {
    int layers = 12, dModel = 768, heads = 12, positions = 1024, vocabulary = 50257;
};

namespace detail {

struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;
    std::int64_t count() const {
        std::int64_t n = 1;
        for (const std::int64_t s : shape)
            n *= s;
        return n;
    }
};

inline std::vector<Tensor> tensorsOf(const LargeCheckpoint& c) {
    const std::int64_t d = c.dModel;
    std::vector<Tensor> all{{"wte.weight", {c.vocabulary, d}}, {"wpe.weight", {c.positions, d}}};
    for (int l = 0; l < c.layers; ++l) {
        const std::string layer = "h." + std::to_string(l) + ".";
        for (const auto& [name, in, out] : {std::tuple{"attn.c_attn", d, 3 * d},
                                            {"attn.c_proj", d, d},
                                            {"mlp.c_fc", d, 4 * d},
                                            {"mlp.c_proj", 4 * d, d}}) {
            all.push_back({layer + name + ".weight", {in, out}});
            all.push_back({layer + name + ".bias", {out}});
        }
        for (const char* norm : {"ln_1", "ln_2"})
            for (const char* part : {".weight", ".bias"})
                all.push_back({layer + norm + part, {d}});
    }
    all.push_back({"ln_f.weight", {d}});
    all.push_back({"ln_f.bias", {d}});
    return all;
}

} // namespace detail

// Writes config.json, vocab.json, merges.txt and model.safetensors (4 bytes a number) into `folder`, which it makes.
inline void writeLargeCheckpoint(const std::filesystem::path& folder, const LargeCheckpoint& c) {
    using Json = nlohmann::ordered_json;
    std::filesystem::create_directories(folder);
    const Json config{{"model_type", "gpt2"},       {"n_layer", c.layers},
                      {"n_head", c.heads},          {"n_embd", c.dModel},
                      {"n_positions", c.positions}, {"vocab_size", c.vocabulary},
                      {"layer_norm_epsilon", 1e-5}, {"activation_function", "gelu_new"}};
    std::ofstream(folder / "config.json") << config.dump();
    Json vocabulary = Json::object();
    for (int byte = 0; byte < 256; ++byte)
        vocabulary[std::string(byteLetter(static_cast<unsigned char>(byte)))] = byte;
    std::ofstream(folder / "vocab.json") << vocabulary.dump();
    std::ofstream(folder / "merges.txt") << "#version: 0.2\n";

    const std::vector<detail::Tensor> tensors = detail::tensorsOf(c);
    Json header = Json::object();
    std::int64_t offset = 0;
    for (const detail::Tensor& t : tensors) {
        const std::int64_t end = offset + 4 * t.count();
        header[t.name] = {{"dtype", "F32"}, {"shape", t.shape}, {"data_offsets", {offset, end}}};
        offset = end;
    }
    std::ofstream out(folder / "model.safetensors", std::ios::binary);
    const std::string text = header.dump();
    const std::uint64_t length = text.size();
    out.write(reinterpret_cast<const char*>(&length), sizeof length) << text;
    std::uint32_t state = 1;
    std::vector<float> block;
    for (const detail::Tensor& t : tensors)
        for (std::int64_t done = 0; done < t.count(); done += static_cast<std::int64_t>(block.size())) {
            block.resize(static_cast<std::size_t>(std::min<std::int64_t>(t.count() - done, 1 << 16)));
            const bool isScale = t.name.find("ln_") != std::string::npos && t.name.ends_with("weight");
            for (float& value : block) {
                state = state * 1664525U + 1013904223U; // Numerical Recipes' generator
                value = isScale ? 1.0F : static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-36F;
            }
            out.write(reinterpret_cast<const char*>(block.data()), static_cast<std::streamsize>(4 * block.size()));
        }
}

} // namespace headscope::testing
