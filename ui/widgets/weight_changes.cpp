// The changes of the weights editor: each takes the scenario as it is and gives the workspace a new one, as one named
// step. What is shown is in weight_editor.cpp.
#include "core/attention/tensor_edit.h"
#include "core/model/random.h"
#include "core/tensor/errors.h"
#include "ui/stage_text.h"
#include "ui/widgets/number_block.h"
#include "ui/widgets/weight_delegate.h"
#include "ui/widgets/weight_editor.h"
#include "ui/widgets/weight_file.h"
#include "ui/widgets/weight_model.h"
#include "ui/workspace.h"

#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>

#include <algorithm>
#include <cmath>

namespace headscope {

static QString sizeText(int rows, int cols) {
    return QStringLiteral("%1 × %2").arg(rows).arg(cols);
}

void WeightEditor::say(const QString& sentence) {
    m_message->setText(sentence);
    m_message->setVisible(!sentence.isEmpty());
}

void WeightEditor::commit(const QString& name, Scenario next, int mergeId) {
    say({});
    m_committing = true;
    m_workspace.edit(name, std::move(next), mergeId);
    m_committing = false;
}

QString WeightEditor::place(const QModelIndex& index) const {
    const WeightModel::Place at = m_model->placeOf(index.row());
    const Target& target = m_targets[static_cast<std::size_t>(at.block)];
    if (target.isEmbedding)
        return QStringLiteral("%1[%2, %3]")
            .arg(target.stage == Stage::Embedding ? QStringLiteral("X") : QStringLiteral("Y"))
            .arg(at.row)
            .arg(index.column());
    const WeightBlock& block = m_model->blocks()[static_cast<std::size_t>(at.block)];
    if (block.headWidth == 0)
        return fromUtf8(cellName(target.id, m_workspace.view().heads.front(), at.row, index.column()));
    // Named by the head that the cell belongs to, with its place in it.
    const ModelConfig& config = m_workspace.scenario().model->config();
    const int along = block.headRows ? at.row : index.column(), band = along / block.headWidth;
    const HeadIndex head{belongsToKvHead(target.id.kind) ? band * (config.heads / config.kvHeads) : band};
    const int inside = along % block.headWidth;
    return fromUtf8(
        cellName(target.id, head, block.headRows ? inside : at.row, block.headRows ? index.column() : inside));
}

QString WeightEditor::tableName() const {
    if (m_shown == Shown::X || m_shown == Shown::Y)
        return m_shown == Shown::X ? QStringLiteral("X") : QStringLiteral("Y");
    const QString what = m_targets.size() == 1 ? fromUtf8(weightName(m_targets.front().id.kind)) : tr("the biases");
    if (showsAllHeads())
        return tr("%1 of all heads of L%2").arg(what).arg(m_workspace.view().layer.value);
    return tr("%1 of %2").arg(what, headName(m_workspace.view().layer, m_workspace.view().heads.front()));
}

Scenario WeightEditor::withCells(int row, int col, const Matrix& values) const {
    Scenario next = m_workspace.scenario();
    int done = 0; // rows of `values`
    while (done < values.rows()) {
        const WeightModel::Place at = m_model->placeOf(row + done);
        const WeightBlock& block = m_model->blocks()[static_cast<std::size_t>(at.block)];
        const Target& target = m_targets[static_cast<std::size_t>(at.block)];
        const int count = std::min(values.rows() - done, block.band.rowEnd - block.band.rowBegin - at.row);
        const Matrix part = copy(MatrixView(values).rowRange(done, done + count));
        next = target.isEmbedding ? withEmbeddingBlock(next, target.stage, at.row, col, part, *block.original)
                                  : withBlock(next, target.id, block.band, at.row, col, part);
        done += count;
    }
    return next;
}

Scenario WeightEditor::withWholeTable(const std::function<Matrix(const Matrix&)>& change) const {
    Scenario next = m_workspace.scenario();
    for (std::size_t b = 0; b < m_targets.size(); ++b) {
        const WeightBlock& block = m_model->blocks()[b];
        const Matrix values = change(bandOf(*block.values, block.band));
        next = m_targets[b].isEmbedding ? withEmbeddingBlock(next, m_targets[b].stage, 0, 0, values, *block.original)
                                        : withBlock(next, m_targets[b].id, block.band, 0, 0, values);
    }
    return next;
}

void WeightEditor::setCell(const QModelIndex& index, float value, int mergeId) {
    Matrix one(1, 1, value);
    commit(tr("Set %1 to %2").arg(place(index), shortestNumber(value)), withCells(index.row(), index.column(), one),
           mergeId);
}

void WeightEditor::turn(const QModelIndex& index, double steps) {
    if (!index.isValid() || !m_model->holds(index))
        return;
    double value = m_turnStart;
    if (steps != 0) { // at rest it is the exact number it was
        const double fine = m_turnUnit / 10;
        value = std::round((m_turnStart + steps * m_turnUnit) / fine) * fine;
    }
    setCell(index, static_cast<float>(value), m_mergeId);
}

QRect WeightEditor::selection() const {
    QRect area;
    for (const QItemSelectionRange& range : m_table->selectionModel()->selection())
        area |= QRect(range.left(), range.top(), range.width(), range.height());
    return area.isEmpty() ? QRect(0, 0, m_model->columnCount(), m_model->rowCount()) : area;
}

void WeightEditor::copyBlock() {
    const QRect area = selection();
    QString text;
    for (int r = area.top(); r <= area.bottom(); ++r) {
        std::vector<float> row;
        for (int c = area.left(); c <= area.right() && m_model->holds(m_model->index(r, c)); ++c)
            row.push_back(m_model->value(m_model->index(r, c)));
        const int width = static_cast<int>(row.size());
        text += numberBlockText(MatrixView(row.data(), 1, width, width));
    }
    QApplication::clipboard()->setText(text);
}

void WeightEditor::pasteBlock() {
    if (m_model->rowCount() == 0)
        return;
    try {
        Matrix block = parseNumberBlock(QApplication::clipboard()->text());
        const QModelIndexList selected = m_table->selectionModel()->selectedIndexes();
        const QRect area = selected.isEmpty() ? QRect(0, 0, 1, 1) : selection();
        const bool fillsSelection = block.size() == 1 && selected.size() > 1;
        if (fillsSelection)
            block = Matrix(area.height(), area.width(), block(0, 0));
        for (int r = 0; r < block.rows(); ++r) {
            if (m_model->holds(m_model->index(area.top() + r, area.left() + block.cols() - 1)))
                continue;
            const QString size = sizeText(block.rows(), block.cols());
            const QString first = QStringLiteral("(%1, %2)").arg(area.top()).arg(area.left());
            const QString room =
                sizeText(m_model->rowCount() - area.top(), std::max(0, m_model->columnCount() - area.left()));
            throw InputError(
                toUtf8(m_shown == Shown::Biases
                           ? tr("The clipboard holds %1 numbers, which from %2 on do not fit the lengths of "
                                "the biases; copy one row of the right length.")
                                 .arg(size, first)
                           : tr("The clipboard holds %1 numbers, but from cell %2 on there is room for %3; "
                                "select another first cell or copy a smaller block.")
                                 .arg(size, first, room)));
        }
        const QString name =
            fillsSelection || block.size() > 1
                ? tr("Paste %1 into %2").arg(sizeText(block.rows(), block.cols()), tableName())
                : tr("Set %1 to %2").arg(place(m_model->index(area.top(), area.left())), shortestNumber(block(0, 0)));
        commit(name, withCells(area.top(), area.left(), block));
    } catch (const InputError& error) {
        say(fromUtf8(error.what()));
    }
}

void WeightEditor::fillIdentity() {
    if (isMatrix())
        commit(tr("Make %1 the identity").arg(tableName()),
               withWholeTable([](const Matrix& now) { return identity(now.rows(), now.cols()); }));
}

void WeightEditor::fillZero() {
    commit(tr("Set %1 to zero").arg(tableName()),
           withWholeTable([](const Matrix& now) { return Matrix(now.rows(), now.cols()); }));
}

void WeightEditor::fillRandom(quint64 seed) {
    Random random(seed); // one stream, so that every block has its own numbers
    commit(tr("Fill %1 with random numbers (seed %2)").arg(tableName()).arg(seed),
           withWholeTable([&random](const Matrix& now) {
               return normalMatrix(now.rows(), now.cols(), 1.0 / std::sqrt(now.rows()), random);
           }));
}

void WeightEditor::fillTransposed() {
    if (m_transpose->isEnabled())
        commit(tr("Transpose %1").arg(tableName()),
               withWholeTable([](const Matrix& now) { return transposed(MatrixView(now)); }));
}

void WeightEditor::copyFrom(LayerIndex layer, HeadIndex head) {
    Scenario next = m_workspace.scenario();
    for (std::size_t b = 0; b < m_targets.size(); ++b) {
        const Target& target = m_targets[b];
        if (target.isEmbedding)
            return;
        const SharedMatrix& source = m_workspace.scenario().model->tensor({layer, target.id.kind});
        if (!source)
            continue;
        const TensorBand from = headBandOf(next.model->config(), target.id.kind, head);
        next = withBlock(next, target.id, m_model->blocks()[b].band, 0, 0, bandOf(*source, from));
    }
    commit(tr("Copy %1 from %2").arg(tableName(), headName(layer, head)), std::move(next));
}

void WeightEditor::scaleBy(double factor) {
    commit(tr("Scale %1 by %2").arg(tableName(), QLocale().toString(factor)),
           withWholeTable([factor](const Matrix& now) {
               Matrix scaled = now;
               for (float& value : scaled.values())
                   value = static_cast<float>(static_cast<double>(value) * factor);
               return scaled;
           }));
}

void WeightEditor::loadFile(const QString& path) {
    if (m_targets.size() != 1) {
        say(tr("A file fills one matrix: choose W_Q, W_K, W_V, W_O or X first."));
        return;
    }
    try {
        const Target& target = m_targets.front();
        const WeightBlock& block = m_model->blocks().front();
        const std::string wanted = target.isEmbedding ? (target.stage == Stage::Embedding ? "X" : "Y")
                                                      : std::string(weightName(target.id.kind));
        Matrix loaded = readWeightFile(path, wanted);
        const QString name = tr("Load %1 from %2").arg(tableName(), path.section(u'/', -1));
        if (loaded.rows() == m_model->rowCount() && loaded.cols() == m_model->columnCount())
            commit(name, withCells(0, 0, loaded));
        else if (loaded.rows() == block.values->rows() && loaded.cols() == block.values->cols())
            commit(name, withTensor(m_workspace.scenario(), target.id, std::move(loaded))); // all heads at once
        else
            throw LoadError(toUtf8(path), wanted,
                            toUtf8(tr("%1 (this head) or %2 (all heads)")
                                       .arg(sizeText(m_model->rowCount(), m_model->columnCount()),
                                            sizeText(block.values->rows(), block.values->cols()))),
                            toUtf8(sizeText(loaded.rows(), loaded.cols())));
    } catch (const InputError& error) {
        say(fromUtf8(error.what()));
    }
}

void WeightEditor::revertCells() {
    const QRect area = selection();
    Scenario next = m_workspace.scenario();
    for (int r = area.top(); r <= area.bottom(); ++r) {
        const WeightModel::Place at = m_model->placeOf(r);
        const WeightBlock& block = m_model->blocks()[static_cast<std::size_t>(at.block)];
        const Target& target = m_targets[static_cast<std::size_t>(at.block)];
        const int width = std::min(area.right() + 1, block.band.colEnd - block.band.colBegin) - area.left();
        if (width <= 0 || block.values == block.original)
            continue;
        const TensorBand old{block.band.rowBegin + at.row, block.band.rowBegin + at.row + 1,
                             block.band.colBegin + area.left(), block.band.colBegin + area.left() + width};
        const Matrix opened = bandOf(*block.original, old);
        next = target.isEmbedding ? withEmbeddingBlock(next, target.stage, at.row, area.left(), opened, *block.original)
                                  : withBlock(next, target.id, block.band, at.row, area.left(), opened);
    }
    const bool one = area.width() == 1 && area.height() == 1;
    commit(one ? tr("Revert %1").arg(place(m_model->index(area.top(), area.left())))
               : tr("Revert %1 cells of %2").arg(sizeText(area.height(), area.width()), tableName()),
           std::move(next));
}

void WeightEditor::revertHead() {
    Scenario next = m_workspace.scenario();
    const LayerIndex layer = m_workspace.view().layer;
    const HeadIndex head = m_workspace.view().heads.front();
    for (const WeightKind kind : allWeightKinds) {
        const TensorId id{layer, kind};
        const SharedMatrix &now = next.model->tensor(id), &opened = next.original->tensor(id);
        if (!now || now == opened || kind == WeightKind::BO)
            continue;
        const TensorBand band = headBandOf(next.model->config(), kind, head);
        next = withBlock(next, id, band, 0, 0, bandOf(*opened, band));
    }
    commit(tr("Revert %1").arg(headName(layer, head)), std::move(next));
}

void WeightEditor::revertAll() {
    Scenario next = m_workspace.scenario();
    next.model = next.original;
    std::erase_if(next.interventions, [](const Intervention& i) {
        return i.kind == Intervention::Kind::SetCell && (i.stage == Stage::Embedding || i.stage == Stage::EmbeddingKey);
    });
    commit(tr("Revert all weights and X"), std::move(next));
}

// --- questions
// --------------------------------------------------------------------------------------------------------

void WeightEditor::askRandom() {
    bool ok = false;
    const int seed = QInputDialog::getInt(this, tr("Random numbers"),
                                          tr("Normal, variance 1/rows. Seed (the same seed gives the same numbers):"),
                                          1, 0, std::numeric_limits<int>::max(), 1, &ok);
    if (ok)
        fillRandom(static_cast<quint64>(seed));
}

void WeightEditor::askCopyFrom() {
    const ModelConfig& config = m_workspace.scenario().model->config();
    const HeadIndex own = m_workspace.view().heads.front();
    const bool byKvHead = std::ranges::all_of(m_targets, [](const Target& t) { return belongsToKvHead(t.id.kind); });
    QStringList names;
    std::vector<std::pair<LayerIndex, HeadIndex>> heads;
    for (int l = 0; l < config.layers; ++l)
        for (int h = 0; h < config.heads; h += byKvHead ? config.heads / config.kvHeads : 1) {
            if (LayerIndex{l} == m_workspace.view().layer &&
                (byKvHead ? config.kvHeadOf(HeadIndex{h}) == config.kvHeadOf(own) : HeadIndex{h} == own))
                continue;
            heads.emplace_back(LayerIndex{l}, HeadIndex{h});
            names << headTitle(config, heads.back().first, heads.back().second);
        }
    if (names.isEmpty()) {
        say(tr("This model has a single head: there is none to copy from."));
        return;
    }
    bool ok = false;
    const QString chosen = QInputDialog::getItem(this, tr("Copy from another head"),
                                                 tr("Copy %1 from:").arg(tableName()), names, 0, false, &ok);
    if (ok)
        copyFrom(heads[static_cast<std::size_t>(names.indexOf(chosen))].first,
                 heads[static_cast<std::size_t>(names.indexOf(chosen))].second);
}

void WeightEditor::askScale() {
    bool ok = false;
    const QString text = QInputDialog::getText(this, tr("Scale"), tr("Multiply %1 by:").arg(tableName()),
                                               QLineEdit::Normal, QLocale().toString(2.0), &ok);
    if (!ok)
        return;
    if (const std::optional<float> factor = parseNumber(text))
        scaleBy(static_cast<double>(*factor));
    else
        say(tr("\"%1\" is no finite number; type one like %2.").arg(text, QLocale().toString(0.5)));
}

void WeightEditor::askLoad() {
    const QString path = QFileDialog::getOpenFileName(this, tr("Load %1").arg(tableName()), {},
                                                      tr("Arrays (*.npy *.npz *.safetensors *.csv *.tsv *.txt)"));
    if (!path.isEmpty())
        loadFile(path);
}

} // namespace headscope
