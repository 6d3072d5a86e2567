// The walk figure: a stage as the product that it is. The row and the column that meet in one cell are marked in all
// matrices, and the arithmetic of that cell stands beneath.
#include "ui/render/figure_parts.h"
#include "ui/render/walk_layout.h"

namespace headscope {

double drawWalkFigure(Sheet& sheet, const FigureSource& source, const FigureSpec& spec, double width,
                      std::optional<double> height) {
    Walk walk = makeWalk(source.trace, spec.view, sheet.font());
    markWalk(walk, walk.start);
    const HeadIndex head = spec.view.heads.front();
    const StageInfo& info = stageInfo(spec.view.stage);
    const auto utf8 = [](std::string_view text) {
        return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
    };
    const double inner = width - 2 * figurePad;
    double y = figurePad;
    const QString name = headName(*source.trace, spec.view.layer, head);
    y += drawHeading(sheet, {figurePad, y}, inner, spec,
                     sitePrefix(*source.trace) + headTitle(spec.view.layer, head) +
                         (name.isEmpty() ? QString() : u' ' + name),
                     utf8(info.formula), everyTokenRemark(spec.view));
    y += sheet.formulaParagraph({figurePad, y}, inner, utf8(info.what), sheet.font(), sheet.theme().muted) + 12;
    Sheet measure(nullptr, spec.dark, sheet.pointSize());
    const double beneath = drawWalkArithmetic(measure, walk, walk.start, {figurePad, 0}, inner, height.has_value());
    const std::optional<WalkLayout> layout =
        layOutWalk(sheet, walk, {figurePad, y}, inner,
                   height ? std::optional(*height - y - beneath - figurePad - 4) : std::nullopt);
    if (!layout)
        refuseSize(spec);
    drawWalk(sheet, walk, *layout, figurePad + inner);
    y = layout->bottom + 4;
    y += drawWalkArithmetic(sheet, walk, walk.start, {figurePad, y}, inner, height.has_value());
    return y + figurePad;
}

} // namespace headscope
