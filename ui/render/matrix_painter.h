// The one place that turns a matrix into cells: for the screen, for PNG, for SVG and PDF, for thumbnails and for colour
// bars. Raster devices get exactly one colour per device pixel (several cells in a pixel: the largest wins); vector
// devices get rectangles up to a stated size and one lossless image above it. Not here: labels, titles, layout. Works
// in any thread.
#pragma once

#include "ui/render/color_scale.h"
#include "ui/render/index_pyramid.h"

#include <QColor>
#include <QFont>
#include <QImage>
#include <QPainter>
#include <QRectF>
#include <optional>

namespace headscope {

// A matrix with its colours worked out: immutable, so that a worker can make it and painters share it.
class CellPicture {
public:
    // closed: one flag per cell, row by row; such cells are hatched whatever their number. Empty: none.
    CellPicture(SharedMatrix matrix, ColorScale scale, const std::vector<bool>& closed = {});

    const Matrix& matrix() const { return *m_matrix; }
    const SharedMatrix& shared() const { return m_matrix; }
    const ColorScale& scale() const { return m_scale; }
    const IndexPyramid& pyramid() const { return m_pyramid; }
    QRgb color(int row, int col) const { return m_scale.colorOf(m_pyramid.at(row, col)); }
    // How its numbers are written, and the longest of them.
    int decimals() const { return m_decimals; }
    const QString& longestNumber() const { return m_longest; }

private:
    SharedMatrix m_matrix;
    ColorScale m_scale;
    IndexPyramid m_pyramid;
    int m_decimals = 2;
    QString m_longest;
};
using SharedPicture = std::shared_ptr<const CellPicture>;

struct CellStyle {
    QColor hatchGround = QColor::fromRgb(ColorScale::maskedColor()),
           hatchLine = QColor::fromRgb(ColorScale::hatchColor());
    QColor hairline = QColor(255, 255, 255, 150); // between cells that are large enough; invalid: none
    std::optional<QFont> numbers;                 // writes the numbers into the cells in this font
    bool clipMarks = true;                        // a corner in cells whose number the range cuts off
    std::int64_t vectorCells = 1024 * 256;        // vector devices: more cells than this become an image
};

// True where a vector device gets rectangles: PDF up to 256 tokens, SVG up to 64.
bool cellsAreVectors(const QPainter& painter, int rows, int cols);

// area: where the whole matrix lies, in the painter's units; only what is inside `clip` is painted, and nothing outside
// it (SVG has no clipping). Cells of equal size, row 0 on top.
void paintCells(QPainter& painter, const CellPicture& picture, const QRectF& area, const QRectF& clip,
                const CellStyle& style);
inline void paintCells(QPainter& painter, const CellPicture& picture, const QRectF& area, const CellStyle& style) {
    paintCells(painter, picture, area, area, style);
}
// Where a cell of a matrix of rows x cols lies in area.
QRectF cellRect(const QRectF& area, int rows, int cols, int row, int col);

// How a number is written in a cell; every cell of a matrix has the same number of decimals.
QString cellNumber(float value, int decimals);
// The font, no larger than `font` and no smaller than minPt, in which every number of the picture fits into a cell of
// this size; nothing when none does. device: where it will be measured; null: the screen.
std::optional<QFont> numberFont(const CellPicture& picture, QFont font, double minPt, QSizeF cell,
                                const QPaintDevice* device);

// A matrix as a small picture of exactly this size; empty matrix: transparent.
QImage headThumbnail(const Matrix& matrix, const ColorScale& scale, QSize size);

} // namespace headscope
