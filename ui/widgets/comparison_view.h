// ComparisonView: A | B | A - B as three aligned matrices. A and B share one range, the difference has its own,
// symmetric about 0; numbers where they fit; the largest differences as text below. Knows values only (comparison.h):
// no workspace, no traces.
#pragma once

#include "ui/widgets/comparison.h"

#include <QWidget>

class QBoxLayout;
class QLabel;
class QScrollArea;

namespace headscope {

class CellPicture;

// The three matrices, painted by the same painter as the heatmap.
class ComparisonCanvas : public QWidget {
    Q_OBJECT
public:
    explicit ComparisonCanvas(QWidget* parent = nullptr);

    void setComparison(std::optional<Comparison> comparison);
    const std::optional<Comparison>& comparison() const { return m_comparison; }
    // Where the cells of a panel (0: A, 1: B, 2: the difference) lie; empty without a comparison.
    QRectF cellsOf(int panel) const;
    QString describeCell(int row, int col) const; // "karina, is: printed 0.25, correct 0.3101, difference -0.0601"
    int heightFor(int width) const;               // at which the cells are as large as the width allows
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

signals:
    void cellPinned(CellRef cell);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    bool event(QEvent* event) override; // tooltips

private:
    struct Panel {
        QString title;
        std::shared_ptr<const CellPicture> picture, legend; // legend: the scale from end to end, as one row
        QString caption;                                    // which range is meant
        QRectF cells;
    };
    // What stands around the cells of a panel, for a given width of the three.
    struct Around {
        double left, top, bottom, panelWidth, gap;
    };
    Around aroundCells(double width) const;
    std::optional<CellRef> cellAt(QPointF position) const; // in any of the three
    void layOut();
    void paintPanel(QPainter& painter, const Panel& panel, bool isFirst) const;
    void paintLegend(QPainter& painter, const Panel& panel) const;

    std::optional<Comparison> m_comparison;
    std::vector<Panel> m_panels;
};

class ComparisonView : public QWidget {
    Q_OBJECT
public:
    explicit ComparisonView(QWidget* parent = nullptr);

    void setComparison(std::optional<Comparison> comparison); // nothing: says that nothing is compared
    const ComparisonCanvas& canvas() const { return *m_canvas; }

signals:
    void cellPinned(CellRef cell);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void shareRoom();
    QString tableOf(const std::vector<CellDifference>& largest) const;

    ComparisonCanvas* m_canvas;
    QBoxLayout* m_box;
    QLabel *m_note, *m_largest;
    QScrollArea* m_words = nullptr; // both
};

} // namespace headscope
