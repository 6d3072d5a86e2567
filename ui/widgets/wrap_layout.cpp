#include "ui/widgets/wrap_layout.h"

#include <QWidget>

namespace headscope {

WrapLayout::~WrapLayout() {
    qDeleteAll(m_items);
}

QLayoutItem* WrapLayout::takeAt(int index) {
    return index >= 0 && index < m_items.size() ? m_items.takeAt(index) : nullptr;
}

QSize WrapLayout::minimumSize() const {
    QSize size;
    for (const QLayoutItem* item : m_items)
        size = size.expandedTo(item->minimumSize());
    const QMargins margins = contentsMargins();
    return size + QSize(margins.left() + margins.right(), margins.top() + margins.bottom());
}

QSize WrapLayout::sizeHint() const {
    int width = 0;
    for (const QLayoutItem* item : m_items)
        width += item->sizeHint().width() + spacing();
    return {width, heightForWidth(width)};
}

void WrapLayout::setGeometry(const QRect& rect) {
    QLayout::setGeometry(rect);
    place(rect, true);
}

int WrapLayout::place(const QRect& rect, bool move) const {
    const QRect inside = rect.marginsRemoved(contentsMargins());
    int x = inside.x(), y = inside.y(), lineHeight = 0;
    for (QLayoutItem* item : m_items) {
        if (item->isEmpty()) // hidden
            continue;
        const QSize size =
            item->sizeHint().boundedTo(QSize(std::max(inside.width(), item->minimumSize().width()), 100000));
        if (x > inside.x() && x + size.width() > inside.x() + inside.width()) {
            x = inside.x();
            y += lineHeight + spacing();
            lineHeight = 0;
        }
        if (move)
            item->setGeometry(QRect(QPoint(x, y), size));
        x += size.width() + spacing();
        lineHeight = std::max(lineHeight, size.height());
    }
    return y + lineHeight - rect.y() + contentsMargins().bottom();
}

} // namespace headscope
