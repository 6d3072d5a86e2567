// MessageStrip: what went wrong and what to do, in a line of its own without a modal box; the last result stays.
#pragma once

#include <QFrame>

#include <functional>

class QLabel;
class QToolButton;

namespace headscope {

class MessageStrip : public QFrame {
    Q_OBJECT
public:
    explicit MessageStrip(QWidget* parent = nullptr);

    void say(const QString& sentence); // empty: nothing is wrong any more
    // With a button that does what helps.
    void offer(const QString& sentence, const QString& wayOut, std::function<void()> take);
    QString sentence() const; // as shown

private:
    QLabel* m_label;
    QToolButton* m_wayOut;
    std::function<void()> m_take;
};

} // namespace headscope
