// TokenChips: the tokens of the text, shaded by where the pinned row looks ("where sat looks in L0 H3"). Click or arrow
// keys pin another row; in cross-attention the queries stand above the shaded keys.
#pragma once

#include <QList>
#include <QWidget>

#include "core/attention/view.h" // after Qt: moc cannot read <compare> before a Qt header

class QHBoxLayout;
class QLabel;
class QScrollArea;
class QToolButton;

namespace headscope {

class Workspace;

// The chips themselves: one row, or two for cross-attention. Knows texts and colours only.
class ChipStrip : public QWidget {
    Q_OBJECT
public:
    struct Chip {
        QString text;
        QString toolTip;
        QColor fill;      // invalid: not shaded
        float weight = 0; // where it is shaded
    };
    explicit ChipStrip(QWidget* parent = nullptr);

    void setChips(QList<Chip> queries, QList<Chip> keys, int pinnedQuery, int pinnedKey);
    QSize sizeHint() const override;
    QRect chipRect(bool key, int index) const;
    QRect pinnedRect() const { return chipRect(false, m_pinned[0]); }
    int chipCount() const { return static_cast<int>(m_rows[0].size()); }

signals:
    void queryPinned(int row);
    void keyPinned(int col);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool event(QEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void layOut();
    // Row (0 queries, 1 keys) and index under a point; index -1 for none.
    std::pair<int, int> chipAt(QPoint point) const;
    void paintChip(QPainter& painter, const Chip& chip, const QRect& rect, bool pinned) const;

    QList<Chip> m_rows[2];
    QList<QRect> m_rects[2];
    int m_pinned[2] = {-1, -1};
};

class TokenChips : public QWidget {
    Q_OBJECT
public:
    explicit TokenChips(Workspace& workspace, QWidget* parent = nullptr);
    ChipStrip* strip() { return m_strip; }
    static QList<std::pair<Special, QString>> specialChoices(); // also of the View menu

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void createChoices(QHBoxLayout* row);
    void addSpecialChoice(QMenu* menu, const QString& text, Special special);
    void refresh();
    void refreshChoices();
    void pinRow(int row);
    void pinCol(int col);
    void fitHeight();
    void showPinned();

    Workspace& m_workspace;
    // The chips of these texts, without shades: they stay while heads and rows are chosen.
    TokenSequence m_queryTokens, m_keyTokens;
    QList<ChipStrip::Chip> m_queries, m_keys;
    QLabel* m_caption;
    QScrollArea* m_scroll;
    ChipStrip* m_strip;
    QToolButton *m_special, *m_words;
};

} // namespace headscope
