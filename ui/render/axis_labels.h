// The labels along the two sides of a matrix: how large, how many, flat or turned, and where. One logic for figures and
// for the interactive view. Not here: titles, painting of cells.
#pragma once

#include <QFont>
#include <QPaintDevice>
#include <QRectF>
#include <QStringList>
#include <vector>

namespace headscope {

enum class Side { Left, Top };

struct LabelRoom {
    double pitch = 0;                     // of one cell along the axis
    double maxExtent = 0;                 // away from the cells; longer labels are elided in the middle
    double minPoint = 0;                  // labels shrink down to this before they are thinned
    const QPaintDevice* device = nullptr; // where text is measured; null: the screen
    bool elides = true;                   // false: labels shrink to half their size, and then take what they need
};

struct LabelPlan {
    QFont font;
    QStringList texts;   // as shown, one per cell
    int step = 1;        // every step-th label is shown
    bool turned = false; // Top only: reading upwards
    double extent = 0;   // room needed away from the cells, without a gap
};

// Labels of one axis. Flat labels on top only where all of them fit beside each other.
LabelPlan planLabels(Side side, const QStringList& texts, QFont font, const LabelRoom& room);

struct PlacedLabel {
    int index = 0;
    QRectF rect; // where its text lies, aligned towards the cells
};
// edge: the x (Left) or y (Top) that labels end at; origin: where cell 0 begins along the axis; only labels whose whole
// text lies within [from, to] along the axis.
std::vector<PlacedLabel> placeLabels(Side side, const LabelPlan& plan, double edge, double origin, double pitch,
                                     double from, double to, const QPaintDevice* device);

} // namespace headscope
