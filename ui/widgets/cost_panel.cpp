#include "ui/widgets/cost_panel.h"

#include "core/tensor/errors.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/widgets/wrap_layout.h"
#include "ui/workspace.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLocale>
#include <QPainter>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace headscope {

namespace {

QString percent(double share) {
    return QObject::tr("%1 %").arg(QLocale().toString(share * 100, 'f', 1));
}

// A number and its share, each in a column of its own, over a bar of the share. In a narrow table the bar says it
// alone.
class ShareDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    bool showsPercent = true;

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        if (index.column() == CostModel::Part) {
            QStyledItemDelegate::paint(painter, option, index);
            return;
        }
        const QVariant share = index.data(CostModel::ShareRole);
        QRect room = option.rect.adjusted(3, 2, -3, -2);
        if (share.isValid()) {
            QRect bar = room;
            bar.setWidth(std::max(1, static_cast<int>(std::lround(room.width() * share.toDouble()))));
            QColor color = theme().selectedText;
            color.setAlpha(60);
            painter->fillRect(bar, color);
        }
        painter->setFont(option.font);
        painter->setPen(theme().text);
        if (showsPercent) {
            if (share.isValid())
                painter->drawText(room, Qt::AlignRight | Qt::AlignVCenter, percent(share.toDouble()));
            room.setRight(room.right() - percentWidth(option.fontMetrics));
        }
        painter->drawText(room, Qt::AlignRight | Qt::AlignVCenter, index.data(CostModel::NumberRole).toString());
        if (option.state & QStyle::State_HasFocus) {
            painter->setPen(theme().selectedText);
            painter->drawRect(option.rect.adjusted(0, 0, -1, -1));
        }
    }
    static int percentWidth(const QFontMetrics& metrics) {
        return metrics.horizontalAdvance(percent(0.999)) + metrics.averageCharWidth();
    }
};

} // namespace

QString shortCount(std::int64_t count) {
    static constexpr const char* powers[] = {"", " k", " M", " G", " T", " P", " E"};
    double value = static_cast<double>(count);
    int power = 0;
    for (; value >= 999.5 && power < 6; ++power)
        value /= 1000;
    const int decimals = power == 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return QLocale().toString(value, 'f', decimals) + QLatin1String(powers[power]);
}

std::int64_t crossover(const std::function<AttentionCost(std::int64_t)>& cost, std::int64_t above) {
    const auto quadraticIsMore = [&cost](std::int64_t n) {
        std::int64_t quadratic = 0, rest = 0;
        for (const CostPart& part : cost(n).parts)
            if (part.name == "Q K^T" || part.name == "A V")
                quadratic += part.multiplyAdds;
            else if (part.name != "softmax")
                rest += part.multiplyAdds;
        return quadratic > rest;
    };
    std::int64_t below = 0; // not more here
    while (above - below > 1) {
        const std::int64_t middle = below + (above - below) / 2;
        (quadraticIsMore(middle) ? above : below) = middle;
    }
    return below;
}

void CostModel::setCosts(HeadCountComparison costs, const QString& manyTitle, const QString& oneTitle) {
    beginResetModel();
    m_costs = std::move(costs);
    m_manyTitle = manyTitle;
    m_oneTitle = oneTitle;
    endResetModel();
}

void CostModel::setHeaderFont(const QFont& font) {
    m_headerFont = font;
    emit headerDataChanged(Qt::Horizontal, 0, columnTotal - 1);
}

int CostModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || m_costs.many.parts.empty() ? 0 : static_cast<int>(m_costs.many.parts.size()) + 3;
}

CostModel::Entry CostModel::entry(const AttentionCost& cost, int row) const {
    const int parts = static_cast<int>(cost.parts.size());
    if (row < parts) {
        const CostPart& part = cost.parts[static_cast<std::size_t>(row)];
        return {part.multiplyAdds, part.name == "softmax" ? -1 : part.share};
    }
    return {row == parts ? cost.multiplyAdds : row == parts + 1 ? cost.parameters : cost.mapEntries, -1};
}

QVariant CostModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid())
        return {};
    const int parts = static_cast<int>(m_costs.many.parts.size());
    if (index.column() == Part) {
        if (role == Qt::ToolTipRole && index.row() < parts &&
            m_costs.many.parts[static_cast<std::size_t>(index.row())].name == "softmax")
            return tr("exponentials, which are no multiply-adds");
        if (role != Qt::DisplayRole)
            return {};
        const QString names[] = {tr("multiply-adds"), tr("parameters"), tr("numbers in maps")};
        return index.row() < parts ? fromUtf8(m_costs.many.parts[static_cast<std::size_t>(index.row())].name)
                                         .replace(QLatin1String("^T"), QStringLiteral("ᵀ"))
                                   : names[index.row() - parts];
    }
    const Entry cell = entry(index.column() == Many ? m_costs.many : m_costs.one, index.row());
    switch (role) {
    case Qt::DisplayRole:
        return cell.share < 0 ? shortCount(cell.number) : shortCount(cell.number) + u' ' + percent(cell.share);
    case Qt::ToolTipRole:
        return QLocale().toString(static_cast<qlonglong>(cell.number));
    case Qt::TextAlignmentRole:
        return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
    case NumberRole:
        return shortCount(cell.number);
    case ShareRole:
        return cell.share < 0 ? QVariant() : QVariant(cell.share);
    default:
        return {};
    }
}

QVariant CostModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return static_cast<int>((section == Part ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    if (role == Qt::FontRole)
        return m_headerFont;
    if (role != Qt::DisplayRole)
        return {};
    return section == Part ? tr("heads × width") : section == Many ? m_manyTitle : m_oneTitle;
}

CostPanel::CostPanel(Workspace& workspace, QWidget* parent) : QScrollArea(parent), m_workspace(workspace) {
    setObjectName(QStringLiteral("costPanel"));
    setFrameShape(QFrame::NoFrame);
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* content = new QWidget(this);
    setWidget(content);
    content->setAutoFillBackground(false); // setWidget switched it on
    viewport()->setAutoFillBackground(false);
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(createFields());
    m_source = new QLabel(content);
    m_source->setObjectName(QStringLiteral("muted"));
    m_source->setWordWrap(true);
    column->addWidget(m_source);

    m_model = new CostModel(this);
    m_table = new QTableView(content);
    m_table->setModel(m_model);
    m_table->setItemDelegate(new ShareDelegate(m_table));
    m_table->setAccessibleName(tr("Cost by part"));
    m_table->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_table->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_table->setShowGrid(false);
    m_table->setTabKeyNavigation(false);
    m_table->verticalHeader()->hide();
    m_table->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    m_table->horizontalHeader()->setHighlightSections(false);
    column->addWidget(m_table);

    m_sentence = new QLabel(content);
    m_sentence->setObjectName(QStringLiteral("costSentence"));
    m_sentence->setWordWrap(true);
    m_sentence->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    column->addWidget(m_sentence);
    column->addStretch(1);
    connect(&m_workspace, &Workspace::scenarioChanged, this, &CostPanel::follow);
    takeFromModel();
}

QWidget* CostPanel::createFields() {
    auto* row = new QWidget(widget());
    auto* layout = new WrapLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(6);
    const auto field = [&](QSpinBox*& box, const QString& name, const QString& what, int most) {
        auto* pair = new QWidget(row);
        auto* line = new QHBoxLayout(pair);
        line->setContentsMargins(0, 0, 0, 0);
        line->setSpacing(4);
        auto* label = new QLabel(name, pair);
        box = new QSpinBox(pair);
        box->setObjectName(QStringLiteral("cost-") + name);
        box->setRange(1, most);
        box->setKeyboardTracking(false);
        box->setAccessibleName(what);
        box->setToolTip(what);
        label->setBuddy(box);
        line->addWidget(label);
        line->addWidget(box);
        layout->addWidget(pair);
        connect(box, &QSpinBox::valueChanged, this, [this] {
            m_followsModel = false;
            refresh();
        });
    };
    field(m_n, QStringLiteral("n"), tr("number of tokens"), 1 << 20);
    field(m_d, QStringLiteral("d"), tr("width of the model, d_model"), 1 << 16);
    field(m_heads, QStringLiteral("h"), tr("number of heads"), 1 << 10);
    auto* own = new QToolButton(row);
    own->setText(tr("this model"));
    own->setToolTip(tr("n, d and h of the shown model and text"));
    connect(own, &QToolButton::clicked, this, &CostPanel::takeFromModel);
    layout->addWidget(own);
    return row;
}

void CostPanel::takeFromModel() {
    m_followsModel = true;
    follow();
}

void CostPanel::follow() {
    if (!m_followsModel)
        return;
    if (const Scenario& scenario = m_workspace.scenario(); scenario.model) {
        const QSignalBlocker n(m_n), d(m_d), heads(m_heads);
        m_n->setValue(scenario.queries());
        if (scenario.model->captured()) // it has no sizes of its own: those on screen stay
            return refresh();
        m_d->setValue(scenario.model->config().dModel);
        m_heads->setValue(scenario.model->config().heads);
    }
    refresh();
}

AttentionCost CostPanel::manyHeads(std::int64_t n) const {
    const Scenario& scenario = m_workspace.scenario();
    if (!m_followsModel || !scenario.model || scenario.model->captured())
        return compareHeadCounts(n, m_d->value(), m_heads->value(), true).many;
    const ModelConfig& c = scenario.model->config();
    const std::int64_t m = n == scenario.queries() ? scenario.keys() : n;
    const bool bias = scenario.model->layer(LayerIndex{0}).bQ != nullptr;
    return attentionCost(n, m, c.dModel, c.heads, c.kvHeads, c.dK, c.dV, bias);
}

void CostPanel::refresh() {
    const std::int64_t n = m_n->value(), d = m_d->value();
    const int heads = m_heads->value();
    const Scenario& scenario = m_workspace.scenario();
    const bool ofModel = m_followsModel && scenario.model;
    const ModelConfig* config = ofModel ? &scenario.model->config() : nullptr;
    const int dK = config ? config->dK : static_cast<int>(d / heads), dV = config ? config->dV : dK;
    const QString width = dK == dV ? QString::number(dK) : QStringLiteral("%1/%2").arg(dK).arg(dV);
    m_source->setText(ofModel ? tr("one layer of %1, this text").arg(fromUtf8(scenario.model->config().name))
                              : tr("one layer of any model with these numbers"));
    try {
        HeadCountComparison costs;
        costs.many = manyHeads(n);
        const std::int64_t m = ofModel ? scenario.keys() : n;
        const bool bias = !ofModel || scenario.model->layer(LayerIndex{0}).bQ;
        costs.one = attentionCost(n, m, d, 1, 1, d, d, bias);
        const auto share = [&costs](std::string_view name) {
            const auto part = std::ranges::find(costs.many.parts, name, &CostPart::name);
            return part == costs.many.parts.end() ? 0.0 : part->share;
        };
        const std::int64_t cross = crossover([this](std::int64_t tokens) { return manyHeads(tokens); }, 4 * d + 1);
        QString sentence =
            tr("At n = %1, d = %2 the scores Q&nbsp;K<sup>T</sup> are %3 of the multiply-adds; the projections "
               "and W<sub>O</sub> are %4.")
                .arg(n)
                .arg(d)
                .arg(percent(share("Q K^T")), percent(share("projections Q K V") + share("W_O")));
        sentence +=
            u' ' + (cross == 2 * d
                        ? tr("Q&nbsp;K<sup>T</sup> and A V together overtake the rest only above "
                             "n&nbsp;=&nbsp;2d&nbsp;=&nbsp;%1.")
                        : tr("Q&nbsp;K<sup>T</sup> and A V together overtake the rest only above n&nbsp;=&nbsp;%1."))
                       .arg(cross);
        m_model->setCosts(std::move(costs), QStringLiteral("%1 × %2").arg(heads).arg(width),
                          QStringLiteral("1 × %1").arg(d));
        m_sentence->setText(sentence);
    } catch (const InputError& error) {
        m_model->setCosts({}, {}, {});
        m_sentence->setText(fromUtf8(error.what()).toHtmlEscaped());
    }
    fitTable();
}

// As high as its rows: a table of eight lines that scrolls would hide what is compared. The type shrinks a little
// before the shares are left to the bars.
void CostPanel::fitTable() {
    auto* delegate = static_cast<ShareDelegate*>(m_table->itemDelegate());
    const int room = viewport()->width();
    int partWidth = 0;
    QFont chosen = font();
    for (const bool withPercent : {true, false}) {
        delegate->showsPercent = withPercent;
        bool fits = false;
        for (const double scale : {1.0, 0.88, 0.76}) {
            chosen.setPointSizeF(font().pointSizeF() * scale);
            const QFontMetrics metrics(chosen);
            partWidth = metrics.horizontalAdvance(m_model->headerData(CostModel::Part, Qt::Horizontal).toString());
            int number = 0;
            for (const int column : {CostModel::Many, CostModel::One})
                number =
                    std::max(number, metrics.horizontalAdvance(m_model->headerData(column, Qt::Horizontal).toString()));
            for (int row = 0; row < m_model->rowCount(); ++row) {
                partWidth = std::max(partWidth, metrics.horizontalAdvance(m_model->index(row, 0).data().toString()));
                for (const int column : {CostModel::Many, CostModel::One})
                    number = std::max(number, metrics.horizontalAdvance(
                                                  m_model->index(row, column).data(CostModel::NumberRole).toString()) +
                                                  (withPercent ? ShareDelegate::percentWidth(metrics) : 0));
            }
            partWidth += metrics.averageCharWidth() * 2;
            fits = partWidth + 2 * (number + metrics.averageCharWidth() * 2) <= room;
            if (fits)
                break;
        }
        if (fits)
            break;
    }
    m_table->setFont(chosen);
    m_model->setHeaderFont(chosen);
    m_table->horizontalHeader()->setSectionResizeMode(CostModel::Part, QHeaderView::Fixed);
    m_table->setColumnWidth(CostModel::Part, partWidth);
    m_table->verticalHeader()->setDefaultSectionSize(QFontMetrics(chosen).height() * 3 / 2);
    int height = m_table->horizontalHeader()->sizeHint().height() + 2;
    for (int row = 0; row < m_model->rowCount(); ++row)
        height += m_table->rowHeight(row);
    m_table->setFixedHeight(height);
    m_table->setVisible(m_model->rowCount() > 0);
}

void CostPanel::resizeEvent(QResizeEvent* event) {
    QScrollArea::resizeEvent(event);
    fitTable();
}

void CostPanel::changeEvent(QEvent* event) {
    QScrollArea::changeEvent(event);
    if (m_table && (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange))
        fitTable();
}

} // namespace headscope
