// headscope: the window, or one command. Everything else is in the libraries.
#include "app/cli/run.h"

#include <csignal>
#include <iostream>

#ifdef HEADSCOPE_WITH_UI
#include "app/cli/offscreen_application.h"
#include "core/model/embedded.h"
#include "core/tensor/errors.h"
#include "ui/main_window.h"

#include <cstdlib>
#include <future>

namespace {

bool isSet(const char* variable) {
    const char* value = std::getenv(variable);
    return value && *value;
}

int openWindow(int argc, char** argv, const headscope::cli::Arguments& arguments) {
    const bool hasDisplay = isSet("DISPLAY") || isSet("WAYLAND_DISPLAY") || isSet("QT_QPA_PLATFORM");
    if (const auto status = headscope::cli::windowRefusal(arguments, hasDisplay, std::cerr))
        return *status;
    headscope::cli::silenceQtMessages();
    // The window begins with this model: it is decoded while Qt starts.
    const auto model = std::async(std::launch::async, headscope::embeddedMini);
    QApplication application(argc, argv);
    try {
        const headscope::cli::WindowStart start = headscope::cli::windowStart(arguments);
        return headscope::runWindow(QString::fromStdString(start.file.value_or("")),
                                    QString::fromStdString(start.backend.value_or("")));
    } catch (const headscope::InputError& e) {
        headscope::cli::printFailure(std::cerr, e.what());
        return 2;
    } catch (const std::exception& e) {
        headscope::cli::printFailure(std::cerr, e.what());
        return 1;
    }
}

} // namespace
#else
namespace {

int openWindow(int, char**, const headscope::cli::Arguments&) {
    headscope::cli::printFailure(std::cerr, "this program was built without its window (HEADSCOPE_UI is OFF); "
                                            "`headscope --help` lists what it does");
    return 1;
}

} // namespace
#endif

int main(int argc, char** argv) {
#ifdef SIGXFSZ
    std::signal(SIGXFSZ, SIG_IGN); // a limit on the size of files is an error of writing, as any other
#endif
    const headscope::cli::Arguments arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    if (headscope::cli::wantsWindow(arguments))
        return openWindow(argc, argv, arguments);
    return headscope::cli::run(arguments, std::cin, std::cout, std::cerr);
}
