#include "core/attention/captured.h"
#include "core/attention/head_problem.h"

#include "core/attention/relative_bias.h"
#include "core/tensor/errors.h"
#include "core/tensor/memory.h"
#include "core/tensor/parallel.h"

#include <algorithm>
#include <cmath>

namespace headscope {

namespace {

// O_h W_O[h] with the class rules' variants; zero for a head that is off.
Matrix contributionOf(const AttentionTrace& t, LayerIndex layer, HeadIndex head) {
    const ModelConfig& c = t.config();
    const SharedMatrix& wO = t.scenario.model->layer(layer).wO;
    const int n = t.scenario.queries();
    if (t.scenario.headIsOff(layer, head))
        return {n, c.dOut};
    const Matrix output = headStages(t, layer, head, {.output = true}).output;
    const bool reshaped = has(t.scenario.rules, Rule::ConcatReshape),
               projected = !has(t.scenario.rules, Rule::NoOutputProjection);
    if (projected && !reshaped)
        return t.backend->linear(output, MatrixView(*wO).rowRange(head.value * c.dV, (head.value + 1) * c.dV), nullptr);
    // What concat would be if this head were the only one.
    std::vector<Matrix> all(static_cast<std::size_t>(c.heads), Matrix(n, c.dV));
    all[static_cast<std::size_t>(head.value)] = output;
    Matrix alone(n, c.heads * c.dV);
    if (reshaped)
        alone = concatByReshape(all);
    else
        for (int i = 0; i < n; ++i)
            std::ranges::copy(output.row(i), alone.row(i).begin() + head.value * c.dV);
    return projected ? t.backend->linear(alone, *wO, nullptr) : alone;
}

constexpr std::size_t worthSharing = 1 << 17; // cells that a thread multiplies in some 100 microseconds

// ||a_ij v_j W_O[h]|| = a_ij ||v_j W_O[h]||. Kobayashi et al. 2020, "Attention is not only a weight".
Matrix normsOf(const AttentionTrace& t, LayerIndex layer, HeadIndex head) {
    const ModelConfig& c = t.config();
    if (t.scenario.headIsOff(layer, head))
        return {t.scenario.queries(), t.scenario.keys()};
    const MatrixView v = headBand(*t.layer(layer).v, c.kvHeadOf(head), c.dV);
    const SharedMatrix& wO = t.scenario.model->layer(layer).wO;
    const bool projected = !has(t.scenario.rules, Rule::NoOutputProjection);
    const Matrix moved =
        projected ? t.backend->linear(v, MatrixView(*wO).rowRange(head.value * c.dV, (head.value + 1) * c.dV), nullptr)
                  : copy(v);
    std::vector<double> length(static_cast<std::size_t>(moved.rows()));
    parallelFor(
        moved.rows(),
        [&](int j) {
            double sum = 0;
            for (const float x : moved.row(j))
                sum += static_cast<double>(x) * x;
            length[static_cast<std::size_t>(j)] = std::sqrt(sum);
        },
        moved.size() > worthSharing);
    Matrix a = headStages(t, layer, head, {.weights = true}).weights;
    parallelFor(
        a.rows(),
        [&](int i) {
            const std::span<float> row = a.row(i);
            for (std::size_t j = 0; j < row.size(); ++j)
                row[j] = static_cast<float>(row[j] * length[j]);
        },
        a.size() > worthSharing);
    return a;
}

} // namespace

HeadInputs headInputs(const Scenario& s, const KeyMask& mask, const LayerTrace& layer, LayerIndex l, HeadIndex h) {
    const ModelConfig& c = s.model->config();
    HeadInputs in;
    in.problem.q = headBand(*layer.q, h.value, c.dK);
    in.problem.k = headBand(*layer.k, c.kvHeadOf(h), c.dK);
    in.problem.v = headBand(*layer.v, c.kvHeadOf(h), c.dV);
    in.problem.scale = static_cast<float>(scaleFactor(s));
    if (c.position == Position::Alibi) // Press et al. 2022
        in.problem.alibiSlope = static_cast<float>(std::exp2(-8.0 * (h.value + 1) / c.heads));
    if (c.position == Position::Relative) {
        in.relativeBias = relativeBias(*s.model->transformer()->relativeBias, h, c, s.queries(), s.keys());
        in.problem.relativeBias = in.relativeBias; // the vector's buffer moves with it
    }
    in.problem.mask = &mask;
    in.problem.softcap = c.softcap;
    in.problem.temperature = s.temperature;
    in.problem.softmaxOverQueries = has(s.rules, Rule::SoftmaxQueries);
    in.problem.maskAfterSoftmax = has(s.rules, Rule::MaskAfterSoftmax);
    for (const Intervention& i : s.interventions)
        if (i.kind == Intervention::Kind::SetCell && i.stage == Stage::Scores && i.layer == l && i.head == h)
            in.edits.push_back({i.row, i.col, i.value});
    in.problem.scoreEdits = in.edits; // the vector's buffer moves with it
    return in;
}

HeadStages runHead(const Backend& backend, const HeadProblem& p, HeadWanted wanted, const std::stop_token& stop) {
    const int n = p.q.rows, m = p.k.rows;
    const std::int64_t cells = std::int64_t{n} * m;
    const int maps = wanted.scores + wanted.scaled + wanted.masked + wanted.weights + (p.softmaxOverQueries ? 6 : 0);
    constexpr std::int64_t worthAsking = 1 << 20; // cells; asking the system takes longer than a small map
    if (cells > worthAsking)
        requireMemory(4 * cells * maps, "a map of " + std::to_string(n) + " x " + std::to_string(m) + " cells",
                      "shorten the text");
    HeadStages out;
    const HeadTarget target = allocate(out, p, n, wanted);
    backend.attendAll({&p, 1}, {&target, 1}, {}, stop);
    return out;
}

void runHeads(const Backend& backend, std::span<const HeadInputs> heads, std::span<const HeadTarget> targets,
              const Backend::VisitWeights& visit, const std::stop_token& stop) {
    std::vector<HeadProblem> problems;
    for (const HeadInputs& in : heads) {
        problems.push_back(in.problem);
        problems.back().scoreEdits = in.edits;
    }
    backend.attendAll(problems, targets, visit, stop);
}

Matrix meanWeights(const Backend& backend, const Scenario& s, const KeyMask& mask, const LayerTrace& layer,
                   LayerIndex l, const std::stop_token& stop) {
    const int heads = s.model->config().heads;
    std::vector<double> sum(static_cast<std::size_t>(s.queries()) * static_cast<std::size_t>(s.keys()));
    for (int h = 0; h < heads; ++h) {
        const HeadInputs in = headInputs(s, mask, layer, l, HeadIndex{h});
        const Matrix a = runHead(backend, in.problem, {.weights = true}, stop).weights;
        for (std::size_t i = 0; i < sum.size(); ++i)
            sum[i] += a.values()[i];
    }
    Matrix mean(s.queries(), s.keys());
    for (std::size_t i = 0; i < sum.size(); ++i)
        mean.values()[i] = static_cast<float>(sum[i] / heads);
    return mean;
}

HeadStages headStages(const AttentionTrace& t, LayerIndex layer, HeadIndex head, HeadWanted wanted) {
    if (t.scenario.model->captured()) {
        const auto captured = [&](bool isWanted, Stage stage) {
            const SharedMatrix m = isWanted ? capturedMatrix(t.scenario, layer, head, stage) : nullptr;
            return m ? *m : Matrix();
        };
        return {captured(wanted.scores, Stage::Scores), captured(wanted.scaled, Stage::Scaled),
                captured(wanted.masked, Stage::Masked), captured(wanted.weights, Stage::Weights),
                captured(wanted.output, Stage::HeadOutput)};
    }
    const LayerTrace& computed = t.layer(layer);
    const HeadInputs in = headInputs(t.scenario, t.mask, computed, layer, head);
    if (!computed.meanWeights)
        return runHead(*t.backend, in.problem, wanted, {});
    HeadStages out;
    if (wanted.scores || wanted.scaled || wanted.masked)
        out = runHead(*t.backend, in.problem, {wanted.scores, wanted.scaled, wanted.masked, false, false}, {});
    if (wanted.weights)
        out.weights = *computed.meanWeights;
    if (wanted.output)
        out.output = t.backend->linear(*computed.meanWeights, in.problem.v, nullptr);
    return out;
}

std::vector<float> weightsRow(const AttentionTrace& t, LayerIndex layer, HeadIndex head, int row) {
    const bool needsAll = t.scenario.model->captured() || t.layer(layer).meanWeights ||
                          has(t.scenario.rules, Rule::SoftmaxQueries); // there already, or sums of columns
    if (needsAll) {
        const SharedMatrix all = stageMatrix(t, layer, head, Stage::Weights);
        return {all->row(row).begin(), all->row(row).end()};
    }
    const HeadInputs in = headInputs(t.scenario, t.mask, t.layer(layer), layer, head);
    const Matrix weights = t.backend->attend(in.problem, row, row + 1, {.weights = true}).weights;
    return {weights.values().begin(), weights.values().end()};
}

void visitWeights(const AttentionTrace& t, LayerIndex layer, std::span<const HeadIndex> heads,
                  const std::function<void(int which, int begin, MatrixView weights)>& visit,
                  const std::stop_token& stop) {
    const LayerTrace& computed = t.layer(layer);
    if (computed.meanWeights || t.scenario.model->captured()) { // there already
        parallelFor(static_cast<int>(heads.size()), [&](int i) {
            if (stop.stop_requested())
                throw Cancelled();
            const HeadIndex head = heads[static_cast<std::size_t>(i)];
            visit(i, 0, *(computed.meanWeights ? computed.meanWeights : stageMatrix(t, layer, head, Stage::Weights)));
        });
        return;
    }
    std::vector<HeadInputs> inputs;
    for (const HeadIndex head : heads)
        inputs.push_back(headInputs(t.scenario, t.mask, computed, layer, head));
    runHeads(*t.backend, inputs, std::vector<HeadTarget>(inputs.size()), visit, stop);
}

bool stageAvailable(const Scenario& s, Stage stage) {
    if (const CapturedAttention* captured = s.model->captured())
        return captured->find(stageInfo(stage).id, LayerIndex{0}) != nullptr;
    switch (stage) {
    case Stage::EmbeddingKey:
        return s.model->config().cross;
    case Stage::Contribution:
    case Stage::Norms:
        return s.model->layer(LayerIndex{0}).wO != nullptr;
    default:
        return true;
    }
}

std::string whyNoStage(const Scenario& s, Stage stage) {
    const std::string id(stageInfo(stage).id);
    if (const CapturedAttention* captured = s.model->captured())
        return id + " is not in " + captured->file + ": it holds " + captured->stageList();
    if (stage == Stage::EmbeddingKey)
        return id + " exists in cross-attention only: give a second text (--pair)";
    return id + " needs an output projection, and " + s.model->config().name + " has no W_O";
}

std::string inScenario(std::string_view formula, const Scenario& scenario) {
    std::string text(formula);
    if (text.starts_with('Y') && !stageAvailable(scenario, Stage::EmbeddingKey))
        text.front() = 'X';
    return text;
}

bool stageAvailable(const AttentionTrace& t, Stage stage) {
    return stageAvailable(t.scenario, stage);
}

SharedMatrix stageMatrix(const AttentionTrace& t, LayerIndex layer, HeadIndex head, Stage stage) {
    if (t.scenario.model->captured()) {
        SharedMatrix captured = capturedMatrix(t.scenario, layer, head, stage);
        if (!captured)
            throw InputError(whyNoStage(t.scenario, stage));
        return captured;
    }
    const ModelConfig& c = t.config();
    const LayerTrace& l = t.layer(layer);
    const auto derived = [&](Matrix HeadStages::*which, HeadWanted wanted) {
        return share(std::move(headStages(t, layer, head, wanted).*which));
    };
    switch (stage) {
    case Stage::Embedding:
        return l.x;
    case Stage::EmbeddingKey:
        return l.y;
    case Stage::ProjectionQ:
        return l.projectionQ;
    case Stage::ProjectionK:
        return l.projectionK;
    case Stage::ProjectionV:
        return l.projectionV;
    case Stage::Q:
        return share(copy(headBand(*l.q, head.value, c.dK)));
    case Stage::K:
        return share(copy(headBand(*l.k, c.kvHeadOf(head), c.dK)));
    case Stage::V:
        return share(copy(headBand(*l.v, c.kvHeadOf(head), c.dV)));
    case Stage::Scores:
        return derived(&HeadStages::scores, {.scores = true});
    case Stage::Scaled:
        return derived(&HeadStages::scaled, {.scaled = true});
    case Stage::Masked:
        return derived(&HeadStages::masked, {.masked = true});
    case Stage::Weights:
        return derived(&HeadStages::weights, {.weights = true});
    case Stage::HeadOutput:
        return derived(&HeadStages::output, {.output = true});
    case Stage::Concat:
        return l.concat;
    case Stage::Contribution:
        return share(contributionOf(t, layer, head));
    case Stage::Output:
        return l.output;
    case Stage::Norms:
        return share(normsOf(t, layer, head));
    }
    return nullptr;
}

Matrix difference(const Matrix& a, const Matrix& b) {
    assert(a.rows() == b.rows() && a.cols() == b.cols());
    Matrix out(a.rows(), a.cols());
    for (std::size_t i = 0; i < a.size(); ++i) {
        const float x = a.values()[i], y = b.values()[i];
        out.values()[i] = x == y ? 0.0F : x - y;
    }
    return out;
}

} // namespace headscope
