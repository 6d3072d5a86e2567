#include "ui/render/matrix_painter.h"

#include "core/analysis/extent.h"

#include <QFontMetricsF>
#include <QPaintEngine>
#include <QPainterPath>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace headscope {
namespace {

using Code = ColorScale::Code;

enum class Device { Raster, Pdf, Svg };

Device deviceOf(const QPainter& painter) {
    switch (painter.paintEngine() ? painter.paintEngine()->type() : QPaintEngine::Raster) {
    case QPaintEngine::Pdf:
    case QPaintEngine::Picture:
        return Device::Pdf;
    case QPaintEngine::SVG:
        return Device::Svg;
    default:
        return Device::Raster;
    }
}

// The cells that the clip touches: rows [r0, r1), columns [c0, c1).
struct Window {
    int r0, r1, c0, c1;
    bool empty() const { return r0 >= r1 || c0 >= c1; }
};

Window visibleCells(const CellPicture& picture, const QRectF& area, const QRectF& clip) {
    const int rows = picture.matrix().rows(), cols = picture.matrix().cols();
    const auto index = [](double position, double origin, double extent, int count, bool up) {
        const double at = (position - origin) / extent * count;
        return std::clamp(static_cast<int>(up ? std::ceil(at - 1e-9) : std::floor(at + 1e-9)), 0, count);
    };
    return {index(clip.top(), area.top(), area.height(), rows, false),
            index(clip.bottom(), area.top(), area.height(), rows, true),
            index(clip.left(), area.left(), area.width(), cols, false),
            index(clip.right(), area.left(), area.width(), cols, true)};
}

// Pixels: one colour for each device pixel of the visible part, laid on the device without resampling.
void paintRaster(QPainter& painter, const CellPicture& picture, const QRectF& area, const QRectF& visible,
                 const CellStyle& style) {
    const QTransform toDevice = painter.deviceTransform();
    const QRectF deviceArea = toDevice.mapRect(area), deviceVisible = toDevice.mapRect(visible);
    const int left = static_cast<int>(std::lround(deviceVisible.left())),
              top = static_cast<int>(std::lround(deviceVisible.top()));
    const int width = std::max(1, static_cast<int>(std::lround(deviceVisible.right())) - left);
    const int height = std::max(1, static_cast<int>(std::lround(deviceVisible.bottom())) - top);
    const PixelCells xs = cellsPerPixel(width, picture.matrix().cols(), deviceArea.left() - left,
                                        deviceArea.width() / picture.matrix().cols());
    const PixelCells ys = cellsPerPixel(height, picture.matrix().rows(), deviceArea.top() - top,
                                        deviceArea.height() / picture.matrix().rows());
    const std::vector<Code> codes = picture.pyramid().pooled(ys, xs);

    QImage image(width, height, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    // Hatching is a pattern of the device's pixels, so that it runs through neighbouring closed cells: about 5 units
    // apart.
    const double unit = std::hypot(toDevice.m11(), toDevice.m12());
    const int period = std::max(4, static_cast<int>(std::lround(5 * unit))),
              thick = std::max(1, static_cast<int>(std::lround(unit)));
    const QRgb ground = qPremultiply(style.hatchGround.rgba()), line = qPremultiply(style.hatchLine.rgba());
    for (int y = 0; y < height; ++y) {
        if (ys.first[static_cast<std::size_t>(y)] > ys.last[static_cast<std::size_t>(y)])
            continue;
        auto* out = reinterpret_cast<QRgb*>(image.scanLine(y));
        const Code* in = codes.data() + static_cast<std::ptrdiff_t>(y) * width;
        for (int x = 0; x < width; ++x) {
            if (in[x] != ColorScale::masked)
                out[x] = picture.scale().colorOf(in[x]);
            else if (xs.first[static_cast<std::size_t>(x)] <= xs.last[static_cast<std::size_t>(x)])
                out[x] = (x + y + left + top) % period < thick ? line : ground;
        }
    }
    painter.save();
    // Device pixels as coordinates: the transform that leads to a pure translation on the device.
    painter.setWorldTransform(QTransform::fromTranslate(left, top) * toDevice.inverted() * painter.worldTransform());
    painter.setRenderHint(QPainter::SmoothPixmapTransform, false);
    painter.drawImage(QPointF(0, 0), image);
    painter.restore();
}

// Closed cells on vector devices: a ground and diagonal lines x + y = k * period, cut to the rectangle by hand, so that
// they run through neighbouring rectangles.
void addHatching(std::vector<QLineF>& lines, const QRectF& r) {
    constexpr double period = 5;
    for (double k = std::ceil((r.left() + r.top()) / period) * period; k < r.right() + r.bottom(); k += period) {
        const double x0 = std::max(r.left(), k - r.bottom()), x1 = std::min(r.right(), k - r.top());
        if (x1 > x0)
            lines.emplace_back(x0, k - x0, x1, k - x1);
    }
}

// Runs of equal code along the rows of the window: visit(code, rectangle).
template<class Visit>
void forEachRun(const CellPicture& picture, const QRectF& area, const QRectF& visible, const Window& w, Visit visit) {
    const int rows = picture.matrix().rows(), cols = picture.matrix().cols();
    for (int r = w.r0; r < w.r1; ++r)
        for (int c = w.c0; c < w.c1;) {
            const Code code = picture.pyramid().at(r, c);
            int end = c + 1;
            while (end < w.c1 && picture.pyramid().at(r, end) == code)
                ++end;
            visit(code, cellRect(area, rows, cols, r, c).united(cellRect(area, rows, cols, r, end - 1)) & visible);
            c = end;
        }
}

void paintHatching(QPainter& painter, const std::vector<QLineF>& lines, const CellStyle& style) {
    if (lines.empty())
        return;
    painter.setPen(QPen(style.hatchLine, 0.6, Qt::SolidLine, Qt::FlatCap));
    painter.drawLines(lines.data(), static_cast<int>(lines.size()));
    painter.setPen(Qt::NoPen);
}

// PDF: one rectangle for each run of equal colour. Viewers that smooth edges show seams between rectangles that only
// touch, so each reaches half a unit under its right and lower neighbours, which are painted later.
void paintRectangles(QPainter& painter, const CellPicture& picture, const QRectF& area, const QRectF& visible,
                     const Window& w, const CellStyle& style) {
    std::vector<QLineF> hatching;
    const double overlap =
        std::min({0.5, area.width() / picture.matrix().cols(), area.height() / picture.matrix().rows()});
    forEachRun(picture, area, visible, w, [&](Code code, const QRectF& r) {
        painter.setBrush(code == ColorScale::masked ? style.hatchGround
                                                    : QColor::fromRgb(picture.scale().colorOf(code)));
        painter.drawRect(r.adjusted(0, 0, overlap, overlap) & visible);
        if (code == ColorScale::masked)
            addHatching(hatching, r);
    });
    paintHatching(painter, hatching, style);
}

// SVG: one path for each colour that occurs, over a ground of the most frequent one. An eighth of the size of
// rectangles.
void paintPaths(QPainter& painter, const CellPicture& picture, const QRectF& area, const QRectF& visible,
                const Window& w, const CellStyle& style) {
    std::array<QPainterPath, ColorScale::codeCount> paths;
    std::array<int, ColorScale::codeCount> count{};
    std::vector<QLineF> hatching;
    for (int r = w.r0; r < w.r1; ++r)
        for (int c = w.c0; c < w.c1; ++c)
            ++count[picture.pyramid().at(r, c)];
    const auto groundCode = static_cast<Code>(std::max_element(count.begin(), count.end()) - count.begin());
    forEachRun(picture, area, visible, w, [&](Code code, const QRectF& r) {
        if (code != groundCode)
            paths[code].addRect(r);
        if (code == ColorScale::masked)
            addHatching(hatching, r);
    });
    const auto fill = [&](std::size_t code) {
        return code == ColorScale::masked ? style.hatchGround
                                          : QColor::fromRgb(picture.scale().colorOf(static_cast<Code>(code)));
    };
    painter.setBrush(fill(groundCode));
    painter.drawRect(visible);
    for (std::size_t code = 0; code < paths.size(); ++code)
        if (!paths[code].isEmpty()) {
            painter.setBrush(fill(code));
            painter.drawPath(paths[code]);
        }
    paintHatching(painter, hatching, style);
}

// Large matrices on vector devices: one lossless image. Viewers smooth what they enlarge, so each cell gets 4 x 4
// samples, 2 x 2 where that would exceed 8192 samples a side.
void paintLosslessImage(QPainter& painter, const CellPicture& picture, const QRectF& visible, const Window& w,
                        const CellStyle& style) {
    const int rows = w.r1 - w.r0, cols = w.c1 - w.c0, samples = std::max(rows, cols) <= 2048 ? 4 : 2;
    QImage image(cols * samples, rows * samples, QImage::Format_RGB32);
    for (int y = 0; y < image.height(); ++y) {
        auto* out = reinterpret_cast<QRgb*>(image.scanLine(y));
        for (int x = 0; x < image.width(); ++x) {
            const Code code = picture.pyramid().at(w.r0 + y / samples, w.c0 + x / samples);
            out[x] = code != ColorScale::masked          ? picture.scale().colorOf(code)
                     : (x + y) % (8 * samples) < samples ? style.hatchLine.rgb()
                                                         : style.hatchGround.rgb();
        }
    }
    painter.setRenderHint(QPainter::LosslessImageRendering, true); // the PDF engine stores a JPEG otherwise
    painter.setRenderHint(QPainter::SmoothPixmapTransform, false);
    painter.drawImage(visible, image);
}

void paintHairlines(QPainter& painter, const CellPicture& picture, const QRectF& area, const QRectF& visible,
                    const Window& w, double unit, bool raster, const QColor& color) {
    const int rows = picture.matrix().rows(), cols = picture.matrix().cols();
    const double cellWidth = area.width() / cols, cellHeight = area.height() / rows;
    std::vector<QLineF> lines;
    // On raster devices a line covers exactly the first pixel of a cell; elsewhere it is centred on the border.
    const QTransform toDevice = painter.deviceTransform();
    const QTransform back = toDevice.inverted();
    const auto snapX = [&](double x) {
        return raster ? back.map(QPointF(std::floor(toDevice.map(QPointF(x, 0)).x() + 0.5) + 0.5, 0)).x() : x;
    };
    const auto snapY = [&](double y) {
        return raster ? back.map(QPointF(0, std::floor(toDevice.map(QPointF(0, y)).y() + 0.5) + 0.5)).y() : y;
    };
    const double enough = 8; // units
    if (cellWidth >= enough)
        for (int c = w.c0 + 1; c < w.c1; ++c) {
            const double x = snapX(area.left() + c * cellWidth);
            lines.emplace_back(x, visible.top(), x, visible.bottom());
        }
    if (cellHeight >= enough)
        for (int r = w.r0 + 1; r < w.r1; ++r) {
            const double y = snapY(area.top() + r * cellHeight);
            lines.emplace_back(visible.left(), y, visible.right(), y);
        }
    painter.setPen(QPen(color, raster ? 1.0 / unit : 0.5, Qt::SolidLine, Qt::FlatCap));
    painter.drawLines(lines.data(), static_cast<int>(lines.size()));
}

void paintNumbers(QPainter& painter, const CellPicture& picture, const QRectF& area, const QRectF& clip,
                  const Window& w, const QFont& font) {
    const int rows = picture.matrix().rows(), cols = picture.matrix().cols();
    painter.setFont(font);
    for (int r = w.r0; r < w.r1; ++r)
        for (int c = w.c0; c < w.c1; ++c) {
            const QRectF cell = cellRect(area, rows, cols, r, c);
            const float value = picture.matrix()(r, c);
            if (!clip.adjusted(-0.5, -0.5, 0.5, 0.5).contains(cell) || picture.pyramid().at(r, c) == ColorScale::masked)
                continue;
            painter.setPen(QColor::fromRgb(ColorScale::inkOn(picture.color(r, c))));
            painter.drawText(cell, Qt::AlignCenter | Qt::TextSingleLine | Qt::TextDontClip,
                             cellNumber(value, picture.decimals()));
        }
}

// A corner of the cell: at the top right where the number is above the range, at the bottom left where it is below.
void paintClipMarks(QPainter& painter, const CellPicture& picture, const QRectF& area, const QRectF& clip,
                    const Window& w) {
    const int rows = picture.matrix().rows(), cols = picture.matrix().cols();
    const double size = 0.2 * std::min(area.width() / cols, area.height() / rows);
    if (size < 1.5) // cells too small for a mark: the colour bar's arrows and caption say it
        return;
    painter.setPen(Qt::NoPen);
    for (int r = w.r0; r < w.r1; ++r)
        for (int c = w.c0; c < w.c1; ++c) {
            const int cut = picture.scale().cut(picture.matrix()(r, c));
            const QRectF cell = cellRect(area, rows, cols, r, c);
            if (cut == 0 || picture.pyramid().at(r, c) == ColorScale::masked ||
                !clip.adjusted(-0.5, -0.5, 0.5, 0.5).contains(cell))
                continue;
            painter.setBrush(QColor::fromRgb(ColorScale::inkOn(picture.color(r, c))));
            const QPointF corner = cut > 0 ? cell.topRight() : cell.bottomLeft();
            const double s = cut > 0 ? size : -size;
            painter.drawPolygon(QPolygonF{corner, corner + QPointF(-s, 0), corner + QPointF(0, s)});
        }
}

} // namespace

bool cellsAreVectors(const QPainter& painter, int rows, int cols) {
    const int tokens = std::min(rows, cols), most = std::max(rows, cols);
    switch (deviceOf(painter)) {
    case Device::Pdf:
        return tokens <= 256 && most <= 1024;
    case Device::Svg:
        return tokens <= 64 && most <= 512;
    case Device::Raster:
        break;
    }
    return false;
}

QRectF cellRect(const QRectF& area, int rows, int cols, int row, int col) {
    const double w = area.width() / cols, h = area.height() / rows;
    return {area.left() + col * w, area.top() + row * h, w, h};
}

void paintCells(QPainter& painter, const CellPicture& picture, const QRectF& area, const QRectF& clip,
                const CellStyle& style) {
    if (picture.matrix().empty() || area.isEmpty())
        return;
    const QRectF visible = area & clip;
    const Window w = visibleCells(picture, area, clip);
    if (visible.isEmpty() || w.empty())
        return;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(Qt::NoPen);
    const bool raster = deviceOf(painter) == Device::Raster;
    if (raster)
        paintRaster(painter, picture, area, visible, style);
    else if (!cellsAreVectors(painter, w.r1 - w.r0, w.c1 - w.c0) ||
             static_cast<std::int64_t>(w.r1 - w.r0) * (w.c1 - w.c0) > style.vectorCells)
        // The image holds whole cells; its outermost ones are stretched where a view cuts through them.
        paintLosslessImage(painter, picture, visible, w, style);
    else if (deviceOf(painter) == Device::Svg && w.r1 - w.r0 > 1) // a colour bar's thin steps need the overlap
        paintPaths(painter, picture, area, visible, w, style);
    else
        paintRectangles(painter, picture, area, visible, w, style);
    const double unit = std::hypot(painter.deviceTransform().m11(), painter.deviceTransform().m12());
    if (style.hairline.isValid())
        paintHairlines(painter, picture, area, visible, w, unit, raster, style.hairline);
    painter.setRenderHint(QPainter::Antialiasing, true);
    if (style.clipMarks)
        paintClipMarks(painter, picture, area, clip, w);
    if (style.numbers)
        paintNumbers(painter, picture, area, clip, w, *style.numbers);
    painter.restore();
}

CellPicture::CellPicture(SharedMatrix matrix, ColorScale scale, const std::vector<bool>& closed)
    : m_matrix(std::move(matrix)), m_scale(scale), m_pyramid(*m_matrix, m_scale, closed) {
    const Extent extent = finiteExtent(*m_matrix);
    const float lo = std::min(extent.lo, 0.0F), hi = std::max(extent.hi, 0.0F);
    const float top = std::max(-lo, hi);
    if (top >= 100)
        m_decimals = top >= 1000 ? 0 : 1;
    else
        m_decimals = top >= 0.1F || top == 0 ? 2 : top >= 0.01F ? 3 : 4;
    const QString least = cellNumber(lo, m_decimals), most = cellNumber(hi, m_decimals);
    m_longest = least.size() > most.size() ? least : most;
}

QString cellNumber(float value, int decimals) {
    if (std::isnan(value))
        return QStringLiteral("NaN");
    if (std::isinf(value))
        return value > 0 ? QStringLiteral("∞") : QStringLiteral("−∞");
    if (std::abs(value) >= 1e5F)
        return QString::number(static_cast<double>(value), 'g', 2);
    const QString text = QString::number(static_cast<double>(value), 'f', decimals);
    // "-0.00" is a small negative number that rounds to zero: written as zero.
    return text.startsWith(u'-') && text.toDouble() == 0 ? text.mid(1) : text;
}

std::optional<QFont> numberFont(const CellPicture& picture, QFont font, double minPt, QSizeF cell,
                                const QPaintDevice* device) {
    if (picture.matrix().empty() || font.pointSizeF() <= 0)
        return std::nullopt;
    const QFontMetricsF metrics = device ? QFontMetricsF(font, const_cast<QPaintDevice*>(device)) : QFontMetricsF(font);
    const double shrink = std::min({1.0, 0.84 * cell.width() / metrics.horizontalAdvance(picture.longestNumber()),
                                    0.80 * cell.height() / metrics.ascent()});
    if (font.pointSizeF() * shrink < minPt)
        return std::nullopt;
    font.setPointSizeF(font.pointSizeF() * shrink);
    return font;
}

QImage headThumbnail(const Matrix& matrix, const ColorScale& scale, QSize size) {
    QImage image(size, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    if (matrix.empty() || size.isEmpty())
        return image;
    const IndexPyramid pyramid(matrix, scale);
    const auto codes = pyramid.pooled(
        cellsPerPixel(size.height(), matrix.rows(), 0, static_cast<double>(size.height()) / matrix.rows()),
        cellsPerPixel(size.width(), matrix.cols(), 0, static_cast<double>(size.width()) / matrix.cols()));
    for (int y = 0; y < size.height(); ++y) {
        auto* out = reinterpret_cast<QRgb*>(image.scanLine(y));
        for (int x = 0; x < size.width(); ++x)
            out[x] = scale.colorOf(codes[static_cast<std::size_t>(y) * static_cast<std::size_t>(size.width()) +
                                         static_cast<std::size_t>(x)]);
    }
    return image;
}

} // namespace headscope
