//  .npz: a zip archive, read from its end
//
//    member 1:  local header   "PK\3\4" version flags method time date crc size size nameLength extraLength name extra
//               the bytes, stored (method 0) or raw deflate (method 8)
//               [flag 8: data descriptor with crc and sizes; the local header then has zeros: they are not needed]
//    member 2:  ...
//    directory: per member     "PK\1\2" made needed flags method time date crc size size nameLength extraLength
//                              commentLength disk attributes attributes localOffset name extra comment
//               [sizes or offset of ffffffff stand in the extra field 0001, 8 bytes each: zip64]
//    [zip64:    "PK\6\6" ... entries entries size offset;  locator "PK\6\7" disk offset disks]
//    end:       "PK\5\6" disk disk entries entries directorySize directoryOffset commentLength comment
//
//  The directory is what counts; a local header that contradicts it is refused.

#include "core/model/npz.h"

#include "core/model/foreign_files.h"
#include "core/model/npy.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <zlib.h>

namespace headscope {

namespace {

constexpr std::uint32_t localSignature = 0x04034B50, directorySignature = 0x02014B50, endSignature = 0x06054B50;
constexpr std::uint32_t end64Signature = 0x06064B50, locator64Signature = 0x07064B50;
constexpr std::size_t localSize = 30, directorySize = 46, endSize = 22, end64Size = 56, locator64Size = 20;
constexpr std::uint32_t in64 = 0xFFFFFFFF; // "look into the zip64 field"
constexpr std::uint64_t mostMembers = 50'000;
constexpr std::uint64_t deflateRatio = 1032; // no deflate stream gives more bytes out per byte in
constexpr std::size_t blockSize = 1 << 16;

struct Member {
    std::string name;
    std::uint16_t flags = 0, method = 0;
    std::uint32_t crc = 0;
    std::uint64_t packedSize = 0, size = 0, localOffset = 0;
    std::span<const std::uint8_t> packed;
    NpyHeader header;
};

std::uint64_t number(std::span<const std::uint8_t> bytes, std::size_t at, std::size_t width) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < width; ++i)
        value |= static_cast<std::uint64_t>(bytes[at + i]) << (8 * i);
    return value;
}

class NpzFile final : public TensorFile {
public:
    explicit NpzFile(FileBytes file) : m_file(std::move(file)) {
        readDirectory();
        for (const Member& member : m_members)
            if (member.name.ends_with("data.pkl"))
                throw torchError(path());
        std::unordered_set<std::string> names;
        for (Member& member : m_members) {
            if (member.name.ends_with(".npy"))
                member.name.resize(member.name.size() - 4);
            if (!names.insert(member.name).second)
                throw LoadError(path(), printable(member.name), "each name once", "it twice");
            checkName(member.name);
            locate(member);
        }
        requireDisjoint();
        for (Member& member : m_members) {
            readHeader(member);
            m_entries.push_back({member.name, member.header.type, member.header.shape, member.header.count});
        }
    }
    std::string format() const override { return "npz"; }
    const std::string& path() const override { return m_file.path; }
    const std::vector<TensorEntry>& entries() const override { return m_entries; }
    Floats read(const TensorEntry& entry) const override {
        const Member& m = member(entry);
        return npyFloats(m.header, values(m), path(), printable(m.name));
    }
    std::vector<double> readDoubles(const TensorEntry& entry) const override {
        const Member& m = member(entry);
        return npyDoubles(m.header, values(m), path(), printable(m.name));
    }
    std::int64_t countNonFinite(const TensorEntry& entry) const override {
        const Member& m = member(entry);
        return npyNonFinite(m.header, values(m));
    }
    std::vector<std::string> readStrings(const TensorEntry& entry) const override {
        const Member& m = member(entry);
        return npyStrings(m.header, values(m), path(), printable(m.name));
    }

private:
    LoadError broken(const std::string& what) const {
        return {path(), "", "", "", "the zip archive is damaged: " + what};
    }

    // Whether [at, at + size) lies in the file.
    bool inside(std::uint64_t at, std::uint64_t size) const {
        return at <= m_file.size() && size <= m_file.size() - at;
    }

    std::uint64_t findEnd() const {
        const std::uint64_t size = m_file.size();
        if (size >= endSize) // the comment is at most 65535 bytes long
            for (std::uint64_t back = endSize; back <= std::min<std::uint64_t>(size, endSize + 0xFFFF); ++back) {
                const std::uint64_t at = size - back;
                if (number(m_file.bytes, at, 4) == endSignature && number(m_file.bytes, at + 20, 2) == back - endSize)
                    return at;
            }
        throw LoadError(path(), "", "a zip archive with an end record", "none", "the file is cut off");
    }

    void readDirectory() {
        const auto bytes = m_file.bytes;
        const std::uint64_t end = findEnd();
        std::uint64_t count = number(bytes, end + 10, 2), size = number(bytes, end + 12, 4),
                      at = number(bytes, end + 16, 4);
        std::uint64_t directoryEnd = end;
        const bool asks64 = count == 0xFFFF || size == in64 || at == in64;
        if (asks64 && end >= locator64Size && number(bytes, end - locator64Size, 4) == locator64Signature) {
            const std::uint64_t end64 = number(bytes, end - locator64Size + 8, 8);
            if (!inside(end64, end64Size) || number(bytes, end64, 4) != end64Signature)
                throw broken("the zip64 end record is not where its locator says");
            count = number(bytes, end64 + 32, 8);
            size = number(bytes, end64 + 40, 8);
            at = number(bytes, end64 + 48, 8);
            directoryEnd = end64;
        }
        if (!inside(at, size) || at + size > directoryEnd)
            throw broken("its directory reaches past the end of the file");
        if (count > mostMembers)
            throw LoadError(path(), "", "at most 50000 arrays", std::to_string(count));
        const std::uint64_t stop = at + size;
        for (std::uint64_t i = 0; i < count; ++i)
            at = readDirectoryEntry(at, stop);
        if (at != stop)
            throw broken("its directory holds more than the " + std::to_string(count) + " members announced");
    }

    // One entry of the directory; returns where the next one begins.
    std::uint64_t readDirectoryEntry(std::uint64_t at, std::uint64_t stop) {
        const auto bytes = m_file.bytes;
        if (stop - at < directorySize || number(bytes, at, 4) != directorySignature)
            throw broken("its directory is cut off");
        Member m;
        m.flags = static_cast<std::uint16_t>(number(bytes, at + 8, 2));
        m.method = static_cast<std::uint16_t>(number(bytes, at + 10, 2));
        m.crc = static_cast<std::uint32_t>(number(bytes, at + 16, 4));
        m.packedSize = number(bytes, at + 20, 4);
        m.size = number(bytes, at + 24, 4);
        m.localOffset = number(bytes, at + 42, 4);
        const std::uint64_t nameLength = number(bytes, at + 28, 2), extraLength = number(bytes, at + 30, 2);
        const std::uint64_t length = directorySize + nameLength + extraLength + number(bytes, at + 32, 2);
        if (stop - at < length)
            throw broken("its directory is cut off");
        m.name.assign(reinterpret_cast<const char*>(bytes.data() + at + directorySize), nameLength);
        readZip64(bytes.subspan(at + directorySize + nameLength, extraLength),
                  {&m.size, &m.packedSize, &m.localOffset});
        const bool isFolder = m.name.ends_with('/') && m.size == 0;
        if (!isFolder)
            m_members.push_back(std::move(m));
        return at + length;
    }

    // Replaces each field of ffffffff by the next 8 bytes of the zip64 field; the order is the format's.
    void readZip64(std::span<const std::uint8_t> extra, std::initializer_list<std::uint64_t*> fields) const {
        while (extra.size() >= 4) {
            const std::uint64_t id = number(extra, 0, 2), length = number(extra, 2, 2);
            if (length > extra.size() - 4)
                throw broken("an extra field reaches past its end");
            if (id == 1) {
                std::span<const std::uint8_t> body = extra.subspan(4, length);
                for (std::uint64_t* field : fields) {
                    if (*field != in64)
                        continue;
                    if (body.size() < 8)
                        throw broken("a zip64 field is cut off");
                    *field = number(body, 0, 8);
                    body = body.subspan(8);
                }
                return;
            }
            extra = extra.subspan(4 + length);
        }
    }

    // Names are never used as paths here, but other programs unpack them: a name that leaves its folder is no array's
    // name.
    void checkName(const std::string& name) const {
        const std::string framed = "/" + name + "/";
        if (name.empty() || name[0] == '/' || name.find('\\') != std::string::npos ||
            framed.find("/../") != std::string::npos)
            throw LoadError(path(), printable(name), "the name of an array", "a path that leaves its folder");
    }

    // Finds the member's bytes and checks the local header against the directory.
    void locate(Member& m) {
        const std::string entry = printable(m.name);
        const auto bytes = m_file.bytes;
        if (!inside(m.localOffset, localSize) || number(bytes, m.localOffset, 4) != localSignature)
            throw LoadError(path(), entry, "a member where the directory says", "something else");
        if ((m.flags & 1U) != 0)
            throw LoadError(path(), entry, "an open member", "an encrypted one");
        if (m.method != 0 && m.method != 8)
            throw LoadError(path(), entry, "a stored or deflated member",
                            "compression method " + std::to_string(m.method));
        const std::uint64_t nameLength = number(bytes, m.localOffset + 26, 2);
        const std::uint64_t extraLength = number(bytes, m.localOffset + 28, 2);
        const std::uint64_t start = m.localOffset + localSize + nameLength + extraLength;
        if (!inside(start, m.packedSize))
            throw LoadError(path(), entry, std::to_string(m.packedSize) + " bytes", "fewer", "the file is cut off");
        m.packed = bytes.subspan(start, m.packedSize);

        std::uint64_t size = number(bytes, m.localOffset + 22, 4), packedSize = number(bytes, m.localOffset + 18, 4);
        readZip64(bytes.subspan(m.localOffset + localSize + nameLength, extraLength), {&size, &packedSize});
        const bool isStreamed = (m.flags & 8U) != 0; // sizes stand behind the bytes
        if (!isStreamed && (size != m.size || packedSize != m.packedSize))
            throw LoadError(path(), entry, "the same sizes in both of its headers",
                            std::to_string(m.size) + " and " + std::to_string(size) + " bytes");
        if (number(bytes, m.localOffset + 8, 2) != m.method)
            throw LoadError(path(), entry, "the same compression in both of its headers", "two");
        if (m.method == 0 && m.size != m.packedSize)
            throw LoadError(path(), entry, std::to_string(m.size) + " bytes", std::to_string(m.packedSize));
        if (m.method == 8 && m.size / deflateRatio > m.packedSize)
            throw LoadError(path(), entry, "at most " + std::to_string(deflateRatio) + " bytes for each packed one",
                            std::to_string(m.size) + " bytes announced for " + std::to_string(m.packedSize));
    }

    // Members that share bytes are how a small archive unfolds into an endless one.
    void requireDisjoint() const {
        std::vector<const Member*> order;
        for (const Member& m : m_members)
            order.push_back(&m);
        std::ranges::sort(order, {}, [](const Member* m) { return m->localOffset; });
        for (std::size_t i = 1; i < order.size(); ++i) {
            const Member& before = *order[i - 1];
            const auto end =
                static_cast<std::uint64_t>(before.packed.data() + before.packed.size() - m_file.bytes.data());
            if (order[i]->localOffset < end)
                throw LoadError(path(), printable(order[i]->name), "bytes of its own",
                                "bytes shared with '" + printable(before.name) + "'");
        }
    }

    // Unpacks a member and hands out its bytes in pieces until consume returns false; checks length and CRC at the end.
    void unpack(const Member& m, const std::function<bool(std::span<const std::uint8_t>)>& consume) const {
        const std::string entry = printable(m.name);
        uLong crc = crc32(0, nullptr, 0);
        std::uint64_t done = 0;
        const auto hand = [&](std::span<const std::uint8_t> piece) {
            crc = crc32(crc, piece.data(), static_cast<uInt>(piece.size()));
            done += piece.size();
            if (done > m.size)
                throw LoadError(path(), entry, std::to_string(m.size) + " bytes", "more");
            return consume(piece);
        };
        std::span<const std::uint8_t> in = m.packed;
        if (m.method == 0) {
            for (; !in.empty(); in = in.subspan(std::min(in.size(), blockSize)))
                if (!hand(in.first(std::min(in.size(), blockSize))))
                    return;
        } else {
            struct Stream : z_stream {
                Stream() : z_stream{} {}
                ~Stream() { inflateEnd(this); }
            } z;
            if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
                throw std::bad_alloc();
            std::array<std::uint8_t, blockSize> out;
            int state = Z_OK;
            while (state == Z_OK) {
                if (z.avail_in == 0) { // avail_in has 32 bits, a member may have more
                    const std::size_t size = std::min<std::size_t>(in.size(), std::size_t{1} << 30);
                    z.next_in = const_cast<Bytef*>(in.data()); // zlib does not write to it
                    z.avail_in = static_cast<uInt>(size);
                    in = in.subspan(size);
                }
                z.next_out = out.data();
                z.avail_out = static_cast<uInt>(out.size());
                state = inflate(&z, Z_NO_FLUSH);
                if (const std::size_t got = out.size() - z.avail_out; got > 0 && !hand(std::span(out).first(got)))
                    return;
            }
            if (state != Z_STREAM_END || z.avail_in != 0 || !in.empty())
                throw LoadError(path(), entry, "a whole deflate stream", "a damaged or cut one");
        }
        if (done != m.size)
            throw LoadError(path(), entry, std::to_string(m.size) + " bytes", std::to_string(done));
        if (crc != m.crc)
            throw LoadError(path(), entry, "the check sum of the archive's directory", "another",
                            "the file is damaged");
    }

    // The first `size` bytes of a member, or all when it has fewer.
    std::vector<std::uint8_t> beginning(const Member& m, std::uint64_t size) const {
        std::vector<std::uint8_t> out;
        unpack(m, [&](std::span<const std::uint8_t> piece) {
            const std::size_t wanted = std::min<std::size_t>(piece.size(), size - out.size());
            out.insert(out.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(wanted));
            return out.size() < size;
        });
        return out;
    }

    void readHeader(Member& m) const {
        const std::string entry = printable(m.name);
        const std::uint64_t headerSize = npyHeaderSize(beginning(m, npyPreludeSize), path(), entry);
        m.header = parseNpyHeader(beginning(m, std::min(headerSize, m.size)), m.size, path(), entry);
    }

    // The values of a member as whole blocks, so that no number is torn between two.
    ValueStream values(const Member& m) const {
        return [this, &m](const Consume& consume) {
            std::vector<std::uint8_t> block;
            block.reserve(blockSize);
            std::uint64_t skip = m.header.dataOffset;
            unpack(m, [&](std::span<const std::uint8_t> piece) {
                const std::size_t skipped = std::min<std::size_t>(piece.size(), skip);
                skip -= skipped;
                piece = piece.subspan(skipped);
                while (!piece.empty()) {
                    const std::size_t some = std::min(piece.size(), blockSize - block.size());
                    block.insert(block.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(some));
                    piece = piece.subspan(some);
                    if (block.size() == blockSize) {
                        consume(block);
                        block.clear();
                    }
                }
                return true;
            });
            consume(block);
        };
    }

    const Member& member(const TensorEntry& entry) const { return m_members[indexOf(entry)]; }

    FileBytes m_file;
    std::vector<Member> m_members;
    std::vector<TensorEntry> m_entries; // parallel to m_members
};

} // namespace

bool startsLikeZip(std::span<const std::uint8_t> bytes) {
    return bytes.size() >= 4 && (number(bytes, 0, 4) == localSignature || number(bytes, 0, 4) == endSignature);
}

std::shared_ptr<const TensorFile> parseNpz(FileBytes file) {
    return std::make_shared<const NpzFile>(std::move(file));
}

} // namespace headscope
