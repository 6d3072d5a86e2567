// dump: the numbers of a trace as named arrays, and the three formats they are written in (npz, json, csv).
#pragma once

#include "core/analysis/shown.h"
#include "core/attention/head_stages.h"
#include "core/attention/view.h"

#include <cstdint>
#include <iosfwd>
#include <string>
#include <variant>
#include <vector>

namespace headscope {

// One array of a dump. data holds as many entries as the shape's product, row-major (1 entry for shape {}).
struct NamedArray {
    std::string name; // "layers.0.self.weights"
    std::vector<std::int64_t> shape;
    std::variant<std::vector<float>, std::vector<std::int64_t>, std::vector<bool>, std::vector<std::string>,
                 std::vector<double>>
        data;
    bool isHalf = false; // floats that a float16 holds, and that are written as such to npz
};

struct DumpOptions {
    std::vector<LayerIndex> layers; // empty: all
    std::vector<HeadIndex> heads;   // empty: all
    std::vector<Stage> stages;      // empty: all that are available
    bool weights = false, hidden = false;
    bool logits = false; // refused (InputError) for a model without output layer
    View view;           // goes into the embedded scenario
};

// Throws InputError when the model cannot give what is asked for (logits without an output layer, weights or a hidden
// state of captured attention), and when the arrays do not fit into memory. dumpArrays asks it too; a caller that asks
// before tracing refuses at once.
void requireDumpable(const Scenario& scenario, const DumpOptions& options);

// Names and shapes as in the file contract. Under a class rule also right.* and difference.* of every token-by-token
// stage.
std::vector<NamedArray> dumpArrays(const AttentionTrace& trace, const DumpOptions& options);

void writeNpz(std::ostream& out, const std::vector<NamedArray>& arrays); // the same arrays give the same bytes
void writeJson(std::ostream& out, const std::vector<NamedArray>& arrays);

// One matrix with labels; RFC 4180 quotes, "-inf" so spelled.
struct LabelledMatrix {
    Matrix values;
    std::vector<std::string> rowLabels, colLabels;
};
LabelledMatrix labelledMatrix(const ShownStage& shown); // as a picture shows it
void writeCsv(std::ostream& out, const LabelledMatrix& matrix);

} // namespace headscope
