#include "ui/render/axis_labels.h"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>

namespace headscope {
namespace {

QFontMetricsF metricsOf(const QFont& font, const QPaintDevice* device) {
    return device ? QFontMetricsF(font, const_cast<QPaintDevice*>(device)) : QFontMetricsF(font);
}
double heightOf(const QFontMetricsF& m) {
    return m.ascent() + m.descent();
}

// Of all: one that is thinned out may be marked.
double widest(const QStringList& texts, const QFontMetricsF& metrics) {
    double w = 0;
    for (const QString& text : texts)
        w = std::max(w, metrics.horizontalAdvance(text));
    return w;
}

void scaleFont(QFont& font, double factor) {
    font.setPointSizeF(font.pointSizeF() * factor);
}

} // namespace

LabelPlan planLabels(Side side, const QStringList& texts, QFont font, const LabelRoom& room) {
    LabelPlan plan;
    plan.texts = texts;
    if (texts.isEmpty() || room.pitch <= 0) {
        plan.font = font;
        return plan;
    }
    if (side == Side::Top) {
        const QFontMetricsF metrics = metricsOf(font, room.device);
        const double gap = 0.4 * heightOf(metrics);
        const auto fits = [&](const QString& text) { return metrics.horizontalAdvance(text) + gap <= room.pitch; };
        if (std::all_of(texts.begin(), texts.end(), fits)) {
            plan.font = font;
            plan.extent = heightOf(metrics);
            return plan;
        }
        plan.turned = true;
    }
    // Across the axis a label takes its line height: shrink to the pitch, and thin what is still too dense.
    // Heights do not shrink exactly with the size, hence more than one step.
    for (int step = 0; step < 8 && font.pointSizeF() > room.minPoint; ++step) {
        const double wanted = room.pitch / heightOf(metricsOf(font, room.device));
        if (wanted >= 1)
            break;
        scaleFont(font, std::max(wanted * 0.999, room.minPoint / font.pointSizeF()));
    }
    // The box of a line has air above and below its letters.
    constexpr double letters = 0.91;
    plan.step =
        std::max(1, static_cast<int>(std::ceil(letters * heightOf(metricsOf(font, room.device)) / room.pitch - 1e-6)));
    // Along its own direction: shrink a little before eliding.
    const double width = widest(texts, metricsOf(font, room.device));
    if (width > room.maxExtent) {
        const double least = std::min(1.0, room.minPoint / font.pointSizeF());
        scaleFont(font, std::max({room.elides ? 0.75 : 0.5, least, room.maxExtent / width * 0.999}));
    }
    const QFontMetricsF metrics = metricsOf(font, room.device);
    for (QString& text : plan.texts)
        if (room.elides && metrics.horizontalAdvance(text) > room.maxExtent)
            text = metrics.elidedText(text, Qt::ElideMiddle, room.maxExtent);
    plan.extent = widest(plan.texts, metrics);
    plan.font = font;
    return plan;
}

std::vector<PlacedLabel> placeLabels(Side side, const LabelPlan& plan, double edge, double origin, double pitch,
                                     double from, double to, const QPaintDevice* device) {
    std::vector<PlacedLabel> out;
    const QFontMetricsF metrics = metricsOf(plan.font, device);
    const double height = heightOf(metrics);
    const int count = static_cast<int>(plan.texts.size());
    int first = std::clamp(static_cast<int>(std::floor((from - origin) / pitch)), 0, count);
    first = (first + plan.step - 1) / plan.step * plan.step;
    for (int i = first; i < count; i += plan.step) {
        const double centre = origin + (i + 0.5) * pitch;
        if (centre > to)
            break;
        const double width = metrics.horizontalAdvance(plan.texts[i]);
        const double half = side == Side::Top && !plan.turned ? width / 2 : height / 2;
        // A label may stand over its cell by a little: that is never over another label.
        if (centre < from || (origin + i * pitch < from - 0.5 && centre - half < from - 0.5) ||
            (origin + (i + 1) * pitch > to + 0.5 && centre + half > to + 0.5))
            continue;
        QRectF rect;
        if (side == Side::Left)
            rect = QRectF(edge - width, centre - height / 2, width, height);
        else if (plan.turned)
            rect = QRectF(centre - height / 2, edge - width, height, width);
        else
            rect = QRectF(centre - width / 2, edge - height, width, height);
        out.push_back({i, rect});
    }
    return out;
}

} // namespace headscope
