#include "ui/widgets/walk_view.h"

#include "ui/render/figure_parts.h"
#include "ui/theme.h"
#include "ui/workspace.h"

#include <QAccessibleWidget>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>

namespace headscope {

static constexpr double margin = 4;

namespace {

class AccessibleWalk : public QAccessibleWidget {
public:
    explicit AccessibleWalk(WalkView* view) : QAccessibleWidget(view, QAccessible::Graphic) {}
    QString text(QAccessible::Text kind) const override {
        if (kind == QAccessible::Description || kind == QAccessible::Value)
            return static_cast<const WalkView*>(widget())->describe();
        return QAccessibleWidget::text(kind);
    }
};

QAccessibleInterface* accessibleWalk(const QString&, QObject* object) {
    auto* view = qobject_cast<WalkView*>(object);
    return view ? new AccessibleWalk(view) : nullptr;
}

} // namespace

WalkView::WalkView(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
    static const bool installed = [] {
        QAccessible::installFactory(accessibleWalk);
        return true;
    }();
    Q_UNUSED(installed)
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("The stage as a product"));
    connect(&workspace, &Workspace::traceChanged, this, &WalkView::redraw);
    connect(&workspace, &Workspace::viewChanged, this, &WalkView::redraw);
}

std::optional<WalkCell> WalkView::markedCell() const {
    if (!m_drawn)
        return std::nullopt;
    return m_hovered ? m_hovered : m_drawn->walk.start;
}

std::optional<QPointF> WalkView::cellCentre(int matrix, int row, int col) const {
    if (!m_drawn || matrix < 0 || matrix >= static_cast<int>(m_drawn->walk.matrices.size()))
        return std::nullopt;
    const auto index = static_cast<std::size_t>(matrix);
    const Panel& panel = m_drawn->walk.matrices[index].panel;
    return cellRect(m_drawn->layout.places[index].area(panel), panel.rowCount(), panel.colCount(), row, col).center();
}

QString WalkView::describe() const {
    const std::optional<WalkCell> cell = markedCell();
    if (!cell)
        return {};
    const Walk& walk = m_drawn->walk;
    const CellRef own = walk.cellOf(*cell);
    const CellExplanation e =
        explainCell(*walk.trace, walk.view.layer, walk.headOf(*cell), walk.view.stage, own.row, own.col);
    QStringList parts{QString::fromStdString(e.sentence)};
    if (const QString term = termText(walk, *cell); !term.isEmpty())
        parts << term;
    return parts.join(QStringLiteral("; "));
}

// What is smaller is no help: about 9 pixels on a desk, 13 for a room.
static double leastNumber() {
    return theme().projector ? 9.75 : 6.75;
}

// On a worker.
WalkView::Drawn WalkView::draw(const SharedTrace& trace, const View& view, QSizeF size, double fontPoints,
                               double numberPoints, bool dark, double ratio) {
    QImage picture((size * ratio).toSize(), QImage::Format_ARGB32_Premultiplied);
    picture.setDevicePixelRatio(ratio);
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
    Sheet sheet(&painter, dark, fontPoints), measure(nullptr, dark, fontPoints);
    sheet.setLeastNumber(numberPoints);
    Drawn drawn{makeWalk(trace, view, sheet.font()), {}, {}};
    // One line more than the pinned cell needs: the term that is pointed at.
    const double width = size.width() - 2 * margin;
    const double beneath = drawWalkArithmetic(measure, drawn.walk, drawn.walk.start, {0, 0}, width, true) +
                           1.4 * sheet.lineHeight(sheet.font());
    const std::optional<WalkLayout> layout =
        layOutWalk(sheet, drawn.walk, {margin, margin}, width, size.height() - beneath - 3 * margin);
    if (!layout)
        throw InputError("There is no room for the matrices beside their labels; make the window larger, hide a panel "
                         "(View), or look at the heatmap.");
    drawn.layout = *layout;
    drawWalk(sheet, drawn.walk, drawn.layout, margin + width);
    painter.end();
    drawn.picture = std::move(picture);
    return drawn;
}

void WalkView::redraw() {
    const SharedTrace trace = m_workspace.trace();
    if (!isVisible() || !trace || width() < 40 || height() < 40)
        return;
    const View view = clampedView(m_workspace.view(), trace->scenario);
    const double points = font().pointSizeF(), ratio = m_ratio > 0 ? m_ratio : devicePixelRatioF();
    const bool dark = theme().dark;
    const QSizeF room = size();
    const auto work = [trace, view, room, points, least = leastNumber(), dark, ratio](const std::stop_token&) {
        return draw(trace, view, room, points, least, dark, ratio);
    };
    const auto show = [this](const Outcome<Drawn>& outcome) {
        if (const auto* drawn = std::get_if<Drawn>(&outcome)) {
            const bool sameStage = m_drawn && m_drawn->walk.view.stage == drawn->walk.view.stage &&
                                   m_drawn->walk.view.layer == drawn->walk.view.layer &&
                                   m_drawn->walk.matrices.size() == drawn->walk.matrices.size();
            m_drawn = *drawn;
            m_problem.clear();
            if (!sameStage)
                m_hovered.reset();
        } else if (const auto* failure = std::get_if<Failure>(&outcome)) {
            m_drawn.reset();
            m_problem = failure->sentence;
        }
        update();
    };
    m_jobs.submit(work, show, true);
}

void WalkView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (!m_drawn) {
        painter.setPen(theme().muted);
        painter.drawText(rect().adjusted(20, 20, -20, -20), Qt::AlignCenter | Qt::TextWordWrap, m_problem);
        return;
    }
    painter.drawImage(QPointF(0, 0), m_drawn->picture);
    painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
    Sheet sheet(&painter, theme().dark, font().pointSizeF());
    sheet.setLeastNumber(leastNumber());
    const WalkCell cell = *markedCell();
    markWalk(m_drawn->walk, cell);
    drawWalkMarks(sheet, m_drawn->walk, m_drawn->layout, theme().surface);
    drawWalkArithmetic(sheet, m_drawn->walk, cell, {margin, m_drawn->layout.bottom + 2}, width() - 2 * margin, true);
    if (hasFocus()) {
        painter.setPen(QPen(theme().selectedText, 1, Qt::DotLine));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    }
}

void WalkView::setHovered(std::optional<WalkCell> cell) {
    if (cell == m_hovered)
        return;
    m_hovered = cell;
    update();
    QAccessibleEvent changed(this, QAccessible::DescriptionChanged);
    QAccessible::updateAccessibility(&changed);
}

void WalkView::pin(WalkCell cell) {
    View view = m_workspace.view();
    view.heads = {m_drawn->walk.headOf(cell)};
    view.cell = m_drawn->walk.cellOf(cell);
    m_workspace.setView(view);
}

void WalkView::mouseMoveEvent(QMouseEvent* event) {
    if (!m_drawn)
        return;
    const std::optional<WalkHit> hit = walkHit(m_drawn->walk, m_drawn->layout, event->position());
    if (!hit)
        return setHovered(std::nullopt);
    const WalkMatrix& matrix = m_drawn->walk.matrices[static_cast<std::size_t>(hit->matrix)];
    setHovered(walkCellAt(matrix, hit->row, hit->col, *markedCell()));
}

void WalkView::mousePressEvent(QMouseEvent* event) {
    setFocus(Qt::MouseFocusReason);
    if (m_drawn && event->button() == Qt::LeftButton && m_hovered)
        pin(*m_hovered);
}

void WalkView::leaveEvent(QEvent* event) {
    QWidget::leaveEvent(event);
    setHovered(std::nullopt);
}

void WalkView::moveBy(int rows, int cols) {
    const Walk& walk = m_drawn->walk;
    WalkCell cell = *markedCell();
    const Matrix& result = walk.matrices.back().panel.picture->matrix();
    const WalkMatrix& all = walk.pieceWidth > 0 ? walk.matrices.front() : walk.matrices.back();
    const int first = all.cols.offset, last = first + all.panel.colCount() - 1;
    cell.row = std::clamp(cell.row + rows, 0, result.rows() - 1);
    cell.col = std::clamp(cell.col + cols, first, last);
    cell.inner.reset();
    setHovered(cell);
}

void WalkView::keyPressEvent(QKeyEvent* event) {
    if (!m_drawn || event->modifiers() & (Qt::AltModifier | Qt::ControlModifier))
        return QWidget::keyPressEvent(event);
    switch (event->key()) {
    case Qt::Key_Up:
        return moveBy(-1, 0);
    case Qt::Key_Down:
        return moveBy(1, 0);
    case Qt::Key_Left:
        return moveBy(0, -1);
    case Qt::Key_Right:
        return moveBy(0, 1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
        return pin(*markedCell());
    case Qt::Key_Escape:
        return setHovered(std::nullopt);
    default:
        QWidget::keyPressEvent(event);
    }
}

void WalkView::focusInEvent(QFocusEvent* event) {
    QWidget::focusInEvent(event);
    update();
}

void WalkView::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    update();
}

void WalkView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    redraw();
}

void WalkView::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    redraw();
}

void WalkView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange)
        redraw();
}

} // namespace headscope
