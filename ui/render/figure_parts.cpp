#include "ui/render/figure_parts.h"

#include "core/model/captured_attention.h"
#include "core/tensor/errors.h"
#include "ui/render/figure_text.h"

#include <algorithm>

namespace headscope {

void checkFigure(const FigureSource& source, const FigureSpec& spec) {
    const AttentionTrace& trace = *source.trace;
    const View& view = spec.view;
    const ModelConfig& config = trace.config();
    if (view.layer.value < 0 || view.layer.value >= static_cast<int>(trace.layers.size()))
        throw InputError("layer " + std::to_string(view.layer.value) + " does not exist: the model has " +
                         std::to_string(trace.layers.size()) + " layer(s), 0 to " +
                         std::to_string(trace.layers.size() - 1));
    if (view.heads.empty())
        throw InputError("no head is chosen: name at least one, from 0 to " + std::to_string(config.heads - 1));
    for (HeadIndex h : view.heads)
        if (h.value < 0 || h.value >= config.heads)
            throw InputError("head " + std::to_string(h.value) + " does not exist: the model has " +
                             std::to_string(config.heads) + " head(s), 0 to " + std::to_string(config.heads - 1));
    if (!stageAvailable(trace, view.stage))
        throw InputError("the stage " + whyNoStage(trace.scenario, view.stage));
    const CapturedAttention* captured = trace.scenario.model->captured();
    if (captured && (view.figure == FigureKind::Walk || view.figure == FigureKind::Stages))
        throw InputError("a figure of kind " + std::string(figureKindName(view.figure)) +
                         " shows how a model computes; " + captured->file + " holds " + captured->stageList() +
                         ": choose heatmap, grid or links");
    const auto sane = [](double mm) { return mm >= 10 && mm <= 5000; };
    if (!sane(spec.widthMm) || (spec.heightMm && !sane(*spec.heightMm)))
        throw InputError("the size of a figure must lie between 10 and 5000 mm");
    if (!(spec.fontSizePt >= 1 && spec.fontSizePt <= 200))
        throw InputError("the font size of a figure must lie between 1 and 200 pt");
    if (spec.dpi < 10 || spec.dpi > 4800)
        throw InputError("the resolution of a figure must lie between 10 and 4800 dpi, not " +
                         std::to_string(spec.dpi));
}

void refuseSize(const FigureSpec& spec) {
    const auto mm = [](double v) { return QString::number(v, 'g', 5).toStdString(); };
    throw FigureTooSmall(
        "the figure of " + mm(spec.widthMm) + (spec.heightMm ? " x " + mm(*spec.heightMm) : std::string()) +
        " mm leaves no room beside its labels in " + mm(spec.fontSizePt) + " pt: make it larger or the font smaller");
}

QString headTitle(LayerIndex layer, HeadIndex head) {
    return QStringLiteral("L%1 H%2").arg(layer.value).arg(head.value);
}

QString sitePrefix(const AttentionTrace& trace) {
    const auto site = trace.config().site;
    if (!site)
        return {};
    switch (*site) {
    case Site::EncoderSelf:
        return FigureText::tr("encoder, self-attention, ");
    case Site::DecoderSelf:
        return FigureText::tr("decoder, self-attention, ");
    case Site::DecoderCross:
        return FigureText::tr("decoder, cross-attention, ");
    }
    return {};
}

QString combinedHeads(const ModelConfig& config, const View& view) {
    const bool isMean = view.combine == Combine::Mean;
    const QString layer = QStringLiteral("L%1 ").arg(view.layer.value);
    if (static_cast<int>(view.heads.size()) == config.heads)
        return layer + (isMean ? FigureText::tr("mean of all %1 heads") : FigureText::tr("maximum of all %1 heads"))
                           .arg(config.heads);
    QStringList numbers;
    for (const HeadIndex head : view.heads)
        numbers << QString::number(head.value);
    return layer + (isMean ? FigureText::tr("mean of heads %1") : FigureText::tr("maximum of heads %1"))
                       .arg(numbers.join(QStringLiteral(", ")));
}

QString headName(const AttentionTrace& trace, LayerIndex layer, HeadIndex head) {
    QString name;
    const auto& names = trace.config().headNames;
    if (static_cast<std::size_t>(head.value) < names.size())
        name = QString::fromStdString(names[static_cast<std::size_t>(head.value)]);
    if (trace.scenario.headIsOff(layer, head))
        name += name.isEmpty() ? FigureText::tr("switched off") : FigureText::tr(" (switched off)");
    return name;
}

QStringList stageLabels(const AttentionTrace& trace, Stage stage, bool rows, int count, const QFont& font) {
    const StageAxis axis = rows ? stageInfo(stage).rows : stageInfo(stage).cols;
    if (axis == StageAxis::Dimensions)
        return dimensionLabels(count);
    const TokenSequence& tokens = axis == StageAxis::QueryTokens ? trace.scenario.query : trace.scenario.keyTokens();
    QStringList out;
    for (const Token& token : tokens.tokens)
        out << displayText(token.text.empty() ? token.piece : token.text, font);
    while (out.size() < count)
        out << QString::number(out.size());
    return out;
}

QString everyTokenRemark(const View& view) {
    const bool asked = view.words || view.special == Special::Hide || view.special == Special::Drop;
    return asked ? FigureText::tr("every token is shown as it is: the products need them all") : QString();
}

QString stageAxisTitle(const AttentionTrace& trace, Stage stage, HeadIndex head, bool rows) {
    const StageInfo& info = stageInfo(stage);
    switch (rows ? info.rows : info.cols) {
    case StageAxis::QueryTokens:
        return FigureText::tr("queries");
    case StageAxis::KeyTokens:
        return isTokenByToken(stage) ? FigureText::tr("keys (attended to)") : FigureText::tr("keys");
    case StageAxis::Dimensions:
        break;
    }
    const ModelConfig& config = trace.config();
    const QString ofKv = FigureText::tr("of %1").arg(kvHeadTitle(config, config.kvHeadOf(head)));
    switch (stage) {
    case Stage::Q:
        return FigureText::tr("d_k of head %1").arg(head.value);
    case Stage::K:
        return QStringLiteral("d_k ") + ofKv;
    case Stage::V:
        return QStringLiteral("d_v ") + ofKv;
    case Stage::HeadOutput:
        return FigureText::tr("d_v of head %1").arg(head.value);
    case Stage::ProjectionQ:
        return FigureText::tr("h × d_k: %1 heads of %2").arg(config.heads).arg(config.dK);
    case Stage::ProjectionK:
        return FigureText::tr("h_kv × d_k: %1 heads of %2").arg(config.kvHeads).arg(config.dK);
    case Stage::ProjectionV:
        return FigureText::tr("h_kv × d_v: %1 heads of %2").arg(config.kvHeads).arg(config.dV);
    case Stage::Concat:
        return FigureText::tr("h × d_v: %1 heads of %2").arg(config.heads).arg(config.dV);
    default:
        return QStringLiteral("d_model");
    }
}

QString shapeText(const Matrix& matrix) {
    return QStringLiteral("%1 × %2").arg(matrix.rows()).arg(matrix.cols());
}

std::vector<int> stageBands(const AttentionTrace& trace, Stage stage, const Matrix& matrix) {
    const ModelConfig& config = trace.config();
    int width = 0;
    if (stage == Stage::ProjectionQ || stage == Stage::ProjectionK)
        width = config.dK;
    else if (stage == Stage::ProjectionV || stage == Stage::Concat)
        width = config.dV;
    std::vector<int> starts;
    for (int c = 0; width > 0 && c < matrix.cols(); c += width)
        starts.push_back(c);
    return starts;
}

bool sharesKeys(const ModelConfig& config) {
    return config.kvHeads != config.heads;
}

QString kvHeadTitle(const ModelConfig& config, int kvHead) {
    if (!sharesKeys(config))
        return FigureText::tr("head %1").arg(kvHead);
    const int each = config.heads / config.kvHeads;
    return FigureText::tr("KV head %1 (heads %2–%3)").arg(kvHead).arg(kvHead * each).arg((kvHead + 1) * each - 1);
}

std::vector<BandHead> bandHeads(const ModelConfig& config, Stage stage, std::size_t count) {
    const bool ofKv = stage == Stage::ProjectionK || stage == Stage::ProjectionV;
    std::vector<BandHead> heads;
    for (std::size_t band = 0; band < count; ++band)
        heads.push_back({static_cast<int>(band), ofKv && sharesKeys(config)});
    return heads;
}

Panel stagePanel(const AttentionTrace& trace, const View& view, Stage stage, const QFont& font) {
    const HeadIndex head = view.heads.front();
    const ShownStage whole = shownStage(trace, view.layer, head, stage, View()); // every token: a chain needs them
    const SharedMatrix matrix = whole.matrix;
    const MatrixView shown[] = {*matrix};
    // A fixed range was meant for the view's own stage.
    RangeSpec range = view.range;
    if (range.kind != RangeSpec::Kind::Auto && stage != view.stage)
        range = {};
    const ResolvedRange resolved = resolveRange(range, view.curve, kindOf(stage), shown);
    Panel panel;
    panel.picture = shownPicture(whole, ColorScale(view.colors, stageInfo(stage).isSigned, resolved.range, view.curve));
    panel.title = QString::fromUtf8(stageInfo(stage).id.data(), static_cast<qsizetype>(stageInfo(stage).id.size()));
    panel.rows = stageLabels(trace, stage, true, matrix->rows(), font);
    panel.cols = stageLabels(trace, stage, false, matrix->cols(), font);
    panel.rowTitle = stageAxisTitle(trace, stage, head, true);
    panel.colTitle = stageAxisTitle(trace, stage, head, false);
    panel.bandStarts = stageBands(trace, stage, *matrix);
    panel.bandHeads = bandHeads(trace.config(), stage, panel.bandStarts.size());
    if (stage == Stage::Weights || stage == Stage::Masked)
        panel.emptyRows = trace.layer(view.layer).emptyRows;
    panel.numbers = view.values;
    panel.elides = true;
    return panel;
}

double drawHeading(Sheet& sheet, QPointF topLeft, double width, const FigureSpec& spec, const QString& bold,
                   const QString& formula, const QString& muted) {
    const FigureTheme& theme = sheet.theme();
    double y = topLeft.y();
    if (!spec.title.isEmpty()) {
        y += sheet.paragraph({topLeft.x(), y}, width, displayText(spec.title.toStdString(), sheet.font()),
                             sheet.font(1.3, true), theme.text);
        y += 4;
    }
    // One line while it fits: bold, formula, remark; whatever does not goes to the next.
    const QFont strong = sheet.font(1, true), plain = sheet.font();
    const double line = sheet.lineHeight(strong), space = 10;
    double x = topLeft.x();
    const auto place = [&](double w) {
        if (x > topLeft.x() && x + w > topLeft.x() + width) {
            x = topLeft.x();
            y += line + 2;
        }
    };
    if (!bold.isEmpty()) {
        const double w = std::min(sheet.width(bold, strong) + 1, width);
        sheet.text(QRectF(x, y, w, line), Qt::AlignLeft, bold, strong, theme.text);
        x += w + space;
    }
    if (!formula.isEmpty()) {
        const double w = sheet.formulaWidth(formula, plain);
        place(w);
        if (w <= width)
            x += sheet.formula({x, y}, formula, plain, theme.text) + space;
        else
            y += sheet.formulaParagraph({x, y}, width, formula, plain, theme.text) + 2;
    }
    if (!muted.isEmpty()) {
        const double w = sheet.width(muted, plain);
        place(w);
        if (x == topLeft.x())
            return y + sheet.paragraph({x, y}, width, muted, plain, theme.muted) - topLeft.y() + 8;
        sheet.text(QRectF(x, y, w + 1, line), Qt::AlignLeft, muted, plain, theme.muted);
    }
    if (bold.isEmpty() && formula.isEmpty() && muted.isEmpty())
        return y - topLeft.y();
    return y + line - topLeft.y() + 8;
}

} // namespace headscope
