#include "core/exchange/dump.h"

#include "core/exchange/scenario_file.h"
#include "core/model/captured_attention.h"
#include "core/tensor/errors.h"
#include "core/tensor/memory.h"

#include <algorithm>
#include <map>

namespace headscope {

namespace {

// A tensor as it is multiplied: under split-input the projections are block-diagonal. Null where there is none.
SharedMatrix appliedTensor(const Scenario& s, TensorId id) {
    const SharedMatrix& tensor = s.model->tensor(id);
    const bool projects = id.kind == WeightKind::WQ || id.kind == WeightKind::WK || id.kind == WeightKind::WV;
    if (!tensor || !projects || !has(s.rules, Rule::SplitInput))
        return tensor;
    const ModelConfig& c = s.model->config();
    return share(blockDiagonal(*tensor, id.kind == WeightKind::WQ ? c.heads : c.kvHeads));
}

// Collects the arrays of one trace in the order of the file contract: layer by layer, stage by stage.
class Dumper {
public:
    Dumper(const AttentionTrace& trace, const DumpOptions& options)
        : m_trace(trace), m_options(options), m_config(trace.config()), m_layers(options.layers) {
        if (m_config.site)
            for (const Site site : allSites)
                m_sites.push_back(atSite(trace, site));
        if (m_layers.empty())
            for (const AttentionTrace* site : sites())
                for (int l = static_cast<int>(m_layers.size()); l < site->config().layers; ++l)
                    m_layers.emplace_back(l);
    }

    std::vector<NamedArray> arrays() {
        for (const StageInfo& info : stageTable())
            if (isWanted(info.stage))
                m_stages.push_back(info.stage);
        requireDumpable(m_trace.scenario, m_options);
        for (const AttentionTrace* site : sites())
            for (const LayerIndex l : m_layers)
                addLayer(*site, l, "", false);
        if (m_trace.scenario.rules.any())
            addRightTwin();
        addTexts();
        return std::move(m_out);
    }

private:
    bool isWanted(Stage s) const {
        return m_options.stages.empty() || std::ranges::find(m_options.stages, s) != m_options.stages.end();
    }
    // Of an encoder-decoder all three, of any other model the trace itself.
    std::vector<const AttentionTrace*> sites() const {
        std::vector<const AttentionTrace*> all;
        all.reserve(m_sites.size());
        for (const SharedTrace& site : m_sites)
            all.push_back(site.get());
        return all.empty() ? std::vector{&m_trace} : all;
    }
    // The chosen heads that a site has; sites may differ in how many there are.
    std::vector<HeadIndex> headsOf(const ModelConfig& config) const {
        std::vector<HeadIndex> heads = m_options.heads;
        if (heads.empty())
            for (int h = 0; h < config.heads; ++h)
                heads.emplace_back(h);
        std::erase_if(heads, [&](HeadIndex h) { return h.value >= config.heads; });
        return heads;
    }
    static std::string prefixOf(const ModelConfig& config, LayerIndex l) {
        const std::string side = !config.site ? "" : *config.site == Site::EncoderSelf ? "encoder." : "decoder.";
        return side + "layers." + std::to_string(l.value) + (config.cross ? ".cross." : ".self.");
    }

    // The texts of the whole: of an encoder-decoder the target is the queries and the source the keys, from any site.
    const TokenSequence& target() const {
        return m_trace.scenario.texts ? m_trace.scenario.texts->target : m_trace.scenario.query;
    }
    const TokenSequence& source() const {
        return m_trace.scenario.texts ? m_trace.scenario.texts->source : m_trace.scenario.keyTokens();
    }

    // The matrices of one stage, one after the other.
    static void append(std::vector<float>& data, const Matrix& m) {
        data.insert(data.end(), m.values().begin(), m.values().end());
    }

    void add(const std::string& name, std::vector<std::int64_t> shape, std::vector<float> data) {
        m_out.push_back({name, std::move(shape), std::move(data)});
    }
    void addMatrix(const std::string& name, const Matrix& m) {
        add(name, {m.rows(), m.cols()}, {m.values().begin(), m.values().end()});
    }

    void addLayer(const AttentionTrace& trace, LayerIndex l, const std::string& before, bool onlyTokenByToken) {
        const ModelConfig& config = trace.config();
        if (l.value >= config.layers) // an encoder may be deeper than its decoder
            return;
        const std::string prefix = before + prefixOf(config, l);
        const int queries = trace.scenario.queries(), keys = trace.scenario.keys();
        const std::vector<HeadIndex> heads = headsOf(config);
        std::vector<Stage> stages = m_stages;
        std::erase_if(stages, [&](Stage s) { return !stageAvailable(trace, s); });
        if (onlyTokenByToken)
            std::erase_if(stages, [](Stage s) { return !isTokenByToken(s); });

        // One pass over the heads for everything that a head derives, instead of one for each stage.
        const auto has = [&](Stage s) { return std::ranges::find(stages, s) != stages.end(); };
        const bool isComputed = !trace.scenario.model->captured();
        const HeadWanted wanted{has(Stage::Scores), has(Stage::Scaled), has(Stage::Masked), has(Stage::Weights),
                                has(Stage::HeadOutput)};
        std::map<Stage, std::vector<float>> derived;
        if (isComputed && (wanted.scores || wanted.scaled || wanted.masked || wanted.weights || wanted.output))
            for (const HeadIndex h : heads) {
                const HeadStages head = headStages(trace, l, h, wanted);
                append(derived[Stage::Scores], head.scores);
                append(derived[Stage::Scaled], head.scaled);
                append(derived[Stage::Masked], head.masked);
                append(derived[Stage::Weights], head.weights);
                append(derived[Stage::HeadOutput], head.output);
            }
        for (const Stage s : stages) {
            const StageInfo& info = stageInfo(s);
            const StageShape shape = stageShape(config, s, queries, keys);
            if (const CapturedAttention* captured = trace.scenario.model->captured()) {
                addCaptured(prefix + std::string(info.id), *captured->find(info.id, l), info.scope, shape);
                continue;
            }
            const std::string name = prefix + std::string(info.id);
            if (info.scope == StageScope::AllHeads) {
                addMatrix(name, *stageMatrix(trace, l, HeadIndex{0}, s));
                continue;
            }
            std::vector<float> data;
            std::int64_t count = shape.count;
            if (info.scope == StageScope::KvHead) {
                for (int g = 0; g < shape.count; ++g) // through the first query head of each group
                    append(data, *stageMatrix(trace, l, HeadIndex{g * (config.heads / config.kvHeads)}, s));
            } else {
                count = static_cast<std::int64_t>(heads.size());
                if (auto node = derived.extract(s))
                    data = std::move(node.mapped());
                else
                    for (const HeadIndex h : heads)
                        append(data, *stageMatrix(trace, l, h, s));
            }
            add(name, {count, shape.rows, shape.cols}, std::move(data));
        }
        if (onlyTokenByToken)
            return;
        if (m_options.weights)
            for (const WeightKind kind : allWeightKinds)
                if (const SharedMatrix w = appliedTensor(trace.scenario, {l, kind})) {
                    const bool isBias = kind >= WeightKind::BQ;
                    add(prefix + std::string(weightName(kind)),
                        isBias ? std::vector<std::int64_t>{w->cols()} : std::vector<std::int64_t>{w->rows(), w->cols()},
                        {w->values().begin(), w->values().end()});
                }
        m_out.push_back({prefix + "empty_rows", {queries}, trace.layer(l).emptyRows});
    }

    // As it is in its file, in its type.
    void addCaptured(const std::string& name, const CapturedArray& array, StageScope scope, const StageShape& shape) {
        std::vector<HeadIndex> chosen = headsOf(m_config);
        if (scope != StageScope::QueryHead) {
            chosen.clear();
            for (int i = 0; i < shape.count; ++i)
                chosen.emplace_back(i);
        }
        std::vector<float> floats;
        std::vector<double> doubles;
        for (const HeadIndex h : chosen) {
            const Matrix& m = *array.matrices[static_cast<std::size_t>(h.value)];
            if (array.values) {
                const auto first = array.values->begin() + array.first + static_cast<std::int64_t>(m.size()) * h.value;
                doubles.insert(doubles.end(), first, first + static_cast<std::int64_t>(m.size()));
            } else {
                append(floats, m);
            }
        }
        std::vector<std::int64_t> sizes{static_cast<std::int64_t>(chosen.size()), shape.rows, shape.cols};
        if (scope == StageScope::AllHeads)
            sizes.erase(sizes.begin());
        if (array.values)
            m_out.push_back({name, std::move(sizes), std::move(doubles)});
        else
            m_out.push_back({name, std::move(sizes), std::move(floats), array.type == "<f2"});
    }

    // What the same scenario gives without its class rules, and how far off the wrong ones are.
    void addRightTwin() {
        Scenario right = m_trace.scenario;
        right.rules.reset();
        const SharedTrace rightTrace = headscope::trace(right, *m_trace.backend);
        const std::size_t first = m_out.size();
        if (m_config.site)
            for (const Site site : allSites)
                for (const LayerIndex l : m_layers)
                    addLayer(*atSite(*rightTrace, site), l, "right.", true);
        else
            for (const LayerIndex l : m_layers)
                addLayer(*rightTrace, l, "right.", true);
        const std::size_t last = m_out.size();
        for (std::size_t i = first; i < last; ++i) {
            const NamedArray twin = m_out[i];
            const std::string name = twin.name.substr(std::string_view("right.").size());
            const NamedArray& wrong = *std::ranges::find(m_out, name, &NamedArray::name);
            const auto& a = std::get<std::vector<float>>(wrong.data);
            const auto& b = std::get<std::vector<float>>(twin.data);
            const int count = static_cast<int>(twin.shape[0] * twin.shape[1]), cols = static_cast<int>(twin.shape[2]);
            Matrix left(count, cols), other(count, cols);
            std::ranges::copy(a, left.data());
            std::ranges::copy(b, other.data());
            const Matrix d = difference(left, other);
            add("difference." + name, twin.shape, {d.values().begin(), d.values().end()});
        }
    }

    void addTexts() {
        if (m_options.hidden) {
            addMatrix("hidden", *sites().back()->hidden);
            if (m_config.site)
                addMatrix("encoder.hidden", *sites().front()->hidden);
        }
        if (m_options.logits)
            addMatrix("logits", logitsOf(m_trace));
        for (const bool isKey : {false, true}) {
            const TokenSequence& tokens = isKey ? source() : target();
            std::vector<std::string> pieces;
            for (const Token& t : tokens.tokens)
                pieces.push_back(t.piece);
            m_out.push_back({isKey ? "tokens.key" : "tokens.query", {tokens.size()}, std::move(pieces)});
        }
        for (const bool isKey : {false, true}) {
            const TokenSequence& tokens = isKey ? source() : target();
            std::vector<std::int64_t> ids;
            for (const Token& t : tokens.tokens)
                ids.push_back(t.id);
            m_out.push_back({isKey ? "ids.key" : "ids.query", {tokens.size()}, std::move(ids)});
        }
        if (!m_options.heads.empty()) {
            std::vector<std::int64_t> heads;
            for (const HeadIndex h : m_options.heads)
                heads.push_back(h.value);
            m_out.push_back({"heads", {static_cast<std::int64_t>(heads.size())}, std::move(heads)});
        }
        m_out.push_back({"scenario", {}, std::vector<std::string>{writeScenario({m_trace.scenario, m_options.view})}});
    }

    const AttentionTrace& m_trace;
    const DumpOptions& m_options;
    const ModelConfig& m_config;
    std::vector<LayerIndex> m_layers;
    std::vector<Stage> m_stages;
    std::vector<SharedTrace> m_sites; // of an encoder-decoder
    std::vector<NamedArray> m_out;
};

// What the arrays of one site take, and what computing them takes beside.
double bytesOf(const Scenario& s, const DumpOptions& options) {
    const ModelConfig& c = s.model->config();
    const auto chosen = [](const auto& indices, int all) {
        return indices.empty() ? all : std::ranges::count_if(indices, [all](auto i) { return i.value < all; });
    };
    const auto heads = chosen(options.heads, c.heads), layers = chosen(options.layers, c.layers);
    double perLayer = 0, largest = 0;
    for (const StageInfo& info : stageTable()) {
        if (!stageAvailable(s, info.stage) ||
            (!options.stages.empty() && std::ranges::find(options.stages, info.stage) == options.stages.end()))
            continue;
        const StageShape shape = stageShape(c, info.stage, s.queries(), s.keys());
        const double matrix = 4.0 * shape.rows * shape.cols;
        const double array = matrix * static_cast<double>(info.scope == StageScope::QueryHead ? heads : shape.count);
        const int copies = s.rules.any() && isTokenByToken(info.stage) ? 4 : 1; // right twin and difference
        perLayer += copies * array;
        largest = std::max(largest, array + matrix); // while it grows; and one head
    }
    return static_cast<double>(layers) * perLayer + largest;
}

// All arrays are held at once: what does not fit is refused before anything is computed.
void requireMemoryForArrays(const Scenario& s, const DumpOptions& options) {
    double bytes = 0;
    if (s.model->config().site)
        for (const Site site : allSites)
            bytes += bytesOf(atSite(s, site), options);
    else
        bytes = bytesOf(s, options);
    if (options.logits)
        bytes += 4.0 * (s.texts ? s.texts->target : s.query).size() * s.model->outputLayer()->vocabulary->rows();
    requireMemory(static_cast<std::int64_t>(std::min(bytes, 0x1p62)), "a dump of these arrays",
                  "choose fewer with --layer, --head or --stage");
}

} // namespace

void requireDumpable(const Scenario& scenario, const DumpOptions& options) {
    if (options.logits && !scenario.model->outputLayer())
        throw InputError("--logits needs a model with an output layer; " + scenario.model->config().name + " has none");
    if (const CapturedAttention* captured = scenario.model->captured(); captured && (options.weights || options.hidden))
        throw InputError(std::string(options.weights ? "--weights" : "--hidden") + " needs a model; " + captured->file +
                         " holds " + captured->stageList());
    requireMemoryForArrays(scenario, options);
}

std::vector<NamedArray> dumpArrays(const AttentionTrace& trace, const DumpOptions& options) {
    return Dumper(trace, options).arrays();
}

LabelledMatrix labelledMatrix(const ShownStage& shown) {
    LabelledMatrix table{*shown.matrix, {}, {}};
    for (const ShownAxis::Place& row : shown.rows.places)
        table.rowLabels.push_back(row.label);
    for (const ShownAxis::Place& col : shown.cols.places)
        table.colLabels.push_back(col.label);
    return table;
}

} // namespace headscope
