// Rope scaling: how a model that was trained on short texts turns its heads' pairs in longer ones. What config.json and
// GGUF files say, as one number per pair and one for all. Called by the loaders; applied in core/attention/trace.cpp.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace headscope {

struct RopeScaling {
    std::vector<double> factors; // per pair: how many times slower it turns; empty: as without scaling
    double magnitude = 1.0;      // multiplies the turned dimensions of q and k
};

// Every pair `factor` times slower (position interpolation, Chen et al. 2023). dims is how many dimensions of a head
// turn; the result has dims / 2 factors.
RopeScaling linearRope(double factor, int dims);

// YaRN (Peng et al. 2023): pairs that turn more than betaFast times within the original length keep their frequency,
// those that turn less than betaSlow times are `factor` times slower, those between are blended.
struct YarnRope {
    double factor = 1.0, originalLength = 0.0, betaFast = 32.0, betaSlow = 1.0;
    bool truncate = true; // the borders between the pairs are whole numbers
};
RopeScaling yarnRope(const YarnRope& yarn, int dims, double theta); // magnitude 0.1 ln(factor) + 1

// config.json's "rope_scaling" or "rope_parameters". Throws LoadError for a type that is not computed here, and
// nlohmann::json::exception where a value is no number.
RopeScaling ropeScalingOf(const nlohmann::json& scaling, int dims, double theta, const std::string& file);

} // namespace headscope
