// Matrices in JSON files: nested lists, null for -inf.
#pragma once

#include "core/attention/mask.h"
#include "tests/support/golden.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <stdexcept>

namespace headscope::testing {

inline nlohmann::json readJson(const std::filesystem::path& path) {
    std::ifstream in(path);
    if (!in) {
        throw std::runtime_error("cannot open " + path.string());
    }
    return nlohmann::json::parse(in);
}

// A list is one row, a list of lists a matrix.
inline Expected expectedFrom(const nlohmann::json& list) {
    Expected out;
    const auto number = [](const nlohmann::json& v) {
        return v.is_null() ? static_cast<double>(KeyMask::minusInfinity) : v.get<double>();
    };
    const nlohmann::json rows = list.at(0).is_array() ? list : nlohmann::json::array({list});
    out.rows = static_cast<int>(rows.size());
    out.cols = static_cast<int>(rows.at(0).size());
    for (const nlohmann::json& row : rows) {
        for (const nlohmann::json& v : row) {
            out.values.push_back(number(v));
        }
    }
    return out;
}

inline Matrix matrixFrom(const nlohmann::json& list) {
    const Expected e = expectedFrom(list);
    Matrix out(e.rows, e.cols);
    for (std::size_t i = 0; i < e.values.size(); ++i) {
        out.values()[i] = static_cast<float>(e.values[i]);
    }
    return out;
}

} // namespace headscope::testing
