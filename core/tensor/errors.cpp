#include "core/tensor/errors.h"

namespace headscope {

static std::string sentence(const std::string& file, const std::string& entry, const std::string& expected,
                            const std::string& found, const std::string& hint) {
    std::string s = file;
    if (!entry.empty())
        s += (s.empty() ? "" : ": ") + entry;
    s += ": ";
    if (!expected.empty())
        s += "expected " + expected;
    if (!found.empty())
        s += (expected.empty() ? "found " : ", found ") + found;
    if (!hint.empty())
        s += (expected.empty() && found.empty() ? "" : "; ") + hint;
    return s;
}

LoadError::LoadError(std::string file, std::string entry, std::string expected, std::string found,
                     const std::string& hint)
    : InputError(sentence(file, entry, expected, found, hint)), m_file(std::move(file)), m_entry(std::move(entry)),
      m_expected(std::move(expected)), m_found(std::move(found)) {}

} // namespace headscope
