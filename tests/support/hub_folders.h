// Hub folders made from others: the same model, kept another way. What must be equal is then a law, not a number.
#pragma once

#include "tests/support/files.h"
#include "tests/support/golden.h"

#include <nlohmann/json.hpp>

#include <bit>
#include <cstring>
#include <functional>

namespace headscope::testing {

// A safetensors file taken apart: name, type, shape, bytes.
struct RawTensor {
    std::string name, type;
    nlohmann::json shape;
    std::string bytes;
};

inline std::vector<RawTensor> readSafetensors(const std::string& path) {
    const std::string file = readFile(path);
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    std::vector<RawTensor> out;
    const nlohmann::json header = nlohmann::json::parse(file.substr(8, length));
    for (const auto& [name, about] : header.items())
        if (name != "__metadata__") {
            const std::size_t begin = about["data_offsets"][0], end = about["data_offsets"][1];
            out.push_back({name, about["dtype"], about["shape"], file.substr(8 + length + begin, end - begin)});
        }
    return out;
}

inline std::string writeSafetensors(const std::string& path, const std::vector<RawTensor>& tensors) {
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    std::string data;
    for (const RawTensor& t : tensors) {
        header[t.name] = {
            {"dtype", t.type}, {"shape", t.shape}, {"data_offsets", {data.size(), data.size() + t.bytes.size()}}};
        data += t.bytes;
    }
    const std::string text = header.dump();
    const std::uint64_t length = text.size();
    return writeFile(path, std::string(reinterpret_cast<const char*>(&length), sizeof length) + text + data);
}

// A hub folder of shared/data/reference with its tensors changed, in a folder of its own.
inline std::string changedFolder(const std::string& from, const std::string& to,
                                 const std::function<void(std::vector<RawTensor>&)>& change) {
    std::filesystem::create_directory(to);
    for (const auto& entry : std::filesystem::directory_iterator(sharedData("reference/" + from)))
        if (entry.path().filename() != "model.safetensors" && entry.path().extension() != ".npz")
            writeFile((std::filesystem::path(to) / entry.path().filename()).string(), readFile(entry.path().string()));
    std::vector<RawTensor> tensors = readSafetensors(sharedData("reference/" + from + "/model.safetensors").string());
    change(tensors);
    writeSafetensors((std::filesystem::path(to) / "model.safetensors").string(), tensors);
    return to;
}

// Floats whose lower 16 bits are 0, and which a half can hold too: the same number in all three types.
inline float inEveryType(float v) {
    const float cut = std::bit_cast<float>(std::bit_cast<std::uint32_t>(v) & 0xFFFF0000U);
    return std::abs(cut) < 0x1p-14F || std::abs(cut) > 65504.0F ? 0.0F : cut;
}

// A tensor of F32 in another type; its numbers become those that every type holds.
inline void convert(RawTensor& tensor, const std::string& type) {
    std::string out;
    for (std::size_t at = 0; at < tensor.bytes.size(); at += 4) {
        float value = 0;
        std::memcpy(&value, tensor.bytes.data() + at, 4);
        value = inEveryType(value);
        const auto bits = std::bit_cast<std::uint32_t>(value);
        if (type == "F32") {
            out.append(reinterpret_cast<const char*>(&bits), 4);
            continue;
        }
        //  float32: s eeeeeeee m(23), bias 127    float16: s eeeee m(10), bias 15
        const std::uint32_t half = value == 0.0F ? bits >> 16
                                                 : ((bits >> 16) & 0x8000U) | ((((bits >> 23) & 0xFFU) - 112U) << 10) |
                                                       ((bits >> 13) & 0x3FFU);
        const auto two = static_cast<std::uint16_t>(type == "BF16" ? bits >> 16 : half);
        out.append(reinterpret_cast<const char*>(&two), 2);
    }
    tensor.type = type;
    tensor.bytes = std::move(out);
}

} // namespace headscope::testing
