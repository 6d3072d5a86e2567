// FoundList: what was found in this sentence: the heads with a name for what they do, and where the others look
// hardest. Sorted by a pinned cell it answers "which head links these two words?". Not here: the findings (HeadSurvey).
#pragma once

#include <QWidget>

class QLabel;
class QToolButton;
class QTreeWidget;

namespace headscope {

class HeadSurvey;
class Workspace;

class FoundList : public QWidget {
    Q_OBJECT
public:
    FoundList(Workspace& workspace, HeadSurvey& survey, QWidget* parent = nullptr);

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void createList();
    void createButtons();
    void refresh();
    void showCurrent();
    void showFacts();
    int heads() const; // of a layer
    void choose();

    Workspace& m_workspace;
    HeadSurvey& m_survey;
    QTreeWidget* m_list;
    QLabel* m_facts; // numbers of the shown head
    QToolButton* m_byCell;
    QToolButton* m_off;
    bool m_showing = false;
};

} // namespace headscope
