// StageStepper: the ten steps of attention in a row, each with the shape it has in this model; back, play, next.
// Not here: what a stage shows (StagePanel).
#pragma once

#include <QAbstractButton>
#include <QTimer>
#include <QWidget>

#include <array>

class QHBoxLayout;
class QToolButton;

namespace headscope {

class Workspace;

// One step: its name and, smaller, its shape.
class StepButton : public QAbstractButton {
    Q_OBJECT
public:
    explicit StepButton(QWidget* parent = nullptr);
    void setSubtitle(const QString& subtitle);
    void setTextScale(double scale); // smaller letters where the room is narrow
    QSize sizeHint() const override { return sizeAt(m_scale); }
    QSize minimumSizeHint() const override { return {20, sizeHint().height()}; }
    QSize sizeAt(double scale) const;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void paintName(QPainter& painter, const QRect& room) const;

    QString m_subtitle;
    double m_scale = 1;
};

class StageStepper : public QWidget {
    Q_OBJECT
public:
    static constexpr int stepCount = 10;

    explicit StageStepper(Workspace& workspace, QWidget* parent = nullptr);
    void next();
    void back();
    void setPlaying(bool on);
    void setPace(int milliseconds); // how long every stage is shown
    int pace() const { return m_pace; }
    bool playing() const { return m_timer.isActive(); }

signals:
    void playingChanged(bool on);

protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void createSteps(QHBoxLayout* row);
    QToolButton* createButton(const QString& text, const QString& what);
    void goToStep(int step);
    void refresh();
    void fit();

    Workspace& m_workspace;
    std::array<StepButton*, stepCount> m_steps;
    QToolButton* m_back;
    QToolButton* m_play;
    QToolButton* m_next;
    QTimer m_timer;
    int m_pace = 2500; // milliseconds a stage
};

} // namespace headscope
