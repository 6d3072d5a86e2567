// What a .headscope file calls things, for the writer and the reader (scenario_writer.cpp, scenario_file.cpp).
#pragma once

#include "core/attention/scenario.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace headscope {

inline constexpr std::string_view scenarioFormat = "headscope";
inline constexpr int scenarioVersion = 1;
inline constexpr std::array<std::string_view, 3> combineNames{"none", "mean", "max"};
inline constexpr std::array<std::string_view, 3> interventionNames{"head_off", "set_cell", "mask_cell"};

inline bool isBuiltin(const std::string& name) {
    return std::ranges::any_of(builtinModels(), [&](const BuiltinModel& m) { return m.name == name; });
}

// "layers.0.W_Q"; of an encoder-decoder "decoder.layers.0.cross.W_Q".
inline std::string tensorName(const ModelConfig& config, TensorId id) {
    const std::string layer = "layers." + std::to_string(id.layer.value) + ".", weight(weightName(id.kind));
    if (!config.site)
        return layer + weight;
    const std::string_view site = siteName(*config.site);
    const std::size_t dot = site.find('.');
    return std::string(site.substr(0, dot)) + "." + layer + std::string(site.substr(dot + 1)) + "." + weight;
}

} // namespace headscope
