#include "ui/widgets/card_title.h"

#include <QDockWidget>
#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

namespace headscope {

CardTitle::CardTitle(QDockWidget& dock, const QString& heading, int leftMargin, int rightMargin) {
    auto* around = new QHBoxLayout(this);
    around->setContentsMargins(leftMargin, 0, rightMargin, 0);
    auto* top = new QFrame;
    top->setObjectName(QStringLiteral("cardTop"));
    around->addWidget(top);
    auto* row = new QHBoxLayout(top);
    setToolTip(tr("Drag to move, double click to let it float"));
    if (heading.isEmpty()) {
        row->setContentsMargins(0, 6, 0, 0);
        return;
    }
    row->setContentsMargins(12, 6, 6, 0);
    auto* label = new QLabel(heading.toUpper());
    label->setObjectName(QStringLiteral("heading"));
    label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    row->addWidget(label, 1);
    auto* hide = new QToolButton;
    hide->setText(QStringLiteral("×"));
    hide->setAutoRaise(true);
    hide->setObjectName(QStringLiteral("quiet"));
    hide->setFocusPolicy(Qt::NoFocus); // the View menu does it from the keyboard
    hide->setToolTip(tr("Hide (the View menu brings it back)"));
    hide->setAccessibleName(tr("Hide %1").arg(heading));
    connect(hide, &QToolButton::clicked, &dock, &QWidget::hide);
    row->addWidget(hide);
}

} // namespace headscope
