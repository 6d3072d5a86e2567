// Streams: where a command reads and writes. Commands never touch std::cout themselves, so tests run them in-process.
#pragma once

#include <exception>
#include <iosfwd>
#include <string>
#include <vector>

namespace headscope::cli {

struct Streams {
    std::istream& in;
    std::ostream& out; // what was asked for
    std::ostream& err; // one sentence when it failed, and notes
};

using Arguments = std::vector<std::string>; // without the program's and the command's name

// A note: something the user should know that changes no status. One sentence, no final newline.
void note(const Streams& streams, const std::string& sentence);

// Anything that is not the user's fault (exit status 1): a part that this build lacks, a full disk.
class Failure : public std::exception {
public:
    explicit Failure(std::string sentence) : m_sentence(std::move(sentence)) {}
    const char* what() const noexcept override { return m_sentence.c_str(); }

private:
    std::string m_sentence;
};

} // namespace headscope::cli
