// The grid figure: every head of every layer as a thumbnail, layers down, heads across.
#include "ui/render/figure_parts.h"

#include "core/tensor/errors.h"

#include <algorithm>

namespace headscope {

double drawGridFigure(Sheet& sheet, const FigureSource& source, const FigureSpec& spec, double width,
                      std::optional<double> height) {
    const AttentionTrace& trace = *source.trace;
    const View& view = spec.view;
    const StageInfo& info = stageInfo(view.stage);
    const QString id = QString::fromUtf8(info.id.data(), static_cast<qsizetype>(info.id.size()));
    if (info.scope == StageScope::AllHeads)
        throw InputError("a grid shows one picture per head, and stage " + std::string(info.id) +
                         " is one matrix of all heads: choose a stage of one head, such as weights, or another view");
    const int layers = static_cast<int>(trace.layers.size()), heads = trace.config().heads;
    const ValueKind kind = kindOf(view.stage);

    std::vector<SharedMatrix> matrices; // layer by layer
    std::vector<MatrixView> all;
    for (int l = 0; l < layers; ++l)
        for (int h = 0; h < heads; ++h) {
            matrices.push_back(stageMatrix(trace, LayerIndex{l}, HeadIndex{h}, view.stage));
            all.emplace_back(*matrices.back());
        }
    // `head`, which auto means for all but weights, is each thumbnail's own range.
    const bool ownRanges =
        view.range.kind == RangeSpec::Kind::Head || (view.range.kind == RangeSpec::Kind::Auto && !kind.isWeights);
    const ResolvedRange common = resolveRange(view.range, view.curve, kind, all, all);
    const ColorScale commonScale(view.colors, kind.isSigned, common.range, view.curve);

    const double inner = width - 2 * figurePad, line = sheet.lineHeight(sheet.font());
    double y = figurePad;
    const QString remark = QStringLiteral("%1, %2 layer%3 × %4 head%5, each %6")
                               .arg(id)
                               .arg(layers)
                               .arg(layers == 1 ? QString() : QStringLiteral("s"))
                               .arg(heads)
                               .arg(heads == 1 ? QString() : QStringLiteral("s"), shapeText(*matrices.front()));
    y += drawHeading(sheet, {figurePad, y}, inner, spec, QStringLiteral("All heads"),
                     QString::fromUtf8(info.formula.data(), static_cast<qsizetype>(info.formula.size())), remark);

    // Head names stand under the thumbnails where the model has them, wrapped to two lines.
    const QFont small = sheet.font(0.85);
    const bool named = !headName(trace, LayerIndex{0}, HeadIndex{0}).isEmpty() || !trace.config().headNames.empty();
    const double left = sheet.width(QStringLiteral("L%1").arg(layers - 1), sheet.font()) + 8;
    const double gap = std::clamp(0.06 * (inner - left) / heads, 2.0, 8.0);
    const double nameHeight = named ? 2 * 1.1 * sheet.lineHeight(small) + 3 : 0;
    CutCount cut;
    BarText bar{
        id + QStringLiteral(", ") +
            (view.range.kind == RangeSpec::Kind::Shared
                 ? QString(common.caption).replace(QStringLiteral("of the layer"), QStringLiteral("of the figure"))
                 : common.caption),
        {},
        {}};
    if (ownRanges)
        bar = {id + (kind.isSigned ? QStringLiteral(", each head: plus or minus its own largest magnitude")
                                   : QStringLiteral(", each head: its own smallest to largest value")),
               kind.isSigned ? QStringLiteral("−max") : QStringLiteral("min"), QStringLiteral("max")};
    else
        for (const auto& m : matrices)
            cut += countCut(CellPicture(m, commonScale));
    Sheet measure(nullptr, spec.dark, sheet.pointSize());
    const double barHeight = drawColorBar(measure, {0, 0}, inner, commonScale, bar, cut);

    double side = std::min((inner - left - (heads - 1) * gap) / heads, 120.0);
    if (height)
        side = std::min(side,
                        (*height - y - line - 4 - 12 - barHeight - figurePad - layers * (gap + nameHeight)) / layers);
    if (side < 3)
        refuseSize(spec);

    // Column labels "H11" shrink with the thumbnails, and are thinned when even that is too dense.
    QStringList headLabels, layerLabels;
    for (int h = 0; h < heads; ++h)
        headLabels << QStringLiteral("H%1").arg(h);
    for (int l = 0; l < layers; ++l)
        layerLabels << QStringLiteral("L%1").arg(l);
    const double pitch = side + gap, rowPitch = side + gap + nameHeight;
    const LabelPlan top =
        planLabels(Side::Top, headLabels, sheet.font(), {pitch, 60, 0.6 * sheet.pointSize(), figureDevice()});
    const LabelPlan leftPlan =
        planLabels(Side::Left, layerLabels, sheet.font(), {rowPitch, left, 0.6 * sheet.pointSize(), figureDevice()});
    y += top.extent + 4;
    for (const PlacedLabel& label :
         placeLabels(Side::Top, top, y - 4, figurePad + left - gap / 2, pitch, 0, width, figureDevice()))
        top.turned ? sheet.textUp(label.rect, Qt::AlignLeft, top.texts[label.index], top.font, sheet.theme().muted)
                   : sheet.text(label.rect, Qt::AlignLeft, top.texts[label.index], top.font, sheet.theme().muted);
    for (int l = 0; l < layers; ++l) {
        if (l % leftPlan.step == 0)
            sheet.text(QRectF(figurePad, y + l * rowPitch, left - 8, side), Qt::AlignRight | Qt::AlignVCenter,
                       layerLabels[l], leftPlan.font, sheet.theme().muted);
        for (int h = 0; h < heads; ++h) {
            const SharedMatrix& matrix = matrices[static_cast<std::size_t>(l * heads + h)];
            ColorScale scale = commonScale;
            if (ownRanges) {
                const MatrixView own[] = {*matrix};
                scale = ColorScale(view.colors, kind.isSigned,
                                   resolveRange({RangeSpec::Kind::Head}, view.curve, kind, own).range, view.curve);
            }
            const QRectF area(figurePad + left + h * pitch, y + l * rowPitch, side, side);
            sheet.cells(std::make_shared<const CellPicture>(matrix, scale), area, false, 131072 / (layers * heads));
            sheet.frame(area, sheet.theme().line, 0.4);
            const QString name = headName(trace, LayerIndex{l}, HeadIndex{h});
            if (named && !name.isEmpty()) {
                // Two lines; what does not fit is elided.
                QString first = name, second;
                if (sheet.width(name, small) > side && name.contains(u' ')) {
                    first = name.section(u' ', 0, 0);
                    second = name.section(u' ', 1);
                }
                const double h0 = 1.1 * sheet.lineHeight(small);
                sheet.text(QRectF(area.left(), area.bottom() + 2, side + gap - 1, h0), Qt::AlignLeft, first, small,
                           sheet.theme().muted);
                sheet.text(QRectF(area.left(), area.bottom() + 2 + h0, side + gap - 1, h0), Qt::AlignLeft, second,
                           small, sheet.theme().muted);
            }
        }
    }
    y += layers * rowPitch - gap + 12;
    y += drawColorBar(sheet, {figurePad, y}, inner, commonScale, bar, cut);
    return y + figurePad;
}

} // namespace headscope
