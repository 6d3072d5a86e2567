#include "app/cli/command_line.h"

#include "core/tensor/errors.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>
#include <set>
#include <sstream>

namespace headscope::cli {

namespace {

constexpr std::size_t descriptionColumn = 36, lineWidth = 110;

// CLI11 leaves two empty lines between groups, and breaks no long ones.
std::string readable(const std::string& help) {
    std::string text;
    std::size_t emptyLines = 0;
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) {
        emptyLines = line.empty() ? emptyLines + 1 : 0;
        if (emptyLines > 1)
            continue;
        while (line.size() > lineWidth) {
            const std::size_t space = line.rfind(' ', lineWidth);
            if (space == std::string::npos || space <= descriptionColumn)
                break;
            text += line.substr(0, space) + "\n";
            line = std::string(descriptionColumn, ' ') + line.substr(space + 1);
        }
        text += line + "\n";
    }
    return text;
}

} // namespace

struct CommandLine::Private {
    std::string command, example, helpText;
    CLI::App app;
    std::string group = "Options";
    std::set<std::string> valueOptions, allOptions{"--help", "-h"};
    std::vector<std::string> yesNoNames;

    std::string helpHint() const { return "`headscope " + command + " --help` lists the options"; }

    // CLI11 takes "--text -x" for two options and "--text=" for a missing value. What follows an option that needs a
    // value is its value, unless it is an option of this command.
    std::vector<std::string> normalized(const std::vector<std::string>& arguments) const {
        std::vector<std::string> result;
        std::set<std::string> seen;
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            const std::string& argument = arguments[i];
            const std::size_t equals = argument.find('=');
            const std::string name = argument.substr(0, equals);
            if (!valueOptions.contains(name)) {
                result.push_back(argument);
                continue;
            }
            if (equals == std::string::npos &&
                (i + 1 == arguments.size() ||
                 allOptions.contains(arguments[i + 1].substr(0, arguments[i + 1].find('=')))))
                throw InputError(command + ": " + name + " needs a value; " + helpHint());
            const std::string value = equals == std::string::npos ? arguments[++i] : argument.substr(equals + 1);
            if (value.empty()) {
                result.push_back(name);
                result.emplace_back();
            } else {
                result.push_back(name + "=" + value);
            }
        }
        return result;
    }
};

CommandLine::CommandLine(std::string command, const std::string& what, const std::string& example)
    : m(std::make_unique<Private>()) {
    m->command = std::move(command);
    m->example = example;
    m->app.description(what);
    m->app.name("headscope " + m->command);
    m->app.set_help_flag("--help,-h", "this text");
    m->app.allow_extras(); // refused below, in our own words
    m->app.get_formatter()->column_width(descriptionColumn);
}

CommandLine::~CommandLine() = default;

void CommandLine::group(std::string title) {
    m->group = std::move(title);
}

void CommandLine::helpText(std::string text) {
    m->helpText = std::move(text);
}

void CommandLine::value(const std::string& name, std::optional<std::string>& target, const std::string& type,
                        const std::string& help) {
    m->app
        .add_option(
            name,
            [&target](const CLI::results_t& results) {
                target = results.back();
                return true;
            },
            help)
        ->type_name(type)
        ->group(m->group);
    m->valueOptions.insert(name);
    m->allOptions.insert(name);
}

void CommandLine::list(const std::string& name, std::vector<std::string>& target, const std::string& type,
                       const std::string& help) {
    m->app
        .add_option(
            name,
            [&target](const CLI::results_t& results) {
                target = results;
                return true;
            },
            help)
        ->type_name(type)
        ->group(m->group)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    m->valueOptions.insert(name);
    m->allOptions.insert(name);
}

void CommandLine::flag(const std::string& name, bool& target, const std::string& help) {
    m->app.add_flag(name, target, help)->group(m->group);
    m->allOptions.insert(name);
}

void CommandLine::yesNo(const std::string& name, std::optional<bool>& target, const std::string& help) {
    m->app
        .add_flag_callback(
            "--" + name, [&target] { target = true; }, help)
        ->group(m->group);
    m->app
        .add_flag_callback(
            "--no-" + name, [&target] { target = false; }, "the opposite of --" + name)
        ->group(m->group);
    m->yesNoNames.push_back(name);
    m->allOptions.insert("--" + name);
    m->allOptions.insert("--no-" + name);
}

void CommandLine::positional(const std::string& name, std::optional<std::string>& target, const std::string& help) {
    m->app.add_option(
        name,
        [&target](const CLI::results_t& results) {
            target = results.back();
            return true;
        },
        help);
}

bool CommandLine::parse(const std::vector<std::string>& arguments, std::ostream& out) {
    const std::string prefix = m->command + ": ";
    std::vector<std::string> rest = m->normalized(arguments);
    std::reverse(rest.begin(), rest.end()); // as CLI11 wants them
    try {
        m->app.parse(std::move(rest));
    } catch (const CLI::CallForHelp&) {
        out << readable(m->app.help());
        if (!m->helpText.empty())
            out << m->helpText << "\n";
        out << "Example:\n  " << m->example << "\n";
        return false;
    } catch (const CLI::ArgumentMismatch& e) {
        // A missing value is caught above, so this one was given twice, or is a flag with a value.
        const std::string said = e.what(), option = said.substr(0, said.find(':'));
        throw InputError(prefix + (option.starts_with('-') ? option : "an option") +
                         " is given twice, or has a value and takes none; " + m->helpHint());
    } catch (const CLI::ParseError& e) {
        throw InputError(prefix + e.what() + "; " + m->helpHint());
    }
    for (const std::string& name : m->yesNoNames)
        if (m->app.count("--" + name) > 0 && m->app.count("--no-" + name) > 0)
            throw InputError(prefix + "--" + name + " and --no-" + name + " exclude each other: give one of them");
    const std::vector<std::string> extra = m->app.remaining();
    if (!extra.empty()) {
        const bool isOption = extra[0].starts_with('-') && extra[0].size() > 1;
        throw InputError(prefix +
                         (isOption ? "there is no option " + extra[0].substr(0, extra[0].find('='))
                                   : "'" + extra[0] + "' is one argument too many (quote a text with spaces)") +
                         "; " + m->helpHint());
    }
    return true;
}

} // namespace headscope::cli
