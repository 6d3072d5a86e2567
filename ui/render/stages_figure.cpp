// The stages figure: one head's chain as one picture, in reading order: what goes in, how the weights come about, what
// comes out. Every block has its own range, and says it.
#include "ui/render/figure_parts.h"
#include "ui/render/figure_text.h"

#include <algorithm>
#include <cmath>

namespace headscope {
namespace {

struct Block {
    Panel panel;
    Stage stage;
    double share = 1;      // of the row's width
    bool rowLabels = true; // the first block of a line, and where the row's tokens change
};
using Line = std::vector<Block>;
constexpr std::size_t tokenLine = 2; // the line of token by token stages

constexpr double percentile = 99;

// One dimension of some models is ten times all others: a range that reaches to it shows nothing else.
void endAtPercentile(Panel& panel, const AttentionTrace& trace, const View& view, Stage stage, const QFont& font) {
    if (view.range.kind != RangeSpec::Kind::Auto || view.curve.kind != Curve::Kind::Linear)
        return;
    View cut = view;
    cut.curve = {Curve::Kind::Percentile, percentile};
    Panel other = stagePanel(trace, cut, stage, font);
    if (panel.picture->scale().range().hi > 3 * other.picture->scale().range().hi)
        panel = std::move(other);
}

std::vector<Line> readLines(const AttentionTrace& trace, const View& view, const QFont& font) {
    const auto block = [&](Stage stage, double share) {
        Block b{stagePanel(trace, view, stage, font), stage, share};
        if (stage == Stage::Embedding || stage == Stage::EmbeddingKey)
            endAtPercentile(b.panel, trace, view, stage, font);
        b.panel.rowTitle.clear();
        b.panel.colTitle.clear();
        b.panel.title.clear();
        if (!isTokenByToken(stage))
            b.panel.cols.clear(); // dimension numbers say nothing here
        b.panel.emptyRows.clear();
        return b;
    };
    const bool cross = stageAvailable(trace, Stage::EmbeddingKey);
    std::vector<Line> lines(4);
    lines[0].push_back(block(Stage::Embedding, 1));
    lines[0].push_back(block(Stage::ProjectionQ, 1.2));
    if (cross)
        lines[0].push_back(block(Stage::EmbeddingKey, 1));
    lines[0].push_back(block(Stage::ProjectionK, 1.2));
    lines[0].push_back(block(Stage::ProjectionV, 1.2));
    for (Stage s : {Stage::Q, Stage::K, Stage::V})
        lines[1].push_back(block(s, 1));
    for (Stage s : {Stage::Scores, Stage::Scaled, Stage::Masked, Stage::Weights})
        lines[tokenLine].push_back(block(s, 1));
    for (Stage s : {Stage::HeadOutput, Stage::Concat, Stage::Contribution})
        if (stageAvailable(trace, s))
            lines[3].push_back(block(s, s == Stage::HeadOutput ? 1 : 1.6));
    for (Line& line : lines)
        for (std::size_t i = 1; i < line.size(); ++i)
            line[i].rowLabels = stageInfo(line[i].stage).rows != stageInfo(line[i - 1].stage).rows && cross;
    return lines;
}

// As a formula.
QString sizesText(const AttentionTrace& trace) {
    const ModelConfig& config = trace.config();
    return FigureText::tr("n = %1 queries, m = %2 keys, d_model = %3, d_k = %4, d_v = %5")
        .arg(trace.scenario.queries())
        .arg(trace.scenario.keys())
        .arg(config.dModel)
        .arg(config.dK)
        .arg(config.dV);
}

// What else holds for the blocks.
QString stagesRemark(const AttentionTrace& trace, const View& view, const Panel& embedding) {
    const ModelConfig& config = trace.config();
    QStringList parts;
    if (sharesKeys(config))
        parts << FigureText::tr("K and V of %1").arg(kvHeadTitle(config, config.kvHeadOf(view.heads.front())));
    const CutCount cut = countCut(*embedding.picture);
    if (view.curve.kind == Curve::Kind::Linear && view.range.kind == RangeSpec::Kind::Auto && cut.below + cut.above > 0)
        parts << FigureText::tr("the colours of X end at percentile %1: %2 numbers lie beyond")
                     .arg(percentile)
                     .arg(cut.below + cut.above);
    if (const QString remark = everyTokenRemark(view); !remark.isEmpty())
        parts << remark;
    return parts.join(QStringLiteral("; "));
}

} // namespace

double drawStagesFigure(Sheet& sheet, const FigureSource& source, const FigureSpec& spec, double width,
                        std::optional<double> height) {
    const AttentionTrace& trace = *source.trace;
    const View& view = spec.view;
    const HeadIndex head = view.heads.front();
    std::vector<Line> lines = readLines(trace, view, sheet.font());
    const double inner = width - 2 * figurePad, arrow = 24;
    const QFont font = sheet.font(), bold = sheet.font(1, true), small = sheet.font(0.8);
    const double text = sheet.lineHeight(font), smallText = sheet.lineHeight(small);

    double y = figurePad;
    y += drawHeading(sheet, {figurePad, y}, inner, spec,
                     sitePrefix(trace) + headTitle(view.layer, head) + u' ' + headName(trace, view.layer, head),
                     sizesText(trace), stagesRemark(trace, view, lines[0][0].panel));

    // Labels of rows take the same room in all lines, so that first blocks stand below each other.
    const double maxLabel = 0.16 * inner;
    const int n = trace.scenario.queries(), m = trace.scenario.keys(), longer = std::max(n, m);
    double pitch = std::min(1.4 * text, 0.8 * inner / 4 / n); // squarish scores
    pitch = std::max(pitch, std::min(2.0, 1.2 * inner / (3.0 * longer)));
    const double header = 2 * text + 12, footer = 4 + smallText + 16;
    double left = 0, colLabels = 0;
    const auto measure = [&] {
        left = colLabels = 0;
        for (const Line& line : lines)
            left = std::max(
                left, roomFor(sheet, line[0].panel, {20, pitch}, {maxLabel, maxLabel}, {false, true, false}).left);
        const double block = (inner - left - 3 * arrow) / 4;
        colLabels =
            roomFor(sheet, lines[tokenLine][0].panel, {block / m, pitch}, {maxLabel, maxLabel}, {false, false, true})
                .top;
    };
    measure();
    if (height) {
        const double fixed = y + static_cast<double>(lines.size()) * (header + footer) + colLabels + figurePad;
        const double rows = 2.0 * longer + 2.0 * n;
        pitch = std::max(std::min(2 * text, (*height - fixed) / rows), spec.leastRow);
        if (pitch <= 0.2)
            refuseSize(spec);
        if (pitch < 0.4 * text) // specks instead of words
            for (Line& line : lines)
                for (Block& block : line)
                    block.panel.rows.clear();
        measure();
    }
    for (const Line& line : lines) {
        double shares = 0, labels = 0;
        for (std::size_t i = 0; i < line.size(); ++i) {
            shares += line[i].share;
            if (i > 0 && line[i].rowLabels)
                labels += left;
        }
        // Lines of few blocks keep the measure of the others, or theirs would be swollen.
        shares = std::max(shares, &line == &lines[tokenLine] ? 4.0 : 4.2);
        const double unit = (inner - left - labels - arrow * (static_cast<double>(line.size()) - 1)) / shares;
        if (unit < 12)
            refuseSize(spec);
        const bool tokens = &line == &lines[tokenLine];
        const double cellsTop = y + header + (tokens ? colLabels : 0);
        double x = figurePad, most = 0;
        for (std::size_t i = 0; i < line.size(); ++i) {
            const Block& block = line[i];
            if (i > 0) {
                // An arrow where one thing becomes the next; Q, K and V stand side by side.
                const StageInfo &before = stageInfo(line[i - 1].stage), &now = stageInfo(block.stage);
                const bool follows = before.step < now.step;
                const double middle = cellsTop + pitch * std::min(n, 6) / 2.0;
                if (follows)
                    sheet.arrow({x + 5, middle}, {x + arrow - 7, middle}, sheet.theme().muted);
                x += arrow;
            }
            if (block.rowLabels)
                x += left;
            const StageInfo& info = stageInfo(block.stage);
            const double w = unit * block.share;
            const QSizeF cell(w / block.panel.colCount(), pitch);
            const QString step = QStringLiteral("%1 %2").arg(info.step).arg(
                QString::fromUtf8(info.stepName.data(), static_cast<qsizetype>(info.stepName.size())));
            const QString symbol = QString::fromStdString(inScenario(info.symbol, trace.scenario));
            if (sheet.formulaWidth(step, bold) > w + arrow - 4)
                refuseSize(spec);                   // a step without its name says nothing
            const double right = figurePad + inner; // the last of a line begins earlier where it needs more room
            sheet.formula({std::min(x, right - sheet.formulaWidth(step, bold)), y}, step, bold, sheet.theme().text);
            const QString shape = shapeText(block.panel.picture->matrix());
            const double symbolWidth = sheet.formulaWidth(symbol, font);
            if (symbolWidth <= w + arrow - 4)
                sheet.formula({std::min(x, right - symbolWidth), y + text + 2}, symbol, font, sheet.theme().text);
            if (symbolWidth + 8 + sheet.width(shape, small) <= w)
                sheet.text(QRectF(x, y + text + 2, w, text), Qt::AlignRight | Qt::AlignVCenter, shape, small,
                           sheet.theme().muted);
            const PanelShows shows{false, block.rowLabels, tokens};
            Panel panel = block.panel;
            if (view.cell && isTokenByToken(block.stage) && view.cell->row < n && view.cell->col < m) {
                panel.markedRow = view.cell->row;
                panel.markedCol = view.cell->col;
            }
            const PanelRoom room = roomFor(sheet, panel, cell, {maxLabel, maxLabel}, shows);
            drawPanel(sheet, panel, {x, cellsTop}, cell, room, shows);
            const double bottom = cellsTop + pitch * panel.rowCount();
            drawSmallBar(sheet, {x, bottom + 4}, w, panel.picture->scale(), countCut(*panel.picture));
            most = std::max(most, bottom);
            x += w;
        }
        y = most + footer;
    }
    return y - 16 + figurePad;
}

} // namespace headscope
