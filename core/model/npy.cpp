//  .npy, versions 1 to 3
//
//    0   6  93 'N' 'U' 'M' 'P' 'Y'
//    6   2  version: major, minor
//    8   2  header length H, little endian (version 1)          8   4  the same (versions 2 and 3)
//   10   H  a Python dict as text (latin-1; UTF-8 in version 3), padded with spaces, "\n":
//           {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//  10+H     the values: count * item size bytes, last index fastest (fortran_order: first index fastest)
//
//  descr: byte order (< > | =), kind (b i u f c U S V O M m), bytes per item (U: code points of 4 bytes).

#include "core/model/npy.h"

#include <algorithm>
#include <array>
#include <limits>

namespace headscope {

namespace {

constexpr std::uint64_t longestHeader = std::uint64_t{1} << 20; // numpy itself stops at 10,000 bytes
constexpr std::size_t mostDimensions = 64;                      // numpy's own limit

// The little of Python's syntax that a header uses.
class HeaderText {
public:
    HeaderText(std::string_view text, const std::string& path, const std::string& entry)
        : m_text(text), m_path(path), m_entry(entry) {}

    LoadError wrong(const std::string& expected) const {
        const std::string_view rest = m_text.substr(std::min(m_at, m_text.size()), 24);
        return {m_path, m_entry, expected + " in the npy header",
                rest.empty() ? "its end" : "'" + printable(rest) + "'"};
    }
    bool take(char c) {
        skipSpace();
        if (m_at >= m_text.size() || m_text[m_at] != c)
            return false;
        ++m_at;
        return true;
    }
    void need(char c) {
        if (!take(c))
            throw wrong(std::string("'") + c + "'");
    }
    std::string quoted() {
        skipSpace();
        if (m_at >= m_text.size() || (m_text[m_at] != '\'' && m_text[m_at] != '"'))
            throw wrong("a quoted string");
        const std::size_t end = m_text.find(m_text[m_at], m_at + 1);
        if (end == std::string_view::npos)
            throw wrong("a closed string");
        std::string out(m_text.substr(m_at + 1, end - m_at - 1));
        m_at = end + 1;
        return out;
    }
    bool word(std::string_view w) {
        skipSpace();
        if (!m_text.substr(m_at).starts_with(w))
            return false;
        m_at += w.size();
        return true;
    }
    std::int64_t dimension() {
        skipSpace();
        const std::size_t start = m_at;
        std::int64_t value = 0;
        while (m_at < m_text.size() && m_text[m_at] >= '0' && m_text[m_at] <= '9') {
            if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, m_text[m_at] - '0', &value))
                throw wrong("a size below 2^63");
            ++m_at;
        }
        if (m_at == start)
            throw wrong("a size of 0 or more");
        if (m_at < m_text.size() && m_text[m_at] == 'L') // a long integer of Python 2
            ++m_at;
        return value;
    }
    bool nextIsList() {
        skipSpace();
        return m_at < m_text.size() && m_text[m_at] == '[';
    }
    bool atEnd() {
        skipSpace();
        return m_at == m_text.size();
    }

private:
    void skipSpace() {
        while (m_at < m_text.size() && (m_text[m_at] == ' ' || m_text[m_at] == '\n' || m_text[m_at] == '\t'))
            ++m_at;
    }
    std::string_view m_text;
    std::size_t m_at = 0;
    const std::string& m_path;
    const std::string& m_entry;
};

// "<f4" -> byte order, kind, size. Throws LoadError on what numpy would not write.
void readDescr(NpyHeader& header, const HeaderText& text) {
    const std::string& d = header.type;
    std::string_view rest = d;
    if (!rest.empty() && std::string_view("<>|=").find(rest[0]) != std::string_view::npos) {
        header.bigEndian = rest[0] == '>';
        rest.remove_prefix(1);
    }
    const char kind = rest.empty() ? '\0' : rest[0];
    if (kind == '\0' || std::string_view("biufcUSaVOMm?").find(kind) == std::string_view::npos)
        throw text.wrong("a type such as '<f4'");
    std::uint64_t size = 0;
    std::size_t at = 1;
    for (; at < rest.size() && rest[at] >= '0' && rest[at] <= '9' && size < 100'000'000; ++at)
        size = size * 10 + static_cast<std::uint64_t>(rest[at] - '0');
    const bool hasUnit = (kind == 'M' || kind == 'm') && at < rest.size() && rest[at] == '['; // M8[D]
    if (at != rest.size() && !hasUnit)
        throw text.wrong("a type such as '<f4' instead of '" + printable(d) + "'");
    header.isObject = kind == 'O';
    header.isUnicode = kind == 'U';
    header.itemSize = header.isUnicode ? size * 4 : kind == '?' ? 1 : size;

    struct Row {
        char kind;
        std::uint64_t size;
        NumberType type;
    };
    static constexpr std::array rows{
        Row{'b', 1, NumberType::Bool}, Row{'?', 1, NumberType::Bool}, Row{'i', 1, NumberType::I8},
        Row{'i', 2, NumberType::I16},  Row{'i', 4, NumberType::I32},  Row{'i', 8, NumberType::I64},
        Row{'u', 1, NumberType::U8},   Row{'u', 2, NumberType::U16},  Row{'u', 4, NumberType::U32},
        Row{'u', 8, NumberType::U64},  Row{'f', 2, NumberType::F16},  Row{'f', 4, NumberType::F32},
        Row{'f', 8, NumberType::F64}};
    for (const Row& row : rows)
        if (row.kind == kind && row.size == header.itemSize)
            header.number = row.type;
}

// Values stored first index fastest, put last index fastest.
template<class Values>
Values rowMajor(Values values, const std::vector<std::int64_t>& shape) {
    Values out(values.size());
    std::vector<std::int64_t> index(shape.size(), 0), stride(shape.size(), 1);
    for (std::size_t d = 1; d < shape.size(); ++d)
        stride[d] = stride[d - 1] * shape[d - 1];
    std::int64_t from = 0;
    for (auto& value : out) {
        value = std::move(values[static_cast<std::size_t>(from)]);
        for (std::size_t d = shape.size(); d-- > 0;) { // the next index, last one fastest
            from += stride[d];
            if (++index[d] < shape[d])
                break;
            from -= stride[d] * shape[d];
            index[d] = 0;
        }
    }
    return out;
}

template<class Values, class Convert>
Values npyValues(const NpyHeader& header, const ValueStream& values, const std::string& path, const std::string& entry,
                 const Convert& convert) {
    if (!header.number)
        throw LoadError(path, entry, "numbers", "type " + printable(header.type),
                        header.isObject ? "a pickle is never unpickled: save it with a number type" : "");
    const auto count = static_cast<std::uint64_t>(header.count);
    requireFreeMemory(count * sizeof(typename Values::value_type) * (header.fortranOrder ? 2 : 1), path, entry);
    Values out(count, 0);
    std::size_t done = 0;
    values([&](std::span<const std::uint8_t> block) {
        const std::size_t here = block.size() / header.itemSize;
        convert(*header.number, header.bigEndian, block, std::span(out).subspan(done, here));
        done += here;
    });
    return header.fortranOrder && header.shape.size() > 1 ? rowMajor(std::move(out), header.shape) : out;
}

void appendUtf8(std::string& out, std::uint32_t c) {
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
        c = 0xFFFD;
    const auto put = [&](std::uint32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (c < 0x80)
        return put(c);
    if (c < 0x800) {
        put(0xC0U | (c >> 6));
    } else {
        if (c < 0x10000) {
            put(0xE0U | (c >> 12));
        } else {
            put(0xF0U | (c >> 18));
            put(0x80U | ((c >> 12) & 0x3FU));
        }
        put(0x80U | ((c >> 6) & 0x3FU));
    }
    put(0x80U | (c & 0x3FU));
}

class NpyFile final : public TensorFile {
public:
    explicit NpyFile(FileBytes file) : m_file(std::move(file)) {
        m_header = parseNpyHeader(m_file.bytes, m_file.size(), m_file.path, "");
        if (m_header.isObject)
            throw LoadError(m_file.path, "", "numbers", "an object array",
                            "it is a pickle, which is never unpickled: save it with a number type");
        m_entries.push_back({"array", m_header.type, m_header.shape, m_header.count});
    }
    std::string format() const override { return "npy"; }
    const std::string& path() const override { return m_file.path; }
    const std::vector<TensorEntry>& entries() const override { return m_entries; }
    Floats read(const TensorEntry&) const override { return npyFloats(m_header, values(), path(), ""); }
    std::vector<double> readDoubles(const TensorEntry&) const override {
        return npyDoubles(m_header, values(), path(), "");
    }
    std::int64_t countNonFinite(const TensorEntry&) const override { return npyNonFinite(m_header, values()); }
    std::vector<std::string> readStrings(const TensorEntry&) const override {
        return npyStrings(m_header, values(), path(), "");
    }

private:
    ValueStream values() const {
        return [this](const Consume& consume) { consume(m_file.bytes.subspan(m_header.dataOffset)); };
    }
    FileBytes m_file;
    NpyHeader m_header;
    std::vector<TensorEntry> m_entries;
};

} // namespace

std::shared_ptr<const TensorFile> parseNpy(FileBytes file) {
    return std::make_shared<const NpyFile>(std::move(file));
}

bool startsLikeNpy(std::span<const std::uint8_t> bytes) {
    static constexpr std::array<std::uint8_t, 6> magic{0x93, 'N', 'U', 'M', 'P', 'Y'};
    return bytes.size() >= magic.size() && std::ranges::equal(bytes.first(magic.size()), magic);
}

std::uint64_t npyHeaderSize(std::span<const std::uint8_t> prelude, const std::string& path, const std::string& entry) {
    if (!startsLikeNpy(prelude))
        throw LoadError(path, entry, "a numpy array (it begins with \\x93NUMPY)", "something else");
    if (prelude.size() < 10)
        throw LoadError(path, entry, "a npy header", "a file of " + std::to_string(prelude.size()) + " bytes");
    const int major = prelude[6];
    if (major < 1 || major > 3)
        throw LoadError(path, entry, "npy version 1, 2 or 3", "version " + std::to_string(major));
    if (major == 1)
        return 10U + prelude[8] + 256U * prelude[9];
    if (prelude.size() < npyPreludeSize)
        throw LoadError(path, entry, "a npy header", "a file of " + std::to_string(prelude.size()) + " bytes");
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < 4; ++i)
        length |= static_cast<std::uint64_t>(prelude[8 + i]) << (8 * i);
    if (length > longestHeader)
        throw LoadError(path, entry, "a npy header of at most 1 MiB", std::to_string(length) + " bytes announced");
    return 12 + length;
}

NpyHeader parseNpyHeader(std::span<const std::uint8_t> start, std::uint64_t totalSize, const std::string& path,
                         const std::string& entry) {
    const std::uint64_t headerSize = npyHeaderSize(start.first(std::min(start.size(), npyPreludeSize)), path, entry);
    if (headerSize > totalSize || headerSize > start.size())
        throw LoadError(path, entry, "a npy header of " + std::to_string(headerSize) + " bytes",
                        std::to_string(totalSize) + " bytes in all", "the file is cut off");
    const std::size_t textStart = start[6] == 1 ? 10 : 12;
    const auto* chars = reinterpret_cast<const char*>(start.data());
    HeaderText text({chars + textStart, headerSize - textStart}, path, entry);

    NpyHeader header;
    header.dataOffset = headerSize;
    bool hasType = false, hasOrder = false, hasShape = false;
    const auto once = [&](bool& seen, const std::string& key) {
        if (seen)
            throw LoadError(path, entry, "'" + key + "' once in the npy header", "it twice");
        seen = true;
    };
    text.need('{');
    while (!text.take('}')) {
        const std::string key = text.quoted();
        text.need(':');
        if (key == "descr") {
            once(hasType, key);
            if (text.nextIsList())
                throw LoadError(path, entry, "numbers", "a structured array", "save each field as an array of its own");
            header.type = text.quoted();
            readDescr(header, text);
        } else if (key == "fortran_order") {
            once(hasOrder, key);
            header.fortranOrder = text.word("True");
            if (!header.fortranOrder && !text.word("False"))
                throw text.wrong("True or False");
        } else if (key == "shape") {
            once(hasShape, key);
            text.need('(');
            while (!text.take(')')) {
                if (header.shape.size() == mostDimensions)
                    throw LoadError(path, entry, "at most 64 dimensions", "more");
                header.shape.push_back(text.dimension());
                if (!text.take(',')) {
                    text.need(')');
                    break;
                }
            }
        } else {
            throw LoadError(path, entry, "'descr', 'fortran_order' and 'shape' in the npy header",
                            "'" + printable(key) + "'");
        }
        if (!text.take(',')) {
            text.need('}');
            break;
        }
    }
    if (!hasType || !hasOrder || !hasShape || !text.atEnd())
        throw text.wrong("exactly 'descr', 'fortran_order' and 'shape'");

    // The product of the shape without its zeros must fit as well: numpy takes no (0, 2^62, 2^62) either.
    std::int64_t product = 1;
    bool isEmpty = false, overflows = false;
    for (const std::int64_t size : header.shape) {
        isEmpty = isEmpty || size == 0;
        overflows = overflows || __builtin_mul_overflow(product, std::max<std::int64_t>(size, 1), &product);
    }
    header.count = isEmpty ? 0 : product;
    std::uint64_t bytes = 0;
    if (overflows || __builtin_mul_overflow(static_cast<std::uint64_t>(product), header.itemSize, &bytes))
        throw LoadError(path, entry, "a shape whose size fits in 64 bits", "one that does not");
    bytes = isEmpty ? 0 : bytes;
    if (!header.isObject && bytes != totalSize - headerSize)
        throw LoadError(path, entry, std::to_string(bytes) + " bytes of values", std::to_string(totalSize - headerSize),
                        bytes > totalSize - headerSize ? "the file is cut off" : "");
    return header;
}

Floats npyFloats(const NpyHeader& header, const ValueStream& values, const std::string& path,
                 const std::string& entry) {
    return npyValues<Floats>(header, values, path, entry, toFloats);
}

std::vector<double> npyDoubles(const NpyHeader& header, const ValueStream& values, const std::string& path,
                               const std::string& entry) {
    return npyValues<std::vector<double>>(header, values, path, entry, toDoubles);
}

std::int64_t npyNonFinite(const NpyHeader& header, const ValueStream& values) {
    std::int64_t found = 0;
    // All values pass, whatever their type: that is what finds a damaged member of an npz.
    values([&](std::span<const std::uint8_t> block) {
        found += header.number ? nonFiniteIn(*header.number, header.bigEndian, block) : 0;
    });
    return found;
}

std::vector<std::string> npyStrings(const NpyHeader& header, const ValueStream& values, const std::string& path,
                                    const std::string& entry) {
    if (!header.isUnicode)
        throw LoadError(path, entry, "strings (type <U)", "type " + printable(header.type),
                        header.isObject ? "a pickle is never unpickled: save it as numpy.array(strings, dtype=str)"
                                        : "");
    const auto count = static_cast<std::uint64_t>(header.count);
    // A string of nothing costs 32 bytes here and none in the file: the shape alone must not decide how much is
    // allocated.
    constexpr std::uint64_t mostEmptyStrings = 1'000'000;
    if (header.itemSize == 0 && count > mostEmptyStrings)
        throw LoadError(path, entry, "strings", std::to_string(count) + " empty ones");
    std::uint64_t raw = count * header.itemSize;
    requireFreeMemory(raw * 2 + count * 2 * sizeof(std::string), path, entry);
    std::vector<std::uint8_t> bytes;
    bytes.reserve(raw);
    values([&](std::span<const std::uint8_t> block) { bytes.insert(bytes.end(), block.begin(), block.end()); });
    std::vector<std::string> out(count);
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<std::uint32_t> points;
        for (std::size_t at = i * header.itemSize; at < (i + 1) * header.itemSize; at += 4) {
            std::uint32_t c = 0;
            for (std::size_t b = 0; b < 4; ++b)
                c |= static_cast<std::uint32_t>(bytes[at + b]) << (8 * (header.bigEndian ? 3 - b : b));
            points.push_back(c);
        }
        while (!points.empty() && points.back() == 0) // padding
            points.pop_back();
        for (const std::uint32_t c : points)
            appendUtf8(out[i], c);
    }
    return header.fortranOrder && header.shape.size() > 1 ? rowMajor(std::move(out), header.shape) : out;
}

} // namespace headscope
