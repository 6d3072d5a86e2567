#include "core/text/json_view.h"

#include <limits>

namespace headscope {

nlohmann::json parseJson(std::string_view bytes, const std::string& file) {
    if (bytes.starts_with("\xEF\xBB\xBF"))
        bytes.remove_prefix(3);
    try {
        return nlohmann::json::parse(bytes);
    } catch (const nlohmann::json::parse_error& error) {
        throw LoadError(file, "", "JSON",
                        "an error at byte " + std::to_string(error.byte) + " of " + std::to_string(bytes.size()),
                        "get the file again");
    } catch (const nlohmann::json::out_of_range&) {
        throw LoadError(file, "", "JSON with numbers that fit into 64 bits", "a larger one");
    }
}

bool JsonView::has(const char* key) const {
    return isObject() && m_value->contains(key) && !(*m_value)[key].is_null();
}

JsonView JsonView::at(const char* key) const {
    require(isObject(), "an object");
    const auto found = m_value->find(key);
    const std::string path = m_path.empty() ? key : m_path + "." + key;
    if (found == m_value->end())
        throw LoadError(*m_file, path, "an entry of this name", "none");
    return {*found, *m_file, path};
}

JsonView JsonView::at(std::size_t i) const {
    require(isArray() && i < size(), "a longer list");
    return {(*m_value)[i], *m_file, m_path + "[" + std::to_string(i) + "]"};
}

const std::string& JsonView::text() const {
    require(isString(), "a text");
    return m_value->get_ref<const std::string&>();
}

bool JsonView::boolean() const {
    require(m_value->is_boolean(), "true or false");
    return m_value->get<bool>();
}

double JsonView::number() const {
    require(m_value->is_number(), "a number");
    return m_value->get<double>();
}

std::int64_t JsonView::id() const {
    constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
    if (!m_value->is_number_integer() || (m_value->is_number_unsigned() && m_value->get<std::uint64_t>() > largest) ||
        (!m_value->is_number_unsigned() && m_value->get<std::int64_t>() < 0))
        fail("an id from 0 to " + std::to_string(largest));
    return m_value->get<std::int64_t>();
}

std::string JsonView::text(const char* key, const std::string& otherwise) const {
    return has(key) ? at(key).text() : otherwise;
}

bool JsonView::boolean(const char* key, bool otherwise) const {
    return has(key) ? at(key).boolean() : otherwise;
}

std::optional<bool> JsonView::maybeBoolean(const char* key) const {
    return has(key) ? std::optional(at(key).boolean()) : std::nullopt;
}

void JsonView::fail(const std::string& expected, const std::string& hint) const {
    constexpr std::size_t longest = 60;
    std::string found = m_value->dump(-1, ' ', true); // ASCII: cut anywhere
    if (found.size() > longest)
        found = found.substr(0, longest) + "...";
    throw LoadError(*m_file, m_path, expected, found, hint);
}

Vocabulary readVocabulary(const JsonView& at) {
    Vocabulary vocabulary;
    at.eachMember([&](const std::string& piece, const JsonView& value) {
        const std::int64_t id = value.id();
        if (!vocabulary.add(piece, id))
            throw LoadError(at.file(), at.path(), "one piece for each id",
                            "id " + std::to_string(id) + " for both '" + *vocabulary.pieceOf(id) + "' and '" + piece +
                                "'");
    });
    return vocabulary;
}

Vocabulary parseVocabularyJson(std::string_view bytes, const std::string& file) {
    const nlohmann::json document = parseJson(bytes, file);
    return readVocabulary({document, file});
}

} // namespace headscope
