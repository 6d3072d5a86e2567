// Links: a head's weights as lines from queries to keys, as wide as the weight itself: a weight of 1 is half a token's
// row high, whatever else is drawn and however many heads are on. Each of several heads has a lane of its own within
// the row, so that its colour is seen beside the others'. Which links there are, their colours and how one is painted;
// the figure and the links view lay them out. Not here: labels, captions' places.
#pragma once

#include "core/analysis/shown.h"

#include <QColor>
#include <QPainter>
#include <QString>
#include <optional>
#include <vector>

namespace headscope {

struct Link {
    int query = 0, key = 0, head = 0; // places of the shown axes, index into Links::heads
    float weight = 0;
};

struct LinkHead {
    QString name; // "L0 H3", or what was combined
    ShownStage shown;
    std::optional<HeadIndex> head; // nothing: several, combined

    QColor color(bool dark) const; // the head's own; of several a grey
};

struct Links {
    std::vector<LinkHead> heads; // one, or as many as the view picks
    std::vector<Link> drawn;     // strongest first: thin lines are not buried under wide ones
    std::int64_t hidden = 0;     // below the threshold, or not among the strongest

    int queries() const { return heads.front().shown.rows.size(); }
    int keys() const { return heads.front().shown.cols.size(); }
};
// Throws InputError for a stage other than weights: only they say how much of a query goes where.
Links readLinks(const AttentionTrace& trace, const View& view);

// Where the two columns of tokens stand.
struct LinkColumns {
    double x0 = 0, x1 = 0;     // the lines' two ends
    double top0 = 0, top1 = 0; // of the first query and the first key
    double pitch = 0;          // from one token to the next
    int lanes = 1;             // heads beside each other within a row

    QPointF from(int query, int lane) const { return {x0, top0 + (query + 0.5) * pitch + laneOffset(lane)}; }
    QPointF to(int key, int lane) const { return {x1, top1 + (key + 0.5) * pitch + laneOffset(lane)}; }
    double widthOf(double weight) const { return 0.5 * pitch * weight; }
    // From the row's centre; a line of weight 1 in an outer lane just fills the row to its edge.
    double laneOffset(int lane) const { return lanes > 1 ? (lane / (lanes - 1.0) - 0.5) * 0.5 * pitch : 0; }
};
void paintLink(QPainter& painter, const LinkColumns& columns, const Links& links, const Link& link, bool dark);
inline constexpr double linkKeyWeights[] = {0.1, 0.5, 1}; // shown beside the picture as wide as they are drawn

// "line width is the weight itself; weights below 0.05 are left out (311 links not drawn)"
QString linksCaption(const Links& links, const View& view);

} // namespace headscope
