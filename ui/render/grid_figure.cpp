// The grid figure: the heads of every layer as thumbnails, layers down, heads across. Of several picked heads those
// alone; one picked head is no grid, so it means all.
#include "ui/render/figure_parts.h"

#include "core/tensor/errors.h"
#include "ui/render/figure_text.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headscope {

// "H11" over the columns and "L5" beside the lines: shrunk with the thumbnails, thinned when even that is too dense.
// topLeft: where the grid would begin without them; left: their room beside it. Returns where it begins now.
static double drawGridLabels(Sheet& sheet, QPointF topLeft, QSizeF pitch, double gap, int layers,
                             const std::vector<HeadIndex>& heads, double left) {
    QStringList headLabels, layerLabels;
    for (const HeadIndex head : heads)
        headLabels << QStringLiteral("H%1").arg(head.value);
    for (int l = 0; l < layers; ++l)
        layerLabels << QStringLiteral("L%1").arg(l);
    const double smallest = std::max(0.6 * sheet.pointSize(), leastLabel(sheet, 1));
    const LabelPlan top =
        planLabels(Side::Top, headLabels, sheet.font(), {pitch.width(), 60, smallest, figureDevice()});
    const LabelPlan side =
        planLabels(Side::Left, layerLabels, sheet.font(), {pitch.height(), left, smallest, figureDevice()});
    const double y = topLeft.y() + top.extent + 4;
    for (const PlacedLabel& label :
         placeLabels(Side::Top, top, y - 4, topLeft.x() - gap / 2, pitch.width(), 0,
                     topLeft.x() + static_cast<double>(heads.size()) * pitch.width(), figureDevice()))
        top.turned ? sheet.textUp(label.rect, Qt::AlignLeft, top.texts[label.index], top.font, sheet.theme().muted)
                   : sheet.text(label.rect, Qt::AlignLeft, top.texts[label.index], top.font, sheet.theme().muted);
    for (int l = 0; l < layers; l += side.step)
        sheet.text(QRectF(topLeft.x() - left, y + l * pitch.height(), left - 8, pitch.width() - gap),
                   Qt::AlignRight | Qt::AlignVCenter, layerLabels[l], side.font, sheet.theme().muted);
    return y;
}

// The name of a head under its thumbnail, on two lines; what does not fit is elided.
static void drawHeadCaption(Sheet& sheet, const QRectF& area, double gap, const QString& name, const QFont& font) {
    if (name.isEmpty())
        return;
    QString first = name, second;
    if (sheet.width(name, font) > area.width() && name.contains(u' ')) {
        first = name.section(u' ', 0, 0);
        second = name.section(u' ', 1);
    }
    const double line = 1.1 * sheet.lineHeight(font), width = area.width() + gap - 1;
    sheet.text(QRectF(area.left(), area.bottom() + 2, width, line), Qt::AlignLeft, first, font, sheet.theme().muted);
    sheet.text(QRectF(area.left(), area.bottom() + 2 + line, width, line), Qt::AlignLeft, second, font,
               sheet.theme().muted);
}

static std::vector<HeadIndex> gridHeads(const AttentionTrace& trace, const View& view) {
    if (view.heads.size() > 1)
        return view.heads;
    std::vector<HeadIndex> all;
    for (int h = 0; h < trace.config().heads; ++h)
        all.emplace_back(h);
    return all;
}

// A map of at most `most` rows and columns: of each block of cells the one of the largest magnitude. Rows and columns
// keep their names, so that it is known how many there were.
static ShownStage pooledMap(const ShownStage& whole, int most) {
    const Matrix& all = *whole.matrix;
    const int rows = std::min(all.rows(), most), cols = std::min(all.cols(), most);
    ShownStage out{nullptr, whole.rows, whole.cols, {}, whole.removed, {}};
    Matrix pooled(rows, cols, -std::numeric_limits<float>::infinity());
    std::vector<bool> closed(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols), true);
    const auto placeOf = [](int index, int count, int places) {
        return static_cast<int>(static_cast<std::int64_t>(index) * places / count);
    };
    std::vector<int> columnOf;
    for (int c = 0; c < all.cols(); ++c)
        columnOf.push_back(placeOf(c, all.cols(), cols));
    for (int r = 0; r < all.rows(); ++r) {
        const int row = placeOf(r, all.rows(), rows);
        for (int c = 0; c < all.cols(); ++c) {
            const int col = columnOf[static_cast<std::size_t>(c)];
            const float value = all(r, c);
            if (whole.cellIsClosed(r, c))
                continue;
            closed[static_cast<std::size_t>(row) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(col)] =
                false;
            float& present = pooled(row, col);
            if (!std::isfinite(present) || std::abs(value) > std::abs(present))
                present = value;
        }
    }
    out.matrix = share(std::move(pooled));
    if (std::ranges::find(closed, true) != closed.end())
        out.closed = std::move(closed);
    return out;
}

// The maps of the grid, kept for the next pass over the same figure. Maps of a long text are pooled one by one:
// together they would not fit in memory.
static const std::vector<ShownStage>& mapsOf(const FigureSource& source, const View& view,
                                             const std::vector<HeadIndex>& picked) {
    constexpr std::size_t large = 1 << 18; // cells
    constexpr int mostPooled = 256;
    GridMaps& grid = *source.grid;
    if (grid.view == view)
        return grid.maps;
    grid.view.reset();
    grid.maps.clear();
    for (int l = 0; l < static_cast<int>(source.trace->layers.size()); ++l)
        for (const HeadIndex head : picked) {
            if (source.stop.stop_requested())
                throw Cancelled();
            ShownStage map = shownStage(*source.trace, LayerIndex{l}, head, view.stage, view);
            grid.maps.push_back(map.matrix->size() > large ? pooledMap(map, mostPooled) : std::move(map));
        }
    grid.view = view;
    return grid.maps;
}

static QString gridTitle(const AttentionTrace& trace, int heads) {
    const QString site = sitePrefix(trace);
    if (heads < trace.config().heads)
        return site + FigureText::tr("%1 heads").arg(heads);
    return site.isEmpty() ? FigureText::tr("All heads") : site + FigureText::tr("all heads");
}

static QString axisName(StageAxis axis) {
    return axis == StageAxis::QueryTokens ? FigureText::tr("queries")
           : axis == StageAxis::KeyTokens ? FigureText::tr("keys")
                                          : FigureText::tr("dimensions");
}

double drawGridFigure(Sheet& sheet, const FigureSource& source, const FigureSpec& spec, double width,
                      std::optional<double> height) {
    const AttentionTrace& trace = *source.trace;
    const View& view = spec.view;
    const StageInfo& info = stageInfo(view.stage);
    const QString id = QString::fromUtf8(info.id.data(), static_cast<qsizetype>(info.id.size()));
    if (info.scope == StageScope::AllHeads)
        throw InputError("a grid shows one picture per head, and stage " + std::string(info.id) +
                         " is one matrix of all heads: choose a stage of one head, such as weights, or another view");
    const std::vector<HeadIndex> picked = gridHeads(trace, view);
    const int layers = static_cast<int>(trace.layers.size()), heads = static_cast<int>(picked.size());
    const ValueKind kind = kindOf(view.stage);

    const std::lock_guard lock(source.grid->mutex);
    const std::vector<ShownStage>& shown = mapsOf(source, view, picked); // layer by layer
    const bool pooled = shown.front().matrix->rows() < shown.front().rows.size();
    // `head`, which auto means for all but weights, is each thumbnail's own range.
    const bool ownRanges =
        view.range.kind == RangeSpec::Kind::Head || (view.range.kind == RangeSpec::Kind::Auto && !kind.isWeights);
    const ResolvedRange common = shownRange(view, view.stage, shown, shown);
    const ColorScale commonScale(view.colors, kind.isSigned, common.range, view.curve);

    const double inner = width - 2 * figurePad, line = sheet.lineHeight(sheet.font());
    double y = figurePad;
    const QString remark =
        FigureText::tr("%1, %2 layer%3 × %4 head%5, each %6")
            .arg(id)
            .arg(layers)
            .arg(layers == 1 ? QString() : QStringLiteral("s"))
            .arg(heads)
            .arg(heads == 1 ? QString() : QStringLiteral("s"),
                 QStringLiteral("%1 × %2").arg(shown.front().rows.size()).arg(shown.front().cols.size())) +
        FigureText::tr("; rows: %1, columns: %2").arg(axisName(info.rows), axisName(info.cols));
    y += drawHeading(sheet, {figurePad, y}, inner, spec, gridTitle(trace, heads),
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
                 ? QString(common.caption).replace(FigureText::tr("of the layer"), FigureText::tr("of the figure"))
                 : common.caption),
        {},
        {}};
    if (ownRanges)
        bar = {id + (kind.isSigned ? FigureText::tr(", each head: plus or minus its own largest magnitude")
                                   : FigureText::tr(", each head: its own smallest to largest value")),
               kind.isSigned ? FigureText::tr("−max") : FigureText::tr("min"), FigureText::tr("max")};
    else if (!pooled) // of pooled cells nobody would know how many numbers they stand for
        for (const ShownStage& stage : shown)
            cut += countCut(*shownPicture(stage, commonScale));
    Sheet measure(nullptr, spec.dark, sheet.pointSize());
    const double barHeight = drawColorBar(measure, {0, 0}, inner, commonScale, bar, cut);

    QString note = shownRemark(shown, view.stage, view);
    if (pooled)
        note = QStringLiteral("Each point is the largest of its block of cells. ") + note;
    const double noteHeight =
        note.isEmpty() ? 0 : 4 + measure.paragraph({0, 0}, inner, note, measure.font(), measure.theme().muted);

    // A line of the grid is a layer; the heads of a single layer fill as many lines as makes them largest.
    const bool wrapped = layers == 1;
    const double caption = wrapped ? std::max(nameHeight, line + 3) : nameHeight;
    const double below = 12 + barHeight + noteHeight + figurePad;
    const auto sideFor = [&](int columns) {
        const int lines = wrapped ? (heads + columns - 1) / columns : layers;
        const double labels = wrapped ? 0 : left;
        double side = (inner - labels - (columns - 1) * gap) / columns;
        side = std::min(side, wrapped ? 240.0 : 120.0);
        if (height)
            side = std::min(side, (*height - y - (wrapped ? 0 : line + 4) - below - lines * (gap + caption)) / lines);
        return side;
    };
    int columns = heads;
    if (wrapped) // without a height: about as high as wide
        for (int c = heads - 1; c >= 1; --c)
            if ((height && sideFor(c) > sideFor(columns) + 0.5) || (!height && 2 * c >= 3 * ((heads + c - 1) / c)))
                columns = c;
    const double side = sideFor(columns);
    if (side < 3)
        refuseSize(spec);
    const double pitch = side + gap, rowPitch = side + gap + caption, labelRoom = wrapped ? 0 : left;
    const double start = figurePad + std::max(0.0, (inner - labelRoom - columns * pitch + gap) / 2); // centred
    if (!wrapped)
        y = drawGridLabels(sheet, {start + left, y}, {pitch, rowPitch}, gap, layers, picked, left);
    for (int i = 0; i < layers * heads; ++i) {
        const int l = i / heads, place = i % heads;
        const int row = wrapped ? place / columns : l, column = wrapped ? place % columns : place;
        const HeadIndex head = picked[static_cast<std::size_t>(place)];
        const ShownStage& stage = shown[static_cast<std::size_t>(i)];
        ColorScale scale = commonScale;
        if (ownRanges) {
            View own = view;
            own.range = {RangeSpec::Kind::Head};
            scale =
                ColorScale(view.colors, kind.isSigned, shownRange(own, view.stage, {&stage, 1}, {}).range, view.curve);
        }
        const QRectF area(start + labelRoom + column * pitch, y + row * rowPitch, side, side);
        sheet.cells(shownPicture(stage, scale), area, std::nullopt, 131072 / (layers * heads));
        sheet.frame(area, sheet.theme().line, 0.4);
        QString name = headName(trace, LayerIndex{l}, head);
        if (wrapped)
            name = QStringLiteral("H%1 ").arg(head.value) + name;
        drawHeadCaption(sheet, area, gap, name.trimmed(), named ? small : sheet.font());
    }
    const int lines = wrapped ? (heads + columns - 1) / columns : layers;
    y += lines * rowPitch - gap + 12;
    y += drawColorBar(sheet, {figurePad, y}, inner, commonScale, bar, cut);
    if (!note.isEmpty())
        y += 4 + sheet.paragraph({figurePad, y + 4}, inner, note, sheet.font(), sheet.theme().muted);
    return y + figurePad;
}

} // namespace headscope
