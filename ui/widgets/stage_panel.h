// StagePanel: the middle of the window: the ten steps, the shown stage's formula with this model's sizes and two
// sentences about it, the picture (heatmap, links, walk, stages, all heads), and the row of controls. Chooses which
// picture; each picture is a widget of its own.
#pragma once

#include "ui/widgets/comparison.h"

#include <QWidget>

#include <vector>

class QButtonGroup;
class QHBoxLayout;
class QLabel;
class QStackedWidget;

namespace headscope {

class ComparisonView;
class DimOverlay;
class FigureWidget;
class HeatmapPanel;
class LinksPanel;
class StageStepper;
class ViewControls;
class Workspace;

class StagePanel : public QWidget {
    Q_OBJECT
public:
    explicit StagePanel(Workspace& workspace, QWidget* parent = nullptr);

    StageStepper* stepper() { return m_stepper; }
    HeatmapPanel* heatmap() { return m_heatmap; }
    LinksPanel* links() { return m_links; }
    ViewControls* controls() { return m_controls; }
    // Dims the last picture and says what to do; an empty text shows it plainly again.
    void setHint(const QString& hint);

private:
    void createHeader(QHBoxLayout* row);
    void createPictures();
    void refresh();
    void refreshText();
    void refreshStageButtons();
    void addStageButton(Stage stage);
    void refreshPicture();
    std::optional<Comparison> comparisonOf(const View& view) const;

    Workspace& m_workspace;
    StageStepper* m_stepper;
    QLabel *m_formula, *m_what;
    QWidget* m_stageButtons;     // Q, K, V of one step
    std::vector<Stage> m_stages; // which they are
    QButtonGroup* m_figures;
    QStackedWidget* m_pictures;
    HeatmapPanel* m_heatmap;
    FigureWidget* m_figure;
    LinksPanel* m_links;
    ComparisonView* m_comparison;
    ViewControls* m_controls;
    DimOverlay* m_overlay;
};

} // namespace headscope
