// models, devices: what there is to choose from.
#include "app/cli/command_line.h"
#include "app/cli/commands.h"
#include "app/cli/table.h"
#include "core/backend/backend.h"
#include "core/model/builtin.h"

#include <ostream>

namespace headscope::cli {

int modelsCommand(const Arguments& arguments, const Streams& streams) {
    CommandLine line("models", "Lists the built-in models. A path to a file is a model too (--model PATH).",
                     "headscope models");
    if (!line.parse(arguments, streams.out))
        return 0;
    Table table({"name", "what"});
    for (const BuiltinModel& model : builtinModels())
        table.row({model.name, model.what + (model.name == defaultModelName() ? " (the default)" : "")});
    table.print(streams.out);
    return 0;
}

int devicesCommand(const Arguments& arguments, const Streams& streams) {
    CommandLine line("devices", "Lists what can compute (--backend NAME), and why one is not available.",
                     "headscope devices");
    if (!line.parse(arguments, streams.out))
        return 0;
    Table table({"name", "available", "what"});
    for (const BackendInfo& backend : listBackends())
        table.row(
            {backend.name, backend.available ? "yes" : "no",
             backend.description + (backend.available ? "" : (backend.description.empty() ? "" : ": ") + backend.why)});
    table.print(streams.out);
    return 0;
}

} // namespace headscope::cli
