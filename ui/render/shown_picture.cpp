#include "ui/render/shown_picture.h"

#include "core/analysis/extent.h"
#include "core/analysis/metrics.h"
#include "ui/render/figure_text.h"
#include "ui/render/sheet.h"

#include <cmath>
#include <limits>

namespace headscope {

ValueKind kindOf(Stage stage) {
    return {stage == Stage::Weights, stageInfo(stage).isSigned};
}

QStringList axisLabels(const ShownAxis& axis, const QFont& font) {
    QStringList out;
    for (const ShownAxis::Place& place : axis.places)
        out << displayText(place.label, font);
    return out;
}

SharedPicture shownPicture(const ShownStage& shown, const ColorScale& scale) {
    return std::make_shared<const CellPicture>(shown.matrix, scale, shown.closed);
}

ResolvedRange shownRange(const View& view, Stage stage, std::span<const ShownStage> shown,
                         std::span<const ShownStage> all) {
    std::vector<Matrix> kept;
    kept.reserve(view.special == Special::Unranged ? shown.size() + all.size() : 0);
    const auto viewsOf = [&](std::span<const ShownStage> stages) {
        std::vector<MatrixView> views;
        for (const ShownStage& s : stages) {
            if (view.special == Special::Unranged)
                kept.push_back(rangedCells(s, view.special));
            views.emplace_back(view.special == Special::Unranged ? kept.back() : *s.matrix);
        }
        return views;
    };
    const std::vector<MatrixView> ranged = viewsOf(shown), shared = viewsOf(all);
    RangeSpec spec = view.range;
    const bool toLargest = view.special == Special::Unranged && stage == Stage::Weights &&
                           spec.kind == RangeSpec::Kind::Auto; // 0 to 1 would ask nobody
    if (toLargest)
        spec.kind = RangeSpec::Kind::Head;
    ResolvedRange range = resolveRange(spec, view.curve, kindOf(stage), ranged, shared);
    if (toLargest)
        range.range.lo = 0;
    if (toLargest && view.curve.kind == Curve::Kind::Linear)
        range.caption = FigureText::tr("0 to the largest value of ordinary tokens");
    else if (view.special == Special::Unranged && spec.kind != RangeSpec::Kind::Fixed)
        range.caption += FigureText::tr(", special tokens left out");
    return range;
}

// A matrix of two numbers that has the same range.
static SharedMatrix extentOf(const Matrix& matrix) {
    const Extent extent = finiteExtent(matrix);
    if (extent.empty())
        return share(Matrix());
    Matrix both(1, 2, extent.lo);
    both(0, 1) = extent.hi;
    return share(std::move(both));
}

std::vector<ShownStage> rangedHeads(const AttentionTrace& trace, const View& view) {
    constexpr std::size_t large = 1 << 20; // cells
    const bool isExtent = view.curve.kind != Curve::Kind::Percentile && view.special != Special::Unranged;
    std::vector<ShownStage> heads;
    for (const HeadIndex head : allHeads(trace.config())) {
        heads.push_back(shownStage(trace, view.layer, head, view.stage, view));
        if (isExtent && heads.back().matrix->size() > large) {
            heads.back().matrix = extentOf(*heads.back().matrix);
            heads.back().closed.clear();
        }
    }
    return heads;
}

QString shownRemark(std::span<const ShownStage> shown, Stage stage, const View& view) {
    ShownStage together = shown.front();
    for (const ShownStage& other : shown.subspan(1))
        together.removed.insert(together.removed.end(), other.removed.begin(), other.removed.end());
    return QString::fromStdString(shownRule(together, stage, view));
}

} // namespace headscope
