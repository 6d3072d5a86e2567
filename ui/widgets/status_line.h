// StatusLine: what was computed, where, how fast, and whether it is saved; progress with Cancel for what takes longer
// than a moment. MessageStrip: what went wrong and what to do, without a modal box; the last result stays.
#pragma once

#include <QFrame>
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

signals:
    void taskCancelled();

private:
    void createProgress();
    void refresh();
    void showProgress();

    Workspace& m_workspace;
    HeadSurvey& m_survey;
    QLabel* m_facts;
    QLabel* m_model;
    QProgressBar* m_progress;
    QToolButton* m_cancel;
    QTimer m_patience; // until progress is worth showing
    QString m_saved, m_task;
    QLabel* m_taskLabel;
};

class MessageStrip : public QFrame {
    Q_OBJECT
public:
    explicit MessageStrip(QWidget* parent = nullptr);
    void say(const QString& sentence);
    QString sentence() const;

private:
    QLabel* m_label;
};

} // namespace headscope
