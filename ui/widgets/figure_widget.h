// FigureWidget: a figure of ui/render on screen, as large as the widget, drawn in the background; the last picture
// stays until the new one is there. What it shows is what the same view exports.
#pragma once

#include "ui/latest_wins.h"

#include <QImage>
#include <QWidget>

namespace headscope {

class Workspace;

class FigureWidget : public QWidget {
    Q_OBJECT
public:
    explicit FigureWidget(Workspace& workspace, QWidget* parent = nullptr);
    // Picture pixels for each logical one, where the screen's own are not what is wanted (a screenshot).
    void setPictureRatio(double ratio) { m_ratio = ratio; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void redraw();

    Workspace& m_workspace;
    QImage m_picture;
    double m_ratio = 0; // 0: the screen's
    QString m_problem;  // why there is no picture
    LatestWins<QImage> m_jobs;
};

} // namespace headscope
