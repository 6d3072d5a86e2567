//  .safetensors
//
//    0   8  N, little endian
//    8   N  JSON, padded with spaces:
//           {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ..., "__metadata__": {"key":
//           "text"}}
//   8+N     the values, row-major, little endian; begin and end count from here. The tensors, in the order of their
//   offsets,
//           cover the rest of the file exactly once.

#include "core/model/safetensors.h"

#include "core/model/number_type.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_set>

namespace headscope {

namespace {

constexpr std::uint64_t longestHeader = 100'000'000; // the reference reader's limit
constexpr std::size_t longestString = std::size_t{16} << 20;
constexpr std::size_t mostTensors = 100'000, mostDimensions = 64;

struct TypeRow {
    std::string_view name;
    NumberType type;
};
constexpr std::array typeTable{
    TypeRow{"F32", NumberType::F32},   TypeRow{"F16", NumberType::F16},        TypeRow{"BF16", NumberType::BF16},
    TypeRow{"F64", NumberType::F64},   TypeRow{"F8_E4M3", NumberType::F8E4M3}, TypeRow{"F8_E5M2", NumberType::F8E5M2},
    TypeRow{"BOOL", NumberType::Bool}, TypeRow{"I8", NumberType::I8},          TypeRow{"U8", NumberType::U8},
    TypeRow{"I16", NumberType::I16},   TypeRow{"U16", NumberType::U16},        TypeRow{"I32", NumberType::I32},
    TypeRow{"U32", NumberType::U32},   TypeRow{"I64", NumberType::I64},        TypeRow{"U64", NumberType::U64}};

struct Place {
    NumberType type = NumberType::F32;
    std::uint64_t begin = 0, end = 0; // bytes after the header
};

// Reads the header as it is parsed, event by event: no JSON tree is built, so the memory used is that of the entries,
// and the first thing that does not belong ends it. Nothing but this shape can pass:
//   depth 0: {   depth 1: names   depth 2: the three fields   depth 3: the numbers of a list
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
public:
    explicit HeaderReader(const std::string& path) : m_path(path) {}

    std::vector<TensorEntry> entries;
    std::vector<Place> places; // parallel to entries

    bool null() override { throw unexpected("null"); }
    bool boolean(bool) override { throw unexpected("true or false"); }
    bool number_integer(std::int64_t v) override { throw unexpected(std::to_string(v)); }
    bool number_float(double, const std::string& text) override { throw unexpected(text); }
    bool binary(nlohmann::json::binary_t&) override { throw unexpected("binary data"); }
    bool number_unsigned(std::uint64_t v) override {
        if (m_depth != 3)
            throw unexpected(std::to_string(v));
        if (m_field == "shape") {
            if (v > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
                throw LoadError(m_path, name(), "sizes below 2^63 in \"shape\"", std::to_string(v));
            if (entry().shape.size() == mostDimensions)
                throw LoadError(m_path, name(), "at most 64 dimensions", "more");
            entry().shape.push_back(static_cast<std::int64_t>(v));
        } else {
            if (m_offsets == 2)
                throw LoadError(m_path, name(), "two \"data_offsets\"", "more");
            (m_offsets++ == 0 ? places.back().begin : places.back().end) = v;
        }
        return true;
    }
    bool string(std::string& value) override {
        if (m_inMetadata && m_depth == 2)
            return true;
        if (m_depth != 2 || m_field != "dtype")
            throw unexpected("\"" + printable(value) + "\"");
        const auto row = std::ranges::find(typeTable, value, [](const TypeRow& r) { return r.name; });
        if (row == typeTable.end())
            throw LoadError(m_path, name(), "a \"dtype\" such as F32, F16 or BF16", "\"" + printable(value) + "\"");
        places.back().type = row->type;
        entry().type = value;
        return true;
    }
    bool start_object(std::size_t) override {
        if (m_depth >= 2)
            throw unexpected("an object");
        ++m_depth;
        if (m_depth == 2 && !m_inMetadata) {
            if (entries.size() == mostTensors)
                throw LoadError(m_path, "", "at most 100000 tensors", "more");
            entries.push_back({m_name, "", {}, 0});
            places.emplace_back();
            m_hasType = m_hasShape = m_hasOffsets = false;
        }
        return true;
    }
    bool key(std::string& text) override {
        if (m_depth == 1) {
            if (!m_names.insert(text).second)
                throw LoadError(m_path, printable(text), "each name once", "it twice");
            m_name = text;
            m_inMetadata = text == "__metadata__";
        } else if (!m_inMetadata) {
            m_field = text;
            bool* seen = text == "dtype"          ? &m_hasType
                         : text == "shape"        ? &m_hasShape
                         : text == "data_offsets" ? &m_hasOffsets
                                                  : nullptr;
            if (seen == nullptr || *seen)
                throw LoadError(m_path, name(), "\"dtype\", \"shape\" and \"data_offsets\" once each",
                                "\"" + printable(text) + "\"" + (seen != nullptr ? " twice" : ""));
            *seen = true;
        }
        return true;
    }
    bool end_object() override {
        if (m_depth == 2 && !m_inMetadata) {
            if (!m_hasType || !m_hasShape || !m_hasOffsets)
                throw LoadError(m_path, name(), "\"dtype\", \"shape\" and \"data_offsets\"",
                                std::string("no ") + (!m_hasType    ? "\"dtype\""
                                                      : !m_hasShape ? "\"shape\""
                                                                    : "\"data_offsets\""));
            m_field.clear();
        }
        --m_depth;
        return true;
    }
    bool start_array(std::size_t) override {
        if (m_depth != 2 || m_inMetadata || (m_field != "shape" && m_field != "data_offsets"))
            throw unexpected("a list");
        m_depth = 3;
        m_offsets = 0;
        return true;
    }
    bool end_array() override {
        if (m_field == "data_offsets" && m_offsets != 2)
            throw LoadError(m_path, name(), "two \"data_offsets\"", std::to_string(m_offsets));
        m_depth = 2;
        return true;
    }
    bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
        throw LoadError(m_path, "", "a JSON header", "no JSON at byte " + std::to_string(8 + position),
                        "the file is damaged");
    }

private:
    TensorEntry& entry() { return entries.back(); }
    std::string name() const { return printable(m_name); }
    LoadError unexpected(const std::string& found) const {
        const std::string expected = m_depth == 0   ? "an object of tensors in the header"
                                     : m_inMetadata ? "texts in \"__metadata__\""
                                     : m_depth == 1 ? "an object with \"dtype\", \"shape\" and \"data_offsets\""
                                     : m_depth == 2 ? "a value that fits \"" + printable(m_field) + "\""
                                                    : "whole numbers of 0 or more in \"" + printable(m_field) + "\"";
        return {m_path, name(), expected, found};
    }
    const std::string& m_path;
    std::unordered_set<std::string> m_names;
    std::string m_name, m_field;
    int m_depth = 0, m_offsets = 0;
    bool m_inMetadata = false;
    bool m_hasType = false, m_hasShape = false, m_hasOffsets = false;
};

// A name or text of many megabytes is copied several times by the JSON reader: refused before it starts.
void requireShortStrings(std::string_view json, const std::string& path) {
    std::size_t start = std::string_view::npos;
    for (std::size_t at = 0; at < json.size(); ++at) {
        if (json[at] == '\\')
            ++at;
        else if (json[at] == '"')
            start = start == std::string_view::npos ? at : std::string_view::npos;
        if (start != std::string_view::npos && at - start > longestString)
            throw LoadError(path, "", "strings of at most 16 MiB in the header", "a longer one");
    }
}

class SafetensorsFile final : public TensorFile {
public:
    explicit SafetensorsFile(FileBytes file) : m_file(std::move(file)) {
        const std::uint64_t size = m_file.size();
        if (size < 8)
            throw LoadError(path(), "", "8 bytes of header length", "a file of " + std::to_string(size) + " bytes");
        std::uint64_t length = 0;
        for (std::size_t i = 0; i < 8; ++i)
            length |= static_cast<std::uint64_t>(m_file.bytes[i]) << (8 * i);
        if (length > size - 8)
            throw LoadError(path(), "", "a header inside the file's " + std::to_string(size) + " bytes",
                            "a header of " + std::to_string(length) + " bytes",
                            "the file is cut off or is no safetensors file");
        if (length > longestHeader)
            throw LoadError(path(), "", "a header of at most 100 MB", std::to_string(length) + " bytes");
        const std::string_view json = m_file.text().substr(8, length);
        requireShortStrings(json, path());
        HeaderReader reader(path());
        if (json.empty() || json[0] != '{' || !nlohmann::json::sax_parse(json, &reader))
            throw LoadError(path(), "", "a JSON header", "something else");
        m_entries = std::move(reader.entries);
        m_places = std::move(reader.places);
        m_data = m_file.bytes.subspan(8 + length);
        for (std::size_t i = 0; i < m_entries.size(); ++i)
            checkSize(m_entries[i], m_places[i]);
        checkCover();
    }
    std::string format() const override { return "safetensors"; }
    const std::string& path() const override { return m_file.path; }
    const std::vector<TensorEntry>& entries() const override { return m_entries; }
    Floats read(const TensorEntry& entry) const override {
        const Place& p = place(entry);
        const std::uint64_t count = (p.end - p.begin) / static_cast<std::uint64_t>(byteSize(p.type));
        requireFreeMemory(count * sizeof(float), path(), printable(entry.name));
        Floats out(count);
        toFloats(p.type, false, bytes(p), out);
        return out;
    }
    std::int64_t countNonFinite(const TensorEntry& entry) const override {
        const Place& p = place(entry);
        return nonFiniteIn(p.type, false, bytes(p));
    }
    std::vector<std::string> readStrings(const TensorEntry& entry) const override {
        throw LoadError(path(), printable(entry.name), "strings", "type " + entry.type,
                        "safetensors holds numbers only");
    }

private:
    void checkSize(TensorEntry& entry, const Place& p) const {
        std::int64_t product = 1;
        bool isEmpty = false, overflows = false;
        for (const std::int64_t size : entry.shape) {
            isEmpty = isEmpty || size == 0;
            overflows = overflows || __builtin_mul_overflow(product, std::max<std::int64_t>(size, 1), &product);
        }
        std::uint64_t wanted = 0;
        if (overflows || __builtin_mul_overflow(static_cast<std::uint64_t>(product),
                                                static_cast<std::uint64_t>(byteSize(p.type)), &wanted))
            throw LoadError(path(), printable(entry.name), "a shape whose size fits in 64 bits", "one that does not");
        entry.count = isEmpty ? 0 : product;
        wanted = isEmpty ? 0 : wanted;
        if (p.begin > p.end || p.end > m_data.size())
            throw LoadError(path(), printable(entry.name),
                            "offsets inside the " + std::to_string(m_data.size()) + " bytes of data",
                            "[" + std::to_string(p.begin) + ", " + std::to_string(p.end) + "]",
                            p.begin > p.end ? "" : "the file is cut off");
        if (p.end - p.begin != wanted)
            throw LoadError(path(), printable(entry.name), std::to_string(wanted) + " bytes for its shape and dtype",
                            std::to_string(p.end - p.begin));
    }

    // In the order of their offsets, each tensor begins where the one before it ended, and the last ends with the file.
    void checkCover() const {
        std::vector<std::size_t> order(m_places.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(m_places[i].begin, m_places[i].end); });
        std::uint64_t covered = 0;
        for (const std::size_t i : order) {
            if (m_places[i].begin != covered)
                throw LoadError(path(), printable(m_entries[i].name), "data from byte " + std::to_string(covered),
                                "it at byte " + std::to_string(m_places[i].begin),
                                "tensors must follow each other without gap or overlap");
            covered = m_places[i].end;
        }
        if (covered != m_data.size())
            throw LoadError(path(), "", std::to_string(covered) + " bytes of data", std::to_string(m_data.size()));
    }

    const Place& place(const TensorEntry& entry) const { return m_places[indexOf(entry)]; }
    std::span<const std::uint8_t> bytes(const Place& p) const { return m_data.subspan(p.begin, p.end - p.begin); }

    FileBytes m_file;
    std::span<const std::uint8_t> m_data;
    std::vector<TensorEntry> m_entries;
    std::vector<Place> m_places; // parallel to m_entries
};

} // namespace

std::shared_ptr<const TensorFile> parseSafetensors(FileBytes file) {
    return std::make_shared<const SafetensorsFile>(std::move(file));
}

} // namespace headscope
