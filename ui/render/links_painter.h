// Links: a head's weights as lines from queries to keys, as wide as the weight itself: a weight of 1 is half a token's
// row high, whatever else is drawn and however many heads are on. Which links there are, their colours and how one is
// painted; the figure and the links view lay them out. Not here: labels, captions' places.
#pragma once

#include "core/analysis/shown.h"

#include <QColor>
#include <QPainter>
#include <QString>
#include <vector>

namespace headscope {

struct Link {
    int query = 0, key = 0, head = 0; // places of the shown axes, index into Links::heads
    float weight = 0;
};

struct LinkHead {
    QString name; // "L0 H3", or what was combined
    ShownStage shown;
};

struct Links {
    std::vector<LinkHead> heads; // one, or as many as the view picks
    std::vector<Link> drawn;     // weakest first, so that strong ones lie on top
    std::int64_t hidden = 0;     // below the threshold, or not among the strongest

    int queries() const { return heads.front().shown.rows.size(); }
    int keys() const { return heads.front().shown.cols.size(); }
};
// Throws InputError for a stage other than weights: only they say how much of a query goes where.
Links readLinks(const AttentionTrace& trace, const View& view);

// headColor, lighter where it would vanish on a dark ground.
QColor linkColor(int head, bool dark);

// Where the two columns of tokens stand.
struct LinkColumns {
    double x0 = 0, x1 = 0;     // the lines' two ends
    double top0 = 0, top1 = 0; // of the first query and the first key
    double pitch = 0;          // from one token to the next

    QPointF from(int query) const { return {x0, top0 + (query + 0.5) * pitch}; }
    QPointF to(int key) const { return {x1, top1 + (key + 0.5) * pitch}; }
    double widthOf(double weight) const { return 0.5 * pitch * weight; }
};
void paintLink(QPainter& painter, const LinkColumns& columns, const Link& link, QColor color, double opacity);

// "line width is the weight itself; weights below 0.05 are left out (311 links not drawn)"
QString linksCaption(const Links& links, const View& view);

} // namespace headscope
