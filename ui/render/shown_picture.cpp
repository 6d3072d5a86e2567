#include "ui/render/shown_picture.h"

#include "ui/render/sheet.h"

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
        range.caption = QStringLiteral("0 to the largest value of ordinary tokens");
    else if (view.special == Special::Unranged && spec.kind != RangeSpec::Kind::Fixed)
        range.caption += QStringLiteral(", special tokens left out");
    return range;
}

QString shownRemark(std::span<const ShownStage> shown, Stage stage, const View& view) {
    ShownStage together = shown.front();
    for (const ShownStage& other : shown.subspan(1))
        together.removed.insert(together.removed.end(), other.removed.begin(), other.removed.end());
    return QString::fromStdString(shownRule(together, stage, view));
}

} // namespace headscope
