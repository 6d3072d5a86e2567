// numpy's .npy: one array. parseNpy for a file; the parts below it also serve the members of an .npz.
// Never unpickles: object arrays are refused.
#pragma once

#include "core/model/mapped_file.h"
#include "core/model/number_type.h"
#include "core/model/tensor_file.h"

#include <functional>
#include <optional>
#include <span>

namespace headscope {

// The file is one entry, named "array". Throws LoadError on anything that does not add up.
std::shared_ptr<const TensorFile> parseNpy(FileBytes file);

struct NpyHeader {
    std::string type;                 // as written: "<f4", "|O"; "structured" for record arrays
    std::optional<NumberType> number; // nothing for strings, dates, objects, complex and long double
    bool isUnicode = false, isObject = false;
    bool bigEndian = false, fortranOrder = false;
    std::uint64_t itemSize = 0; // bytes
    std::vector<std::int64_t> shape;
    std::int64_t count = 0;
    std::uint64_t dataOffset = 0; // where the values begin
};

constexpr std::size_t npyPreludeSize = 12; // enough bytes to know how long the header is
bool startsLikeNpy(std::span<const std::uint8_t> bytes);
// The whole length of magic, version and header. `prelude`: the first bytes, up to npyPreludeSize of them.
std::uint64_t npyHeaderSize(std::span<const std::uint8_t> prelude, const std::string& path, const std::string& entry);
// `start` holds at least the whole header, totalSize is header and values. Checks that the values fill the rest
// exactly.
NpyHeader parseNpyHeader(std::span<const std::uint8_t> start, std::uint64_t totalSize, const std::string& path,
                         const std::string& entry);

// Hands out the bytes of the values in order, in blocks whose sizes are multiples of 64 KiB except for the last.
using Consume = std::function<void(std::span<const std::uint8_t>)>;
using ValueStream = std::function<void(const Consume&)>;

Floats npyFloats(const NpyHeader& header, const ValueStream& values, const std::string& path, const std::string& entry);
std::vector<double> npyDoubles(const NpyHeader& header, const ValueStream& values, const std::string& path,
                               const std::string& entry);
std::int64_t npyNonFinite(const NpyHeader& header, const ValueStream& values);
std::vector<std::string> npyStrings(const NpyHeader& header, const ValueStream& values, const std::string& path,
                                    const std::string& entry);

} // namespace headscope
