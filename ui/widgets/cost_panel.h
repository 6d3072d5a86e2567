// CostPanel: what a head count costs, by part: h heads of d/h against one head of d, for this model and text or for any
// n, d, h. Not here: the arithmetic (core/analysis/cost), measured times (`headscope bench`).
#pragma once

#include "core/analysis/cost.h"

#include <QAbstractTableModel>
#include <QFont>
#include <QScrollArea>
#include <functional>

class QLabel;
class QSpinBox;
class QTableView;

namespace headscope {

class Workspace;

// The table: parts of the multiply-adds with their shares, then their sum, the parameters and the numbers in the maps.
class CostModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column { Part, Many, One, columnTotal };
    enum Role {
        ShareRole = Qt::UserRole,
        NumberRole
    }; // the share 0..1, invalid where there is none; the number's text

    explicit CostModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
    void setCosts(HeadCountComparison costs, const QString& manyTitle, const QString& oneTitle);
    const HeadCountComparison& costs() const { return m_costs; }
    void setHeaderFont(const QFont& font); // a style sheet keeps the header from following the table's

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : int{columnTotal}; }
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    struct Entry {
        std::int64_t number = 0;
        double share = -1; // negative: none
    };
    Entry entry(const AttentionCost& cost, int row) const;

    HeadCountComparison m_costs;
    QString m_manyTitle, m_oneTitle;
    QFont m_headerFont;
};

// "50.3 M": three digits and a power of a thousand.
QString shortCount(std::int64_t count);
// The largest n at which Q K^T and A V together are not more than the projections and W_O. cost(n) gives the parts.
std::int64_t crossover(const std::function<AttentionCost(std::int64_t)>& cost, std::int64_t above);

class CostPanel : public QScrollArea {
    Q_OBJECT
public:
    explicit CostPanel(Workspace& workspace, QWidget* parent = nullptr);

private:
    QWidget* createFields();
    void takeFromModel(); // n, d, h of the shown model and text
    void follow();        // the model, as long as nobody typed other numbers
    void refresh();
    AttentionCost manyHeads(std::int64_t n) const; // as the fields say
    void fitTable();
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

    Workspace& m_workspace;
    QSpinBox *m_n = nullptr, *m_d = nullptr, *m_heads = nullptr;
    CostModel* m_model = nullptr;
    QTableView* m_table = nullptr;
    QLabel *m_sentence = nullptr, *m_source = nullptr;
    bool m_followsModel = true;
};

} // namespace headscope
