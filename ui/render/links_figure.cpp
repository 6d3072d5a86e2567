// The links figure: queries at the left, keys at the right, a line for each weight, as wide as the weight itself.
#include "ui/render/figure_parts.h"
#include "ui/render/figure_text.h"
#include "ui/render/links_painter.h"

#include <algorithm>

namespace headscope {

double drawLinksFigure(Sheet& sheet, const FigureSource& source, const FigureSpec& spec, double width,
                       std::optional<double> height) {
    const View& view = spec.view;
    const Links links = readLinks(*source.trace, view);
    const std::vector<LinkHead>& heads = links.heads;
    const double inner = width - 2 * figurePad;
    const QFont font = sheet.font();
    const double line = sheet.lineHeight(font);
    double y = figurePad;
    const StageInfo& weights = stageInfo(Stage::Weights);
    const QString heading =
        sitePrefix(*source.trace) + (heads.size() == 1
                                         ? heads.front().name
                                         : FigureText::tr("L%1, %2 heads").arg(view.layer.value).arg(heads.size()));
    y += drawHeading(sheet, {figurePad, y}, inner, spec, heading,
                     QString::fromUtf8(weights.formula.data(), static_cast<qsizetype>(weights.formula.size())), {});
    // The legend of heads, in as many lines as it needs.
    if (heads.size() > 1) {
        double x = figurePad;
        for (std::size_t i = 0; i < heads.size(); ++i) {
            const QString& name = heads[i].name;
            const double w = 14 + sheet.width(name, font) + 14;
            if (x > figurePad && x + w > figurePad + inner) {
                x = figurePad;
                y += line + 3;
            }
            sheet.fill(QRectF(x, y + line / 2 - 4, 8, 8), heads[i].color(spec.dark));
            sheet.text(QRectF(x + 14, y, w - 14, line), Qt::AlignLeft, name, font, sheet.theme().muted);
            x += w;
        }
        y += line + 10;
    }

    QString caption = linksCaption(links, view);
    std::vector<ShownStage> shown;
    for (const LinkHead& h : heads)
        shown.push_back(h.shown);
    if (const QString remark = shownRemark(shown, view.stage, view); !remark.isEmpty())
        caption += QStringLiteral("; ") + remark;

    const int n = links.queries(), m = links.keys(), longer = std::max(n, m);
    // Every token gets a full line up to 64 of them; longer texts share the height of 64, and labels are thinned.
    double pitch = 1.3 * line;
    if (height)
        pitch = std::min(6 * line, (*height - y - 2 * line - 16 - line - 4 - 30 - figurePad) / longer);
    else if (longer > 64)
        pitch = 64 * pitch / longer;
    if (pitch < 0.2)
        refuseSize(spec);
    const QStringList queries = axisLabels(heads.front().shown.rows, font),
                      keys = axisLabels(heads.front().shown.cols, font);
    const LabelRoom room{pitch, 0.32 * inner, leastLabel(sheet, longer), figureDevice(), longer > 64};
    const int markedQuery = view.cell ? heads.front().shown.rows.placeOf(view.cell->row) : -1,
              markedKey = view.cell ? heads.front().shown.cols.placeOf(view.cell->col) : -1;
    const LabelPlan left = planLabels(Side::Left, queries, font, room),
                    right = planLabels(Side::Left, keys, font, room);
    // Steep lines are hard to follow: the taller the columns, the further apart.
    const double span = std::min(inner - left.extent - right.extent - 16, std::max(480.0, 1.6 * longer * pitch));
    if (span < 20)
        refuseSize(spec);
    const double taken = left.extent + 16 + span + right.extent;
    const double x0 = figurePad + (inner - taken) / 2 + left.extent + 8, x1 = x0 + span;

    sheet.text(QRectF(figurePad, y, x0 - figurePad + span * 0.45, line), Qt::AlignLeft, FigureText::tr("queries"), font,
               sheet.theme().muted);
    const QString keyTitle = FigureText::tr("keys (attended to)");
    const double keyWidth = sheet.width(keyTitle, font);
    sheet.text(QRectF(std::min(x1, figurePad + inner - keyWidth), y, keyWidth + 1, line), Qt::AlignLeft, keyTitle, font,
               sheet.theme().muted);
    y += line + 6;
    // The shorter text stands in the middle.
    const double top0 = y + (longer - n) * pitch / 2, top1 = y + (longer - m) * pitch / 2;
    for (const PlacedLabel& label :
         placeLabels(Side::Left, left, x0 - 6, top0, pitch, top0, top0 + n * pitch, figureDevice()))
        sheet.text(label.rect, Qt::AlignLeft, left.texts[label.index], left.font,
                   markedQuery == label.index ? sheet.theme().accent : sheet.theme().text);
    for (const PlacedLabel& label :
         placeLabels(Side::Left, right, x1 + 6 + right.extent, top1, pitch, top1, top1 + m * pitch, figureDevice())) {
        QRectF rect = label.rect;
        rect.moveLeft(x1 + 6);
        sheet.text(rect, Qt::AlignLeft, right.texts[label.index], right.font,
                   markedKey == label.index ? sheet.theme().accent : sheet.theme().text);
    }

    const LinkColumns columns{x0, x1, top0, top1, pitch, static_cast<int>(heads.size())};
    if (sheet.paints())
        for (const Link& link : links.drawn)
            paintLink(*sheet.painter(), columns, links, link, spec.dark);
    y += longer * pitch + 12;
    // What the widths mean.
    double x = figurePad;
    for (const double weight : linkKeyWeights) {
        const QString name = QString::number(weight);
        if (sheet.paints()) {
            sheet.painter()->setPen(QPen(sheet.theme().muted, columns.widthOf(weight), Qt::SolidLine, Qt::FlatCap));
            sheet.painter()->drawLine(QPointF(x, y + line / 2), QPointF(x + 20, y + line / 2));
        }
        sheet.text(QRectF(x + 25, y, 40, line), Qt::AlignLeft, name, font, sheet.theme().text);
        x += 25 + sheet.width(name, font) + 14;
    }
    if (x + sheet.width(caption, font) <= figurePad + inner) {
        sheet.text(QRectF(x, y, inner, line), Qt::AlignLeft, caption, font, sheet.theme().muted);
        y += line;
    } else {
        y += line + 4;
        y += sheet.paragraph({figurePad, y}, inner, caption, font, sheet.theme().muted);
    }
    return y + figurePad;
}

} // namespace headscope
