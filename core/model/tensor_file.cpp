#include "core/model/tensor_file.h"

#include "core/model/foreign_files.h"
#include "core/model/gguf.h"
#include "core/model/mapped_file.h"
#include "core/model/npy.h"
#include "core/model/npz.h"
#include "core/model/safetensors.h"
#include "core/tensor/number_text.h"
#include "core/tensor/parallel.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

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

std::optional<std::size_t> firstNonFinite(std::span<const float> values) {
    constexpr std::size_t atOnce = 1 << 16;
    std::vector<std::uint8_t> bad((values.size() + atOnce - 1) / atOnce);
    parallelFor(
        static_cast<int>(bad.size()),
        [&](int piece) {
            const std::size_t begin = static_cast<std::size_t>(piece) * atOnce;
            bool finite = true; // no early end: several numbers at once
            for (const float v : values.subspan(begin, std::min(atOnce, values.size() - begin)))
                finite &= std::abs(v) <= std::numeric_limits<float>::max();
            bad[static_cast<std::size_t>(piece)] = !finite;
        },
        values.size() > 4 * atOnce);
    const auto piece = std::ranges::find(bad, 1);
    if (piece == bad.end())
        return std::nullopt;
    std::size_t at = static_cast<std::size_t>(piece - bad.begin()) * atOnce;
    while (std::isfinite(values[at]))
        ++at;
    return at;
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
    const Floats values = read(entry);
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
    Matrix out(static_cast<int>(rows), static_cast<int>(cols), read(entry));
    if (const std::optional<std::size_t> at = requireFinite ? firstNonFinite(out.values()) : std::nullopt) {
        const auto width = static_cast<std::size_t>(cols);
        throw LoadError(path(), name, "finite numbers",
                        shortest(out.values()[*at]) + " at [" +
                            (entry.shape.size() == 1 ? "" : std::to_string(*at / width) + ", ") +
                            std::to_string(*at % width) + "]");
    }
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
