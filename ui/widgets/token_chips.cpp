#include "ui/widgets/token_chips.h"

#include "ui/render/color_scale.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/widgets/ticked.h"
#include "ui/workspace.h"

#include <QHBoxLayout>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollArea>
#include <QScrollBar>
#include <QToolButton>
#include <QToolTip>

#include <algorithm>

namespace headscope {

ChipStrip::ChipStrip(QWidget* parent) : QWidget(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Tokens"));
    setAccessibleDescription(tr("Left and right choose the token whose row is pinned"));
    layOut(); // as high as one row from the start: the window takes its size from it
}

void ChipStrip::setChips(QList<Chip> queries, QList<Chip> keys, int pinnedQuery, int pinnedKey) {
    const auto sameTexts = [](const QList<Chip>& a, const QList<Chip>& b) {
        return std::ranges::equal(a, b, {}, &Chip::text, &Chip::text);
    };
    const bool isWhereItWas = sameTexts(m_rows[0], queries) && sameTexts(m_rows[1], keys);
    m_rows[0] = std::move(queries);
    m_rows[1] = std::move(keys);
    m_pinned[0] = pinnedQuery;
    m_pinned[1] = pinnedKey;
    if (!isWhereItWas) // measuring thousands of words takes a while
        layOut();
    update();
}

void ChipStrip::layOut() {
    const QFontMetrics metrics(font());
    const int padding = metrics.averageCharWidth() + 2;
    const int height = metrics.height() + 6;
    int right = 0;
    for (int row = 0; row < 2; ++row) {
        m_rects[row].clear();
        int x = 3;
        for (const Chip& chip : m_rows[row]) {
            const int width = std::max(metrics.horizontalAdvance(chip.text) + 2 * padding, height);
            m_rects[row].append({x, 4 + row * (height + 6), width, height});
            x += width + 7;
        }
        right = std::max(right, x);
    }
    const int rows = m_rows[1].isEmpty() ? 1 : 2;
    setFixedSize(std::max(right, 1), rows * (height + 6) + 2);
}

QSize ChipStrip::sizeHint() const {
    return size();
}

QRect ChipStrip::chipRect(bool key, int index) const {
    return m_rects[key ? 1 : 0].value(index);
}

void ChipStrip::paintChip(QPainter& painter, const Chip& chip, const QRect& rect, bool pinned) const {
    const Theme& t = theme();
    painter.setPen(chip.fill.isValid() ? Qt::NoPen : QPen(t.border));
    painter.setBrush(chip.fill.isValid() ? chip.fill : t.surface);
    painter.drawRoundedRect(rect, 4, 4);
    painter.setPen(chip.fill.isValid() ? QColor::fromRgb(ColorScale::inkOn(chip.fill.rgb())) : t.text);
    painter.drawText(rect, Qt::AlignCenter, chip.text);
    if (!pinned)
        return;
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(t.accent, hasFocus() ? 3 : 2));
    painter.drawRoundedRect(rect.adjusted(-3, -3, 3, 3), 6, 6);
}

void ChipStrip::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    for (int row = 0; row < 2; ++row)
        for (int i = 0; i < m_rows[row].size(); ++i)
            if (m_rects[row][i].adjusted(-5, -5, 5, 5).intersects(event->rect()))
                paintChip(painter, m_rows[row][i], m_rects[row][i], i == m_pinned[row]);
}

std::pair<int, int> ChipStrip::chipAt(QPoint point) const {
    for (int row = 0; row < 2; ++row)
        for (int i = 0; i < m_rects[row].size(); ++i)
            if (m_rects[row][i].adjusted(-3, -3, 3, 3).contains(point))
                return {row, i};
    return {0, -1};
}

void ChipStrip::mousePressEvent(QMouseEvent* event) {
    const auto [row, index] = chipAt(event->position().toPoint());
    if (index >= 0 && row == 0)
        emit queryPinned(index);
    else if (index >= 0)
        emit keyPinned(index);
}

void ChipStrip::keyPressEvent(QKeyEvent* event) {
    const int step = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
    if (step == 0 || m_rows[0].isEmpty())
        return QWidget::keyPressEvent(event);
    emit queryPinned(std::clamp(m_pinned[0] + step, 0, chipCount() - 1));
}

bool ChipStrip::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const auto [row, index] = chipAt(help->pos());
        QString text;
        if (index >= 0) {
            const Chip& chip = m_rows[row][index];
            text = chip.toolTip;
            if (chip.fill.isValid())
                text += tr(" · weight %1").arg(static_cast<double>(chip.weight), 0, 'f', 4);
        }
        QToolTip::showText(help->globalPos(), text, this);
        return true;
    }
    return QWidget::event(event);
}

void ChipStrip::changeEvent(QEvent* event) {
    if (event->type() == QEvent::FontChange)
        layOut();
    QWidget::changeEvent(event);
}

TokenChips::TokenChips(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
    setObjectName(QStringLiteral("topBar"));
    setAttribute(Qt::WA_StyledBackground);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(12, 3, 12, 3);
    row->setSpacing(10);
    m_caption = new QLabel;
    m_caption->setObjectName(QStringLiteral("muted"));
    m_caption->setTextFormat(Qt::RichText);
    row->addWidget(m_caption);
    m_strip = new ChipStrip;
    m_scroll = new QScrollArea;
    m_scroll->setWidget(m_strip);
    m_scroll->setFocusPolicy(Qt::NoFocus);
    m_scroll->setFrameShape(QFrame::NoFrame);
    m_scroll->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_scroll->viewport()->setAutoFillBackground(false);
    m_strip->setAutoFillBackground(false);
    row->addWidget(m_scroll, 1);
    createChoices(row);
    connect(m_scroll->horizontalScrollBar(), &QScrollBar::rangeChanged, this, &TokenChips::fitHeight);
    connect(m_strip, &ChipStrip::queryPinned, this, &TokenChips::pinRow);
    connect(m_strip, &ChipStrip::keyPinned, this, &TokenChips::pinCol);
    connect(&workspace, &Workspace::traceChanged, this, &TokenChips::refresh);
    connect(&workspace, &Workspace::viewChanged, this, &TokenChips::refresh);
    refresh();
}

// What becomes of special tokens and of the pieces of words: how the matrices are looked at, so beside the tokens.
void TokenChips::createChoices(QHBoxLayout* row) {
    m_special = new QToolButton;
    m_special->setPopupMode(QToolButton::InstantPopup);
    m_special->setAccessibleName(tr("Special tokens"));
    m_special->setToolTip(
        tr("Special tokens ([CLS], <s>): shown, hidden, left out of the colour range, or dropped with "
           "each row divided by what is left"));
    auto* menu = new QMenu(m_special);
    for (const auto& [special, text] : specialChoices())
        addSpecialChoice(menu, text, special);
    m_special->setMenu(menu);
    m_words = new QToolButton;
    m_words->setText(tr("words"));
    m_words->setCheckable(true);
    m_words->setToolTip(
        tr("Merge the pieces of a word: weights are summed over its keys and averaged over its queries"));
    connect(m_words, &QToolButton::clicked, this, [this](bool on) {
        View view = m_workspace.view();
        view.words = on;
        m_workspace.setView(view);
    });
    row->addWidget(m_special);
    row->addWidget(m_words);
}

void TokenChips::addSpecialChoice(QMenu* menu, const QString& text, Special special) {
    QAction* action = menu->addAction(text);
    tickWhere(menu, action, [this, special] { return m_workspace.view().special == special; });
    connect(action, &QAction::triggered, this, [this, special] {
        View view = m_workspace.view();
        view.special = special;
        m_workspace.setView(view);
    });
}

QList<std::pair<Special, QString>> TokenChips::specialChoices() {
    return {{Special::Show, tr("show special tokens")},
            {Special::Hide, tr("hide special tokens")},
            {Special::Unranged, tr("leave special tokens out of the colour range")},
            {Special::Drop, tr("drop special tokens and renormalise")}};
}

void TokenChips::refreshChoices() {
    const View& view = m_workspace.view();
    const SharedModel& model = m_workspace.scenario().model;
    const bool subwords = model && model->transformer(); // the others take whole words and add nothing
    m_special->setVisible(subwords);
    m_words->setVisible(subwords);
    m_special->setText(tr("special: %1").arg(fromUtf8(specialName(view.special))) + QStringLiteral(" ▾"));
    m_words->setChecked(view.words);
}

// A pinned cell of a stage whose rows are tokens keeps its column; elsewhere the row alone counts.
void TokenChips::pinRow(int row) {
    View view = m_workspace.view();
    view.cell = CellRef{row, view.cell ? view.cell->col : 0};
    m_workspace.setView(view);
}

void TokenChips::pinCol(int col) {
    View view = m_workspace.view();
    if (!isTokenByToken(view.stage))
        return;
    view.cell = CellRef{view.cell ? view.cell->row : 0, col};
    m_workspace.setView(view);
}

static QString chipToolTip(const Token& token, int index) {
    const QString bytes = token.range ? TokenChips::tr("bytes %1 to %2").arg(token.range->start).arg(token.range->end)
                                      : TokenChips::tr("added by the model");
    return TokenChips::tr("token %1 · id %2 · %3 · piece “%4”")
        .arg(index)
        .arg(token.id)
        .arg(bytes, fromUtf8(token.piece));
}

static QList<ChipStrip::Chip> chipsOf(const TokenSequence& tokens) {
    QList<ChipStrip::Chip> chips;
    for (int i = 0; i < tokens.size(); ++i) {
        const Token& token = tokens.tokens[static_cast<std::size_t>(i)];
        chips.append({tokenText(token), chipToolTip(token, i), {}, 0});
    }
    return chips;
}

void TokenChips::refresh() {
    const SharedTrace& trace = m_workspace.trace();
    if (!trace)
        return;
    refreshChoices();
    const View& view = m_workspace.view();
    const Scenario& scenario = trace->scenario;
    const TokenSequence keyTokens = scenario.key.value_or(TokenSequence());
    if (scenario.query != m_queryTokens)
        m_queries = chipsOf(m_queryTokens = scenario.query);
    if (keyTokens != m_keyTokens)
        m_keys = chipsOf(m_keyTokens = keyTokens);
    QList<ChipStrip::Chip> queries = m_queries, keys = m_keys;
    const int row = std::min(m_workspace.pinnedQuery(), scenario.queries() - 1);
    const std::vector<float> weights = m_workspace.weightsRow(view.layer, view.heads.front(), row);
    QList<ChipStrip::Chip>& shaded = scenario.key ? keys : queries;
    if (weights.size() == static_cast<std::size_t>(shaded.size())) {
        const ColorScale scale(view.colors, false, {0, 1});
        for (int j = 0; j < shaded.size(); ++j) {
            const float weight = weights[static_cast<std::size_t>(j)];
            shaded[j].fill = QColor::fromRgb(scale.color(weight));
            shaded[j].weight = weight;
        }
    }
    const QString word = tokenText(scenario.query.tokens[static_cast<std::size_t>(row)]);
    const QFontMetrics metrics(font());
    m_caption->setText(
        tr("where <b>%1</b> looks in %2")
            .arg(isolated(metrics.elidedText(word, Qt::ElideRight, 12 * metrics.averageCharWidth())).toHtmlEscaped(),
                 headName(view.layer, view.heads.front())));
    const bool tokenCols = scenario.key && isTokenByToken(view.stage) && view.cell;
    m_strip->setChips(queries, keys, row, tokenCols ? view.cell->col : -1);
    fitHeight();
    showPinned();
}

void TokenChips::showPinned() {
    const QRect pinned = m_strip->pinnedRect();
    m_scroll->ensureVisible(pinned.center().x(), pinned.center().y(), pinned.width() / 2 + 60, 0);
}

void TokenChips::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fitHeight();
    showPinned();
}

// As high as the chips, and the scroll bar where there is one.
void TokenChips::fitHeight() {
    const bool overflow = m_scroll->horizontalScrollBar()->maximum() > 0;
    m_scroll->setFixedHeight(m_strip->height() + (overflow ? m_scroll->horizontalScrollBar()->sizeHint().height() : 0));
}

void TokenChips::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange)
        refresh();
}

} // namespace headscope
