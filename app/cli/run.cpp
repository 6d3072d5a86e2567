#include "app/cli/run.h"

#include "app/cli/command_line.h"
#include "app/cli/commands.h"
#include "app/cli/common_options.h"
#include "core/backend/backend.h"
#include "core/backend/notes.h"
#include "core/tensor/errors.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <istream>
#include <new>
#include <ostream>
#include <sstream>
#include <string_view>

namespace headscope::cli {

namespace {

struct Command {
    std::string_view name, what;
    int (*function)(const Arguments&, const Streams&);
};
constexpr std::array commands{
    Command{"render", "draw a figure: PNG, SVG or PDF", renderCommand},
    Command{"dump", "write the numbers: .npz, .json or .csv", dumpCommand},
    Command{"tokens", "list the tokens of a text", tokensCommand},
    Command{"info", "describe a model or a file", infoCommand},
    Command{"models", "list the built-in models", modelsCommand},
    Command{"devices", "list what can compute", devicesCommand},
    Command{"heads", "a table of every head with its metrics and label", headsCommand},
    Command{"bench", "time the engine on this machine", benchCommand},
    Command{"screenshot", "the whole window as a picture", screenshotCommand},
};

const Command* findCommand(std::string_view name) {
    const auto* found =
        std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.name == name; });
    return found == commands.end() ? nullptr : found;
}

void printHelp(std::ostream& out) {
    out << "Headscope shows what attention heads really compute.\n\n"
           "Usage:\n"
           "  headscope [FILE]                 open the window (on a scenario or a model file); also with --backend "
           "NAME\n"
           "                                   and --threads N, for this time\n"
           "  headscope COMMAND [OPTIONS]      work without a window and without a display\n\n"
           "Commands:\n";
    for (const Command& c : commands)
        out << "  " << c.name << std::string(12 - c.name.size(), ' ') << c.what << "\n";
    out << "\nOptions:\n"
           "  --help      this text; `headscope COMMAND --help` lists a command's options with an example\n"
           "  --version   the version\n\n"
           "Example:\n"
           "  headscope render --text \"The cat sat on the mat\" --out heads.png\n\n"
           "Exit status: 0 done, 2 the input is at fault, 1 anything else.\n";
}

int dispatch(const Arguments& arguments, const Streams& streams) {
    if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
        printHelp(streams.out);
        return 0;
    }
    if (arguments[0] == "--version") {
        streams.out << "headscope " << HEADSCOPE_VERSION << "\n";
        return 0;
    }
    const Command* command = findCommand(arguments[0]);
    if (!command) {
        std::string names;
        for (const Command& c : commands)
            names += (names.empty() ? "" : ", ") + std::string(c.name);
        throw InputError("'" + arguments[0] + "' is no command; the commands are " + names +
                         " (headscope --help describes them)");
    }
    return command->function(Arguments(arguments.begin() + 1, arguments.end()), streams);
}

} // namespace

// Bytes of the character that begins at `at`; 0: none does.
static std::size_t utf8Length(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const std::size_t length = byte(at) < 0x80   ? 1
                               : byte(at) < 0xC2 ? 0
                               : byte(at) < 0xE0 ? 2
                               : byte(at) < 0xF0 ? 3
                               : byte(at) < 0xF5 ? 4
                                                 : 0;
    for (std::size_t i = at + 1; i < at + length; ++i)
        if (i >= text.size() || (byte(i) & 0xC0U) != 0x80U)
            return 0;
    return length;
}

// One line of plain text: what was typed, or what a file says, must not move the terminal's cursor.
static std::string oneLine(const std::string& sentence) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string out;
    for (std::size_t i = 0; i < sentence.size(); ++i) {
        auto byte = static_cast<unsigned char>(sentence[i]);
        const bool isC1 =
            byte == 0xC2 && utf8Length(sentence, i) == 2 && static_cast<unsigned char>(sentence[i + 1]) < 0xA0;
        if (isC1) // U+0080 to U+009F
            byte = static_cast<unsigned char>(sentence[++i]);
        if (byte == '\n' || byte == '\r')
            out += ' ';
        else if (const std::size_t length = utf8Length(sentence, i); byte < 0x20 || byte == 0x7F || isC1 || length == 0)
            out += std::string("\\x") + digits[byte >> 4U] + digits[byte & 15U];
        else {
            out += sentence.substr(i, length);
            i += length - 1;
        }
    }
    return out;
}

void note(const Streams& streams, const std::string& sentence) {
    streams.err << "headscope: note: " << oneLine(sentence) << "\n";
}

void printFailure(std::ostream& err, const std::string& sentence) {
    err << "headscope: " << oneLine(sentence) << std::endl;
}

static int statusOf(const Arguments& arguments, const Streams& streams) {
    try {
        const int status = dispatch(arguments, streams);
        if (!streams.out.flush()) {
            printFailure(streams.err, "standard output cannot be written (is the disk full, or the reader gone?)");
            return 1;
        }
        return status;
    } catch (const InputError& e) {
        printFailure(streams.err, e.what());
        return 2;
    } catch (const std::bad_alloc&) {
        printFailure(streams.err, "there is not enough memory for this; choose fewer tokens, heads or layers");
    } catch (const std::exception& e) {
        printFailure(streams.err, e.what());
    }
    return 1;
}

int run(const Arguments& arguments, std::istream& in, std::ostream& out, std::ostream& err) {
    // Numbers have a point and no thousands separator, whatever the locale of the user's desktop.
    out.imbue(std::locale::classic());
    err.imbue(std::locale::classic());
    const Streams streams{in, out, err};
    const int status = statusOf(arguments, streams);
    for (const std::string& sentence : takeNotes())
        note(streams, sentence);
    return status;
}

static bool isWindowOption(const std::string& argument) {
    return argument.starts_with("--backend") || argument.starts_with("--threads");
}

bool wantsWindow(const Arguments& arguments) {
    if (arguments.empty() || isWindowOption(arguments[0]))
        return true;
    const bool isFile = !arguments[0].starts_with('-') && arguments[0] != "help" && !findCommand(arguments[0]);
    return isFile && (arguments.size() == 1 || isWindowOption(arguments[1]));
}

WindowStart windowStart(const Arguments& arguments) {
    WindowStart start;
    CommandLine line("", "Opens the window.", "headscope lesson.headscope");
    line.positional("FILE", start.file, "a scenario or a model");
    line.value("--backend", start.backend, "NAME", "what computes");
    line.value("--threads", start.threads, "N", "threads");
    std::ostringstream help; // --help alone is no window
    line.parse(arguments, help);
    return start;
}

static void checkWindowStart(const Arguments& arguments) {
    const WindowStart start = windowStart(arguments);
    std::error_code ignored;
    if (start.file && !std::filesystem::exists(*start.file, ignored))
        throw InputError("'" + *start.file + "' is neither a file nor a command (headscope --help lists the commands)");
    setThreads(start.threads);
    if (start.backend)
        backendByName(*start.backend);
}

std::optional<int> windowRefusal(const Arguments& arguments, bool hasDisplay, std::ostream& err) {
    try {
        checkWindowStart(arguments);
    } catch (const InputError& e) {
        printFailure(err, e.what());
        return 2;
    }
    if (!hasDisplay) {
        printFailure(err, "there is no display for a window (DISPLAY and WAYLAND_DISPLAY are not set); "
                          "`headscope render` draws figures and `headscope screenshot` the window without one");
        return 1;
    }
    return std::nullopt;
}

} // namespace headscope::cli
