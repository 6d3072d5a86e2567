#include "core/model/tensor_file.h"

#include "core/model/foreign_files.h"
#include "core/model/gguf.h"
#include "core/model/mapped_file.h"
#include "core/model/npy.h"
#include "core/model/npz.h"
#include "core/model/safetensors.h"
#include "core/tensor/number_text.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace headscope {

namespace {

std::string shapeText(const std::vector<std::int64_t>& shape) {
    std::string text;
    for (const std::int64_t size : shape)
        text += (text.empty() ? "" : " x ") + std::to_string(size);
    return shape.empty() ? "a single number" : text;
}

// A safetensors file begins with a plausible header length and then "{".
bool startsLikeSafetensors(const FileBytes& file) {
    return file.size() >= 9 && file.bytes[8] == '{' && file.bytes[6] == 0 && file.bytes[7] == 0;
}

} // namespace

const TensorEntry* TensorFile::find(std::string_view name) const {
    const auto& all = entries();
    const auto it = std::ranges::find(all, name, &TensorEntry::name);
    return it == all.end() ? nullptr : &*it;
}

std::size_t TensorFile::indexOf(const TensorEntry& entry) const {
    const auto& all = entries();
    const std::less<const TensorEntry*> before; // of this file or not: any two pointers may be compared
    if (!before(&entry, all.data()) && before(&entry, all.data() + all.size()))
        return static_cast<std::size_t>(&entry - all.data());
    if (const TensorEntry* mine = find(entry.name)) // a copy of an entry
        return static_cast<std::size_t>(mine - all.data());
    throw LoadError(path(), printable(entry.name), "an entry of this file", "none of that name");
}

std::vector<double> TensorFile::readDoubles(const TensorEntry& entry) const {
    const std::vector<float> values = read(entry);
    return {values.begin(), values.end()};
}

Matrix TensorFile::matrix(const TensorEntry& entry, bool requireFinite) const {
    const std::string name = printable(entry.name);
    if (entry.shape.empty() || entry.shape.size() > 2)
        throw LoadError(path(), name, "1 or 2 dimensions", shapeText(entry.shape));
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    const std::int64_t rows = entry.shape.size() == 1 ? 1 : entry.shape[0], cols = entry.shape.back();
    if (rows > most || cols > most)
        throw LoadError(path(), name, "at most 2147483647 rows and columns", shapeText(entry.shape));
    const std::vector<float> values = read(entry);
    Matrix out(static_cast<int>(rows), static_cast<int>(cols));
    std::ranges::copy(values, out.data());
    if (requireFinite)
        for (int r = 0; r < out.rows(); ++r)
            for (int c = 0; c < out.cols(); ++c)
                if (!std::isfinite(out(r, c)))
                    throw LoadError(path(), name, "finite numbers",
                                    shortest(out(r, c)) + " at [" +
                                        (entry.shape.size() == 1 ? "" : std::to_string(r) + ", ") + std::to_string(c) +
                                        "]");
    return out;
}

std::shared_ptr<const TensorFile> openTensorFile(const std::string& path) {
    FileBytes file = mapFile(path);
    refuseForeignFile(file);
    if (startsLikeGguf(file.bytes) || path.ends_with(".gguf"))
        return parseGguf(std::move(file));
    if (startsLikeNpy(file.bytes) || path.ends_with(".npy"))
        return parseNpy(std::move(file));
    if (startsLikeZip(file.bytes) || path.ends_with(".npz"))
        return parseNpz(std::move(file));
    if (startsLikeSafetensors(file) || path.ends_with(".safetensors"))
        return parseSafetensors(std::move(file));
    throw LoadError(path, "", "safetensors, GGUF, npz or npy", "something else");
}

} // namespace headscope
