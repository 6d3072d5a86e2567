// The links figure: queries at the left, keys at the right, a line for each weight, as wide as the weight itself: a
// weight of 1 is as wide as half a token's row is high, whatever else is drawn and however many heads are on.
#include "ui/render/figure_parts.h"
#include "ui/render/head_colors.h"

#include "core/tensor/errors.h"

#include <QPainterPath>
#include <algorithm>
#include <cmath>

namespace headscope {
namespace {

struct Link {
    int query, key, head;
    float weight;
};

struct LinkHead {
    QString name;
    QColor color;
    Matrix weights;
};

} // namespace

double drawLinksFigure(Sheet& sheet, const FigureSource& source, const FigureSpec& spec, double width,
                       std::optional<double> height) {
    const AttentionTrace& trace = *source.trace;
    const View& view = spec.view;
    if (view.stage != Stage::Weights)
        throw InputError("links are drawn as wide as weights are large, and stage " +
                         std::string(stageInfo(view.stage).id) +
                         " has no such meaning: choose stage weights, or the view heatmap");
    std::vector<LinkHead> heads;
    for (std::size_t i = 0; i < view.heads.size(); ++i) {
        const HeadIndex h = view.heads[i];
        const QString name = headName(trace, view.layer, h);
        heads.push_back({headTitle(view.layer, h) + (name.isEmpty() ? QString() : u' ' + name),
                         headColor(static_cast<int>(i)), *stageMatrix(trace, view.layer, h, Stage::Weights)});
    }
    if (view.combine != Combine::None && heads.size() > 1) {
        Matrix m = heads.front().weights;
        for (std::size_t i = 0; i < m.size(); ++i) {
            double sum = 0;
            float top = 0;
            for (const LinkHead& h : heads) {
                sum += h.weights.values()[i];
                top = std::max(top, h.weights.values()[i]);
            }
            m.values()[i] =
                view.combine == Combine::Mean ? static_cast<float>(sum / static_cast<double>(heads.size())) : top;
        }
        heads = {{QStringLiteral("L%1 %2 of %3 heads")
                      .arg(view.layer.value)
                      .arg(view.combine == Combine::Mean ? QStringLiteral("mean") : QStringLiteral("maximum"))
                      .arg(heads.size()),
                  headColor(0), std::move(m)}};
    }

    std::vector<Link> links;
    std::int64_t hidden = 0;
    for (std::size_t h = 0; h < heads.size(); ++h)
        for (int r = 0; r < heads[h].weights.rows(); ++r) {
            const auto row = heads[h].weights.row(r);
            std::vector<int> keys;
            for (int c = 0; c < heads[h].weights.cols(); ++c)
                if (row[static_cast<std::size_t>(c)] > 0)
                    keys.push_back(c);
            std::stable_sort(keys.begin(), keys.end(), [&](int a, int b) {
                return row[static_cast<std::size_t>(a)] > row[static_cast<std::size_t>(b)];
            });
            for (std::size_t k = 0; k < keys.size(); ++k) {
                const float weight = row[static_cast<std::size_t>(keys[k])];
                if (weight < view.threshold || (view.topK && k >= static_cast<std::size_t>(*view.topK)))
                    ++hidden;
                else
                    links.push_back({r, keys[k], static_cast<int>(h), weight});
            }
        }
    std::stable_sort(links.begin(), links.end(),
                     [](const Link& a, const Link& b) { return a.weight < b.weight; }); // strong ones on top

    const double inner = width - 2 * figurePad;
    const QFont font = sheet.font();
    const double line = sheet.lineHeight(font);
    double y = figurePad;
    const QString heading = heads.size() == 1 ? heads.front().name
                                              : QStringLiteral("L%1, %2 heads").arg(view.layer.value).arg(heads.size());
    y += drawHeading(sheet, {figurePad, y}, inner, spec, heading,
                     QStringLiteral("A = softmax over keys of the masked scores"), {});
    // The legend of heads, in as many lines as it needs.
    if (heads.size() > 1) {
        double x = figurePad;
        for (const LinkHead& h : heads) {
            const double w = 14 + sheet.width(h.name, font) + 14;
            if (x > figurePad && x + w > figurePad + inner) {
                x = figurePad;
                y += line + 3;
            }
            sheet.fill(QRectF(x, y + line / 2 - 4, 8, 8), h.color);
            sheet.text(QRectF(x + 14, y, w - 14, line), Qt::AlignLeft, h.name, font, sheet.theme().muted);
            x += w;
        }
        y += line + 10;
    }

    QString caption = QStringLiteral("line width is the weight itself");
    if (view.threshold > 0)
        caption += QStringLiteral("; weights below %1 are left out").arg(view.threshold);
    if (view.topK)
        caption += QStringLiteral("; the %1 strongest of each query and head").arg(*view.topK);
    if (hidden > 0)
        caption += QStringLiteral(" (%1 links not drawn)").arg(hidden);

    const int n = heads.front().weights.rows(), m = heads.front().weights.cols(), longer = std::max(n, m);
    // Every token gets a full line up to 64 of them; longer texts share the height of 64, and labels are thinned.
    double pitch = 1.3 * line;
    if (height)
        pitch = std::min(6 * line, (*height - y - 2 * line - 16 - line - 4 - 30 - figurePad) / longer);
    else if (longer > 64)
        pitch = 64 * pitch / longer;
    if (pitch < 0.2)
        refuseSize(spec);
    const QStringList queries = stageLabels(trace, Stage::Weights, true, n, font),
                      keys = stageLabels(trace, Stage::Weights, false, m, font);
    const LabelRoom room{pitch, 0.32 * inner, longer <= 64 ? 0.5 : 0.75 * sheet.pointSize(), figureDevice()};
    const LabelPlan left = planLabels(Side::Left, queries, font, room),
                    right = planLabels(Side::Left, keys, font, room);
    // Steep lines are hard to follow: the taller the columns, the further apart.
    const double span = std::min(inner - left.extent - right.extent - 16, std::max(480.0, 1.6 * longer * pitch));
    if (span < 20)
        refuseSize(spec);
    const double x0 = figurePad + left.extent + 8, x1 = x0 + span;

    sheet.text(QRectF(figurePad, y, x0 - figurePad + span * 0.45, line), Qt::AlignLeft, QStringLiteral("queries"), font,
               sheet.theme().muted);
    const QString keyTitle = QStringLiteral("keys (attended to)");
    const double keyWidth = sheet.width(keyTitle, font);
    sheet.text(QRectF(std::min(x1, figurePad + inner - keyWidth), y, keyWidth + 1, line), Qt::AlignLeft, keyTitle, font,
               sheet.theme().muted);
    y += line + 6;
    // The shorter text stands in the middle.
    const double top0 = y + (longer - n) * pitch / 2, top1 = y + (longer - m) * pitch / 2;
    for (const PlacedLabel& label :
         placeLabels(Side::Left, left, x0 - 6, top0, pitch, top0, top0 + n * pitch, figureDevice()))
        sheet.text(label.rect, Qt::AlignLeft, left.texts[label.index], left.font,
                   view.cell && view.cell->row == label.index ? sheet.theme().accent : sheet.theme().text);
    for (const PlacedLabel& label :
         placeLabels(Side::Left, right, x1 + 6 + right.extent, top1, pitch, top1, top1 + m * pitch, figureDevice())) {
        QRectF rect = label.rect;
        rect.moveLeft(x1 + 6);
        sheet.text(rect, Qt::AlignLeft, right.texts[label.index], right.font,
                   view.cell && view.cell->col == label.index ? sheet.theme().accent : sheet.theme().text);
    }

    const double widthOfOne = 0.5 * pitch;
    const auto draw = [&](QPointF from, QPointF to, double lineWidth, QColor color) {
        QPainterPath path(from);
        const double bend = 0.45 * (to.x() - from.x());
        path.cubicTo(from + QPointF(bend, 0), to - QPointF(bend, 0), to);
        color.setAlphaF(heads.size() > 1 ? 0.62F : 0.75F);
        sheet.painter()->setBrush(Qt::NoBrush);
        sheet.painter()->setPen(QPen(color, lineWidth, Qt::SolidLine, Qt::FlatCap));
        sheet.painter()->drawPath(path);
    };
    if (sheet.paints())
        for (const Link& link : links)
            draw({x0, top0 + (link.query + 0.5) * pitch}, {x1, top1 + (link.key + 0.5) * pitch},
                 link.weight * widthOfOne, heads[static_cast<std::size_t>(link.head)].color);
    y += longer * pitch + 12;
    // What the widths mean.
    double x = figurePad;
    for (const double weight : {0.1, 0.5, 1.0}) {
        const QString name = QString::number(weight);
        if (sheet.paints()) {
            sheet.painter()->setPen(QPen(sheet.theme().muted, weight * widthOfOne, Qt::SolidLine, Qt::FlatCap));
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
