#include "ui/widgets/message_strip.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

namespace headscope {

MessageStrip::MessageStrip(QWidget* parent) : QFrame(parent) {
    setObjectName(QStringLiteral("strip"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(14, 5, 12, 5);
    m_label = new QLabel;
    m_label->setWordWrap(true);
    m_label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    row->addWidget(m_label, 1);
    m_wayOut = new QToolButton;
    m_wayOut->setObjectName(QStringLiteral("wayOut"));
    connect(m_wayOut, &QToolButton::clicked, this, [this] {
        hide();
        m_take();
    });
    row->addWidget(m_wayOut);
    auto* close = new QToolButton;
    close->setText(QStringLiteral("✕"));
    close->setAccessibleName(tr("Close the message"));
    close->setToolTip(close->accessibleName());
    connect(close, &QToolButton::clicked, this, &QWidget::hide);
    row->addWidget(close, 0, Qt::AlignTop);
    hide();
}

void MessageStrip::say(const QString& sentence) {
    m_label->setText(sentence);
    m_wayOut->hide();
    setVisible(!sentence.isEmpty());
}

void MessageStrip::offer(const QString& sentence, const QString& wayOut, std::function<void()> take) {
    say(sentence);
    m_take = std::move(take);
    m_wayOut->setText(wayOut);
    m_wayOut->show();
}

QString MessageStrip::sentence() const {
    return isHidden() ? QString() : m_label->text();
}

} // namespace headscope
