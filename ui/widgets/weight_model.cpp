#include "ui/widgets/weight_model.h"

#include "ui/widgets/number_block.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

namespace headscope {

static int rowsOf(const WeightBlock& block) {
    return block.band.rowEnd - block.band.rowBegin;
}
static int columnsOf(const WeightBlock& block) {
    return block.band.colEnd - block.band.colBegin;
}

void WeightModel::setBlocks(std::vector<WeightBlock> blocks) {
    const auto unchanged = [](const WeightBlock& a, const WeightBlock& b) { // matrices by identity
        return a.values == b.values && a.original == b.original && a.rowNames == b.rowNames &&
               std::tie(a.band.rowBegin, a.band.rowEnd, a.band.colBegin, a.band.colEnd) ==
                   std::tie(b.band.rowBegin, b.band.rowEnd, b.band.colBegin, b.band.colEnd);
    };
    if (std::ranges::equal(m_blocks, blocks, unchanged))
        return; // a number that is being typed stays
    const auto sameShape = [](const WeightBlock& a, const WeightBlock& b) {
        return rowsOf(a) == rowsOf(b) && columnsOf(a) == columnsOf(b) && a.rowNames == b.rowNames;
    };
    const bool same = std::ranges::equal(m_blocks, blocks, sameShape);
    if (!same)
        beginResetModel();
    m_blocks = std::move(blocks);
    m_firstRow = {0};
    m_columns = 0;
    m_largest = 0;
    for (const WeightBlock& block : m_blocks) {
        m_firstRow.push_back(m_firstRow.back() + rowsOf(block));
        m_columns = std::max(m_columns, columnsOf(block));
        for (int r = block.band.rowBegin; r < block.band.rowEnd; ++r)
            for (int c = block.band.colBegin; c < block.band.colEnd; ++c)
                m_largest = std::max(m_largest, static_cast<double>(std::fabs((*block.values)(r, c))));
    }
    m_decimals = decimalsFor(m_largest);
    if (!same)
        endResetModel();
    else if (rowCount() > 0 && m_columns > 0)
        emit dataChanged(index(0, 0), index(rowCount() - 1, m_columns - 1)); // the colours' ends may have moved too
}

WeightModel::Place WeightModel::placeOf(int row) const {
    const auto after = std::ranges::upper_bound(m_firstRow, row);
    const int block = static_cast<int>(after - m_firstRow.begin()) - 1;
    return {block, row - m_firstRow[static_cast<std::size_t>(block)]};
}

bool WeightModel::holds(const QModelIndex& index) const {
    return index.isValid() && index.row() < rowCount() &&
           index.column() < columnsOf(m_blocks[static_cast<std::size_t>(placeOf(index.row()).block)]);
}

float WeightModel::at(const SharedMatrix& tensor, const QModelIndex& index) const {
    const Place place = placeOf(index.row());
    const TensorBand& band = m_blocks[static_cast<std::size_t>(place.block)].band;
    return (*tensor)(band.rowBegin + place.row, band.colBegin + index.column());
}

float WeightModel::value(const QModelIndex& index) const {
    return at(m_blocks[static_cast<std::size_t>(placeOf(index.row()).block)].values, index);
}

bool WeightModel::changed(const QModelIndex& index) const {
    const WeightBlock& block = m_blocks[static_cast<std::size_t>(placeOf(index.row()).block)];
    return block.values != block.original &&
           std::bit_cast<quint32>(at(block.values, index)) != std::bit_cast<quint32>(at(block.original, index));
}

bool belongsToKvHead(WeightKind kind) {
    return kind == WeightKind::WK || kind == WeightKind::WV || kind == WeightKind::BK || kind == WeightKind::BV;
}

std::optional<BandHead> WeightModel::headBeginning(const QModelIndex& index, Qt::Orientation along) const {
    const Place place = placeOf(index.row());
    const WeightBlock& block = m_blocks[static_cast<std::size_t>(place.block)];
    const int at = along == Qt::Horizontal ? index.column() : place.row;
    if (block.headWidth == 0 || block.headRows != (along == Qt::Vertical) || at % block.headWidth != 0)
        return std::nullopt;
    return BandHead{at / block.headWidth, block.headsAreShared};
}

int WeightModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || m_firstRow.empty() ? 0 : m_firstRow.back();
}

int WeightModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : m_columns;
}

QVariant WeightModel::data(const QModelIndex& index, int role) const {
    if (!holds(index))
        return {};
    switch (role) {
    case Qt::DisplayRole:
        return value(index) == 0 ? std::signbit(value(index)) ? QStringLiteral("-0") : QStringLiteral("0")
                                 : screenNumber(static_cast<double>(value(index)), m_decimals, true);
    case Qt::EditRole:
        return shortestNumber(value(index));
    case Qt::TextAlignmentRole:
        return static_cast<int>(Qt::AlignCenter);
    case Qt::ToolTipRole:
    case Qt::AccessibleDescriptionRole: {
        const WeightBlock& block = m_blocks[static_cast<std::size_t>(placeOf(index.row()).block)];
        return changed(index) ? tr("%1 (opened as %2)")
                                    .arg(shortestNumber(value(index)), shortestNumber(at(block.original, index)))
                              : shortestNumber(value(index));
    }
    case ValueRole:
        return value(index);
    case OriginalRole:
        return at(m_blocks[static_cast<std::size_t>(placeOf(index.row()).block)].original, index);
    case ChangedRole:
        return changed(index);
    default:
        return {};
    }
}

QVariant WeightModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (role != Qt::DisplayRole && role != Qt::ToolTipRole)
        return {};
    if (orientation == Qt::Horizontal)
        return section < m_columns ? QVariant(QString::number(section)) : QVariant();
    if (section >= rowCount())
        return {};
    const Place place = placeOf(section);
    const QStringList& names = m_blocks[static_cast<std::size_t>(place.block)].rowNames;
    return place.row < names.size() ? names[place.row] : QString::number(place.row);
}

Qt::ItemFlags WeightModel::flags(const QModelIndex& index) const {
    return holds(index) ? Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsEditable : Qt::NoItemFlags;
}

bool WeightModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::EditRole || !holds(index))
        return false;
    const QString text = value.toString();
    const std::optional<float> number = parseNumber(text);
    if (!number) {
        emit refused(tr("\"%1\" is no finite number; type one like %2.")
                         .arg(text.trimmed().left(40), QLocale().toString(-0.25)));
        return false;
    }
    emit cellTyped(index, *number);
    return true;
}

} // namespace headscope
