#include "ui/widgets/weight_editor.h"

#include "core/attention/tensor_edit.h"
#include "core/model/random.h"
#include "core/model/tensor_file.h"
#include "core/tensor/errors.h"
#include "ui/merge_ids.h"
#include "ui/stage_text.h"
#include "ui/widgets/number_block.h"
#include "ui/widgets/symbol_button.h"
#include "ui/widgets/weight_delegate.h"
#include "ui/widgets/weight_model.h"
#include "ui/widgets/wrap_layout.h"
#include "ui/workspace.h"

#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QFileDialog>
#include <QHeaderView>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <cmath>

namespace headscope {

namespace {

constexpr std::array biasKinds{WeightKind::BQ, WeightKind::BK, WeightKind::BV, WeightKind::BO};
constexpr std::array matrixKinds{WeightKind::WQ, WeightKind::WK, WeightKind::WV, WeightKind::WO};

bool belongsToKvHead(WeightKind kind) {
    return kind == WeightKind::WK || kind == WeightKind::WV || kind == WeightKind::BK || kind == WeightKind::BV;
}

QString sizeText(int rows, int cols) {
    return QStringLiteral("%1 × %2").arg(rows).arg(cols);
}

QString readText(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        throw LoadError(toUtf8(path), {}, "a readable file", toUtf8(file.errorString()));
    constexpr qint64 most = 256LL << 20;
    if (file.size() > most)
        throw LoadError(toUtf8(path), {}, "a csv file of at most 256 MiB", std::to_string(file.size()) + " bytes");
    return QString::fromUtf8(file.readAll());
}

// The matrix that a file holds for a table called `wanted` ("W_Q"): its entry of that name, else its only entry.
Matrix readMatrix(const QString& path, std::string_view wanted) {
    const QString suffix = path.section(u'.', -1).toLower();
    if (suffix == u"csv" || suffix == u"tsv" || suffix == u"txt") {
        try {
            return parseNumberBlock(readText(path), QLocale::c());
        } catch (const LoadError&) {
            throw;
        } catch (const InputError& error) {
            throw InputError(toUtf8(path) + ": " + error.what());
        }
    }
    const std::shared_ptr<const TensorFile> file = openTensorFile(toUtf8(path));
    const TensorEntry* entry = file->find(wanted);
    if (!entry && file->entries().size() == 1)
        entry = &file->entries().front();
    if (!entry)
        throw LoadError(toUtf8(path), std::string(wanted), "an entry of this name, or a single one",
                        std::to_string(file->entries().size()) + " other entries");
    return file->matrix(*entry, true);
}

} // namespace

WeightEditor::WeightEditor(Workspace& workspace, QWidget* parent)
    : QWidget(parent), m_workspace(workspace), m_mergeId(mergeFirstFree) {
    setObjectName(QStringLiteral("weightEditor"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(3);
    createButtons();
    createTable();
    m_caption = new QLabel(this);
    m_caption->setObjectName(QStringLiteral("muted"));
    m_caption->setWordWrap(true);
    m_message = new QLabel(this);
    m_message->setObjectName(QStringLiteral("weightMessage"));
    m_message->setWordWrap(true);
    m_message->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_message->hide();
    column->addWidget(m_buttonRow);
    column->addWidget(m_table, 1);
    column->addWidget(m_message);
    column->addWidget(m_caption);

    const auto changed = [this] {
        if (!m_committing) // undo, another sentence, another head: a turn that was going on is over
            m_table->endTurn();
        refresh();
    };
    connect(&m_workspace, &Workspace::scenarioChanged, this, changed);
    connect(&m_workspace, &Workspace::viewChanged, this, changed);
    refresh();
}

// --- construction
// -----------------------------------------------------------------------------------------------------

void WeightEditor::createButtons() {
    m_buttonRow = new QWidget(this);
    auto* row = new WrapLayout(m_buttonRow);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(3);
    const std::pair<const char*, QString> buttons[] = {
        {"W_Q", tr("the query weights of this head")},    {"W_K", tr("the key weights of this head")},
        {"W_V", tr("the value weights of this head")},    {"W_O", tr("this head's rows of the output weights")},
        {"b", tr("b_Q, b_K, b_V of this head, and b_O")}, {"X", tr("the token embeddings of layer 0")},
        {"Y", tr("the key text's embeddings of layer 0")}};
    for (const auto& [symbol, what] : buttons) {
        auto* button = new SymbolButton(QString::fromLatin1(symbol), m_buttonRow);
        const Shown shown = static_cast<Shown>(m_buttons.size());
        button->setCheckable(true);
        button->setAutoExclusive(true);
        button->setObjectName(QStringLiteral("show%1").arg(QString::fromLatin1(symbol)));
        button->setAccessibleName(QString::fromLatin1(symbol));
        button->setAccessibleDescription(what);
        connect(button, &QToolButton::clicked, this, [this, shown] { show(shown); });
        row->addWidget(button);
        m_buttons.append(button);
    }
    createFillMenu();
    createRevertMenu();
}

void WeightEditor::createFillMenu() {
    auto* button = new SymbolButton(tr("Fill ▾"), m_buttonRow);
    button->setAccessibleName(tr("Fill the table"));
    button->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(button);
    menu->setToolTipsVisible(true);
    m_identity = menu->addAction(tr("Identity"), this, &WeightEditor::fillIdentity);
    menu->addAction(tr("Zero"), this, &WeightEditor::fillZero);
    menu->addAction(tr("Random…"), this, &WeightEditor::askRandom);
    m_transpose = menu->addAction(tr("Transpose"), this, &WeightEditor::fillTransposed);
    m_copyFrom = menu->addAction(tr("Copy from another head…"), this, &WeightEditor::askCopyFrom);
    menu->addAction(tr("Scale by a factor…"), this, &WeightEditor::askScale);
    menu->addSeparator();
    menu->addAction(tr("Load a file…"), this, &WeightEditor::askLoad);
    menu->addAction(tr("Copy block"), this, &WeightEditor::copyBlock);
    menu->addAction(tr("Paste block"), this, &WeightEditor::pasteBlock);
    button->setMenu(menu);
    m_buttonRow->layout()->addWidget(button);
}

void WeightEditor::createRevertMenu() {
    auto* button = new SymbolButton(tr("Revert ▾"), m_buttonRow);
    button->setAccessibleName(tr("Back to the opened numbers"));
    button->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(button);
    menu->addAction(tr("Revert selected cells"), this, &WeightEditor::revertCells);
    menu->addAction(tr("Revert this head"), this, &WeightEditor::revertHead);
    menu->addAction(tr("Revert all weights and X"), this, &WeightEditor::revertAll);
    button->setMenu(menu);
    m_buttonRow->layout()->addWidget(button);
}

void WeightEditor::createTable() {
    m_model = new WeightModel(this);
    m_table = new WeightTable(this);
    m_table->setModel(m_model);
    m_table->setItemDelegate(new WeightDelegate(*m_model, m_table));
    m_table->setAccessibleName(tr("Weights of the head"));
    for (QHeaderView* header : {m_table->horizontalHeader(), m_table->verticalHeader()})
        header->setStyleSheet(QStringLiteral("QHeaderView { background: transparent; } QHeaderView::section { padding: "
                                             "0 3px; }")); // also beside the last row
    m_table->setContextMenuPolicy(Qt::ActionsContextMenu);
    const auto addAction = [this](const QString& text, void (WeightEditor::*slot)()) {
        auto* action = new QAction(text, m_table);
        connect(action, &QAction::triggered, this, slot);
        m_table->addAction(action);
    };
    addAction(tr("Copy block"), &WeightEditor::copyBlock);
    addAction(tr("Paste block"), &WeightEditor::pasteBlock);
    addAction(tr("Revert selected cells"), &WeightEditor::revertCells);

    connect(m_model, &WeightModel::cellTyped, this,
            [this](const QModelIndex& index, float value) { setCell(index, value, -1); });
    connect(m_model, &WeightModel::refused, this, &WeightEditor::say);
    connect(m_table, &WeightTable::turnBegan, this, [this](const QModelIndex& index) {
        ++m_mergeId;
        m_turnStart = static_cast<double>(m_model->value(index));
        // A hundredth of the largest number, rounded to one digit, so that a dial stops at numbers that can be said.
        const double unit = (m_model->largest() > 0 ? m_model->largest() : 1.0) / 100;
        const double power = std::pow(10.0, std::floor(std::log10(unit)));
        m_turnUnit = std::max(1.0, std::floor(unit / power)) * power;
    });
    connect(m_table, &WeightTable::turned, this, &WeightEditor::turn);
    connect(m_table, &WeightTable::copyRequested, this, &WeightEditor::copyBlock);
    connect(m_table, &WeightTable::pasteRequested, this, &WeightEditor::pasteBlock);
    connect(m_table, &WeightTable::revertRequested, this, &WeightEditor::revertCells);
}

// --- what is shown
// ----------------------------------------------------------------------------------------------------

void WeightEditor::show(Shown what) {
    m_shown = what;
    say({});
    refresh();
}

void WeightEditor::addWeightBlock(WeightKind kind, QStringList rowNames, std::vector<WeightBlock>& blocks) {
    const Scenario& scenario = m_workspace.scenario();
    const TensorId id{m_workspace.view().layer, kind};
    const SharedMatrix& now = scenario.model->tensor(id);
    if (!now)
        return;
    const TensorBand band = headBandOf(scenario.model->config(), kind, m_workspace.view().heads.front());
    blocks.push_back({now, scenario.original->tensor(id), band, std::move(rowNames)});
    m_targets.push_back({false, Stage::Embedding, id});
}

void WeightEditor::addEmbeddingBlock(Stage stage, std::vector<WeightBlock>& blocks) {
    const Scenario& scenario = m_workspace.scenario();
    const bool isKey = stage == Stage::EmbeddingKey;
    if (isKey && !scenario.key)
        return;
    const TokenSequence& tokens = isKey ? scenario.keyTokens() : scenario.query;
    OpenedEmbedding& known = isKey ? m_openedY : m_openedX;
    // Embedding a long text takes a while and a dragged cell asks for it again and again.
    if (const SharedMatrix& own = isKey ? scenario.y : scenario.x)
        known = {own, tokens, scenario.original};
    else if (!known.values || known.model != scenario.original || known.tokens != tokens)
        known = {scenario.original->embedder().embed(tokens).x, tokens, scenario.original};
    const SharedMatrix& opened = known.values;
    blocks.push_back({share(embeddingOf(scenario, stage, *opened)),
                      opened,
                      {0, opened->rows(), 0, opened->cols()},
                      tokenTexts(tokens)});
    m_targets.push_back({true, stage, {}});
}

void WeightEditor::refresh() {
    std::vector<WeightBlock> blocks;
    m_targets.clear();
    if (m_workspace.scenario().model) {
        refreshButtons();
        if (m_shown == Shown::X || m_shown == Shown::Y)
            addEmbeddingBlock(m_shown == Shown::X ? Stage::Embedding : Stage::EmbeddingKey, blocks);
        else if (m_shown == Shown::Biases)
            for (const WeightKind kind : biasKinds)
                addWeightBlock(kind, {fromUtf8(weightName(kind))}, blocks);
        else
            addWeightBlock(matrixKinds[static_cast<std::size_t>(m_shown)], {}, blocks);
    }
    m_model->setBlocks(std::move(blocks));

    const QFontMetrics metrics(m_table->font());
    const int width = metrics.horizontalAdvance(screenNumber(-m_model->largest(), m_model->decimals(), true));
    m_table->horizontalHeader()->setDefaultSectionSize(width + metrics.height() * 3 / 4);
    m_table->verticalHeader()->setDefaultSectionSize(metrics.height() * 9 / 8);
    m_table->setMinimumHeight(metrics.height() * 5); // two rows, the header and a scroll bar
    refreshCaption();
}

void WeightEditor::refreshButtons() {
    const Scenario& scenario = m_workspace.scenario();
    const LayerWeights& layer = scenario.model->layer(m_workspace.view().layer);
    const bool isCross = scenario.model->config().cross;
    m_buttons[static_cast<int>(Shown::Y)]->setVisible(isCross);
    if (m_shown == Shown::Y && !isCross)
        m_shown = Shown::X;
    const bool hasBias = layer.bQ || layer.bK || layer.bV || layer.bO;
    for (const auto& [shown, has, why] :
         {std::tuple(Shown::WO, bool(layer.wO), tr("This layer has no W_O: output = concat.")),
          std::tuple(Shown::Biases, hasBias, tr("This layer has no biases."))}) {
        SymbolButton* button = m_buttons[static_cast<int>(shown)];
        button->setEnabled(has);
        button->setToolTip(has ? button->accessibleDescription() : why);
        if (!has && m_shown == shown)
            m_shown = Shown::WQ;
    }
    for (SymbolButton* button : std::as_const(m_buttons))
        if (button->isEnabled())
            button->setToolTip(button->accessibleDescription());
    m_buttons[static_cast<int>(m_shown)]->setChecked(true);
}

void WeightEditor::refreshCaption() {
    const bool empty = m_model->rowCount() == 0;
    const bool isEmbedding = m_shown == Shown::X || m_shown == Shown::Y;
    const int rows = m_model->rowCount(), cols = m_model->columnCount();
    m_identity->setEnabled(isMatrix() && !empty);
    m_transpose->setEnabled(isMatrix() && rows == cols && !empty);
    m_transpose->setToolTip(
        m_transpose->isEnabled()
            ? QString()
            : tr("Only a square table can be transposed; this one is %1.").arg(sizeText(rows, cols)));
    m_copyFrom->setEnabled(!isEmbedding && !empty);
    if (empty) {
        const SharedModel& model = m_workspace.scenario().model;
        m_caption->setText(model && model->captured()
                               ? tr("%1 holds attention that was captured: there are no weights to edit.")
                                     .arg(fromUtf8(model->config().name))
                               : tr("Open a model to see its weights."));
        return;
    }
    const ModelConfig& config = m_workspace.scenario().model->config();
    const HeadIndex head = m_workspace.view().heads.front();
    QStringList parts;
    if (isEmbedding)
        parts << tr("%1, layer 0").arg(sizeText(rows, cols));
    else if (m_shown == Shown::Biases)
        parts << tr("biases of %1; b_O belongs to all heads").arg(headName(m_workspace.view().layer, head));
    else
        parts << tr("%1 of %2").arg(sizeText(rows, cols), headName(m_workspace.view().layer, head));
    const bool isKv = m_shown == Shown::WK || m_shown == Shown::WV || m_shown == Shown::Biases;
    if (isKv && config.kvHeads < config.heads) {
        QStringList sharing;
        for (int h = 0; h < config.heads; ++h)
            if (config.kvHeadOf(HeadIndex{h}) == config.kvHeadOf(head))
                sharing << QStringLiteral("H%1").arg(h);
        parts << tr("K and V are those of KV head %1, shared by %2")
                     .arg(config.kvHeadOf(head))
                     .arg(sharing.join(tr(", ")));
    }
    parts << tr("drag a cell to turn it like a dial");
    m_caption->setText(parts.join(QStringLiteral(" · ")));
}

// --- changes
// ----------------------------------------------------------------------------------------------------------

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
    return QString::fromStdString(cellName(target.id, m_workspace.view().heads.front(), at.row, index.column()));
}

QString WeightEditor::tableName() const {
    if (m_shown == Shown::X || m_shown == Shown::Y)
        return m_shown == Shown::X ? QStringLiteral("X") : QStringLiteral("Y");
    const QString what = m_shown == Shown::Biases
                             ? tr("the biases")
                             : fromUtf8(weightName(matrixKinds[static_cast<std::size_t>(m_shown)]));
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
        Matrix loaded = readMatrix(path, wanted);
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
