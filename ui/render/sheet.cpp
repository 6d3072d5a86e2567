#include "ui/render/sheet.h"

#include <QFontMetricsF>
#include <QImage>
#include <QPaintEngine>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

namespace headscope {

FigureTheme FigureTheme::of(bool dark) {
    if (dark)
        return {QColor(0x1c, 0x1f, 0x26), QColor(0xe8, 0xea, 0xed), QColor(0xa0, 0xa7, 0xb2),
                QColor(0x45, 0x4b, 0x57), QColor(0xff, 0x6b, 0x9a), QColor(0x30, 0x35, 0x3f),
                QColor(0x2a, 0x2f, 0x38), QColor(0x5a, 0x62, 0x70), QColor(0x1c, 0x1f, 0x26, 130)};
    return {QColor(Qt::white),
            QColor(0x1c, 0x1f, 0x24),
            QColor(0x5f, 0x66, 0x72),
            QColor(0xd3, 0xd7, 0xdd),
            QColor(0xd6, 0x33, 0x6c),
            QColor(0xe9, 0xec, 0xf0),
            QColor::fromRgb(ColorScale::maskedColor()),
            QColor::fromRgb(ColorScale::hatchColor()),
            QColor(255, 255, 255, 150)};
}

QFont figureFont(double pointSize, bool bold) {
    QFont font(QStringLiteral("DejaVu Sans"));
    font.setPointSizeF(pointSize);
    font.setBold(bold);
    font.setHintingPreference(QFont::PreferNoHinting); // the same widths at every resolution
    // Any letter spacing switches ligatures off: a search in a PDF for "first" must not meet the one glyph of "fi".
    font.setLetterSpacing(QFont::AbsoluteSpacing, 0.02);
    return font;
}

const QPaintDevice* figureDevice() {
    static const QImage device = [] {
        QImage image(1, 1, QImage::Format_RGB32);
        image.setDotsPerMeterX(3780);
        image.setDotsPerMeterY(3780);
        return image;
    }();
    return &device;
}

namespace {

QFontMetricsF metricsOf(const QFont& font) {
    return QFontMetricsF(font, const_cast<QPaintDevice*>(figureDevice()));
}

} // namespace

QString displayText(const std::string& utf8, const QFont& font) {
    const QString text = QString::fromStdString(utf8);
    if (text.isEmpty())
        return QStringLiteral("·");
    const QFontMetricsF metrics = metricsOf(font);
    QString out;
    for (const char32_t c : text.toUcs4()) {
        const auto category = QChar::category(c);
        const bool invisible = category == QChar::Other_Control || category == QChar::Other_Format ||
                               category == QChar::Other_Surrogate || category == QChar::Separator_Line ||
                               category == QChar::Separator_Paragraph;
        if (c == U'\n')
            out += QChar(0x21b5);
        else if (c == U'\t')
            out += QChar(0x21e5);
        else if (c >= 0xfe00 && c <= 0xfe0f) // variation selectors shape the character before them
            out += QString::fromUcs4(&c, 1);
        else if (invisible && c != 0x200c && c != 0x200d) // joiners shape their neighbours and need no glyph
            out += QStringLiteral("U+%1").arg(static_cast<uint>(c), 4, 16, QLatin1Char('0')).toUpper();
        else if (!invisible && !QChar::isSpace(c) && !metrics.inFontUcs4(c))
            out += QStringLiteral("U+%1").arg(static_cast<uint>(c), 4, 16, QLatin1Char('0')).toUpper();
        else
            out += QString::fromUcs4(&c, 1);
    }
    return out.trimmed().isEmpty() ? QString(out.size(), QChar(0x2423)) : out;
}

Sheet::Sheet(QPainter* painter, bool dark, double fontSizePt)
    : m_painter(painter), m_dark(dark), m_theme(FigureTheme::of(dark)), m_pointSize(fontSizePt) {}

QFont Sheet::deviceFont(QFont font) const {
    if (m_painter && m_painter->device() && m_painter->device()->logicalDpiY() > 0)
        font.setPointSizeF(font.pointSizeF() * 96.0 / m_painter->device()->logicalDpiY());
    return font;
}

double Sheet::width(const QString& text, const QFont& font) const {
    return metricsOf(font).horizontalAdvance(text);
}
double Sheet::lineHeight(const QFont& font) const {
    const QFontMetricsF m = metricsOf(font);
    return m.ascent() + m.descent();
}

void Sheet::text(const QRectF& rect, Qt::Alignment align, const QString& text, const QFont& font, const QColor& color) {
    if (text.isEmpty())
        return;
    const QFontMetricsF metrics = metricsOf(font);
    QString shown = text;
    double w = metrics.horizontalAdvance(shown);
    if (w > rect.width() + 0.5) {
        shown = metrics.elidedText(text, Qt::ElideRight, rect.width());
        w = metrics.horizontalAdvance(shown);
    }
    const double h = metrics.ascent() + metrics.descent();
    const double x = align & Qt::AlignRight     ? rect.right() - w
                     : align & Qt::AlignHCenter ? rect.center().x() - w / 2
                                                : rect.left();
    const double y = align & Qt::AlignBottom    ? rect.bottom() - h
                     : align & Qt::AlignVCenter ? rect.center().y() - h / 2
                                                : rect.top();
    m_texts.push_back({QRectF(x, y, w, h), shown, font.pointSizeF()});
    if (!m_painter)
        return;
    m_painter->setFont(deviceFont(font));
    m_painter->setPen(color);
    m_painter->drawText(QPointF(x, y + metrics.ascent()), shown);
}

void Sheet::textUp(const QRectF& rect, Qt::Alignment align, const QString& text, const QFont& font,
                   const QColor& color) {
    // Turned about the rectangle's lower left corner: along is upwards, across is to the right.
    Sheet turned(m_painter, m_dark, m_pointSize);
    if (m_painter) {
        m_painter->save();
        m_painter->translate(rect.left(), rect.bottom());
        m_painter->rotate(-90);
    }
    turned.text(QRectF(0, 0, rect.height(), rect.width()), align, text, font, color);
    if (m_painter)
        m_painter->restore();
    for (const PlacedText& t : turned.m_texts)
        m_texts.push_back(
            {QRectF(rect.left() + t.rect.top(), rect.bottom() - t.rect.right(), t.rect.height(), t.rect.width()),
             t.text, t.points});
}

double Sheet::paragraph(QPointF topLeft, double width, const QString& text, const QFont& font, const QColor& color) {
    const double height = lineHeight(font) * 1.1;
    double y = topLeft.y();
    QString current;
    const auto flush = [&] {
        this->text(QRectF(topLeft.x(), y, width, height), Qt::AlignLeft | Qt::AlignTop, current, font, color);
        y += height;
        current.clear();
    };
    for (const QString& word : text.split(u' ', Qt::SkipEmptyParts)) {
        const QString longer = current.isEmpty() ? word : current + u' ' + word;
        if (!current.isEmpty() && this->width(longer, font) > width) {
            flush();
            current = word;
        } else {
            current = longer;
        }
    }
    if (!current.isEmpty())
        flush();
    return y - topLeft.y();
}

double Sheet::formula(QPointF topLeft, const QString& text, const QFont& font, const QColor& color) {
    QString source = text;
    source.replace(QStringLiteral("sqrt("), QStringLiteral("√("));
    QFont small = font;
    small.setPointSizeF(noSmaller(font.pointSizeF() * 0.72));
    const double base = metricsOf(font).ascent(), smallBase = metricsOf(small).ascent();
    double x = topLeft.x();
    const auto piece = [&](const QString& part, const QFont& f, double baseline) {
        if (part.isEmpty())
            return;
        const double w = width(part, f);
        this->text(QRectF(x, topLeft.y() + baseline - metricsOf(f).ascent(), w + 1, lineHeight(f)),
                   Qt::AlignLeft | Qt::AlignTop, part, f, color);
        x += w;
    };
    QString run;
    bool afterScript = false; // a second script directly after the first: K_h^T
    for (qsizetype i = 0; i < source.size(); ++i) {
        const QChar c = source[i];
        if (c == u'\\' && i + 1 < source.size()) { // the next character means itself
            run += source[++i];
            afterScript = false;
            continue;
        }
        const bool attached = afterScript || (!run.isEmpty() && !run.back().isSpace());
        const bool script = (c == u'_' || c == u'^') && attached && i + 1 < source.size();
        afterScript = script;
        if (!script) {
            run += c;
            continue;
        }
        piece(run, font, base);
        run.clear();
        QString inner;
        if (source[i + 1] == u'{') {
            const qsizetype end = source.indexOf(u'}', i);
            inner = source.mid(i + 2, (end < 0 ? source.size() : end) - i - 2);
            i = end < 0 ? source.size() : end;
        } else {
            while (i + 1 < source.size() && source[i + 1].isLetterOrNumber())
                inner += source[++i];
        }
        piece(inner, small, c == u'_' ? base + 0.22 * smallBase : base - 0.42 * base);
        if (!inner.isEmpty())
            x += 0.04 * base;
    }
    piece(run, font, base);
    return x - topLeft.x();
}

double Sheet::formulaWidth(const QString& text, const QFont& font) {
    Sheet measure(nullptr, false, m_pointSize);
    return measure.formula({0, 0}, text, font, m_theme.text);
}

std::optional<QFont> Sheet::numbersIn(const CellPicture& picture, QSizeF cell) const {
    return numberFont(picture, font(), leastNumber(), cell, figureDevice());
}

double Sheet::formulaParagraph(QPointF topLeft, double width, const QString& text, const QFont& font,
                               const QColor& color) {
    const double height = lineHeight(font) * 1.1, space = this->width(QStringLiteral(" "), font);
    double x = 0, y = 0;
    for (const QString& word : text.split(u' ', Qt::SkipEmptyParts)) {
        const double w = formulaWidth(word, font);
        if (x > 0 && x + w > width) {
            x = 0;
            y += height;
        }
        formula(topLeft + QPointF(x, y), word, font, color);
        x += w + space;
    }
    return x > 0 ? y + height : y;
}

QString Sheet::literal(QString text) {
    for (const QLatin1Char special : {QLatin1Char('\\'), QLatin1Char('_'), QLatin1Char('^')}) // what escapes first
        text.replace(special, QLatin1Char('\\') + QString(special));
    return text;
}

void Sheet::cells(const SharedPicture& picture, const QRectF& area, const std::optional<QFont>& numbers,
                  std::int64_t vectorCells) {
    m_cells.push_back({area, picture});
    if (!m_painter || picture->matrix().empty())
        return;
    CellStyle style;
    style.hatchGround = m_theme.hatchGround;
    style.hatchLine = m_theme.hatchLine;
    style.hairline = m_theme.hairline;
    style.vectorCells = vectorCells;
    if (numbers)
        style.numbers = deviceFont(*numbers);
    paintCells(*m_painter, *picture, area, style);
}

void Sheet::plainCells(const SharedPicture& picture, const QRectF& area, const std::optional<QFont>& numbers) {
    m_cells.push_back({area, picture});
    frame(area, m_theme.muted, 0.8);
    if (!m_painter || !numbers)
        return;
    const Matrix& matrix = picture->matrix();
    m_painter->setFont(deviceFont(*numbers));
    m_painter->setPen(m_theme.text);
    for (int r = 0; r < matrix.rows(); ++r)
        for (int c = 0; c < matrix.cols(); ++c)
            m_painter->drawText(cellRect(area, matrix.rows(), matrix.cols(), r, c),
                                Qt::AlignCenter | Qt::TextSingleLine | Qt::TextDontClip,
                                cellNumber(matrix(r, c), picture->decimals()));
}

void Sheet::number(const QRectF& rect, const QString& number, const QFont& font, const QColor& color) {
    m_numbers << number;
    if (!m_painter)
        return;
    m_painter->setFont(deviceFont(font));
    m_painter->setPen(color);
    m_painter->drawText(rect, Qt::AlignCenter | Qt::TextSingleLine | Qt::TextDontClip, number);
}

void Sheet::frame(const QRectF& rect, const QColor& color, double width) {
    if (!m_painter)
        return;
    m_painter->setBrush(Qt::NoBrush);
    m_painter->setPen(QPen(color, width, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
    m_painter->drawRect(rect);
}

void Sheet::fill(const QRectF& rect, const QColor& color) {
    if (!m_painter)
        return;
    m_painter->setPen(Qt::NoPen);
    m_painter->setBrush(color);
    m_painter->drawRect(rect);
}

void Sheet::line(QPointF from, QPointF to, const QColor& color, double width) {
    if (!m_painter)
        return;
    m_painter->setPen(QPen(color, width, Qt::SolidLine, Qt::FlatCap));
    m_painter->drawLine(from, to);
}

void Sheet::rule(double x, double top, double bottom, const QColor& color, double width) {
    if (!m_painter)
        return;
    const QTransform toDevice = m_painter->deviceTransform();
    if (m_painter->paintEngine()->type() != QPaintEngine::Raster || toDevice.m12() != 0)
        return line({x, top}, {x, bottom}, color, width);
    const double pixels = std::max(1.0, std::round(width * toDevice.m11()));
    const double left = std::round(toDevice.map(QPointF(x, 0)).x() - pixels / 2);
    const QTransform back = toDevice.inverted();
    const double from = back.map(QPointF(left, 0)).x(), to = back.map(QPointF(left + pixels, 0)).x();
    m_painter->setRenderHint(QPainter::Antialiasing, false);
    fill(QRectF(QPointF(from, top), QPointF(to, bottom)), color);
    m_painter->setRenderHint(QPainter::Antialiasing);
}

void Sheet::arrow(QPointF from, QPointF to, const QColor& color) {
    line(from, to, color, 1.2);
    if (!m_painter)
        return;
    const QPointF d = to - from;
    const double length = std::hypot(d.x(), d.y());
    if (length <= 0)
        return;
    const QPointF along = d / length, across(-along.y(), along.x());
    m_painter->setPen(Qt::NoPen);
    m_painter->setBrush(color);
    m_painter->drawPolygon(QPolygonF{to + along * 0.5, to - along * 5 + across * 3, to - along * 5 - across * 3});
}

} // namespace headscope
