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
    const int flags = Qt::AlignCenter | Qt::TextWordWrap;
    const QRect text = painter.boundingRect(rect().adjusted(44, 0, -44, 0), flags, m_hint);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(theme().border);
    painter.setBrush(theme().surface);
    painter.drawRoundedRect(text.adjusted(-16, -12, 16, 12), 7, 7); // the words do not stand across the picture's own
    painter.setPen(theme().text);
    painter.drawText(text, flags, m_hint);
}

bool DimOverlay::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize)
        setGeometry(parentWidget()->rect());
    return QWidget::eventFilter(watched, event);
}

} // namespace headscope
