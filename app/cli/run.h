// run: the command line as a function. Called by main.cpp and by tests; needs no display and no QApplication.
#pragma once

#include "app/cli/streams.h"

#include <optional>

namespace headscope::cli {

// Exit status: 0 done, 2 the user's input is at fault, 1 anything else. A failure is one line on err, `headscope: ...`.
int run(const Arguments& arguments, std::istream& in, std::ostream& out, std::ostream& err);

// True for `headscope [FILE] [--backend NAME] [--threads N]`: the window, not the command line.
bool wantsWindow(const Arguments& arguments);

// What the window is to open and to compute on; empty where nothing was said. Throws InputError.
struct WindowStart {
    std::optional<std::string> file, backend, threads;
};
WindowStart windowStart(const Arguments& arguments);

// What stops the window from opening, as for run: a status with its sentence on err. Nothing when it can be tried; then
// the number of threads is set.
std::optional<int> windowRefusal(const Arguments& arguments, bool hasDisplay, std::ostream& err);

// One line `headscope: sentence` on err; line breaks inside become spaces.
void printFailure(std::ostream& err, const std::string& sentence);

} // namespace headscope::cli
