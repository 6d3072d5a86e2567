// FigureWidget: a figure of ui/render on screen, as large as the widget or, where rows would be too low to be seen,
// higher and scrolled; drawn in the background; the last picture stays until the new one is there. What it shows is
// what the same view exports; a click chooses a head or pins a cell.
#pragma once

#include "ui/latest_wins.h"

#include <QAbstractScrollArea>
#include <QImage>
#include <QTimer>

#include "core/attention/view.h" // after Qt: moc cannot read <compare> before a Qt header

#include <vector>

namespace headscope {

class Workspace;
struct Scenario;

class FigureWidget : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit FigureWidget(Workspace& workspace, QWidget* parent = nullptr);
    // Picture pixels for each logical one, where the screen's own are not what is wanted (a screenshot).
    void setPictureRatio(double ratio) { m_ratio = ratio; }
    QString problem() const { return m_problem; } // why there is no picture; empty while there is one

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    struct Panel {
        QRectF area;
        int rows = 0, cols = 0;
    };
    struct Drawn {
        QImage picture;
        std::vector<Panel> panels; // where its matrices lie
    };
    void redraw();
    void sayDrawing();
    void chooseHead(int panel);
    void pinCell(const Panel& panel, QPointF position);
    double leastRow(const Scenario& scenario) const;
    QPointF inPicture(QPointF position) const; // from the viewport
    void take(const Drawn& drawn);

    Workspace& m_workspace;
    Drawn m_drawn;
    View m_view;        // that it was drawn for
    double m_ratio = 0; // 0: the screen's
    QString m_problem;  // why there is no picture
    QTimer m_patience;  // until it is said that it takes a while
    LatestWins<Drawn> m_jobs;
};

} // namespace headscope
