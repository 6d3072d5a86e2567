#include "core/model/rope_scaling.h"

#include "core/tensor/errors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headscope {

namespace {

using nlohmann::json;

// A number that a scaling cannot do without, or can: null counts as absent.
double numberOf(const json& scaling, const char* name, double otherwise) {
    const auto it = scaling.find(name);
    return it == scaling.end() || it->is_null() ? otherwise : it->get<double>();
}
double requiredNumber(const json& scaling, const char* name, const std::string& file) {
    const double value = numberOf(scaling, name, 0.0);
    if (!(value > 0) || !std::isfinite(value))
        throw LoadError(file, "rope_scaling." + std::string(name), "a number above 0",
                        scaling.contains(name) ? scaling.at(name).dump().substr(0, 40) : "nothing");
    return value;
}

// Llama 3.1: fast pairs keep their frequency, slow ones turn `factor` times slower, those between are blended.
RopeScaling llama3Rope(const json& scaling, int dims, double theta, const std::string& file) {
    const double factor = requiredNumber(scaling, "factor", file), low = numberOf(scaling, "low_freq_factor", 1.0),
                 high = numberOf(scaling, "high_freq_factor", 4.0),
                 length = numberOf(scaling, "original_max_position_embeddings", 8192.0);
    RopeScaling out;
    for (int c = 0; c < dims / 2; ++c) {
        const double wavelength = 2 * std::numbers::pi * std::pow(theta, 2.0 * c / dims);
        const double blend = std::clamp((length / wavelength - low) / (high - low), 0.0, 1.0);
        out.factors.push_back(1.0 / ((1 - blend) / factor + blend));
    }
    return out;
}

double yarnMagnitude(double factor, double weight) {
    return factor <= 1 ? 1.0 : 0.1 * weight * std::log(factor) + 1.0;
}

RopeScaling yarnOf(const json& scaling, int dims, double theta, const std::string& file) {
    YarnRope yarn;
    yarn.factor = requiredNumber(scaling, "factor", file);
    yarn.originalLength = requiredNumber(scaling, "original_max_position_embeddings", file);
    yarn.betaFast = numberOf(scaling, "beta_fast", yarn.betaFast);
    yarn.betaSlow = numberOf(scaling, "beta_slow", yarn.betaSlow);
    yarn.truncate = scaling.value("truncate", true);
    RopeScaling out = yarnRope(yarn, dims, theta);
    const double upper = numberOf(scaling, "mscale", 0.0), lower = numberOf(scaling, "mscale_all_dim", 0.0);
    if (upper != 0 && lower != 0)
        out.magnitude = yarnMagnitude(yarn.factor, upper) / yarnMagnitude(yarn.factor, lower);
    out.magnitude = numberOf(scaling, "attention_factor", out.magnitude);
    return out;
}

} // namespace

RopeScaling linearRope(double factor, int dims) {
    return {std::vector<double>(static_cast<std::size_t>(dims / 2), factor), 1.0};
}

RopeScaling yarnRope(const YarnRope& yarn, int dims, double theta) {
    // The pair that turns so many times within the original length.
    const auto pairOf = [&](double turns) {
        return dims * std::log(yarn.originalLength / (turns * 2 * std::numbers::pi)) / (2 * std::log(theta));
    };
    double low = pairOf(yarn.betaFast), high = pairOf(yarn.betaSlow);
    if (yarn.truncate)
        low = std::floor(low), high = std::ceil(high);
    low = std::max(low, 0.0), high = std::min(high, dims - 1.0);
    if (low == high)
        high += 0.001; // no division by zero
    RopeScaling out;
    out.magnitude = yarnMagnitude(yarn.factor, 1.0);
    for (int c = 0; c < dims / 2; ++c) {
        const double slow = std::clamp((c - low) / (high - low), 0.0, 1.0);
        out.factors.push_back(1.0 / (slow / yarn.factor + (1 - slow)));
    }
    return out;
}

RopeScaling ropeScalingOf(const json& scaling, int dims, double theta, const std::string& file) {
    const std::string type = scaling.value("rope_type", scaling.value("type", std::string("default")));
    if (type == "default" || type == "dynamic") // dynamic: from the trained length on, which no text here exceeds
        return {};
    if (type == "linear")
        return linearRope(requiredNumber(scaling, "factor", file), dims);
    if (type == "llama3")
        return llama3Rope(scaling, dims, theta, file);
    if (type == "yarn")
        return yarnOf(scaling, dims, theta, file);
    throw LoadError(file, "rope_scaling", "default, dynamic, linear, llama3 or yarn", type);
}

} // namespace headscope
