// WeightDelegate: paints a number on its colour (diverging about 0) with a corner mark where it differs from the opened
// one. WeightTable: a table whose cells turn like a dial when dragged. Neither changes anything: they say what is
// wanted. Used by the weights editor only.
#pragma once

#include <QStyledItemDelegate>
#include <QTableView>
#include <memory>

namespace headscope {

class ColorScale;
class WeightModel;

class WeightDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    explicit WeightDelegate(const WeightModel& model, QObject* parent = nullptr)
        : QStyledItemDelegate(parent), m_model(model) {}
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

private:
    const WeightModel& m_model;
    mutable std::shared_ptr<const ColorScale> m_scale; // of the ends that were painted last
};

// Dragging up or right makes the number larger, with Ctrl ten times finer; Shift and drag selects. Ctrl+Up and
// Ctrl+Down do the same from the keyboard. One drag, and one run of key presses on a cell, is one turn.
class WeightTable : public QTableView {
    Q_OBJECT
public:
    explicit WeightTable(QWidget* parent = nullptr);

    void endTurn(); // what comes next is a new turn

signals:
    // steps counts from where the turn began; 100 steps go from 0 to the largest number of the table.
    void turnBegan(const QModelIndex& index);
    void turned(const QModelIndex& index, double steps);
    void copyRequested();
    void pasteRequested();
    void revertRequested();

protected:
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    QPersistentModelIndex m_pressed; // the cell under the button
    QPoint m_lastPos;
    double m_steps = 0;
    bool m_turning = false, m_keyTurn = false;
};

} // namespace headscope
