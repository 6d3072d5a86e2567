#include "ui/widgets/comparison.h"

#include "core/analysis/shown.h"
#include "core/attention/head_stages.h"
#include "ui/stage_text.h"

#include <QObject>

#include <algorithm>
#include <cmath>

namespace headscope {

std::vector<CellDifference> largestDifferences(const Matrix& a, const Matrix& b, int most) {
    std::vector<CellDifference> cells;
    for (int r = 0; r < a.rows(); ++r)
        for (int c = 0; c < a.cols(); ++c)
            if (a(r, c) != b(r, c))
                cells.push_back({r, c, a(r, c), b(r, c), static_cast<double>(a(r, c)) - static_cast<double>(b(r, c))});
    const auto end = cells.begin() + std::min<std::ptrdiff_t>(most, static_cast<std::ptrdiff_t>(cells.size()));
    std::ranges::partial_sort(cells, end, std::greater{},
                              [](const CellDifference& cell) { return std::fabs(cell.difference); });
    cells.erase(end, cells.end());
    return cells;
}

// Names of one axis of a stage.
static QStringList axisLabels(const Scenario& scenario, StageAxis axis, int count) {
    if (axis == StageAxis::QueryTokens)
        return tokenTexts(scenario.query);
    if (axis == StageAxis::KeyTokens)
        return tokenTexts(scenario.keyTokens());
    QStringList labels;
    for (int i = 0; i < count; ++i)
        labels << QString::number(i);
    return labels;
}

static QString axisTitle(StageAxis axis) {
    return axis == StageAxis::QueryTokens ? QObject::tr("queries")
           : axis == StageAxis::KeyTokens ? QObject::tr("keys")
                                          : QObject::tr("dimensions");
}

static Comparison labelled(const Scenario& scenario, Stage stage, SharedMatrix a, SharedMatrix b) {
    const StageInfo& info = stageInfo(stage);
    Comparison comparison;
    comparison.rowLabels = axisLabels(scenario, info.rows, a->rows());
    comparison.colLabels = axisLabels(scenario, info.cols, a->cols());
    comparison.rowTitle = axisTitle(info.rows);
    comparison.colTitle = axisTitle(info.cols);
    comparison.isWeights = stage == Stage::Weights;
    comparison.isSigned = info.isSigned;
    comparison.a = std::move(a);
    comparison.b = std::move(b);
    return comparison;
}

std::optional<Comparison> wrongAndRight(const AttentionTrace& wrong, const AttentionTrace& right, const View& view) {
    if (!stageAvailable(wrong, view.stage) || !stageAvailable(right, view.stage) || view.heads.empty() ||
        view.layer.value >= static_cast<int>(std::min(wrong.layers.size(), right.layers.size())))
        return std::nullopt;
    const ShownStage a = shownStage(wrong, view.layer, view.heads.front(), view.stage, view),
                     b = shownStage(right, view.layer, view.heads.front(), view.stage, view);
    if (a.matrix->rows() != b.matrix->rows() || a.matrix->cols() != b.matrix->cols())
        return std::nullopt;
    Comparison comparison = labelled(wrong.scenario, view.stage, a.matrix, b.matrix);
    const auto name = [](const ShownAxis& axis, QStringList& labels, std::vector<int>& tokens) {
        labels.clear();
        for (const ShownAxis::Place& place : axis.places) {
            labels << tokenText(place.label);
            tokens.push_back(place.tokens.front());
        }
    };
    name(a.rows, comparison.rowLabels, comparison.rowTokens);
    name(a.cols, comparison.colLabels, comparison.colTokens);
    if (view.cell) {
        const CellRef place{a.rows.placeOf(view.cell->row), a.cols.placeOf(view.cell->col)};
        if (place.row >= 0 && place.col >= 0)
            comparison.pinned = place;
    }
    QStringList names, sentences;
    for (const RuleInfo& info : ruleTable())
        if (has(wrong.scenario.rules, info.rule)) {
            names << fromUtf8(info.title);
            sentences << fromUtf8(info.right);
        }
    comparison.titleA = QObject::tr("wrong: %1").arg(names.join(QStringLiteral(", ")));
    comparison.titleB = QObject::tr("right");
    comparison.note = sentences.join(u' ');
    return comparison;
}

std::optional<Comparison> printedAndCorrect(const AttentionTrace& trace, const View& view) {
    const Scenario& scenario = trace.scenario;
    const bool asPrinted = scenario.source.name == "worked-example" && !scenario.edited() &&
                           scenario.query.source == workedExampleText() && scenario.rules.none() &&
                           scenario.interventions.empty() && scenario.mask == Mask{} && scenario.scale == Scale{} &&
                           scenario.temperature == 1.0;
    if (!asPrinted)
        return std::nullopt;
    const auto& printed = workedExamplePrinted();
    const auto stage = std::ranges::find(printed, stageInfo(view.stage).id, &PrintedStage::stage);
    if (stage == printed.end())
        return std::nullopt;
    Comparison comparison = labelled(scenario, view.stage, share(stage->values),
                                     stageMatrix(trace, LayerIndex{0}, HeadIndex{0}, view.stage));
    comparison.titleA = QObject::tr("printed");
    comparison.titleB = QObject::tr("correct");
    comparison.note = fromUtf8(workedExampleNote());
    return comparison;
}

} // namespace headscope
