// NextWordPanel: what a decoder would write after the pinned token: the likeliest words as bars, with a temperature of
// their own; opened, a word shows the parts that its logit is the sum of: every head, MLP and bias. Click a head to go
// there. Not here: computing (core/analysis/next_word).
#pragma once

#include "ui/latest_wins.h"

#include <QStyledItemDelegate>
#include <QWidget>

#include "core/analysis/next_word.h" // after Qt: moc cannot read <compare> before a Qt header

class QLabel;
class QSlider;
class QTreeWidget;
class QTreeWidgetItem;

namespace headscope {

class Workspace;

// A bar from 0 to a share of the column, to the left for negative numbers where the column has some.
class BarDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    enum Role { ShareRole = Qt::UserRole + 10, SignedRole };
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
};

class NextWordPanel : public QWidget {
    Q_OBJECT
public:
    explicit NextWordPanel(Workspace& workspace, QWidget* parent = nullptr);
    QTreeWidget* list() { return m_list; }

    static constexpr int words = 12;

signals:
    void available(bool predicts); // the model predicts next words, or does not

protected:
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void createTemperature();
    void createList();
    void refresh();
    void take(const NextWords& next);
    void addParts(QTreeWidgetItem* word);
    void showParts(std::int64_t id, const std::vector<LogitPart>& parts);
    void goToHead(QTreeWidgetItem* item);
    double temperature() const;
    int row() const; // the pinned query, else the last token

    Workspace& m_workspace;
    QLabel* m_title;
    QSlider* m_temperature;
    QLabel* m_temperatureText;
    QTreeWidget* m_list;
    QLabel* m_formula;
    std::int64_t m_opened = -1; // the word whose parts are shown; stays open from sentence to sentence
    LatestWins<NextWords> m_jobs;
    LatestWins<std::vector<LogitPart>> m_partJobs;
};

} // namespace headscope
