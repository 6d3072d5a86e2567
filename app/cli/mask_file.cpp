#include "app/cli/mask_file.h"

#include "app/cli/numbers.h"
#include "core/model/tensor_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>

namespace headscope::cli {

namespace {

bool isNamedMask(std::string_view part) {
    return part == "none" || part == "causal" || part == "model" || part.starts_with("window:") ||
           part.starts_with("prefix:") || part.starts_with("padding:");
}

bool isFile(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
}

// "|b1", "<i8" of numpy, "BOOL", "I64", "U8" of safetensors.
bool isFlagType(std::string_view type) {
    const std::size_t kind = type.find_first_of("biufcBIUF");
    return kind != std::string_view::npos && std::string_view("biuBIU").find(type[kind]) != std::string_view::npos &&
           !type.starts_with("BF");
}

std::string readStart(const std::string& path, std::size_t length) {
    std::ifstream in(path, std::ios::binary);
    std::string start(length, '\0');
    in.read(start.data(), static_cast<std::streamsize>(length));
    start.resize(static_cast<std::size_t>(in.gcount()));
    return start;
}

Matrix readCsv(const std::string& path) {
    constexpr std::uintmax_t largest = std::uintmax_t{1} << 31U;
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (error || !std::filesystem::is_regular_file(path))
        throw LoadError(path, "", "a mask file (csv, npy or npz)", "something that is no file");
    if (size > largest)
        throw LoadError(path, "", "a csv of at most 2 GiB", std::to_string(size) + " bytes",
                        "save large masks as .npy");
    std::string text = readStart(path, static_cast<std::size_t>(size));
    if (text.size() != size)
        throw LoadError(path, "", std::to_string(size) + " bytes", std::to_string(text.size()),
                        "check its permissions");
    return parseCsvMatrix(text, path);
}

MaskPart readMaskFile(const std::string& path, int queries, int keys) {
    const std::string start = readStart(path, 8);
    const bool isContainer = start.starts_with("\x93NUMPY") || start.starts_with("PK") || path.ends_with(".npy") ||
                             path.ends_with(".npz") || path.ends_with(".safetensors");
    Matrix numbers;
    bool isFlags = false;
    if (isContainer) {
        const auto file = openTensorFile(path);
        if (file->entries().size() != 1)
            throw LoadError(path, "", "one array of n x m", std::to_string(file->entries().size()) + " arrays",
                            "save the one that is meant as .npy");
        const TensorEntry& entry = file->entries().front();
        numbers = file->matrix(entry, false);
        isFlags = isFlagType(entry.type);
    } else {
        numbers = readCsv(path);
        isFlags =
            std::all_of(numbers.values().begin(), numbers.values().end(), [](float v) { return v == 0 || v == 1; });
    }
    if (numbers.rows() != queries || numbers.cols() != keys)
        throw LoadError(path, "mask", shapeText(queries, keys) + " numbers (queries x keys)",
                        shapeText(numbers.rows(), numbers.cols()));
    for (int r = 0; r < numbers.rows(); ++r)
        for (int c = 0; c < numbers.cols(); ++c)
            if (std::isnan(numbers(r, c)) || (std::isinf(numbers(r, c)) && numbers(r, c) > 0))
                throw LoadError(path, "row " + std::to_string(r) + ", column " + std::to_string(c),
                                "a number to add, or -inf to close the cell", fixed(numbers(r, c), 0));
    MaskPart part;
    part.kind = MaskPart::Kind::Matrix;
    part.additive = share(isFlags ? additiveFromNumbers(numbers, true) : std::move(numbers));
    return part;
}

} // namespace

Mask parseMaskOption(const std::string& text, int queries, int keys) {
    Mask mask;
    mask.parts.clear();
    // A file may have a + in its name.
    for (const std::string& part : isFile(text) ? std::vector<std::string>{text} : split(text, '+')) {
        if (isNamedMask(part)) {
            for (const MaskPart& named : parseMask(part).parts)
                mask.parts.push_back(named);
        } else if (isFile(part)) {
            mask.parts.push_back(readMaskFile(part, queries, keys));
        } else {
            throw InputError("--mask: expected none, causal, window:W, prefix:P, padding:K, model or a file, found '" +
                             part + "'");
        }
    }
    return mask;
}

Matrix parseCsvMatrix(const std::string& text, const std::string& name) {
    std::vector<float> values;
    int rows = 0, cols = 0, lineNumber = 0;
    for (std::string line : split(text, '\n')) {
        ++lineNumber;
        if (line.ends_with('\r'))
            line.pop_back();
        if (line.find_first_not_of(" \t") == std::string::npos)
            continue; // the last line break, or empty lines
        const char separator = line.find(',') != std::string::npos   ? ','
                               : line.find(';') != std::string::npos ? ';'
                                                                     : '\t';
        const auto cells = split(line, separator);
        const std::string at = "line " + std::to_string(lineNumber);
        if (rows > 0 && static_cast<int>(cells.size()) != cols)
            throw LoadError(name, at, std::to_string(cols) + " numbers, as in the lines before",
                            std::to_string(cells.size()));
        cols = static_cast<int>(cells.size());
        for (std::size_t c = 0; c < cells.size(); ++c) {
            std::string cell = cells[c];
            cell.erase(0, cell.find_first_not_of(' '));
            cell.erase(cell.find_last_not_of(' ') + 1);
            float value = 0;
            const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
            if (error != std::errc() || end != cell.data() + cell.size())
                throw LoadError(name, at + ", column " + std::to_string(c + 1), "a number",
                                "'" + cell.substr(0, 40) + "'");
            values.push_back(value);
        }
        ++rows;
    }
    if (rows == 0)
        throw LoadError(name, "", "a csv of numbers", "an empty file");
    Matrix matrix(rows, cols);
    std::copy(values.begin(), values.end(), matrix.data());
    return matrix;
}

} // namespace headscope::cli
