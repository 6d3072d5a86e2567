// Field: a value of a JSON document with its place in it, so that every refusal names both. Every access checks what is
// there. Called by the readers of files that people may have written by hand.
#pragma once

#include "core/exchange/base64.h"
#include "core/model/mapped_file.h"
#include "core/tensor/errors.h"
#include "core/tensor/matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace headscope {

class Field {
public:
    using Json = nlohmann::ordered_json;

    Field(const Json& json, std::string place, const std::string& file)
        : m_json(&json), m_place(std::move(place)), m_file(&file) {}

    LoadError wrong(const std::string& expected) const {
        std::string found = m_json->dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 120);
        return {*m_file, m_place, expected, printable(found)};
    }
    LoadError wrong(const std::string& expected, const std::string& found) const {
        return {*m_file, m_place, expected, found};
    }
    const Json& json() const { return *m_json; }
    const std::string& file() const { return *m_file; }

    bool has(const char* key) const { return m_json->is_object() && m_json->contains(key); }
    Field at(const char* key) const {
        if (!m_json->is_object())
            throw wrong("an object");
        if (!m_json->contains(key))
            throw LoadError(*m_file, m_place, std::string("\"") + key + "\"", "none");
        return {(*m_json)[key], m_place.empty() ? key : m_place + "." + key, *m_file};
    }
    std::vector<Field> list() const {
        if (!m_json->is_array())
            throw wrong("a list");
        std::vector<Field> out;
        for (std::size_t i = 0; i < m_json->size(); ++i)
            out.emplace_back((*m_json)[i], m_place + "[" + std::to_string(i) + "]", *m_file);
        return out;
    }
    // A key that nobody reads is a misspelt one.
    void onlyKeys(std::initializer_list<std::string_view> known) const {
        if (!m_json->is_object())
            throw wrong("an object");
        for (const auto& [key, value] : m_json->items())
            if (std::ranges::find(known, key) == known.end())
                throw LoadError(*m_file, m_place, "the names that this version knows", "\"" + printable(key) + "\"");
    }
    std::string text() const {
        if (!m_json->is_string())
            throw wrong("a text");
        return m_json->get<std::string>();
    }
    bool flag() const {
        if (!m_json->is_boolean())
            throw wrong("true or false");
        return m_json->get<bool>();
    }
    std::int64_t whole(std::int64_t least, std::int64_t most) const {
        const std::string expected = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
        if (!m_json->is_number_integer())
            throw wrong(expected);
        if (m_json->is_number_unsigned() &&
            m_json->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            throw wrong(expected);
        const auto value = m_json->get<std::int64_t>();
        if (value < least || value > most)
            throw wrong(expected);
        return value;
    }
    int index(int count) const { return static_cast<int>(whole(0, std::max(0, count - 1))); }
    int integer(int least = 0) const { return static_cast<int>(whole(least, std::numeric_limits<int>::max())); }
    std::uint64_t seed() const {
        if (!m_json->is_number_unsigned())
            throw wrong("a whole number of 0 or more");
        return m_json->get<std::uint64_t>();
    }
    double number() const {
        if (!m_json->is_number() || !std::isfinite(m_json->get<double>()))
            throw wrong("a number");
        return m_json->get<double>();
    }
    float value() const { // what a float can hold
        const double v = number();
        if (std::abs(v) > std::numeric_limits<float>::max())
            throw wrong("a number within the range of float32");
        return static_cast<float>(v);
    }
    // One of a set of names, as what parse makes of it; parse gives an optional.
    auto named(auto parse, const std::string& expected) const {
        const auto value = parse(text());
        if (!value)
            throw wrong(expected);
        return *value;
    }
    // What parse throws becomes an error of this place.
    auto parsed(auto parse) const {
        try {
            return parse(text());
        } catch (const LoadError&) {
            throw;
        } catch (const InputError& error) {
            throw LoadError(*m_file, m_place, "", "", error.what());
        }
    }

    SharedMatrix matrix() const {
        onlyKeys({"rows", "cols", "float32"});
        const std::int64_t most = std::numeric_limits<int>::max();
        const std::int64_t rows = at("rows").whole(1, most), cols = at("cols").whole(1, most);
        const auto floats = floatsFromBase64(at("float32").text());
        if (!floats)
            throw at("float32").wrong("base64 of float32 values", "something else");
        if (static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(cols) != floats->size())
            throw at("float32").wrong(std::to_string(rows) + " x " + std::to_string(cols) + " values",
                                      std::to_string(floats->size()));
        Matrix out(static_cast<int>(rows), static_cast<int>(cols));
        std::ranges::copy(*floats, out.data());
        return share(std::move(out));
    }

private:
    const Json* m_json;
    std::string m_place; // "edits[0].cells[3]"
    const std::string* m_file;
};

} // namespace headscope
