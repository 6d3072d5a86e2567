#include "ui/widgets/comparison_view.h"

#include "core/attention/head_stages.h"
#include "core/attention/printed_sum.h"
#include "ui/render/axis_labels.h"
#include "ui/render/matrix_painter.h"
#include "ui/stage_text.h"
#include "ui/theme.h"

#include <QHelpEvent>
#include <QLabel>
#include <QLocale>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollArea>
#include <QStyle>
#include <QTextDocument>
#include <QTextOption>
#include <QToolTip>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace headscope {

namespace {

constexpr int shownDifferences = 5;

QString number(double value, bool withSign = false) {
    return fromUtf8(printNumber(value, withSign));
}

// The range from end to end as a row of cells, so that the legend has exactly the colours of the cells.
SharedPicture legendOf(const ColorScale& scale) {
    constexpr int steps = 64;
    Matrix row(1, steps);
    const ValueRange range = scale.range();
    for (int i = 0; i < steps; ++i)
        row(0, i) = static_cast<float>(range.lo + (range.hi - range.lo) * i / (steps - 1));
    return std::make_shared<const CellPicture>(share(std::move(row)), scale);
}

} // namespace

ComparisonCanvas::ComparisonCanvas(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    setAccessibleName(tr("Two matrices and their difference"));
}

void ComparisonCanvas::setComparison(std::optional<Comparison> comparison) {
    m_comparison = std::move(comparison);
    m_panels.clear();
    if (m_comparison) {
        const Comparison& c = *m_comparison;
        const MatrixView both[] = {*c.a, *c.b};
        const ResolvedRange common = resolveRange({}, {}, {c.isWeights, c.isSigned}, both);
        const ColorScale scale(ColorMap::Viridis, c.isSigned, common.range);
        const SharedMatrix minus = share(difference(*c.a, *c.b));
        const MatrixView one[] = {*minus};
        const ResolvedRange own = resolveRange({}, {}, {false, true}, one);
        const ColorScale diverging(ColorMap::Viridis, true, own.range);
        const auto add = [this](const QString& title, const SharedMatrix& matrix, const ColorScale& colors,
                                const QString& caption) {
            m_panels.push_back(
                {title, std::make_shared<const CellPicture>(matrix, colors), legendOf(colors), caption, {}});
        };
        add(c.titleA, c.a, scale, tr("one range for both"));
        add(c.titleB, c.b, scale, tr("one range for both"));
        add(tr("difference"), minus, diverging, tr("symmetric about 0"));
    }
    layOut();
    update();
}

// Row labels stand once, at the left; column labels over each matrix.
ComparisonCanvas::Around ComparisonCanvas::aroundCells(double width) const {
    const Comparison& c = *m_comparison;
    const QFontMetricsF metrics(font());
    const double line = metrics.height(), gap = line;
    double left = 0, widest = 0;
    for (const QString& label : c.rowLabels)
        left = std::max(left, metrics.horizontalAdvance(label));
    left = std::min(left, width / 6.0) + line / 2 + line; // and the turned title of the rows
    const double panelWidth = (width - left - 2 * gap) / 3;
    for (const QString& label : c.colLabels)
        widest = std::max(widest, metrics.horizontalAdvance(label));
    const bool flat = widest + 0.4 * line <= panelWidth / std::max(1, c.a->cols());
    const double labels = flat ? line : std::min(widest, 5 * line);
    return {left, 2 * line + labels + line / 2, 2.5 * line, panelWidth, gap}; // title, axis title, labels; legend
}

int ComparisonCanvas::heightFor(int width) const {
    if (!m_comparison)
        return minimumSizeHint().height();
    const Around around = aroundCells(width);
    const double pitch = around.panelWidth / std::max(1, m_comparison->a->cols());
    return static_cast<int>(std::ceil(around.top + pitch * m_comparison->a->rows() + around.bottom));
}

// Cells are square and equally large in all three.
void ComparisonCanvas::layOut() {
    if (m_panels.empty())
        return;
    const double cols = std::max(1, m_comparison->a->cols()), rows = std::max(1, m_comparison->a->rows());
    const Around a = aroundCells(width());
    const double pitch = std::max(1.0, std::min(a.panelWidth / cols, (height() - a.top - a.bottom) / rows));
    for (std::size_t p = 0; p < m_panels.size(); ++p)
        m_panels[p].cells =
            QRectF(a.left + static_cast<double>(p) * (a.panelWidth + a.gap), a.top, pitch * cols, pitch * rows);
}

QRectF ComparisonCanvas::cellsOf(int panel) const {
    return m_panels.empty() ? QRectF() : m_panels[static_cast<std::size_t>(panel)].cells;
}

QString ComparisonCanvas::describeCell(int row, int col) const {
    const Comparison& c = *m_comparison;
    const double a = static_cast<double>((*c.a)(row, col)), b = static_cast<double>((*c.b)(row, col));
    return tr("%1, %2: %3 %4, %5 %6, difference %7")
        .arg(c.rowLabels.value(row), c.colLabels.value(col), c.titleA.section(u':', 0, 0), number(a), c.titleB,
             number(b), number(a == b ? 0 : a - b, true));
}

QSize ComparisonCanvas::sizeHint() const {
    return {fontMetrics().height() * 36, fontMetrics().height() * 16};
}

QSize ComparisonCanvas::minimumSizeHint() const {
    return {fontMetrics().height() * 16, fontMetrics().height() * 11};
}

void ComparisonCanvas::paintEvent(QPaintEvent*) {
    layOut();
    QPainter painter(this);
    for (std::size_t p = 0; p < m_panels.size(); ++p)
        paintPanel(painter, m_panels[p], p == 0);
}

void ComparisonCanvas::paintPanel(QPainter& painter, const Panel& panel, bool isFirst) const {
    const Comparison& c = *m_comparison;
    const QRectF& cells = panel.cells;
    const double line = QFontMetricsF(font()).height();
    const double room = (width() - m_panels.front().cells.left() - 2 * line) / 3; // of a panel

    QFont bold = font();
    bold.setBold(true);
    const double wanted = room / QFontMetricsF(bold).horizontalAdvance(panel.title);
    bold.setPointSizeF(bold.pointSizeF() * std::clamp(wanted, 0.75, 1.0)); // then it is elided
    painter.setFont(bold);
    painter.setPen(theme().text);
    const QString title = QFontMetricsF(bold).elidedText(panel.title, Qt::ElideRight, room);
    painter.drawText(QPointF(cells.left(), QFontMetricsF(bold).ascent()), title);
    painter.setFont(font());
    painter.setPen(theme().muted);
    painter.drawText(QRectF(cells.left(), line, room, line), Qt::AlignLeft | Qt::AlignVCenter, c.colTitle);

    CellStyle style;
    const QSizeF cell(cells.width() / c.a->cols(), cells.height() / c.a->rows());
    style.numbers = numberFont(*panel.picture, font(), 6, cell, this);
    paintCells(painter, *panel.picture, cells, style);
    if (c.pinned) {
        painter.setBrush(Qt::NoBrush);
        painter.setRenderHint(QPainter::Antialiasing, false);
        const double top = cells.top() + c.pinned->row * cell.height();
        painter.setPen(QPen(theme().accent, 1, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
        painter.drawRect(QRectF(cells.left(), top, cells.width(), cell.height()));
        painter.setPen(QPen(theme().accent, 2, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
        painter.drawRect(QRectF(cells.left() + c.pinned->col * cell.width(), top, cell.width(), cell.height()));
        painter.setRenderHint(QPainter::Antialiasing, true);
    }

    const auto labels = [&](Side side, const QStringList& texts, double pitch, double origin, double edge,
                            double extent, double from, double to) {
        const LabelPlan plan = planLabels(side, texts, font(), {pitch, extent, 6, this});
        painter.setFont(plan.font);
        painter.setPen(theme().muted);
        for (const PlacedLabel& label : placeLabels(side, plan, edge, origin, pitch, from, to, this)) {
            if (plan.turned) {
                painter.save();
                painter.translate(label.rect.center());
                painter.rotate(-90);
                const QRectF turned(-label.rect.height() / 2, -label.rect.width() / 2, label.rect.height(),
                                    label.rect.width());
                painter.drawText(turned, Qt::AlignLeft | Qt::AlignVCenter, plan.texts[label.index]);
                painter.restore();
            } else {
                painter.drawText(label.rect,
                                 (side == Side::Left ? Qt::AlignRight : Qt::AlignHCenter) | Qt::AlignVCenter,
                                 plan.texts[label.index]);
            }
        }
    };
    labels(Side::Top, c.colLabels, cell.width(), cells.left(), cells.top() - line / 4,
           cells.top() - 2 * line - line / 4, cells.left() - line, cells.right() + line);
    if (isFirst) {
        labels(Side::Left, c.rowLabels, cell.height(), cells.top(), cells.left() - line / 4, cells.left() - 1.25 * line,
               cells.top() - line, cells.bottom() + line);
        painter.save();
        painter.setFont(font());
        painter.setPen(theme().muted);
        painter.translate(0, cells.center().y());
        painter.rotate(-90);
        painter.drawText(QRectF(-cells.height(), 0, 2 * cells.height(), line), Qt::AlignCenter, c.rowTitle);
        painter.restore();
    }
    paintLegend(painter, panel);
}

void ComparisonCanvas::paintLegend(QPainter& painter, const Panel& panel) const {
    const double line = QFontMetricsF(font()).height();
    const double room = (width() - m_panels.front().cells.left() - 2 * line) / 3;
    QFont small = font();
    small.setPointSizeF(small.pointSizeF() * 0.85);
    const QFontMetricsF metrics(small);
    painter.setFont(small);
    painter.setPen(theme().muted);
    const ValueRange range = panel.picture->scale().range();
    const QString lo = QLocale().toString(range.lo, 'g', 3), hi = QLocale().toString(range.hi, 'g', 3);
    const double y = panel.cells.bottom() + line / 2, x = panel.cells.left();
    const double loWidth = metrics.horizontalAdvance(lo) + line / 3, hiWidth = metrics.horizontalAdvance(hi) + line / 3;
    const double barWidth = std::max(line, std::min(room, panel.cells.width()) - loWidth - hiWidth);
    const QRectF row(x, y, room, line * 0.9);
    painter.drawText(row, Qt::AlignLeft | Qt::AlignVCenter, lo);
    painter.drawText(QRectF(x + loWidth + barWidth + line / 3, y, room, line * 0.9), Qt::AlignLeft | Qt::AlignVCenter,
                     hi);
    CellStyle plain;
    plain.hairline = QColor();
    paintCells(painter, *panel.legend, QRectF(x + loWidth, y + line * 0.2, barWidth, line * 0.5), plain);
    painter.setFont(small);
    painter.setPen(theme().muted);
    painter.drawText(QRectF(x, y + line, room, line), Qt::AlignLeft | Qt::AlignVCenter,
                     metrics.elidedText(panel.caption, Qt::ElideRight, room));
}

bool ComparisonCanvas::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip || !m_comparison)
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    if (const auto cell = cellAt(help->pos()))
        QToolTip::showText(help->globalPos(), describeCell(cell->row, cell->col));
    else
        QToolTip::hideText();
    return true;
}

std::optional<CellRef> ComparisonCanvas::cellAt(QPointF position) const {
    for (const Panel& panel : m_panels)
        if (panel.cells.contains(position)) {
            const int rows = m_comparison->a->rows(), cols = m_comparison->a->cols();
            const QPointF at = position - panel.cells.topLeft();
            return CellRef{std::min(static_cast<int>(at.y() / panel.cells.height() * rows), rows - 1),
                           std::min(static_cast<int>(at.x() / panel.cells.width() * cols), cols - 1)};
        }
    return std::nullopt;
}

void ComparisonCanvas::mousePressEvent(QMouseEvent* event) {
    const auto cell = event->button() == Qt::LeftButton ? cellAt(event->position()) : std::nullopt;
    if (!cell)
        return QWidget::mousePressEvent(event);
    const auto tokenOf = [](const std::vector<int>& tokens, int place) {
        return tokens.empty() ? place : tokens[static_cast<std::size_t>(place)];
    };
    emit cellPinned({tokenOf(m_comparison->rowTokens, cell->row), tokenOf(m_comparison->colTokens, cell->col)});
}

ComparisonView::ComparisonView(QWidget* parent)
    : QWidget(parent), m_canvas(new ComparisonCanvas(this)), m_note(new QLabel(this)), m_largest(new QLabel(this)) {
    setObjectName(QStringLiteral("comparisonView"));
    connect(m_canvas, &ComparisonCanvas::cellPinned, this, &ComparisonView::cellPinned);
    m_box = new QVBoxLayout(this);
    m_box->setContentsMargins(0, 0, 0, 0);
    m_box->addWidget(m_canvas, 3);
    // The words scroll where there is little room: the matrices are what one looks at.
    m_words = new QScrollArea(this);
    m_words->setFrameShape(QFrame::NoFrame);
    m_words->setWidgetResizable(true);
    m_words->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* words = new QWidget(m_words);
    auto* lines = new QVBoxLayout(words);
    lines->setContentsMargins(0, 0, 0, 0);
    for (QLabel* label : {m_largest, m_note}) {
        label->setWordWrap(true);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
        lines->addWidget(label);
    }
    lines->addStretch(1);
    m_words->setWidget(words);
    words->setAutoFillBackground(false); // setWidget switched it on
    m_words->viewport()->setAutoFillBackground(false);
    m_box->addWidget(m_words, 1);
    m_note->setObjectName(QStringLiteral("muted"));
    m_largest->setAccessibleName(tr("The largest differences"));
    setComparison({});
}

void ComparisonView::setComparison(std::optional<Comparison> comparison) {
    m_canvas->setComparison(std::move(comparison));
    const std::optional<Comparison>& c = m_canvas->comparison();
    m_canvas->setVisible(c.has_value());
    if (!c) {
        m_note->setText(tr("Nothing is compared: switch on a rule of the class, or open the worked example."));
        m_note->show();
        m_largest->hide();
        m_largest->clear();
        shareRoom();
        return;
    }
    const std::vector<CellDifference> largest = largestDifferences(*c->a, *c->b, shownDifferences);
    m_largest->setText(largest.empty() ? tr("Both are equal in every cell.") : tableOf(largest));
    m_largest->show();
    shareRoom();
    QStringList lines;
    for (const CellDifference& cell : largest)
        lines << m_canvas->describeCell(cell.row, cell.col);
    m_canvas->setAccessibleDescription(lines.join(u'\n'));
    m_note->setText(c->note);
    m_note->setVisible(!c->note.isEmpty());
}

QString ComparisonView::tableOf(const std::vector<CellDifference>& largest) const {
    const Comparison& c = *m_canvas->comparison();
    QString rows;
    const auto row = [&rows](const QString& place, const QStringList& numbers) {
        rows += QStringLiteral("<tr><td>%1</td>").arg(place);
        for (const QString& cell : numbers)
            rows += QStringLiteral("<td align='right'>&nbsp;&nbsp;&nbsp;%1</td>").arg(cell);
        rows += QStringLiteral("</tr>");
    };
    row(QStringLiteral("<b>%1</b>").arg(tr("Largest differences")),
        {c.titleA.section(u':', 0, 0).toHtmlEscaped(), c.titleB.toHtmlEscaped(), tr("difference")});
    for (const CellDifference& cell : largest)
        row(isolated(c.rowLabels.value(cell.row)).toHtmlEscaped() + QStringLiteral(" → ") +
                isolated(c.colLabels.value(cell.col)).toHtmlEscaped(),
            {number(static_cast<double>(cell.a)), number(static_cast<double>(cell.b)), number(cell.difference, true)});
    return QStringLiteral("<table cellspacing='0' cellpadding='1'>%1</table>").arg(rows);
}

// The words stand close beneath the matrices; in a room that is wide and low (a projector's) beside them.
void ComparisonView::shareRoom() {
    const bool low = width() > 2.2 * height();
    QTextDocument table; // whose numbers are not cut: as narrow as it gets without that
    table.setDefaultFont(m_largest->font());
    QTextOption whole;
    whole.setWrapMode(QTextOption::WordWrap);
    table.setDefaultTextOption(whole);
    table.setHtml(m_largest->text());
    table.setTextWidth(1);
    m_words->setMinimumWidth(static_cast<int>(std::ceil(table.size().width())) +
                             style()->pixelMetric(QStyle::PM_ScrollBarExtent));
    m_box->setDirection(low ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
    m_canvas->setMaximumHeight(m_canvas->heightFor(low ? width() * 3 / 4 : width()));
}

void ComparisonView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    shareRoom();
}

} // namespace headscope
