// WalkView: the shown stage as the product that it is, on screen. The row, the column and the cell under the pointer
// are marked in all its matrices and their arithmetic stands beneath; a click pins the cell. Drawn by the painter of
// the walk figure (ui/render/walk_layout): matrices once in the background, marks at every move.
#pragma once

#include "ui/latest_wins.h"
#include "ui/render/walk_layout.h"

#include <QImage>
#include <QWidget>

namespace headscope {

class Workspace;

class WalkView : public QWidget {
    Q_OBJECT
public:
    explicit WalkView(Workspace& workspace, QWidget* parent = nullptr);

    // Picture pixels for each logical one, where the screen's own are not what is wanted (a screenshot).
    void setPictureRatio(double ratio) { m_ratio = ratio; }
    // What is marked: the cell under the pointer or the keyboard's, else the pinned one; nothing before the first
    // picture.
    std::optional<WalkCell> markedCell() const;
    // The middle of a cell of a matrix of the walk, for tests; empty when there is no such matrix.
    std::optional<QPointF> cellCentre(int matrix, int row, int col) const;
    const Walk* walk() const { return m_drawn ? &m_drawn->walk : nullptr; }
    QString describe() const; // "Q_sat · K_cat = ...", for a screen reader

    QSize minimumSizeHint() const override { return {240, 180}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    struct Drawn {
        Walk walk;
        WalkLayout layout;
        QImage picture; // without marks
    };
    static Drawn draw(const SharedTrace& trace, const View& view, QSizeF size, double fontPoints, double numberPoints,
                      bool dark, double ratio);
    void redraw();
    void setHovered(std::optional<WalkCell> cell);
    void pin(WalkCell cell);
    void moveBy(int rows, int cols);

    Workspace& m_workspace;
    std::optional<Drawn> m_drawn;
    std::optional<WalkCell> m_hovered;
    QString m_problem;
    double m_ratio = 0; // 0: the screen's
    LatestWins<Drawn> m_jobs;
};

} // namespace headscope
