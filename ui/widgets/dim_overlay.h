// DimOverlay: lies over a picture that is no longer what the text says, and says what to do. Follows its parent's size.
#pragma once

#include <QWidget>

namespace headscope {

class DimOverlay : public QWidget {
    Q_OBJECT
public:
    explicit DimOverlay(QWidget* parent);
    void setHint(const QString& hint); // empty: gone

protected:
    void paintEvent(QPaintEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QString m_hint;
};

} // namespace headscope
