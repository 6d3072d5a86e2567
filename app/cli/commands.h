// The commands of the program, one file each. A command is a function of (arguments, streams) -> exit status; what goes
// wrong is thrown (InputError: the user's input, anything else: not) and made a sentence of by cli::run.
#pragma once

#include "app/cli/streams.h"

namespace headscope::cli {

int renderCommand(const Arguments& arguments, const Streams& streams);
int dumpCommand(const Arguments& arguments, const Streams& streams);
int tokensCommand(const Arguments& arguments, const Streams& streams);
int infoCommand(const Arguments& arguments, const Streams& streams);
int modelsCommand(const Arguments& arguments, const Streams& streams);
int devicesCommand(const Arguments& arguments, const Streams& streams);
int headsCommand(const Arguments& arguments, const Streams& streams);
int benchCommand(const Arguments& arguments, const Streams& streams);
int screenshotCommand(const Arguments& arguments, const Streams& streams);

} // namespace headscope::cli
