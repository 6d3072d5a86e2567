// StatusLine: what was computed, where, how fast, and whether it is saved; progress with Cancel for what takes longer
// than a moment. Not here: what went wrong (MessageStrip).
#pragma once

#include <QStatusBar>
#include <QTimer>

class QLabel;
class QProgressBar;
class QToolButton;

namespace headscope {

class HeadSurvey;
class Workspace;

class StatusLine : public QStatusBar {
    Q_OBJECT
public:
    StatusLine(Workspace& workspace, HeadSurvey& survey, QWidget* parent = nullptr);
    void setSaved(const QString& state); // "saved", "not saved yet", "unsaved changes"
    // Something else that takes a while ("Opening model.gguf"), said after a moment; empty: it is over.
    void setTask(const QString& task);
    void setTaskProgress(double fraction);

signals:
    void taskCancelled();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    // What takes a while: a task of the session, computing, or the survey of all heads after it.
    enum class Running { Nothing, Task, Computing, Survey };
    Running running() const;
    void createProgress();
    QList<QWidget*> progressParts() const;
    void refresh();
    void elideFacts();
    void showProgress();
    void setProgress(Running of, double fraction);
    void cancel();

    Workspace& m_workspace;
    HeadSurvey& m_survey;
    QLabel* m_facts;
    QLabel* m_model;
    QLabel* m_running;
    QProgressBar* m_progress;
    QToolButton* m_cancel;
    QTimer m_patience; // until progress is worth showing
    Running m_shown = Running::Nothing;
    QString m_saved, m_task;
};

} // namespace headscope
