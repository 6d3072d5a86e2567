// StagePanel: the middle of the window: the ten steps, the shown stage's formula with this model's sizes and two
// sentences about it, the picture (PictureStack), and the row of controls.
#pragma once

#include "core/attention/stage.h"

#include <QWidget>

#include <vector>

class QButtonGroup;
class QBoxLayout;
class QLabel;

namespace headscope {

class DimOverlay;
class HeatmapPanel;
class LinksPanel;
class PictureStack;
class StageStepper;
class ViewControls;
class Workspace;

class StagePanel : public QWidget {
    Q_OBJECT
public:
    explicit StagePanel(Workspace& workspace, QWidget* parent = nullptr);

    StageStepper* stepper() { return m_stepper; }
    HeatmapPanel* heatmap();
    PictureStack* pictures() { return m_pictures; }
    LinksPanel* links();
    ViewControls* controls() { return m_controls; }
    // Dims the last picture and says what to do; an empty text shows it plainly again.
    void setHint(const QString& hint);

    void focusPicture(); // it takes the keyboard

protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void createHeader();
    void refreshText();
    QString whoseStage() const;
    void refreshFigureButtons();
    void refreshStageButtons();
    void addStageButton(Stage stage);

    Workspace& m_workspace;
    StageStepper* m_stepper;
    QLabel *m_formula, *m_what;
    QBoxLayout* m_header;        // formula and buttons
    QWidget* m_buttons;          // of the stages of a step and of the figures
    QWidget* m_stageButtons;     // Q, K, V of one step
    std::vector<Stage> m_stages; // which they are
    QButtonGroup* m_figures;
    PictureStack* m_pictures;
    ViewControls* m_controls;
    DimOverlay* m_overlay;
};

} // namespace headscope
