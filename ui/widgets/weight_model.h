// WeightModel: numbers that can be edited, as a table: the head's band of a weight matrix, its biases one under the
// other, or X. It shows values and says which cell somebody wants changed; it changes nothing itself. Not here: the
// scenario, undo, fills (weight_editor), colours (weight_delegate).
#pragma once

#include "core/model/model.h"
#include "ui/render/head_colors.h"

#include <QAbstractTableModel>
#include <QStringList>

#include <optional>
#include <vector>

namespace headscope {

// Some rows of the table: a window into one tensor.
struct WeightBlock {
    SharedMatrix values;         // the whole tensor, as it is now
    SharedMatrix original;       // as opened; equal shape
    TensorBand band;             // the window
    QStringList rowNames;        // one per row of the band, or empty: indices
    int headWidth = 0;           // columns, or rows, of a head where the window shows all heads; 0: one head
    bool headRows = false;       // heads lie one under the other (W_O)
    bool headsAreShared = false; // key/value heads of several query heads each
};
bool belongsToKvHead(WeightKind kind);

class WeightModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Role { ValueRole = Qt::UserRole, OriginalRole, ChangedRole };

    explicit WeightModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

    // Blocks lie one under the other; shorter ones leave cells empty. Equal shapes keep selection and scroll position.
    void setBlocks(std::vector<WeightBlock> blocks);
    const std::vector<WeightBlock>& blocks() const { return m_blocks; }

    // Which block a row of the table belongs to, and the row inside its band.
    struct Place {
        int block = 0, row = 0;
    };
    Place placeOf(int row) const;
    bool holds(const QModelIndex& index) const; // false for the empty cells beside a shorter block
    float value(const QModelIndex& index) const;
    bool changed(const QModelIndex& index) const;
    // The head (or KV head) whose band begins with this cell's row or column, where all heads are shown.
    std::optional<BandHead> headBeginning(const QModelIndex& index, Qt::Orientation along) const;
    double largest() const { return m_largest; } // absolute value: the ends of the colours
    int decimals() const { return m_decimals; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    // Emits cellTyped; false and refused() when the text is no number.
    bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;

signals:
    void cellTyped(const QModelIndex& index, float value);
    void refused(const QString& sentence);

private:
    float at(const SharedMatrix& tensor, const QModelIndex& index) const;

    std::vector<WeightBlock> m_blocks;
    std::vector<int> m_firstRow; // of every block, and the number of rows at the end
    int m_columns = 0;
    double m_largest = 0;
    int m_decimals = 2;
};

} // namespace headscope
