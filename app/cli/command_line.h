// CommandLine: the options of one command, as CLI11 reads them and --help shows them. Values stay text here: numbers
// are read by numbers.h, so that no locale changes them and every refusal is a sentence of our own.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headscope::cli {

class CommandLine {
public:
    CommandLine(std::string command, const std::string& what, const std::string& example);
    ~CommandLine();

    void group(std::string title); // heading in --help for the options that follow
    // Targets must live until parse has returned; one that was not given is left as it is.
    void value(const std::string& name, std::optional<std::string>& target, const std::string& type,
               const std::string& help);
    void list(const std::string& name, std::vector<std::string>& target, const std::string& type,
              const std::string& help);
    void flag(const std::string& name, bool& target, const std::string& help);
    void yesNo(const std::string& name, std::optional<bool>& target, const std::string& help); // --name / --no-name
    void positional(const std::string& name, std::optional<std::string>& target, const std::string& help);
    void helpText(std::string text); // printed by --help before the example

    // False when --help was asked for and printed. Throws InputError.
    bool parse(const std::vector<std::string>& arguments, std::ostream& out);

private:
    struct Private;
    std::unique_ptr<Private> m;
};

} // namespace headscope::cli
