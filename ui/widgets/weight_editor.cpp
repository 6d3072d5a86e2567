#include "ui/widgets/weight_editor.h"

#include "core/attention/tensor_edit.h"
#include "ui/merge_ids.h"
#include "ui/stage_text.h"
#include "ui/widgets/number_block.h"
#include "ui/widgets/symbol_button.h"
#include "ui/widgets/weight_delegate.h"
#include "ui/widgets/weight_model.h"
#include "ui/widgets/wrap_layout.h"
#include "ui/workspace.h"

#include <QHeaderView>
#include <QLabel>
#include <QMenu>
#include <QVBoxLayout>

#include <algorithm>
#include <array>
#include <cmath>

namespace headscope {

namespace {

constexpr std::array biasKinds{WeightKind::BQ, WeightKind::BK, WeightKind::BV, WeightKind::BO};
constexpr std::array matrixKinds{WeightKind::WQ, WeightKind::WK, WeightKind::WV, WeightKind::WO};

QString sizeText(int rows, int cols) {
    return QStringLiteral("%1 × %2").arg(rows).arg(cols);
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
    m_caption->setAlignment(Qt::AlignTop | Qt::AlignLeft);
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
    connect(&m_workspace, &Workspace::scenarioChanged, this, [this] { say({}); }); // what was refused is of before
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
    m_allHeads = new SymbolButton(tr("all heads"), m_buttonRow);
    m_allHeads->setObjectName(QStringLiteral("allHeads"));
    m_allHeads->setCheckable(true);
    m_allHeads->setToolTip(tr("The whole matrix, with the bands of all heads, instead of this head's"));
    m_allHeads->setAccessibleName(tr("Show all heads"));
    connect(m_allHeads, &QToolButton::toggled, this, &WeightEditor::refresh);
    row->addWidget(m_allHeads);
    createFillMenu();
    createRevertMenu();
}

void WeightEditor::createFillMenu() {
    auto* button = new SymbolButton(tr("Fill ▾"), m_buttonRow);
    button->setAccessibleName(tr("Fill the table"));
    button->setPopupMode(QToolButton::InstantPopup);
    auto* menu = m_fill = new QMenu(tr("&Fill the table of weights"), button);
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
    auto* menu = m_revert = new QMenu(tr("&Revert weights"), button);
    menu->addAction(tr("Revert selected cells"), this, &WeightEditor::revertCells);
    menu->addAction(tr("Revert this head"), this, &WeightEditor::revertHead);
    menu->addAction(tr("Revert all weights and X"), this, &WeightEditor::revertAll);
    button->setMenu(menu);
    m_buttonRow->layout()->addWidget(button);
}

QList<QMenu*> WeightEditor::menus() const {
    return {m_fill, m_revert};
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

bool WeightEditor::showsAllHeads() const {
    return m_allHeads->isChecked() && m_shown != Shown::X && m_shown != Shown::Y;
}

// To one cell of a tensor, in the table of its head; without a cell only the keyboard goes there.
void WeightEditor::reveal(const TensorId& id, int row, int col) {
    if (row >= 0) {
        const auto matrix = std::ranges::find(matrixKinds, id.kind);
        show(matrix == matrixKinds.end() ? Shown::Biases : static_cast<Shown>(matrix - matrixKinds.begin()));
        const ModelConfig& config = m_workspace.scenario().model->config();
        const auto bandNow = [&] { return headBandOf(config, id.kind, m_workspace.view().heads.front()); };
        const auto holds = [&](TensorBand band) {
            return row >= band.rowBegin && row < band.rowEnd && col >= band.colBegin && col < band.colEnd;
        };
        if (!showsAllHeads() && (!holds(bandNow()) || id.layer != m_workspace.view().layer))
            m_allHeads->setChecked(true); // it belongs to another head: the view stays where it is
        const TensorBand band = showsAllHeads() ? TensorBand{} : bandNow();
        int tableRow = row - band.rowBegin;
        if (m_shown == Shown::Biases) // one row for each bias that there is
            for (std::size_t b = 0; b < m_targets.size(); ++b)
                if (m_targets[b].id.kind == id.kind)
                    tableRow = static_cast<int>(b);
        const QModelIndex index = m_model->index(tableRow, col - band.colBegin);
        m_table->setCurrentIndex(index);
        m_table->scrollTo(index, QAbstractItemView::PositionAtCenter);
    } else if (!m_table->currentIndex().isValid()) {
        m_table->setCurrentIndex(m_model->index(0, 0));
    }
    m_table->setFocus(Qt::ShortcutFocusReason);
}

void WeightEditor::addWeightBlock(WeightKind kind, QStringList rowNames, std::vector<WeightBlock>& blocks) {
    const Scenario& scenario = m_workspace.scenario();
    const TensorId id{m_workspace.view().layer, kind};
    const SharedMatrix& now = scenario.model->tensor(id);
    if (!now)
        return;
    const ModelConfig& config = scenario.model->config();
    TensorBand band = headBandOf(config, kind, m_workspace.view().heads.front());
    WeightBlock block{now, scenario.original->tensor(id), band, std::move(rowNames), 0, false};
    if (showsAllHeads() && kind != WeightKind::BO) {
        block.headRows = kind == WeightKind::WO;
        block.headsAreShared = belongsToKvHead(kind) && config.kvHeads != config.heads;
        block.headWidth = block.headRows ? band.rowEnd - band.rowBegin : band.colEnd - band.colBegin;
        block.band = {0, now->rows(), 0, now->cols()};
    }
    blocks.push_back(std::move(block));
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
                      tokenTexts(tokens),
                      0,
                      false});
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
    m_copyFrom->setEnabled(!isEmbedding && !empty && !showsAllHeads());
    m_allHeads->setEnabled(!isEmbedding && !empty);
    const SharedModel& model = m_workspace.scenario().model;
    m_buttonRow->setVisible(model && !model->captured());
    m_table->setVisible(!empty);
    if (empty) {
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
    else if (showsAllHeads())
        parts << tr("all %1 heads of L%2, %3; a line in a head's colour begins it")
                     .arg(config.heads)
                     .arg(m_workspace.view().layer.value)
                     .arg(sizeText(rows, cols));
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

// In a low panel the numbers have the room.
void WeightEditor::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    const int above = m_buttonRow->isHidden() ? 0 : m_buttonRow->layout()->heightForWidth(width());
    const int needed = above + m_table->minimumHeight() + m_caption->heightForWidth(width()) + 2 * layout()->spacing();
    m_caption->setVisible(m_table->isHidden() || height() >= needed);
}

} // namespace headscope
