#include "core/exchange/mask_file.h"

#include "core/model/tensor_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>

namespace headscope {

namespace {

// "|b1", "<i8", "<u2" of numpy, "BOOL", "I64", "U8" of safetensors.
bool isFlagType(std::string_view type) {
    if (type.starts_with("BF"))
        return false;
    const std::size_t kind = type.find_first_of("biufcBIUFC");
    return kind != std::string_view::npos && std::string_view("biuBIU").find(type[kind]) != std::string_view::npos;
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
    const std::uintmax_t size =
        std::filesystem::is_regular_file(path, error) ? std::filesystem::file_size(path, error) : 0;
    if (error || !std::filesystem::is_regular_file(path, error))
        throw LoadError(path, "", "a mask file (csv, npy or npz)", "something that is no file");
    if (size > largest)
        throw LoadError(path, "", "a csv of at most 2 GiB", std::to_string(size) + " bytes",
                        "save large masks as .npy");
    const std::string text = readStart(path, static_cast<std::size_t>(size));
    if (text.size() != size)
        throw LoadError(path, "", std::to_string(size) + " bytes", std::to_string(text.size()),
                        "check its permissions");
    return parseCsvMatrix(text, path);
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r");
    return first == std::string_view::npos ? std::string_view{}
                                           : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// The part before the next separator, which is removed from `rest`.
std::string_view nextPart(std::string_view& rest, char separator) {
    const std::size_t end = rest.find(separator);
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    return part;
}

} // namespace

SharedMatrix readMaskFile(const std::string& path) {
    const std::string start = readStart(path, 8);
    const bool isContainer = start.starts_with("\x93NUMPY") || start.starts_with("PK") || path.ends_with(".npy") ||
                             path.ends_with(".npz") || path.ends_with(".safetensors");
    Matrix numbers;
    bool isFlags = false;
    if (isContainer) {
        const auto file = openTensorFile(path);
        if (file->entries().size() != 1)
            throw LoadError(path, "", "one array of queries x keys", std::to_string(file->entries().size()) + " arrays",
                            "save the one that is meant as .npy");
        const TensorEntry& entry = file->entries().front();
        numbers = file->matrix(entry, false);
        isFlags = isFlagType(entry.type);
    } else {
        numbers = readCsv(path);
        isFlags = std::ranges::all_of(numbers.values(), [](float v) { return v == 0.0F || v == 1.0F; });
    }
    for (int r = 0; r < numbers.rows(); ++r)
        for (int c = 0; c < numbers.cols(); ++c)
            if (std::isnan(numbers(r, c)) || numbers(r, c) == -KeyMask::minusInfinity)
                throw LoadError(path, "row " + std::to_string(r) + ", column " + std::to_string(c),
                                "a number to add, or -inf to close the cell",
                                std::isnan(numbers(r, c)) ? "nan" : "inf");
    return share(isFlags ? additiveFromNumbers(numbers, true) : std::move(numbers));
}

Matrix parseCsvMatrix(std::string_view text, const std::string& name) {
    if (text.starts_with("\xEF\xBB\xBF")) // a byte order mark, as spreadsheets write
        text.remove_prefix(3);
    std::vector<float> values;
    int rows = 0, cols = 0;
    for (int lineNumber = 1; !text.empty(); ++lineNumber) {
        std::string_view line = trimmed(nextPart(text, '\n'));
        if (line.empty())
            continue;
        const char separator = line.find(',') != std::string_view::npos   ? ','
                               : line.find(';') != std::string_view::npos ? ';'
                                                                          : '\t';
        const int count = static_cast<int>(std::ranges::count(line, separator)) + 1;
        const std::string at = "line " + std::to_string(lineNumber);
        if (rows > 0 && count != cols)
            throw LoadError(name, at, std::to_string(cols) + " numbers, as in the lines before", std::to_string(count));
        cols = count;
        for (int c = 0; c < cols; ++c) {
            const std::string_view cell = trimmed(nextPart(line, separator));
            float value = 0;
            const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
            if (error != std::errc() || end != cell.data() + cell.size())
                throw LoadError(name, at + ", column " + std::to_string(c + 1), "a number",
                                "'" + std::string(cell.substr(0, 40)) + "'");
            values.push_back(value);
        }
        ++rows;
    }
    if (rows == 0)
        throw LoadError(name, "", "a csv of numbers", "an empty file");
    Matrix matrix(rows, cols);
    std::ranges::copy(values, matrix.data());
    return matrix;
}

} // namespace headscope
