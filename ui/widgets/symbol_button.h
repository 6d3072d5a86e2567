// SymbolButton: a tool button whose label is a symbol with an index, "W_Q" drawn as W with a small Q below the line.
#pragma once

#include <QToolButton>

namespace headscope {

class SymbolButton : public QToolButton {
    Q_OBJECT
public:
    explicit SymbolButton(const QString& symbol, QWidget* parent = nullptr);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QFont indexFont() const;

    QString m_base, m_index;
};

} // namespace headscope
