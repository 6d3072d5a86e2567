#include "ui/head_survey.h"

#include "core/attention/head_stages.h"
#include "ui/workspace.h"

#include <algorithm>
#include <cmath>

namespace headscope {

Matrix pooledByMaximum(const Matrix& values, int mostCells) {
    const int rows = std::min(values.rows(), mostCells);
    const int cols = std::min(values.cols(), mostCells);
    if (rows == values.rows() && cols == values.cols())
        return values;
    Matrix pooled(rows, cols, -std::numeric_limits<float>::infinity());
    for (int r = 0; r < values.rows(); ++r) {
        const int to = static_cast<int>(static_cast<std::int64_t>(r) * rows / values.rows());
        for (int c = 0; c < values.cols(); ++c) {
            float& cell = pooled(to, static_cast<int>(static_cast<std::int64_t>(c) * cols / values.cols()));
            cell = std::max(cell, values(r, c));
        }
    }
    return pooled;
}

static void addRowSums(HeadSummary& head, const Matrix& weights, const std::vector<bool>& emptyRows) {
    for (int r = 0; r < weights.rows(); ++r) {
        if (static_cast<std::size_t>(r) < emptyRows.size() && emptyRows[static_cast<std::size_t>(r)])
            continue;
        double sum = 0;
        for (const float w : weights.row(r))
            sum += static_cast<double>(w);
        head.leastRowSum = std::min(head.leastRowSum, sum);
        head.mostRowSum = std::max(head.mostRowSum, sum);
    }
}

static std::vector<bool> specialPlaces(StageAxis axis, const Scenario& scenario, int count) {
    std::vector<bool> special(static_cast<std::size_t>(count));
    if (axis == StageAxis::Dimensions)
        return special;
    const TokenSequence& tokens = axis == StageAxis::QueryTokens ? scenario.query : scenario.keyTokens();
    for (int i = 0; i < std::min(count, tokens.size()); ++i)
        special[static_cast<std::size_t>(i)] = tokens.tokens[static_cast<std::size_t>(i)].special;
    return special;
}

std::optional<CellRef> strongestCell(const Matrix& values, const Scenario& scenario, Stage stage) {
    const bool sameTokens = isTokenByToken(stage) && !scenario.key;
    const std::vector<bool> specialRow = specialPlaces(stageInfo(stage).rows, scenario, values.rows());
    const std::vector<bool> specialCol = specialPlaces(stageInfo(stage).cols, scenario, values.cols());
    std::optional<CellRef> strongest[3]; // moving words, ordinary tokens, all
    float largest[3] = {};
    for (int r = 0; r < values.rows(); ++r)
        for (int c = 0; c < values.cols(); ++c) {
            const float size = std::abs(values(r, c));
            if (!std::isfinite(size))
                continue;
            const bool ordinary = !specialRow[static_cast<std::size_t>(r)] && !specialCol[static_cast<std::size_t>(c)];
            const bool resting = sameTokens && (c == r || c == 0);
            for (const int rank : {0, 1, 2})
                if (size > largest[rank] && (rank == 2 || (ordinary && (rank == 1 || !resting)))) {
                    largest[rank] = size;
                    strongest[rank] = CellRef{r, c};
                }
        }
    return strongest[0] ? strongest[0] : strongest[1] ? strongest[1] : strongest[2];
}

bool restsOnSpecial(const HeadSummary& head, const Scenario& scenario) {
    const std::vector<Token>& keys = scenario.keyTokens().tokens;
    return (head.metrics.label == "first" && keys.front().special) ||
           (head.metrics.label == "separator" && std::ranges::any_of(keys, &Token::special));
}

const HeadSummary* mostTelling(const Survey& survey) {
    const HeadSummary* best = nullptr;
    double most = 0;
    for (const HeadSummary& head : survey.heads) {
        if (!head.strongest)
            continue;
        const bool ownWords =
            head.metrics.label == "none" || head.metrics.label == "same word" || head.metrics.label == "induction";
        const double telling = static_cast<double>(head.strongestWeight) * (ownWords ? 1 : 0.5);
        if (telling > most) {
            most = telling;
            best = &head;
        }
    }
    return best;
}

Survey surveyHeads(const SharedTrace& trace, std::optional<CellRef> pinned, const std::stop_token& stop) {
    Survey survey;
    survey.trace = trace;
    survey.pinned = pinned;
    const ModelConfig& config = trace->config();
    const std::int64_t cells = static_cast<std::int64_t>(trace->scenario.queries()) * trace->scenario.keys();
    if (cells > HeadSurvey::mostCells)
        return survey;
    for (int l = 0; l < config.layers; ++l)
        for (int h = 0; h < config.heads; ++h) {
            if (stop.stop_requested())
                throw Cancelled();
            const SharedMatrix weights = stageMatrix(*trace, LayerIndex{l}, HeadIndex{h}, Stage::Weights);
            HeadSummary head;
            head.metrics = headMetrics(*trace, LayerIndex{l}, HeadIndex{h});
            head.thumbnail = pooledByMaximum(*weights, HeadSurvey::thumbnailCells);
            addRowSums(head, *weights, trace->layer(LayerIndex{l}).emptyRows);
            head.strongest = strongestCell(*weights, trace->scenario, Stage::Weights);
            if (head.strongest)
                head.strongestWeight = (*weights)(head.strongest->row, head.strongest->col);
            if (pinned && pinned->row < weights->rows() && pinned->col < weights->cols())
                head.pinnedWeight = (*weights)(pinned->row, pinned->col);
            survey.heads.push_back(std::move(head));
        }
    return survey;
}

double Survey::worstRowSum() const {
    double worst = 0;
    for (const HeadSummary& head : heads)
        worst = std::max({worst, std::abs(head.leastRowSum - 1), std::abs(head.mostRowSum - 1)});
    return worst;
}

const HeadSummary& Survey::at(LayerIndex layer, HeadIndex head) const {
    return heads[static_cast<std::size_t>(layer.value * trace->config().heads + head.value)];
}

HeadSurvey::HeadSurvey(Workspace& workspace, QObject* parent) : QObject(parent), m_workspace(workspace) {
    connect(&workspace, &Workspace::traceChanged, this, &HeadSurvey::refresh);
    connect(&workspace, &Workspace::viewChanged, this, [this] {
        const View& view = m_workspace.view();
        if (m_current && isTokenByToken(view.stage) && m_current->pinned != view.cell)
            refresh();
    });
}

void HeadSurvey::refresh() {
    const SharedTrace trace = m_workspace.trace();
    const View& view = m_workspace.view();
    if (!trace)
        return;
    const std::optional<CellRef> pinned = isTokenByToken(view.stage) ? view.cell : std::nullopt;
    const auto work = [trace, pinned](const std::stop_token& stop) {
        return std::make_shared<const Survey>(surveyHeads(trace, pinned, stop));
    };
    m_jobs.submit(work, [this](const Outcome<SharedSurvey>& outcome) {
        if (const auto* survey = std::get_if<SharedSurvey>(&outcome)) {
            m_current = *survey;
            const bool isPresent =
                m_current->trace == m_workspace.trace() && m_current->trace->scenario == m_workspace.scenario();
            if (const HeadSummary* head = isPresent ? mostTelling(*m_current) : nullptr)
                m_workspace.offerHead(head->metrics.layer, head->metrics.head, head->strongest);
            emit changed();
        }
    });
}

} // namespace headscope
