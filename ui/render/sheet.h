// Sheet: the paper that figures are drawn on. One unit is 1/96 inch. It knows the theme, the fonts and how to write
// text so that it fits; without a painter it only measures, so that one function both lays out and paints a figure and
// the two can never disagree. Everything placed is recorded, for tests and for whoever must find a cell in a picture.
// Not here: what a figure contains. Works in any thread.
#pragma once

#include "ui/render/matrix_painter.h"

#include <QColor>
#include <QFont>
#include <QPainter>
#include <QString>
#include <QStringList>
#include <algorithm>
#include <optional>
#include <vector>

namespace headscope {

struct FigureTheme {
    QColor background, text, muted, line, accent, track, hatchGround, hatchLine, hairline;
    static FigureTheme of(bool dark);
};

// A token or other text of the user as it is shown: control characters, and characters for which no font has a glyph,
// are written as their code point (U+E000); an empty one as a dot.
QString displayText(const std::string& utf8, const QFont& font);

// The family of all figures: always installed, and embedded in PDF.
QFont figureFont(double pointSize, bool bold = false);
// A device of 96 dots per inch, to measure on.
const QPaintDevice* figureDevice();

// Nothing in a figure is set smaller than printers ask for, unless the whole figure is.
inline constexpr double leastPoint = 5;

class Sheet {
public:
    struct PlacedText {
        QRectF rect;
        QString text;
        double points;
    };
    struct Numbered { // matrices whose numbers were asked for, and those whose cells have room for them
        int asked = 0, written = 0;
    };
    struct PlacedCells {
        QRectF area;
        SharedPicture picture;
    };

    // painter: null measures only.
    Sheet(QPainter* painter, bool dark, double fontSizePt);

    const FigureTheme& theme() const { return m_theme; }
    bool isDark() const { return m_dark; }
    bool paints() const { return m_painter != nullptr; }
    QPainter* painter() { return m_painter; }

    // Small print has its limit.
    QFont font(double scale = 1.0, bool bold = false) const { return figureFont(noSmaller(m_pointSize * scale), bold); }
    double pointSize() const { return m_pointSize; }
    double width(const QString& text, const QFont& font) const;
    double lineHeight(const QFont& font) const; // ascent + descent

    // One line, its box aligned in rect (Qt::Alignment); never clipped, so the caller makes room. Elided at the end if
    // wider.
    void text(const QRectF& rect, Qt::Alignment align, const QString& text, const QFont& font, const QColor& color);
    // The same, reading upwards: rect is where the turned text lies; align as if it were read horizontally along it.
    void textUp(const QRectF& rect, Qt::Alignment align, const QString& text, const QFont& font, const QColor& color);
    // Words wrapped to width; returns the height taken.
    double paragraph(QPointF topLeft, double width, const QString& text, const QFont& font, const QColor& color);
    // "Q_h K_h^T / sqrt(d_k)", "K_{cat}": subscripts, superscripts and roots set as such; returns the width taken.
    double formula(QPointF topLeft, const QString& text, const QFont& font, const QColor& color);
    double formulaWidth(const QString& text, const QFont& font);
    // Words wrapped to width, each a formula; returns the height taken.
    double formulaParagraph(QPointF topLeft, double width, const QString& text, const QFont& font, const QColor& color);
    // For a formula: a text of the user, whose underscores mean themselves.
    static QString literal(QString text);

    // Numbers in cells are never smaller than this; where they would be, none is written.
    void setLeastNumber(double points) { m_leastNumber = points; }
    double leastNumber() const { return std::min(m_leastNumber, m_pointSize); }
    // In which all numbers of the picture fit into cells of this size; nothing where they do not.
    std::optional<QFont> numbersIn(const CellPicture& picture, QSizeF cell) const;

    // numbers: their font; nothing: none. Vector devices: a matrix of more than vectorCells cells becomes an image (a
    // page of many thumbnails).
    void cells(const SharedPicture& picture, const QRectF& area, const std::optional<QFont>& numbers,
               std::int64_t vectorCells = 1024 * 256);
    // Numbers in a grid, without colours.
    void plainCells(const SharedPicture& picture, const QRectF& area, const std::optional<QFont>& numbers);
    // A number that stands over cells, centred.
    void number(const QRectF& rect, const QString& number, const QFont& font, const QColor& color);
    void frame(const QRectF& rect, const QColor& color, double width);
    void fill(const QRectF& rect, const QColor& color);
    void line(QPointF from, QPointF to, const QColor& color, double width);
    // A vertical line; of whole pixels where there are pixels, so that all of them are equally thick.
    void rule(double x, double top, double bottom, const QColor& color, double width);
    void arrow(QPointF from, QPointF to, const QColor& color);

    // Fonts are given in points; a device that is not 96 dpi needs them scaled.
    QFont deviceFont(QFont font) const;

    void countNumbered(bool written) {
        ++m_numbered.asked;
        m_numbered.written += written;
    }
    Numbered numbered() const { return m_numbered; }
    const std::vector<PlacedText>& placedTexts() const { return m_texts; }
    const QStringList& placedNumbers() const { return m_numbers; } // those that stand over cells
    const std::vector<PlacedCells>& placedCells() const { return m_cells; }

private:
    double noSmaller(double points) const { return std::max(points, std::min(leastPoint, m_pointSize)); }

    QPainter* m_painter;
    bool m_dark;
    FigureTheme m_theme;
    double m_pointSize, m_leastNumber = leastPoint;
    Numbered m_numbered;
    std::vector<PlacedText> m_texts;
    std::vector<PlacedCells> m_cells;
    QStringList m_numbers;
};

} // namespace headscope
