#include "ui/widgets/symbol_button.h"

#include <QStyleOptionToolButton>
#include <QStylePainter>

namespace headscope {

SymbolButton::SymbolButton(const QString& symbol, QWidget* parent)
    : QToolButton(parent), m_base(symbol.section(u'_', 0, 0)), m_index(symbol.section(u'_', 1)) {
    setText(symbol); // for accessibility and tests; painted by hand
}

QFont SymbolButton::indexFont() const {
    QFont small = font();
    if (small.pointSizeF() > 0)
        small.setPointSizeF(small.pointSizeF() * 0.75);
    else
        small.setPixelSize(std::max(1, small.pixelSize() * 3 / 4));
    return small;
}

QSize SymbolButton::sizeHint() const {
    QStyleOptionToolButton option;
    initStyleOption(&option);
    const QSize text(fontMetrics().horizontalAdvance(m_base) + QFontMetrics(indexFont()).horizontalAdvance(m_index),
                     fontMetrics().height());
    return style()->sizeFromContents(QStyle::CT_ToolButton, &option, text, this);
}

void SymbolButton::paintEvent(QPaintEvent*) {
    QStylePainter painter(this);
    QStyleOptionToolButton option;
    initStyleOption(&option);
    option.text.clear();
    option.icon = QIcon();
    painter.drawComplexControl(QStyle::CC_ToolButton, option);
    const QFontMetrics indexMetrics(indexFont());
    const int baseWidth = fontMetrics().horizontalAdvance(m_base);
    const int x = (width() - baseWidth - indexMetrics.horizontalAdvance(m_index)) / 2;
    const int line = (height() + fontMetrics().ascent() - fontMetrics().descent()) / 2;
    painter.setPen(palette().color(isEnabled() ? QPalette::Active : QPalette::Disabled, QPalette::ButtonText));
    painter.drawText(x, line, m_base);
    painter.setFont(indexFont());
    painter.drawText(x + baseWidth, line + fontMetrics().descent(), m_index);
}

} // namespace headscope
