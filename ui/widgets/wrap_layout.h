// WrapLayout: widgets side by side, on as many lines as the width needs. For rows of buttons that must survive a narrow
// dock and the projector's large type.
#pragma once

#include <QLayout>
#include <QList>

namespace headscope {

class WrapLayout : public QLayout {
    Q_OBJECT
public:
    explicit WrapLayout(QWidget* parent = nullptr) : QLayout(parent) {}
    ~WrapLayout() override;

    void addItem(QLayoutItem* item) override { m_items.append(item); }
    int count() const override { return static_cast<int>(m_items.size()); }
    QLayoutItem* itemAt(int index) const override { return m_items.value(index); }
    QLayoutItem* takeAt(int index) override;
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override { return place(QRect(0, 0, width, 0), false); }
    QSize minimumSize() const override;
    QSize sizeHint() const override;
    void setGeometry(const QRect& rect) override;
    Qt::Orientations expandingDirections() const override { return {}; }

private:
    int place(const QRect& rect, bool move) const; // the height used

    QList<QLayoutItem*> m_items;
};

} // namespace headscope
