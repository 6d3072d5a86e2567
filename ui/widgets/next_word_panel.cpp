#include "ui/widgets/next_word_panel.h"

#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/workspace.h"

#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QSlider>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace headscope {

enum ItemRole { IdRole = Qt::UserRole, HeadRole };

void BarDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    QStyledItemDelegate::paint(painter, option, index);
    const QVariant share = index.data(ShareRole);
    if (!share.isValid())
        return;
    const QRectF room = QRectF(option.rect).adjusted(2, option.rect.height() * 0.3, -4, -option.rect.height() * 0.3);
    const bool isSigned = index.data(SignedRole).toBool();
    const double value = std::clamp(share.toDouble(), -1.0, 1.0);
    const double zero = isSigned ? room.center().x() : room.left(), full = isSigned ? room.width() / 2 : room.width();
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(Qt::NoPen);
    painter->setBrush(!isSigned   ? theme().selectedText
                      : value < 0 ? QColor(0xc9, 0x6a, 0x12)
                                  : QColor(0x6d, 0x4a, 0x9f));
    painter->drawRoundedRect(
        QRectF(QPointF(zero, room.top()), QPointF(zero + full * value, room.bottom())).normalized(), 2, 2);
    painter->restore();
}

NextWordPanel::NextWordPanel(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 4, 0, 0);
    column->setSpacing(4);
    m_title = new QLabel;
    m_title->setTextFormat(Qt::RichText);
    m_title->setWordWrap(true);
    column->addWidget(m_title);
    createTemperature();
    createList();
    m_formula = new QLabel;
    m_formula->setObjectName(QStringLiteral("muted"));
    m_formula->setWordWrap(true);
    column->addWidget(m_formula);
    connect(&workspace, &Workspace::traceChanged, this, &NextWordPanel::refresh);
    connect(&workspace, &Workspace::viewChanged, this, &NextWordPanel::refresh);
    connect(&workspace, &Workspace::scenarioChanged, this, [this] {
        const SharedModel& model = m_workspace.scenario().model;
        emit available(model && predictsNextWord(*model));
    });
}

void NextWordPanel::createTemperature() {
    auto* row = new QHBoxLayout;
    m_temperatureText = new QLabel;
    m_temperatureText->setObjectName(QStringLiteral("muted"));
    m_temperature = new QSlider(Qt::Horizontal);
    m_temperature->setRange(0, 30); // tenths
    m_temperature->setValue(10);
    m_temperature->setAccessibleName(tr("Temperature of the next word"));
    m_temperature->setToolTip(tr("Divides the logits before the softmax: 0 takes the likeliest word alone, above 1 the "
                                 "others gain. Attention is not touched."));
    row->addWidget(m_temperatureText);
    row->addWidget(m_temperature, 1);
    static_cast<QVBoxLayout*>(layout())->addLayout(row);
    connect(m_temperature, &QSlider::valueChanged, this, &NextWordPanel::refresh);
}

void NextWordPanel::createList() {
    m_list = new QTreeWidget;
    m_list->setAccessibleName(tr("Next words"));
    m_list->setColumnCount(3);
    m_list->setHeaderHidden(true);
    m_list->setUniformRowHeights(true);
    m_list->setIndentation(14);
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setItemDelegateForColumn(1, new BarDelegate(m_list));
    m_list->header()->setStretchLastSection(false);
    m_list->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
    m_list->header()->setSectionResizeMode(1, QHeaderView::Stretch);
    m_list->header()->setSectionResizeMode(2, QHeaderView::ResizeToContents);
    layout()->addWidget(m_list);
    connect(m_list, &QTreeWidget::itemExpanded, this, &NextWordPanel::addParts);
    connect(m_list, &QTreeWidget::itemCollapsed, this, [this] { m_opened = -1; });
    connect(m_list, &QTreeWidget::itemClicked, this, &NextWordPanel::goToHead);
    connect(m_list, &QTreeWidget::itemActivated, this, &NextWordPanel::goToHead);
}

double NextWordPanel::temperature() const {
    return m_temperature->value() / 10.0;
}

int NextWordPanel::row() const {
    const Scenario& scenario = m_workspace.trace()->scenario;
    const std::optional<CellRef>& cell = m_workspace.view().cell;
    return cell && cell->row < scenario.queries() ? cell->row : scenario.queries() - 1;
}

void NextWordPanel::refresh() {
    const SharedTrace trace = m_workspace.trace();
    m_temperatureText->setText(tr("temperature %1").arg(QLocale().toString(temperature(), 'f', 1)));
    if (!trace || !isVisible())
        return;
    if (!predictsNextWord(*trace->scenario.model)) {
        m_list->clear();
        m_title->setText(tr("This model does not write: it has no output layer, or reads the whole text at once."));
        return;
    }
    const int at = row();
    const QString word = tokenText(trace->scenario.query.tokens[static_cast<std::size_t>(at)]);
    m_title->setText(tr("after <b>%1</b> (token %2)").arg(isolated(word).toHtmlEscaped()).arg(at));
    const auto work = [trace, at, t = temperature()](const std::stop_token&) {
        return nextWords(*trace, at, words, t);
    };
    m_jobs.submit(
        work,
        [this](const Outcome<NextWords>& outcome) {
            if (const auto* next = std::get_if<NextWords>(&outcome))
                take(*next);
        },
        true);
}

static QTreeWidgetItem* line(const QString& name, const QString& number) {
    auto* item = new QTreeWidgetItem({name, QString(), number});
    item->setTextAlignment(2, Qt::AlignRight | Qt::AlignVCenter);
    return item;
}

void NextWordPanel::take(const NextWords& next) {
    const SharedTrace& trace = m_workspace.trace();
    const bool opens = trace && logitIsASum(*trace->scenario.model);
    const std::int64_t opened = m_opened;
    const QSignalBlocker blocked(m_list);
    m_list->clear();
    QTreeWidgetItem* open = nullptr;
    for (const NextWord& word : next.words) {
        QTreeWidgetItem* item = line(tokenText(word.text), tr("%1 %").arg(100 * word.probability, 0, 'f', 1));
        item->setData(0, IdRole, static_cast<qlonglong>(word.id));
        item->setData(1, BarDelegate::ShareRole, word.probability);
        item->setToolTip(0, tr("id %1 · logit %2").arg(word.id).arg(word.logit, 0, 'f', 3));
        item->setChildIndicatorPolicy(opens ? QTreeWidgetItem::ShowIndicator : QTreeWidgetItem::DontShowIndicator);
        m_list->addTopLevelItem(item);
        if (word.id == opened)
            open = item;
    }
    m_list->addTopLevelItem(line(tr("all others"), tr("%1 %").arg(100 * next.others, 0, 'f', 1)));
    m_formula->setText(opens
                           ? tr("Open a word: its logit is the sum of what the embedding, every head and every MLP "
                                "add to the stream, each divided by the final norm's scale, times its gain, times the "
                                "word's output row.")
                           : QString());
    if (open && opens) {
        open->setExpanded(true);
        addParts(open);
    }
}

void NextWordPanel::addParts(QTreeWidgetItem* word) {
    const QVariant id = word->data(0, IdRole);
    const SharedTrace trace = m_workspace.trace();
    if (!id.isValid() || word->parent() || !trace)
        return;
    m_opened = id.toLongLong();
    for (int i = 0; i < m_list->topLevelItemCount(); ++i) // one at a time
        if (QTreeWidgetItem* other = m_list->topLevelItem(i); other != word && other->isExpanded()) {
            const QSignalBlocker blocked(m_list);
            other->setExpanded(false);
        }
    const auto work = [trace, at = row(), of = m_opened](const std::stop_token&) { return logitParts(*trace, at, of); };
    m_partJobs.submit(
        work,
        [this, of = m_opened](const Outcome<std::vector<LogitPart>>& outcome) {
            if (const auto* parts = std::get_if<std::vector<LogitPart>>(&outcome))
                showParts(of, *parts);
        },
        true);
}

static QString partName(const LogitPart& part) {
    switch (part.kind) {
    case LogitPart::Kind::Embedding:
        return NextWordPanel::tr("embedding");
    case LogitPart::Kind::Head:
        return headName(part.layer, part.head);
    case LogitPart::Kind::OutputBias:
        return NextWordPanel::tr("L%1 b_O").arg(part.layer.value);
    case LogitPart::Kind::Mlp:
        return NextWordPanel::tr("L%1 MLP").arg(part.layer.value);
    case LogitPart::Kind::NormBias:
        break;
    }
    return NextWordPanel::tr("final biases");
}

// The largest parts, then the rest and the logit that they all add up to.
void NextWordPanel::showParts(std::int64_t id, const std::vector<LogitPart>& parts) {
    constexpr std::size_t most = 12;
    std::vector<LogitPart> sorted;
    double logit = 0, rest = 0, largest = 1e-9;
    for (const LogitPart& part : parts) {
        logit += part.value;
        if (part.value != 0)
            sorted.push_back(part);
        largest = std::max(largest, std::abs(part.value));
    }
    std::ranges::stable_sort(sorted, std::greater<>(), [](const LogitPart& p) { return std::abs(p.value); });
    const auto number = [](double value) {
        return (value >= 0 ? QStringLiteral("+") : QString()) + QString::number(value, 'f', 3);
    };
    for (int i = 0; i < m_list->topLevelItemCount(); ++i) {
        QTreeWidgetItem* word = m_list->topLevelItem(i);
        if (!word->data(0, IdRole).isValid() || word->data(0, IdRole).toLongLong() != id)
            continue;
        qDeleteAll(word->takeChildren());
        for (std::size_t k = 0; k < sorted.size(); ++k) {
            if (k >= most) {
                rest += sorted[k].value;
                continue;
            }
            QTreeWidgetItem* item = line(partName(sorted[k]), number(sorted[k].value));
            item->setData(1, BarDelegate::ShareRole, sorted[k].value / largest);
            item->setData(1, BarDelegate::SignedRole, true);
            if (sorted[k].kind == LogitPart::Kind::Head)
                item->setData(0, HeadRole, QPoint(sorted[k].layer.value, sorted[k].head.value));
            word->addChild(item);
        }
        if (sorted.size() > most)
            word->addChild(line(tr("%1 smaller parts").arg(sorted.size() - most), number(rest)));
        word->addChild(line(tr("logit"), number(logit)));
    }
}

void NextWordPanel::goToHead(QTreeWidgetItem* item) {
    const QVariant head = item->data(0, HeadRole);
    if (!head.isValid())
        return;
    View view = m_workspace.view();
    view.layer = LayerIndex{head.toPoint().x()};
    view.heads = {HeadIndex{head.toPoint().y()}};
    m_workspace.setView(view);
}

void NextWordPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refresh();
}

void NextWordPanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange)
        refresh();
}

} // namespace headscope
