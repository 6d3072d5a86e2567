// JSON lists for people and scripts: one object a line, in the order of the contract's fields.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

namespace headscope::cli {

using Json = nlohmann::ordered_json;

// A byte that is no UTF-8 (a piece of a byte-level vocabulary) becomes U+FFFD.
inline std::string oneLine(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

inline void printJsonList(std::ostream& out, const std::vector<Json>& items) {
    out << "[";
    for (std::size_t i = 0; i < items.size(); ++i)
        out << (i == 0 ? "\n  " : ",\n  ") << oneLine(items[i]);
    out << (items.empty() ? "]\n" : "\n]\n");
}

} // namespace headscope::cli
