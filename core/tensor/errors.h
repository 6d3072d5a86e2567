// The two errors of the border: what a user typed (InputError) and what a file holds (LoadError). Both are whole
// sentences, thrown only where input enters; inside, shapes are validated once and kernels trust them. Caught in three
// places: the window's worker, file-open, and cli::run.
#pragma once

#include <stdexcept>
#include <string>

namespace headscope {

// The user's input is at fault: what was typed, why it cannot be used, what to do. One sentence, no final newline.
class InputError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// A text has more tokens than the model takes: a part of it would do (core/text/text_parts), or another model.
class TextTooLong : public InputError {
public:
    using InputError::InputError;
};

// A file cannot be used. what() reads "FILE: ENTRY: expected E, found F; hint" with the empty parts left out.
class LoadError : public InputError {
public:
    LoadError(std::string file, std::string entry, std::string expected, std::string found,
              const std::string& hint = {});
    const std::string& file() const { return m_file; }
    const std::string& entry() const { return m_entry; }
    const std::string& expected() const { return m_expected; }
    const std::string& found() const { return m_found; }

private:
    std::string m_file, m_entry, m_expected, m_found;
};

// The work was stopped on request (a newer one replaced it, or Cancel was pressed). Not a failure.
class Cancelled : public std::exception {
public:
    const char* what() const noexcept override { return "cancelled"; }
};

} // namespace headscope
