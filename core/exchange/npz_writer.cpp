//  .npz as numpy.load reads it, with allow_pickle=False: a zip archive of stored .npy members (the formats are drawn in
//  core/model/npz.cpp and core/model/npy.cpp). The same arrays give the same bytes: no time, no compression, a fixed
//  order.

#include "core/exchange/dump.h"
#include "core/tensor/half.h"

#include <algorithm>
#include <bit>
#include <ostream>
#include <zlib.h>

namespace headscope {

namespace {

constexpr std::uint64_t in64 = 0xFFFFFFFF; // sizes and offsets from here on stand in a zip64 field

void put(std::string& out, std::uint64_t value, unsigned width) {
    for (unsigned i = 0; i < width; ++i)
        out += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
}

// The code points of UTF-8; each byte that belongs to none becomes U+FFFD.
std::vector<std::uint32_t> codePoints(std::string_view text) {
    std::vector<std::uint32_t> out;
    for (std::size_t at = 0; at < text.size();) {
        const auto lead = static_cast<unsigned char>(text[at]);
        const std::size_t length = lead < 0x80   ? 1
                                   : lead < 0xC2 ? 0
                                   : lead < 0xE0 ? 2
                                   : lead < 0xF0 ? 3
                                   : lead < 0xF5 ? 4
                                                 : 0;
        std::uint32_t c = length < 2 ? lead : lead & (0x7FU >> length);
        bool ok = length > 0 && at + length <= text.size();
        for (std::size_t i = 1; ok && i < length; ++i) {
            const auto next = static_cast<unsigned char>(text[at + i]);
            ok = (next & 0xC0U) == 0x80U;
            c = c << 6 | (next & 0x3FU);
        }
        ok = ok && !(length == 3 && (c < 0x800 || (c >= 0xD800 && c < 0xE000))) &&
             !(length == 4 && (c < 0x10000 || c > 0x10FFFF));
        out.push_back(ok ? c : 0xFFFD);
        at += ok ? length : 1;
    }
    return out;
}

// The values as numpy keeps them: `type` and little-endian bytes.
struct Values {
    std::string type, bytes;
};

Values valuesOf(const std::vector<float>& data) {
    Values v{"<f4", {}};
    if constexpr (std::endian::native == std::endian::little) {
        v.bytes.assign(reinterpret_cast<const char*>(data.data()), data.size() * sizeof(float));
        return v;
    }
    for (const float f : data)
        put(v.bytes, std::bit_cast<std::uint32_t>(f), 4);
    return v;
}
Values halvesOf(const std::vector<float>& data) {
    Values v{"<f2", {}};
    for (const float f : data)
        put(v.bytes, f16FromFloat(f), 2);
    return v;
}
Values valuesOf(const std::vector<double>& data) {
    Values v{"<f8", {}};
    for (const double d : data)
        put(v.bytes, std::bit_cast<std::uint64_t>(d), 8);
    return v;
}
Values valuesOf(const std::vector<std::int64_t>& data) {
    Values v{"<i8", {}};
    for (const std::int64_t i : data)
        put(v.bytes, static_cast<std::uint64_t>(i), 8);
    return v;
}
Values valuesOf(const std::vector<bool>& data) {
    Values v{"|b1", {}};
    for (const bool b : data)
        v.bytes += b ? '\1' : '\0';
    return v;
}
Values valuesOf(const std::vector<std::string>& data) { // UTF-32, filled up with zeros to the longest
    std::vector<std::vector<std::uint32_t>> texts;
    std::size_t longest = 1;
    for (const std::string& s : data) {
        texts.push_back(codePoints(s));
        longest = std::max(longest, texts.back().size());
    }
    Values v{"<U" + std::to_string(longest), {}};
    for (std::vector<std::uint32_t>& text : texts) {
        text.resize(longest, 0);
        for (const std::uint32_t c : text)
            put(v.bytes, c, 4);
    }
    return v;
}

std::string npyHeader(const std::string& type, const std::vector<std::int64_t>& shape) {
    std::string dict = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (";
    for (const std::int64_t size : shape)
        dict += std::to_string(size) + (shape.size() == 1 ? "," : &size == &shape.back() ? "" : ", ");
    dict += "), }";
    dict.append(63 - (10 + dict.size()) % 64, ' '); // the values begin at a multiple of 64
    dict += '\n';
    std::string out("\x93NUMPY\1\0", 8);
    put(out, dict.size(), 2);
    return out + dict;
}

struct Member {
    std::string name;
    std::uint32_t crc = 0;
    std::uint64_t size = 0, offset = 0;
};

// What the local header and the directory have in common.
void putCommon(std::string& out, const Member& m, bool isLarge) {
    put(out, isLarge ? 45 : 20, 2); // version needed: 4.5 for zip64
    put(out, 0x0800, 2);            // the name is UTF-8
    put(out, 0, 2);                 // stored
    put(out, 0, 2);                 // 00:00:00
    put(out, 0x0021, 2);            // 1 January 1980
    put(out, m.crc, 4);
    put(out, std::min(m.size, in64), 4);
    put(out, std::min(m.size, in64), 4);
    put(out, m.name.size(), 2);
}

} // namespace

void writeNpz(std::ostream& out, const std::vector<NamedArray>& arrays) {
    std::vector<Member> members;
    std::uint64_t offset = 0;
    const auto write = [&](const std::string& bytes) {
        out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        offset += bytes.size();
    };
    for (const NamedArray& array : arrays) {
        const Values values = array.isHalf ? halvesOf(std::get<std::vector<float>>(array.data))
                                           : std::visit([](const auto& data) { return valuesOf(data); }, array.data);
        const std::string header = npyHeader(values.type, array.shape);
        Member m{array.name + ".npy", 0, header.size() + values.bytes.size(), offset};
        uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(header.data()), header.size());
        crc = crc32_z(crc, reinterpret_cast<const Bytef*>(values.bytes.data()), values.bytes.size());
        m.crc = static_cast<std::uint32_t>(crc);

        const bool isLarge = m.size >= in64;
        std::string local;
        put(local, 0x04034B50, 4);
        putCommon(local, m, isLarge);
        put(local, isLarge ? 20 : 0, 2);
        local += m.name;
        if (isLarge) {
            put(local, 1, 2);
            put(local, 16, 2);
            put(local, m.size, 8);
            put(local, m.size, 8);
        }
        write(local);
        write(header);
        write(values.bytes);
        members.push_back(std::move(m));
    }

    const std::uint64_t directoryAt = offset;
    for (const Member& m : members) {
        const bool isLarge = m.size >= in64, isFar = m.offset >= in64;
        std::string extra;
        if (isLarge) {
            put(extra, m.size, 8);
            put(extra, m.size, 8);
        }
        if (isFar)
            put(extra, m.offset, 8);
        std::string entry;
        put(entry, 0x02014B50, 4);
        put(entry, 45, 2); // made by
        putCommon(entry, m, isLarge || isFar);
        put(entry, extra.empty() ? 0 : extra.size() + 4, 2);
        put(entry, 0, 2); // no comment
        put(entry, 0, 2); // disk
        put(entry, 0, 2); // internal attributes
        put(entry, 0, 4); // external attributes
        put(entry, std::min(m.offset, in64), 4);
        entry += m.name;
        if (!extra.empty()) {
            put(entry, 1, 2);
            put(entry, extra.size(), 2);
            entry += extra;
        }
        write(entry);
    }
    const std::uint64_t directorySize = offset - directoryAt;
    const bool is64 = members.size() >= 0xFFFF || directorySize >= in64 || directoryAt >= in64;
    std::string end;
    if (is64) {
        const std::uint64_t end64At = offset;
        put(end, 0x06064B50, 4);
        put(end, 44, 8); // bytes that follow in this record
        put(end, 45, 2);
        put(end, 45, 2);
        put(end, 0, 4);
        put(end, 0, 4);
        put(end, members.size(), 8);
        put(end, members.size(), 8);
        put(end, directorySize, 8);
        put(end, directoryAt, 8);
        put(end, 0x07064B50, 4);
        put(end, 0, 4);
        put(end, end64At, 8);
        put(end, 1, 4);
    }
    put(end, 0x06054B50, 4);
    put(end, 0, 2);
    put(end, 0, 2);
    put(end, std::min<std::uint64_t>(members.size(), 0xFFFF), 2);
    put(end, std::min<std::uint64_t>(members.size(), 0xFFFF), 2);
    put(end, std::min(directorySize, in64), 4);
    put(end, std::min(directoryAt, in64), 4);
    put(end, 0, 2);
    write(end);
}

} // namespace headscope
