// JsonView: a place in a JSON file that somebody else wrote. Every look-up checks the type and says file and path when
// it is another one. Called by the readers of tokenizer files.
#pragma once

#include "core/tensor/errors.h"
#include "core/text/vocabulary.h"

#include <nlohmann/json.hpp>

#include <optional>

namespace headscope {

// Throws LoadError on anything but JSON. A byte order mark in front is passed over.
nlohmann::json parseJson(std::string_view bytes, const std::string& file);

class JsonView {
public:
    JsonView(const nlohmann::json& value, const std::string& file, std::string path = {})
        : m_value(&value), m_file(&file), m_path(std::move(path)) {}

    bool has(const char* key) const; // there, and not null
    bool isNull() const { return m_value->is_null(); }
    bool isObject() const { return m_value->is_object(); }
    bool isArray() const { return m_value->is_array(); }
    bool isString() const { return m_value->is_string(); }

    JsonView at(const char* key) const; // throws where it is missing
    JsonView at(std::size_t i) const;
    std::size_t size() const { return m_value->size(); }
    template<class Visit>
    void eachItem(const Visit& visit) const { // of an array: visit(JsonView)
        require(isArray(), "a list");
        for (std::size_t i = 0; i < size(); ++i)
            visit(at(i));
    }
    template<class Visit>
    void eachMember(const Visit& visit) const { // of an object: visit(key, JsonView)
        require(isObject(), "an object");
        for (const auto& [key, value] : m_value->items())
            visit(key, JsonView(value, *m_file, m_path));
    }

    const std::string& text() const;
    bool boolean() const;
    double number() const;
    std::int64_t id() const; // a whole number from 0 to 2^31 - 1
    // Of a member that may be missing or null.
    std::string text(const char* key, const std::string& otherwise) const;
    bool boolean(const char* key, bool otherwise) const;
    std::optional<bool> maybeBoolean(const char* key) const;

    [[noreturn]] void fail(const std::string& expected, const std::string& hint = {}) const; // found: this value
    void require(bool condition, const char* expected) const {
        if (!condition)
            fail(expected);
    }
    const std::string& path() const { return m_path; }
    const std::string& file() const { return *m_file; }

private:
    const nlohmann::json* m_value;
    const std::string* m_file;
    std::string m_path; // "model.merges[3]"
};

// {"piece": id, ...}; throws LoadError where two pieces have one id.
Vocabulary readVocabulary(const JsonView& at);
Vocabulary parseVocabularyJson(std::string_view bytes, const std::string& file);

} // namespace headscope
