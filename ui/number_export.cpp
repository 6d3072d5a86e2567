#include "ui/number_export.h"

#include "core/exchange/atomic_file.h"
#include "core/exchange/dump.h"
#include "core/tensor/errors.h"

namespace headscope {

void writeNumbers(const AttentionTrace& trace, const View& view, const std::string& path, const std::stop_token& stop) {
    if (path.ends_with(".csv")) {
        const LabelledMatrix table = labelledMatrix(shownHeads(trace, view));
        return writeFileAtomically(path, [&](std::ostream& out) { writeCsv(out, table); });
    }
    const bool npz = path.ends_with(".npz");
    if (!npz && !path.ends_with(".json"))
        throw InputError(path + ": numbers are written as .npz, .json or .csv; give the name one of these endings");
    DumpOptions options;
    options.view = view;
    options.weights = !trace.scenario.model->captured();
    requireDumpable(trace.scenario, options);
    const auto stopHere = [&stop] {
        if (stop.stop_requested())
            throw Cancelled();
    };
    const std::vector<NamedArray> arrays = dumpArrays(trace, options);
    stopHere();
    writeFileAtomically(path, [&](std::ostream& out) {
        npz ? writeNpz(out, arrays) : writeJson(out, arrays);
        stopHere(); // what was there stays
    });
}

} // namespace headscope
