// HeadGrid: all heads as thumbnails, layers down, heads across; the heads of a single layer fill several lines, each
// with its name. Arrow keys move, Shift or Ctrl pick several of one layer, X switches the picked ones off. Not here:
// computing them (HeadSurvey).
#pragma once

#include <QAbstractTableModel>
#include <QImage>
#include <QStyledItemDelegate>
#include <QTableView>

#include "core/tensor/index.h" // after Qt: moc cannot read <compare> before a Qt header

#include <optional>
#include <vector>

namespace headscope {

class HeadSurvey;
class Workspace;

// The heads of the last survey as a table; the thumbnails are coloured here, once per survey and colour map.
class HeadModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Role { ThumbnailRole = Qt::UserRole, OffRole, NameRole, DimRole, GroupRole };
    enum GroupEdge { GroupBegins = 1, GroupEnds = 2 }; // GroupRole: of the heads that share a key/value head

    HeadModel(Workspace& workspace, HeadSurvey& survey, QObject* parent = nullptr);
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;

    // A single layer of more than a few heads stands on several lines of `perLine`; else a line is a layer.
    static constexpr int perLine = 4;
    bool wrapped() const { return m_layers == 1 && m_heads > perLine; }
    struct Place {
        LayerIndex layer;
        HeadIndex head;
    };
    std::optional<Place> placeOf(const QModelIndex& index) const; // nothing: a cell behind the last head
    QModelIndex indexOf(LayerIndex layer, HeadIndex head) const;
    void setKind(const QString& label) { m_kind = label; } // heads of another label are dimmed; empty: none
    void setHeaderStep(int step) { m_headerStep = step; }  // every step-th number stands over its column

private:
    void refresh();
    QString summaryOf(LayerIndex layer, HeadIndex head) const;
    const QImage* thumbnail(const Place& place) const;

    Workspace& m_workspace;
    HeadSurvey& m_survey;
    int m_layers = 0, m_heads = 0;
    std::vector<QImage> m_thumbnails;
    QString m_kind;
    int m_headerStep = 1;
};

class HeadDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    void setNameHeight(int height) { m_nameHeight = height; } // under the thumbnail; 0: no names

private:
    int m_nameHeight = 0;
};

class HeadGrid : public QTableView {
    Q_OBJECT
public:
    HeadGrid(Workspace& workspace, HeadSurvey& survey, QWidget* parent = nullptr);
    QSize minimumSizeHint() const override { return {120, 60}; }
    void showKind(const QString& label); // dims the heads of another one; empty: none

signals:
    void heightNeeded(); // maximumHeight() is another one now

protected:
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    HeadModel& heads() const { return *static_cast<HeadModel*>(model()); }
    int nameLines() const;
    void fitCells();      // and asks for no more height than they need
    void showSelection(); // of the view, in the table
    void takeSelection(); // of the table, into the view

    Workspace& m_workspace;
    bool m_showing = false; // the table follows the view: not a choice of the user
};

// Every picked head off, or on again when all of them are off: one undoable step.
void toggleHeads(Workspace& workspace);

} // namespace headscope
