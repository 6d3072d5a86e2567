// TensorFile: a container of named tensors (safetensors, npz, npy), opened without copying it. One interface for
// `info`, for attention modules and for --mask, --x, --y. parse(bytes) is apart from open(path), so every reader can be
// fuzzed. Nothing that a file claims (sizes, offsets, counts) is believed before it is checked against its real length.
#pragma once

#include "core/tensor/errors.h"
#include "core/tensor/matrix.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace headscope {

struct TensorEntry {
    std::string name;
    std::string type; // as the container spells it: "F32", "<f4"
    std::vector<std::int64_t> shape;
    std::int64_t count = 0; // product of the shape
};

class TensorFile {
public:
    virtual ~TensorFile() = default;
    virtual std::string format() const = 0; // "safetensors", "npz", "npy"
    virtual const std::string& path() const = 0;
    virtual const std::vector<TensorEntry>& entries() const = 0; // in file order
    // The values as float, row-major. Throws LoadError for types that are no numbers.
    virtual Floats read(const TensorEntry& entry) const = 0;
    // The same with the precision of the file, where it has more than a float (npy, npz).
    virtual std::vector<double> readDoubles(const TensorEntry& entry) const;
    // Number of NaN and infinite values, streamed: never inflates an array whole. 0 for types that cannot hold one.
    virtual std::int64_t countNonFinite(const TensorEntry& entry) const = 0;
    // Strings of a unicode array (npz); throws LoadError otherwise.
    virtual std::vector<std::string> readStrings(const TensorEntry& entry) const = 0;

    const TensorEntry* find(std::string_view name) const;
    // A 1-D or 2-D entry as a matrix (1-D: one row). Throws LoadError on other ranks and on non-finite values when
    // required.
    Matrix matrix(const TensorEntry& entry, bool requireFinite) const;

protected:
    std::size_t indexOf(const TensorEntry& entry) const; // its place in entries()
};

// By content, not by suffix. Throws LoadError: not found, a folder, empty, a Git LFS pointer, an HTML page, a pickle
// (.bin, .pt: with the two lines of Python that convert it), truncated, or what the format's own reader finds.
std::shared_ptr<const TensorFile> openTensorFile(const std::string& path);

} // namespace headscope
