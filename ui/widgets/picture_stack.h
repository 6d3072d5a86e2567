// PictureStack: the picture of the view: heatmap, walk, another figure, or a comparison; and where there is no result
// yet, what is going on and what to do. Chooses which; each picture is a widget of its own. Used by the middle of the
// window and by the mirror on another screen.
#pragma once

#include "ui/widgets/comparison.h"

#include <QStackedWidget>
#include <QTimer>

class QLabel;
class QPushButton;

namespace headscope {

class ComparisonView;
class FigureWidget;
class HeatmapPanel;
class LinksPanel;
class WalkView;
class Workspace;

class PictureStack : public QStackedWidget {
    Q_OBJECT
public:
    explicit PictureStack(Workspace& workspace, QWidget* parent = nullptr);

    HeatmapPanel* heatmap() { return m_heatmap; }
    LinksPanel* links() { return m_links; }
    WalkView* walk() { return m_walk; }
    void focusPicture();  // it takes the keyboard
    QString note() const; // what is said instead of a picture; empty while there is one

private:
    void createNote();
    void refresh();
    void say(const QString& sentence, const QString& button);

    Workspace& m_workspace;
    HeatmapPanel* m_heatmap;
    LinksPanel* m_links;
    WalkView* m_walk;
    FigureWidget* m_figure;
    ComparisonView* m_comparison;
    QWidget* m_note;
    QLabel* m_sentence;
    QPushButton* m_button;
    QTimer m_patience; // until it is worth saying that something is computed
};

} // namespace headscope
