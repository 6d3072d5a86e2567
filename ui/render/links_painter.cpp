#include "ui/render/links_painter.h"

#include "core/tensor/errors.h"
#include "ui/render/figure_parts.h"
#include "ui/render/figure_text.h"
#include "ui/render/head_colors.h"

#include <QPainterPath>
#include <algorithm>
#include <functional>

namespace headscope {

QColor LinkHead::color(bool dark) const {
    return head ? headColor(head->value, dark) : sharedHeadColor(0, dark);
}

static std::vector<LinkHead> readHeads(const AttentionTrace& trace, const View& view) {
    std::vector<LinkHead> heads;
    if (view.combine != Combine::None && view.heads.size() > 1) {
        heads.push_back({combinedHeads(trace.config(), view), shownHeads(trace, view), std::nullopt});
        return heads;
    }
    for (const HeadIndex h : view.heads) {
        const QString name = headName(trace, view.layer, h);
        heads.push_back({headTitle(view.layer, h) + (name.isEmpty() ? QString() : u' ' + name),
                         shownStage(trace, view.layer, h, Stage::Weights, view), h});
    }
    return heads;
}

// The keys that a query gives any weight to, the strongest first.
static std::vector<int> strongestKeys(std::span<const float> row) {
    std::vector<int> keys;
    for (std::size_t c = 0; c < row.size(); ++c)
        if (row[c] > 0)
            keys.push_back(static_cast<int>(c));
    std::ranges::stable_sort(keys, std::greater<>(), [&](int c) { return row[static_cast<std::size_t>(c)]; });
    return keys;
}

static constexpr std::size_t mostLinks = 300'000; // all of two heads at 384 tokens

Links readLinks(const AttentionTrace& trace, const View& view) {
    if (view.stage != Stage::Weights)
        throw InputError("links are drawn as wide as weights are large, and stage " +
                         std::string(stageInfo(view.stage).id) +
                         " has no such meaning: choose stage weights, or the view heatmap");
    Links links;
    links.heads = readHeads(trace, view);
    for (std::size_t h = 0; h < links.heads.size(); ++h) {
        const Matrix& weights = *links.heads[h].shown.matrix;
        for (int r = 0; r < weights.rows(); ++r) {
            int place = 0;
            if (links.drawn.size() > mostLinks)
                throw InputError("this text has more links than can be told apart (over " + std::to_string(mostLinks) +
                                 "): show only the strongest of each query (top K), raise the threshold, or look at "
                                 "the heatmap");
            for (const int key : strongestKeys(weights.row(r))) {
                if (weights(r, key) < view.threshold || (view.topK && place >= *view.topK))
                    ++links.hidden;
                else
                    links.drawn.push_back({r, key, static_cast<int>(h), weights(r, key)});
                ++place;
            }
        }
    }
    std::ranges::stable_sort(links.drawn, std::greater<>(), &Link::weight);
    return links;
}

void paintLink(QPainter& painter, const LinkColumns& columns, const Links& links, const Link& link, bool dark) {
    const QPointF from = columns.from(link.query, link.head), to = columns.to(link.key, link.head);
    const double bend = 0.45 * (to.x() - from.x());
    QPainterPath path(from);
    path.cubicTo(from + QPointF(bend, 0), to - QPointF(bend, 0), to);
    QColor color = links.heads[static_cast<std::size_t>(link.head)].color(dark);
    color.setAlphaF(links.heads.size() > 1 ? 0.95F : 0.75F); // colours of several heads must not mix
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(color, columns.widthOf(static_cast<double>(link.weight)), Qt::SolidLine, Qt::FlatCap));
    painter.drawPath(path);
}

QString linksCaption(const Links& links, const View& view) {
    QString caption = FigureText::tr("line width is the weight itself");
    if (view.threshold > 0)
        caption += FigureText::tr("; weights below %1 are left out").arg(view.threshold);
    if (view.topK)
        caption += FigureText::tr("; the %1 strongest of each query and head").arg(*view.topK);
    if (links.hidden > 0)
        caption += FigureText::tr(" (%1 links not drawn)").arg(links.hidden);
    return caption;
}

} // namespace headscope
