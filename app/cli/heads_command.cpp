#include "app/cli/commands.h"
#include "app/cli/common_options.h"
#include "app/cli/json_text.h"
#include "app/cli/numbers.h"
#include "app/cli/scenario_options.h"
#include "app/cli/table.h"
#include "core/analysis/metrics.h"

#include <algorithm>
#include <array>

namespace headscope::cli {

namespace {

struct HeadsOptions {
    ComputeOptions compute;
    OptionText sort, cell;
    bool json = false;
};

struct Row {
    std::string site;
    HeadMetrics metrics;
    double cell = 0;
};

// The metrics as the table, the JSON and --sort name them.
struct Field {
    std::string_view name;
    double HeadMetrics::*value;
};
constexpr std::array metricFields{
    Field{"entropy", &HeadMetrics::entropy},   Field{"distance", &HeadMetrics::distance},
    Field{"self", &HeadMetrics::self},         Field{"previous", &HeadMetrics::previous},
    Field{"next", &HeadMetrics::next},         Field{"first", &HeadMetrics::first},
    Field{"same", &HeadMetrics::same},         Field{"concentration", &HeadMetrics::concentration},
    Field{"strength", &HeadMetrics::strength},
};

// Numbers: the largest first; site, layer, head and label: in order. Equal ones stay in the order of layers and heads.
void sortRows(std::vector<Row>& rows, const std::string& field, bool hasCell) {
    const auto byNumber = [&](auto number) {
        std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) { return number(a) > number(b); });
    };
    if (field == "layer" || field == "site")
        return; // the order that they come in
    if (field == "head")
        return std::stable_sort(rows.begin(), rows.end(),
                                [](const Row& a, const Row& b) { return a.metrics.head < b.metrics.head; });
    if (field == "label")
        return std::stable_sort(rows.begin(), rows.end(),
                                [](const Row& a, const Row& b) { return a.metrics.label < b.metrics.label; });
    if (field == "cell" && hasCell)
        return byNumber([](const Row& r) { return r.cell; });
    std::string names = "site, layer, head, label";
    for (const Field& f : metricFields) {
        if (field == f.name)
            return byNumber([&](const Row& r) { return r.metrics.*f.value; });
        names += ", " + std::string(f.name);
    }
    throw InputError("--sort: there is no field '" + field + "'; the fields are " + names + " and, with --cell, cell");
}

void printJson(std::ostream& out, const std::vector<Row>& rows, bool hasCell) {
    std::vector<Json> items;
    for (const auto& [site, m, cell] : rows) {
        Json item{{"site", site},
                  {"layer", m.layer.value},
                  {"head", m.head.value},
                  {"entropy", m.entropy},
                  {"distance", m.distance},
                  {"self", m.self},
                  {"previous", m.previous},
                  {"next", m.next},
                  {"first", m.first},
                  {"same", m.same},
                  {"concentration", m.concentration},
                  {"label", m.label},
                  {"strength", m.strength}};
        if (hasCell)
            item["cell"] = cell;
        items.push_back(std::move(item));
    }
    printJsonList(out, items);
}

void printTable(std::ostream& out, const std::vector<Row>& rows, const ModelConfig& config, bool hasCell) {
    const bool named = !config.headNames.empty();
    std::vector<std::string> titles{"head"};
    if (named)
        titles.emplace_back("name");
    if (hasCell)
        titles.emplace_back(">cell");
    for (const Field& f : metricFields)
        titles.push_back(">" + std::string(f.name));
    titles.emplace_back("label");
    Table table(titles);
    for (const Row& row : rows) {
        const HeadMetrics& m = row.metrics;
        std::vector<std::string> cells{"L" + std::to_string(m.layer.value) + " H" + std::to_string(m.head.value)};
        if (named)
            cells.push_back(config.headNames[static_cast<std::size_t>(m.head.value)]);
        if (hasCell)
            cells.push_back(fixed(row.cell, 4));
        for (const Field& f : metricFields)
            cells.push_back(fixed(m.*f.value, 3));
        cells.push_back(m.label);
        table.row(std::move(cells));
    }
    table.print(out);
}

} // namespace

int headsCommand(const Arguments& arguments, const Streams& streams) {
    HeadsOptions o;
    CommandLine line("heads", "A table of every head: what it attends to, in numbers, and a label.",
                     "headscope heads --text \"The cat sat on the mat\" --sort previous");
    line.value("--sort", o.sort, "FIELD", "sort by a field of --json, numbers from the largest (layer, then head)");
    line.value("--cell", o.cell, "ROW,COL", "add the weight of that cell in every head, and sort by it");
    line.flag("--json", o.json, "a list of objects");
    addComputeOptions(line, o.compute);
    line.helpText(labelHelp() + "\n");
    if (!line.parse(arguments, streams.out))
        return 0;

    std::vector<Row> none;
    if (o.sort)
        sortRows(none, *o.sort, o.cell.has_value()); // an unknown field is refused before computing
    const Document document = openDocument(o.compute, streams);
    const Scenario& scenario = document.scenario;
    const ModelConfig& config = scenario.model->config();
    const auto layers = parseLayers(o.compute.layer.value_or("all"), config);
    const auto heads = parseHeads(o.compute.head.value_or("all"), config);
    std::optional<CellRef> cell;
    if (o.cell)
        cell = parseCell(*o.cell, scenario.queries(), scenario.keys());

    noteTokenOptions(o.compute, "the metrics are those of every token", streams);
    const SharedTrace computed = traceNoted(scenario, chosenBackend(o.compute), streams);
    const std::string site(config.site ? siteName(*config.site) : config.cross ? "cross" : "self");
    std::vector<Row> rows;
    for (const LayerIndex layer : layers)
        for (const HeadIndex head : heads) {
            Row row{site, headMetrics(*computed, layer, head)};
            if (cell)
                row.cell = (*stageMatrix(*computed, layer, head, Stage::Weights))(cell->row, cell->col);
            rows.push_back(std::move(row));
        }
    if (o.sort || cell)
        sortRows(rows, o.sort.value_or("cell"), cell.has_value());
    if (o.json)
        printJson(streams.out, rows, cell.has_value());
    else
        printTable(streams.out, rows, config, cell.has_value());
    return 0;
}

} // namespace headscope::cli
