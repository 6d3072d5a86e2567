#include "ui/widgets/dim_overlay.h"

#include "ui/theme.h"

#include <QEvent>
#include <QPainter>

namespace headscope {

DimOverlay::DimOverlay(QWidget* parent) : QWidget(parent) {
    setAttribute(Qt::WA_TransparentForMouseEvents);
    parent->installEventFilter(this);
    hide();
}

void DimOverlay::setHint(const QString& hint) {
    m_hint = hint;
    setGeometry(parentWidget()->rect());
    setVisible(!hint.isEmpty());
    raise();
    update();
}

void DimOverlay::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    QColor veil = theme().surface;
    veil.setAlpha(190);
    painter.fillRect(rect(), veil);
    painter.setFont(scaledFont(1.2));
    painter.setPen(theme().text);
    painter.drawText(rect().adjusted(30, 0, -30, 0), Qt::AlignCenter | Qt::TextWordWrap, m_hint);
}

bool DimOverlay::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize)
        setGeometry(parentWidget()->rect());
    return QWidget::eventFilter(watched, event);
}

} // namespace headscope
