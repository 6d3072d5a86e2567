// What the tests of the command line share: running a command in-process, a folder of their own, small files to feed
// it.
#pragma once

#include "app/cli/run.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace headscope::test {

struct Result {
    int status = 0;
    std::string out, err;
};

inline Result headscope(const cli::Arguments& arguments, const std::string& input = {}) {
    std::istringstream in(input);
    std::ostringstream out, err;
    const int status = cli::run(arguments, in, out, err);
    return {status, out.str(), err.str()};
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// One sentence on one line, `headscope: ...`, that names every one of `parts`; nothing on standard output.
inline void expectFailure(const Result& result, int status, const std::vector<std::string>& parts) {
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(result.err.starts_with("headscope: ")) << result.err;
    EXPECT_FALSE(result.err.starts_with("headscope: note:")) << result.err;
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
    for (const std::string& part : parts)
        EXPECT_TRUE(contains(result.err, part)) << "expected '" << part << "' in: " << result.err;
}

inline void expectRefused(const cli::Arguments& arguments, const std::vector<std::string>& parts) {
    expectFailure(headscope(arguments), 2, parts);
}

// Done without a word on standard error.
inline Result expectDone(const cli::Arguments& arguments, const std::string& input = {}) {
    Result result = headscope(arguments, input);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "");
    return result;
}

class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "headscope-test-XXXXXX").string();
        if (!mkdtemp(name.data()))
            throw std::runtime_error("no temporary folder: " + name);
        m_path = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(m_path, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    std::string operator/(const std::string& name) const { return (m_path / name).string(); }
    std::string write(const std::string& name, const std::string& bytes) const {
        std::ofstream(m_path / name, std::ios::binary) << bytes;
        return *this / name;
    }
    std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(m_path))
            names.push_back(entry.path().filename().string());
        return names;
    }

private:
    std::filesystem::path m_path;
};

inline std::string readFile(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

template<class T>
std::string rawBytes(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// A version 1.0 .npy file, after numpy's format description. type: "<f4", "|b1"; shape: "(2, 3)".
inline std::string npyFile(const std::string& type, const std::string& shape, const std::string& data) {
    std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
    header.resize((10 + header.size() + 64) / 64 * 64 - 10 - 1, ' ');
    header += '\n';
    std::string file = "\x93NUMPY";
    file += '\x01';
    file += '\0';
    file += static_cast<char>(header.size() & 255U);
    file += static_cast<char>(header.size() >> 8U);
    return file + header + data;
}

struct NamedTensor {
    std::string name;
    std::vector<int> shape;
    std::vector<float> values;
};

inline std::string safetensorsFile(const std::vector<NamedTensor>& tensors) {
    nlohmann::ordered_json header;
    std::string data;
    for (const NamedTensor& tensor : tensors) {
        const std::size_t begin = data.size();
        data += rawBytes(tensor.values);
        header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
    }
    const std::string text = header.dump();
    return rawBytes(std::vector<std::uint64_t>{text.size()}) + text + data;
}

// nn.MultiheadAttention of width 4 with small numbers; one of them can be replaced.
inline std::string attentionModule(float firstWeight = 0.5F) {
    const auto ramp = [](std::size_t count) {
        std::vector<float> values(count);
        for (std::size_t i = 0; i < count; ++i)
            values[i] = static_cast<float>(static_cast<int>(i % 7) - 3) / 8.0F;
        return values;
    };
    std::vector<float> packed = ramp(48);
    packed[0] = firstWeight;
    return safetensorsFile({{"in_proj_weight", {12, 4}, packed},
                            {"in_proj_bias", {12}, ramp(12)},
                            {"out_proj.weight", {4, 4}, ramp(16)},
                            {"out_proj.bias", {4}, ramp(4)}});
}

} // namespace headscope::test
