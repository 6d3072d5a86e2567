// Files that a test makes and that go away with it.
#pragma once

#include "core/exchange/dump.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace headscope::testing {

class TemporaryFolder {
public:
    TemporaryFolder()
        : m_path(std::filesystem::temp_directory_path() / ("headscope-test-" + std::to_string(getpid()))) {
        while (!std::filesystem::create_directory(m_path)) {
            m_path += "x";
        }
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(m_path, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    std::string operator/(const std::string& name) const { return (m_path / name).string(); }
    const std::filesystem::path& path() const { return m_path; }

private:
    std::filesystem::path m_path;
};

inline std::string readFile(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline std::string writeFile(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
}

// An npz of float arrays, as a module or X is saved.
inline std::string writeArrays(const std::string& path, const std::vector<NamedArray>& arrays) {
    std::ofstream out(path, std::ios::binary);
    writeNpz(out, arrays);
    return path;
}

// What a call refuses its input with; empty, and a failure, when it does not.
template<class Error, class Call>
std::string refusal(const Call& call) {
    try {
        call();
    } catch (const Error& error) {
        const std::string sentence = error.what();
        EXPECT_EQ(sentence.find('\n'), std::string::npos) << "not one line: " << sentence;
        return sentence;
    }
    ADD_FAILURE() << "nothing was refused";
    return "";
}

} // namespace headscope::testing
