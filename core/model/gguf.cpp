//  GGUF, little endian
//
//    "GGUF"  u32 version  u64 number of tensors  u64 number of metadata entries
//    metadata: string key, u32 type, value          string: u64 length, bytes        array: u32 type, u64 count, values
//    tensors:  string name, u32 dimensions, u64 sizes[dimensions] (fastest first), u32 type, u64 offset
//    padding to general.alignment (32), then the values; offsets count from here and are multiples of the alignment
#include "core/model/gguf.h"

#include "core/model/quantized.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

namespace headscope {

namespace {

enum ValueType : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };
constexpr std::array<int, 13> sizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}; // 0: not fixed
constexpr std::uint64_t longestName = 65535;

// Walks the header; every read is checked against what is left of the file.
class Cursor {
public:
    Cursor(const FileBytes& file, std::uint64_t at) : m_file(file), m_at(at) {}
    std::uint64_t at() const { return m_at; }

    std::uint64_t integer(int bytes, const char* what) {
        const std::uint8_t* p = skip(static_cast<std::uint64_t>(bytes), what);
        std::uint64_t v = 0;
        for (int i = 0; i < bytes; ++i)
            v |= static_cast<std::uint64_t>(p[i]) << (8 * i);
        return v;
    }
    std::uint32_t u32(const char* what) { return static_cast<std::uint32_t>(integer(4, what)); }
    std::uint64_t u64(const char* what) { return integer(8, what); }

    std::string_view string(std::uint64_t longest, const char* what) {
        const std::uint64_t length = u64(what);
        if (length > longest)
            throw LoadError(m_file.path, what, "at most " + std::to_string(longest) + " bytes", std::to_string(length));
        return {reinterpret_cast<const char*>(skip(length, what)), length};
    }
    const std::uint8_t* skip(std::uint64_t bytes, const char* what) {
        if (bytes > m_file.size() - m_at)
            throw LoadError(m_file.path, what, std::to_string(bytes) + " more bytes at byte " + std::to_string(m_at),
                            std::to_string(m_file.size() - m_at), "the file is cut off or damaged");
        const std::uint8_t* p = m_file.bytes.data() + m_at;
        m_at += bytes;
        return p;
    }

private:
    const FileBytes& m_file;
    std::uint64_t m_at;
};

struct Value {
    std::uint32_t type = 0; // of the value, or of an array's elements
    bool isArray = false;
    std::uint64_t count = 1;
    std::uint64_t at = 0; // of the first element
};

struct Place {
    const BlockTypeInfo* info = nullptr; // null: a type that is not read here
    std::uint64_t begin = 0, bytes = 0;  // in the data section
};

class File final : public GgufFile {
public:
    explicit File(FileBytes file) : m_file(std::move(file)) {
        Cursor in(m_file, 0);
        const std::uint32_t magic = in.u32("the magic number");
        if (magic != 0x46554747)
            throw LoadError(path(), "the magic number", "GGUF", "something else");
        m_version = in.u32("the version");
        if (m_version != 2 && m_version != 3)
            throw LoadError(path(), "the version", "2 or 3", std::to_string(m_version));
        const std::uint64_t tensors = in.u64("the number of tensors"),
                            entries = in.u64("the number of metadata entries");
        // The smallest tensor takes 24 bytes, the smallest entry 13: a count that cannot be there is refused at once.
        requireCount("the number of tensors", tensors, 24);
        requireCount("the number of metadata entries", entries, 13);
        for (std::uint64_t i = 0; i < entries; ++i)
            readEntry(in);
        readTensors(in, tensors);
    }

    std::string format() const override { return "GGUF version " + std::to_string(m_version); }
    const std::string& path() const override { return m_file.path; }
    const std::vector<TensorEntry>& entries() const override { return m_entries; }
    std::vector<std::string> keys() const override { return m_keys; }

    Floats read(const TensorEntry& e) const override {
        const Place& p = m_places[indexOf(e)];
        if (!p.info)
            throw LoadError(path(), printable(e.name), "F32, F16, BF16, Q4_0 to Q8_0 or Q2_K to Q6_K",
                            "type " + e.type);
        requireFreeMemory(static_cast<std::uint64_t>(e.count) * sizeof(float), path(), printable(e.name));
        Floats out(static_cast<std::size_t>(e.count));
        dequantize(*p.info, m_data.subspan(p.begin, p.bytes), out);
        return out;
    }

    std::int64_t countNonFinite(const TensorEntry& e) const override {
        const Place& p = m_places[indexOf(e)];
        if (!p.info)
            return 0;
        constexpr std::uint64_t blocksAtOnce = 256;
        std::vector<float> some;
        std::int64_t bad = 0;
        const std::uint64_t size = static_cast<std::uint64_t>(p.info->bytes), blocks = p.bytes / size;
        for (std::uint64_t b = 0; b < blocks; b += blocksAtOnce) {
            const std::uint64_t n = std::min(blocksAtOnce, blocks - b);
            some.resize(n * static_cast<std::uint64_t>(p.info->values));
            dequantize(*p.info, m_data.subspan(p.begin + b * size, n * size), some);
            bad += std::ranges::count_if(some, [](float v) { return !std::isfinite(v); });
        }
        return bad;
    }

    std::vector<std::string> readStrings(const TensorEntry& e) const override {
        throw LoadError(path(), printable(e.name), "strings", "type " + e.type, "GGUF tensors hold numbers only");
    }

    std::optional<double> number(std::string_view key) const override {
        const Value* v = value(key);
        if (!v)
            return std::nullopt;
        if (v->isArray || v->type == String)
            throw LoadError(path(), printable(key), "a number", v->isArray ? "an array" : "a string");
        Cursor in(m_file, v->at);
        return numberAt(in, v->type);
    }

    std::optional<std::string> text(std::string_view key) const override {
        const Value* v = value(key);
        if (!v)
            return std::nullopt;
        if (v->isArray || v->type != String)
            throw LoadError(path(), printable(key), "a string", v->isArray ? "an array" : "a number");
        Cursor in(m_file, v->at);
        return std::string(in.string(m_file.size(), "a string"));
    }

    std::vector<double> numbers(std::string_view key) const override {
        const Value* v = value(key);
        if (!v)
            return {};
        if (!v->isArray || v->type == String)
            throw LoadError(path(), printable(key), "an array of numbers", "something else");
        requireFreeMemory(v->count * sizeof(double), path(), printable(key));
        std::vector<double> out;
        out.reserve(v->count);
        Cursor in(m_file, v->at);
        for (std::uint64_t i = 0; i < v->count; ++i)
            out.push_back(numberAt(in, v->type));
        return out;
    }

    std::vector<std::string> texts(std::string_view key) const override {
        const Value* v = value(key);
        if (!v)
            return {};
        if (!v->isArray || v->type != String)
            throw LoadError(path(), printable(key), "an array of strings", "something else");
        requireFreeMemory(v->count * sizeof(std::string), path(), printable(key));
        std::vector<std::string> out;
        out.reserve(v->count);
        Cursor in(m_file, v->at);
        for (std::uint64_t i = 0; i < v->count; ++i)
            out.emplace_back(in.string(m_file.size(), "a string"));
        return out;
    }

private:
    void requireCount(const char* what, std::uint64_t count, std::uint64_t least) const {
        if (count > m_file.size() / least)
            throw LoadError(path(), what,
                            "at most " + std::to_string(m_file.size() / least) + " in " +
                                std::to_string(m_file.size()) + " bytes",
                            std::to_string(count), "the file is cut off or damaged");
    }

    void readEntry(Cursor& in) {
        const std::string key(in.string(longestName, "a metadata key"));
        Value v;
        v.type = in.u32("a metadata type");
        if (v.type == Array) {
            v.isArray = true;
            v.type = in.u32("an array's type");
            v.count = in.u64("an array's length");
            if (v.type == Array)
                throw LoadError(path(), printable(key), "an array of numbers or strings", "an array of arrays");
        }
        if (v.type > F64)
            throw LoadError(path(), printable(key), "a metadata type from 0 to 12", std::to_string(v.type));
        v.at = in.at();
        const int size = sizes[v.type];
        if (size > 0) {
            std::uint64_t bytes = 0;
            if (__builtin_mul_overflow(v.count, static_cast<std::uint64_t>(size), &bytes))
                throw LoadError(path(), printable(key), "an array inside the file",
                                std::to_string(v.count) + " values");
            in.skip(bytes, key.c_str());
        } else {
            for (std::uint64_t i = 0; i < v.count; ++i) // ends at the file's end at the latest: each takes 8 bytes
                in.string(m_file.size(), "a string");
        }
        if (!m_values.emplace(key, v).second)
            throw LoadError(path(), printable(key), "each metadata key once", "it twice");
        m_keys.push_back(key);
    }

    double numberAt(Cursor& in, std::uint32_t type) const {
        const std::uint64_t bits = in.integer(sizes[type], "a number");
        switch (type) {
        case I8:
            return static_cast<std::int8_t>(bits);
        case I16:
            return static_cast<std::int16_t>(bits);
        case I32:
            return static_cast<std::int32_t>(bits);
        case I64:
            return static_cast<double>(static_cast<std::int64_t>(bits));
        case F32:
            return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        case F64:
            return std::bit_cast<double>(bits);
        default:
            return static_cast<double>(bits);
        }
    }

    const Value* value(std::string_view key) const {
        const auto it = m_values.find(std::string(key));
        return it == m_values.end() ? nullptr : &it->second;
    }

    void readTensors(Cursor& in, std::uint64_t count) {
        const double alignment = number("general.alignment").value_or(32);
        const auto align = static_cast<std::uint64_t>(alignment >= 1 && alignment <= 1 << 20 ? alignment : 0);
        if (align == 0 || !std::has_single_bit(align) || static_cast<double>(align) != alignment)
            throw LoadError(path(), "general.alignment", "a power of two", std::to_string(alignment));
        std::unordered_set<std::string> names;
        std::vector<std::uint64_t> offsets;
        for (std::uint64_t i = 0; i < count; ++i)
            readTensor(in, align, names);
        const std::uint64_t begin = std::min((in.at() + align - 1) / align * align, m_file.size());
        m_data = m_file.bytes.subspan(begin);
        for (std::size_t i = 0; i < m_entries.size(); ++i)
            if (m_places[i].begin > m_data.size() || m_places[i].bytes > m_data.size() - m_places[i].begin)
                throw LoadError(path(), printable(m_entries[i].name),
                                std::to_string(m_places[i].bytes) + " bytes at offset " +
                                    std::to_string(m_places[i].begin),
                                std::to_string(m_data.size()) + " bytes of data", "the file is cut off or damaged");
    }

    void readTensor(Cursor& in, std::uint64_t align, std::unordered_set<std::string>& names) {
        TensorEntry e;
        e.name = std::string(in.string(longestName, "a tensor's name"));
        const std::string shown = printable(e.name);
        if (!names.insert(e.name).second)
            throw LoadError(path(), shown, "each tensor once", "it twice");
        const std::uint32_t dimensions = in.u32("a tensor's dimensions");
        if (dimensions > 4)
            throw LoadError(path(), shown, "at most 4 dimensions", std::to_string(dimensions));
        e.count = 1;
        bool isEmpty = false;
        for (std::uint32_t d = 0; d < dimensions; ++d) {
            const std::uint64_t size = in.u64("a tensor's size");
            isEmpty = isEmpty || size == 0;
            // Checked one by one: sizes whose product wraps around to something small are still far too large.
            if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ||
                __builtin_mul_overflow(e.count, std::max<std::int64_t>(static_cast<std::int64_t>(size), 1), &e.count))
                throw LoadError(path(), shown, "a shape whose size fits in 64 bits", "one that does not");
            e.shape.insert(e.shape.begin(), static_cast<std::int64_t>(size)); // the file has the fastest first
        }
        e.count = isEmpty ? 0 : e.count;
        const std::uint32_t code = in.u32("a tensor's type");
        Place p;
        p.info = blockTypeOf(code);
        p.begin = in.u64("a tensor's offset");
        e.type = blockTypeName(code);
        if (!p.info && e.type == "an unknown type")
            throw LoadError(path(), shown, "a tensor type that GGUF knows", std::to_string(code));
        if (p.begin % align != 0)
            throw LoadError(path(), shown, "an offset that is a multiple of " + std::to_string(align),
                            std::to_string(p.begin));
        if (p.info) {
            const std::int64_t row = e.shape.empty() ? 1 : e.shape.back();
            if (row % p.info->values != 0)
                throw LoadError(path(), shown,
                                "rows of a multiple of " + std::to_string(p.info->values) + " values for " + e.type,
                                std::to_string(row));
            const auto blocks = static_cast<std::uint64_t>(e.count / p.info->values);
            if (__builtin_mul_overflow(blocks, static_cast<std::uint64_t>(p.info->bytes), &p.bytes))
                throw LoadError(path(), shown, "a shape whose size fits in 64 bits", "one that does not");
        }
        m_entries.push_back(std::move(e));
        m_places.push_back(p);
    }

    FileBytes m_file;
    std::uint32_t m_version = 0;
    std::span<const std::uint8_t> m_data;
    std::vector<TensorEntry> m_entries;
    std::vector<Place> m_places; // parallel to m_entries
    std::unordered_map<std::string, Value> m_values;
    std::vector<std::string> m_keys;
};

} // namespace

bool startsLikeGguf(std::span<const std::uint8_t> bytes) {
    return bytes.size() >= 4 && std::memcmp(bytes.data(), "GGUF", 4) == 0;
}

std::shared_ptr<const GgufFile> parseGguf(FileBytes file) {
    return std::make_shared<const File>(std::move(file));
}

} // namespace headscope
