#include "ui/widgets/weight_delegate.h"

#include "ui/render/color_scale.h"
#include "ui/render/head_colors.h"
#include "ui/theme.h"
#include "ui/widgets/weight_model.h"

#include <QApplication>
#include <QHeaderView>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>

namespace headscope {

void WeightDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    if (!m_model.holds(index))
        return;
    const double end = m_model.largest() > 0 ? m_model.largest() : 1.0;
    if (!m_scale || m_scale->range().hi != end)
        m_scale = std::make_shared<const ColorScale>(ColorMap::Viridis, true, ValueRange{-end, end});
    const QRgb fill = m_scale->color(m_model.value(index));
    painter->save();
    painter->fillRect(option.rect, QColor(fill));
    painter->setPen(QColor(ColorScale::inkOn(fill)));
    painter->drawText(option.rect, Qt::AlignCenter, index.data().toString());
    if (m_model.changed(index)) {
        const int side = std::max(6, option.rect.height() / 3);
        const QPoint corner = option.rect.topRight() + QPoint(1, 0);
        painter->setRenderHint(QPainter::Antialiasing);
        painter->setPen(Qt::NoPen);
        painter->setBrush(theme().accent);
        painter->drawPolygon(QPolygon({corner, corner - QPoint(side, 0), corner + QPoint(0, side)}));
        painter->setRenderHint(QPainter::Antialiasing, false);
    }
    if (const auto head = m_model.headBeginning(index, Qt::Horizontal))
        painter->fillRect(QRect(option.rect.topLeft(), QSize(2, option.rect.height())), head->color(false)); // on cells
    if (const auto head = m_model.headBeginning(index, Qt::Vertical))
        painter->fillRect(QRect(option.rect.topLeft(), QSize(option.rect.width(), 2)), head->color(false));
    // Selection and focus are frames: a filled selection would hide the colour, which is the number.
    const bool selected = option.state & QStyle::State_Selected;
    if (selected || option.state & QStyle::State_HasFocus) {
        const int width = option.state & QStyle::State_HasFocus ? 3 : 1;
        painter->setBrush(Qt::NoBrush);
        painter->setPen(
            QPen(option.palette.color(QPalette::Highlight), width, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
        const int inset = width / 2;
        painter->drawRect(option.rect.adjusted(inset, inset, -1 - inset, -1 - inset));
    }
    painter->restore();
}

WeightTable::WeightTable(QWidget* parent) : QTableView(parent) {
    setSelectionMode(QAbstractItemView::ContiguousSelection);
    setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed |
                    QAbstractItemView::AnyKeyPressed);
    setTabKeyNavigation(false); // Tab leaves the table: the keyboard must not be caught in it
    setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    setWordWrap(false);
    // Fixed sections: measuring 768 rows at every change is what makes large tables slow.
    horizontalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
}

void WeightTable::mousePressEvent(QMouseEvent* event) {
    endTurn();
    QTableView::mousePressEvent(event);
    m_pressed = event->button() == Qt::LeftButton && !(event->modifiers() & Qt::ShiftModifier)
                    ? QPersistentModelIndex(indexAt(event->pos()))
                    : QPersistentModelIndex();
    m_lastPos = event->pos();
    m_steps = 0;
}

void WeightTable::mouseMoveEvent(QMouseEvent* event) {
    if (!m_pressed.isValid() || !(event->buttons() & Qt::LeftButton)) {
        QTableView::mouseMoveEvent(event);
        return;
    }
    const QPoint moved = event->pos() - m_lastPos;
    if (!m_turning && moved.manhattanLength() < QApplication::startDragDistance())
        return;
    if (!m_turning) {
        m_turning = true;
        viewport()->setCursor(Qt::SizeVerCursor);
        emit turnBegan(m_pressed);
    }
    m_steps += (moved.x() - moved.y()) * (event->modifiers() & Qt::ControlModifier ? 0.1 : 1.0);
    m_lastPos = event->pos();
    emit turned(m_pressed, m_steps);
}

void WeightTable::mouseReleaseEvent(QMouseEvent* event) {
    const bool turned = m_turning;
    endTurn();
    m_pressed = QPersistentModelIndex();
    if (!turned)
        QTableView::mouseReleaseEvent(event);
    else
        setState(NoState); // the press began a selection that never was
}

void WeightTable::keyPressEvent(QKeyEvent* event) {
    const bool dial = event->modifiers() & Qt::ControlModifier && currentIndex().isValid() &&
                      (event->key() == Qt::Key_Up || event->key() == Qt::Key_Down);
    if (dial) {
        if (!m_keyTurn || m_pressed != currentIndex()) {
            endTurn();
            m_keyTurn = true;
            m_pressed = currentIndex();
            m_steps = 0;
            emit turnBegan(currentIndex());
        }
        m_steps += event->key() == Qt::Key_Up ? 1 : -1;
        emit turned(m_pressed, m_steps);
        return;
    }
    if (m_turning && event->key() == Qt::Key_Escape) { // back to where the drag began
        emit turned(m_pressed, 0);
        endTurn();
        m_pressed = QPersistentModelIndex();
        return;
    }
    if (event->key() != Qt::Key_Control)
        endTurn();
    if (event->matches(QKeySequence::Copy))
        emit copyRequested();
    else if (event->matches(QKeySequence::Paste))
        emit pasteRequested();
    else if (event->key() == Qt::Key_Delete || event->key() == Qt::Key_Backspace)
        emit revertRequested();
    else
        QTableView::keyPressEvent(event);
}

void WeightTable::focusOutEvent(QFocusEvent* event) {
    endTurn();
    QTableView::focusOutEvent(event);
}

void WeightTable::endTurn() {
    m_turning = m_keyTurn = false;
    viewport()->unsetCursor();
}

} // namespace headscope
