// FoundList: what was found in this sentence: the heads with a name for what they do, and where the others look
// hardest. Sorted by a pinned cell it answers "which head links these two words?". Not here: the findings (HeadSurvey).
#pragma once

#include <QWidget>

#include "core/analysis/metrics.h" // after Qt: moc cannot read <compare> before a Qt header

#include <vector>

class QLabel;
class QMenu;
class QToolButton;
class QTreeWidget;

namespace headscope {

class HeadSurvey;
struct Survey;
class Workspace;

class FoundList : public QWidget {
    Q_OBJECT
public:
    FoundList(Workspace& workspace, HeadSurvey& survey, QWidget* parent = nullptr);

    struct Finding {
        LayerIndex layer;
        HeadIndex head;
        QString what;
        double strength = 0;
        QString note; // in the tool tip
    };
    QList<QMenu*> menus() const;         // its choices once more, for the menu bar
    void sortBy(const QString& id);      // of sortKeys
    void showKind(const QString& label); // "previous"; empty: all

signals:
    void kindChosen(const QString& label);

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    struct SortKey {
        QString id, name;
        double HeadMetrics::*metric; // null: by more than one number
    };
    static const std::vector<SortKey>& sortKeys();
    std::vector<Finding> findings(const Survey& survey) const; // of the chosen kind, sorted

    void createChoices();
    void fillKinds();
    void createList();
    void createButtons();
    void refresh();
    void showCurrent();
    void showFacts();
    void revealCurrent();
    int heads() const; // of a layer
    void choose();

    Workspace& m_workspace;
    HeadSurvey& m_survey;
    QTreeWidget* m_list;
    QLabel* m_facts; // numbers of the shown head
    QToolButton *m_sortButton, *m_kindButton;
    QString m_sort = QStringLiteral("strength"), m_kind;
    QToolButton* m_byCell;
    QToolButton* m_off;
    bool m_showing = false;
};

} // namespace headscope
