// The two text formats of `dump`. Numbers are the shortest text that reads back as the same float.

#include "core/exchange/dump.h"
#include "core/tensor/number_text.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

namespace headscope {

namespace {

std::string jsonString(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
std::string jsonValue(float v) {
    return std::isfinite(v) ? shortest(v) : "\"" + shortest(v) + "\"";
}
std::string jsonValue(double v) {
    return std::isfinite(v) ? shortest(v) : "\"" + shortest(v) + "\"";
}
std::string jsonValue(std::int64_t v) {
    return std::to_string(v);
}
std::string jsonValue(bool v) {
    return v ? "true" : "false";
}
std::string jsonValue(const std::string& v) {
    return jsonString(v);
}

// Nested lists, one level for each dimension; advances `at` over the values written.
template<class T>
void writeNested(std::ostream& out, const std::vector<T>& data, const std::vector<std::int64_t>& shape,
                 std::size_t level, std::size_t& at) {
    if (level == shape.size()) {
        out << jsonValue(static_cast<T>(data[at++]));
        return;
    }
    out << '[';
    for (std::int64_t i = 0; i < shape[level]; ++i) {
        out << (i > 0 ? ", " : "");
        writeNested(out, data, shape, level + 1, at);
    }
    out << ']';
}

// RFC 4180: quoted when it holds a comma, a quote or a line break; quotes are doubled.
std::string csvField(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string out = "\"";
    for (const char c : text)
        out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + '"';
}

} // namespace

void writeJson(std::ostream& out, const std::vector<NamedArray>& arrays) {
    const char* separator = "{\n";
    for (const NamedArray& array : arrays) {
        out << separator << jsonString(array.name) << ": ";
        std::visit(
            [&](const auto& data) {
                std::size_t at = 0;
                writeNested(out, data, array.shape, 0, at);
            },
            array.data);
        separator = ",\n";
    }
    out << (arrays.empty() ? "{}\n" : "\n}\n");
}

void writeCsv(std::ostream& out, const LabelledMatrix& matrix) {
    for (const std::string& label : matrix.colLabels)
        out << ',' << csvField(label);
    out << '\n';
    for (int r = 0; r < matrix.values.rows(); ++r) {
        out << csvField(matrix.rowLabels[static_cast<std::size_t>(r)]);
        for (const float v : matrix.values.row(r))
            out << ',' << shortest(v);
        out << '\n';
    }
}

} // namespace headscope
