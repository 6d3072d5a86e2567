#include "ui/widgets/head_grid.h"

#include "ui/head_survey.h"
#include "ui/render/color_scale.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/workspace.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QPainter>
#include <QScrollBar>
#include <QSignalBlocker>

#include <algorithm>

namespace headscope {

static constexpr double nameScale = 0.86;
static constexpr int smallestThumbnail = 8, groupBar = 3;

HeadModel::HeadModel(Workspace& workspace, HeadSurvey& survey, QObject* parent)
    : QAbstractTableModel(parent), m_workspace(workspace), m_survey(survey) {
    connect(&survey, &HeadSurvey::changed, this, &HeadModel::refresh);
    connect(&workspace, &Workspace::scenarioChanged, this, &HeadModel::refresh);
    connect(&workspace, &Workspace::viewChanged, this, &HeadModel::refresh);
    refresh();
}

static QImage thumbnailOf(const Matrix& weights, const ColorScale& scale) {
    QImage image(weights.cols(), weights.rows(), QImage::Format_RGB32);
    for (int r = 0; r < weights.rows(); ++r)
        for (int c = 0; c < weights.cols(); ++c)
            image.setPixel(c, r, scale.color(weights(r, c)));
    return image;
}

void HeadModel::refresh() {
    const SharedModel& model = m_workspace.scenario().model;
    const int layers = model ? model->config().layers : 0;
    const int heads = model ? model->config().heads : 0;
    if (layers != m_layers || heads != m_heads) {
        beginResetModel();
        m_layers = layers;
        m_heads = heads;
        m_thumbnails.clear();
        endResetModel();
    }
    const SharedSurvey& survey = m_survey.current();
    if (survey && static_cast<int>(survey->heads.size()) == layers * heads) {
        const ColorScale scale(m_workspace.view().colors, false, {0, 1});
        m_thumbnails.clear();
        for (const HeadSummary& head : survey->heads)
            m_thumbnails.push_back(thumbnailOf(head.thumbnail, scale));
    } else { // none yet, or the text is too long for one
        m_thumbnails.clear();
    }
    if (layers > 0 && heads > 0)
        emit dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

int HeadModel::rowCount(const QModelIndex& parent) const {
    if (parent.isValid())
        return 0;
    return wrapped() ? (m_heads + perLine - 1) / perLine : m_layers;
}

int HeadModel::columnCount(const QModelIndex& parent) const {
    if (parent.isValid())
        return 0;
    return wrapped() ? perLine : m_heads;
}

std::optional<HeadModel::Place> HeadModel::placeOf(const QModelIndex& index) const {
    if (!index.isValid())
        return std::nullopt;
    if (!wrapped())
        return Place{LayerIndex{index.row()}, HeadIndex{index.column()}};
    const int head = index.row() * perLine + index.column();
    return head < m_heads ? std::optional(Place{LayerIndex{0}, HeadIndex{head}}) : std::nullopt;
}

QModelIndex HeadModel::indexOf(LayerIndex layer, HeadIndex head) const {
    return wrapped() ? index(head.value / perLine, head.value % perLine) : index(layer.value, head.value);
}

const QImage* HeadModel::thumbnail(const Place& place) const {
    const auto number = static_cast<std::size_t>(place.layer.value * m_heads + place.head.value);
    return number < m_thumbnails.size() ? &m_thumbnails[number] : nullptr;
}

Qt::ItemFlags HeadModel::flags(const QModelIndex& index) const {
    return placeOf(index) ? QAbstractTableModel::flags(index) : Qt::NoItemFlags;
}

QVariant HeadModel::data(const QModelIndex& index, int role) const {
    const std::optional<Place> place = placeOf(index);
    if (!place || !m_workspace.scenario().model)
        return {};
    switch (role) {
    case ThumbnailRole: {
        const QImage* image = thumbnail(*place);
        return image ? QVariant(*image) : QVariant();
    }
    case NameRole: {
        const std::vector<std::string>& names = m_workspace.scenario().model->config().headNames;
        const auto head = static_cast<std::size_t>(place->head.value);
        return head < names.size() ? fromUtf8(names[head]) : QStringLiteral("H%1").arg(head);
    }
    case DimRole: {
        const SharedSurvey& survey = m_survey.current();
        return !m_kind.isEmpty() && survey && thumbnail(*place) &&
               fromUtf8(survey->at(place->layer, place->head).metrics.label) != m_kind;
    }
    case GroupRole: {
        const ModelConfig& config = m_workspace.scenario().model->config();
        if (config.kvHeads == config.heads)
            return {};
        const int size = config.heads / config.kvHeads, within = place->head.value % size;
        return (within == 0 ? GroupBegins : 0) | (within == size - 1 ? GroupEnds : 0);
    }
    case OffRole:
        return m_workspace.scenario().headIsOff(place->layer, place->head);
    case Qt::AccessibleTextRole:
    case Qt::ToolTipRole:
        return summaryOf(place->layer, place->head);
    default:
        return {};
    }
}

QString HeadModel::summaryOf(LayerIndex layer, HeadIndex head) const {
    const Scenario& scenario = m_workspace.scenario();
    QString text = headTitle(scenario.model->config(), layer, head);
    const ModelConfig& config = scenario.model->config();
    if (config.kvHeads != config.heads)
        text += tr(" · key/value head %1").arg(config.kvHeadOf(head));
    if (scenario.headIsOff(layer, head))
        text += tr(" · switched off");
    const SharedSurvey& survey = m_survey.current();
    if (!survey || survey->heads.empty() || !thumbnail({layer, head}))
        return text;
    const HeadMetrics& m = survey->at(layer, head).metrics;
    text +=
        m.label == "none" ? QString() : tr("\nlooks like: %1 (%2)").arg(fromUtf8(m.label)).arg(m.strength, 0, 'f', 2);
    text += tr("\nentropy %1 bits · mean distance %2").arg(m.entropy, 0, 'f', 2).arg(m.distance, 0, 'f', 2);
    text += tr("\nself %1 · previous %2 · next %3 · first %4")
                .arg(m.self, 0, 'f', 2)
                .arg(m.previous, 0, 'f', 2)
                .arg(m.next, 0, 'f', 2)
                .arg(m.first, 0, 'f', 2);
    text += tr("\nsame word %1 · separator %2 · induction %3 · mean row maximum %4")
                .arg(m.same, 0, 'f', 2)
                .arg(m.separator, 0, 'f', 2)
                .arg(m.induction, 0, 'f', 2)
                .arg(m.concentration, 0, 'f', 2);
    return text;
}

QVariant HeadModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (role == Qt::FontRole && orientation == Qt::Horizontal && m_headerStep > 1)
        return scaledFont(0.75);
    if (role == Qt::DisplayRole && orientation == Qt::Horizontal && section % m_headerStep != 0)
        return QString();
    if (role == Qt::DisplayRole)
        return orientation == Qt::Horizontal ? QString::number(section) : QStringLiteral("L%1").arg(section);
    if (role == Qt::ToolTipRole && m_workspace.scenario().model && orientation == Qt::Horizontal)
        return headTitle(m_workspace.scenario().model->config(), LayerIndex{0}, HeadIndex{section}).mid(3);
    return {};
}

void HeadDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    if (!(index.flags() & Qt::ItemIsEnabled))
        return;
    const Theme& t = theme();
    QRect cell = option.rect;
    cell.setBottom(cell.bottom() - m_nameHeight);
    const QVariant group = index.data(HeadModel::GroupRole);
    if (group.isValid()) {
        // Heads that share keys and values stand under one bar.
        const int ends = group.toInt(), inset = 3;
        QRect bar(cell.left(), cell.top(), cell.width(), groupBar - 1);
        bar.adjust(ends & HeadModel::GroupBegins ? inset : 0, 0, ends & HeadModel::GroupEnds ? -inset : 0, 0);
        painter->fillRect(bar, t.muted);
        cell.setTop(cell.top() + groupBar);
    }
    const int room = std::min(cell.width(), cell.height()), side = room - (room < 20 ? 3 : 6);
    QRect frame(0, 0, side, side);
    frame.moveCenter(cell.center());
    painter->save();
    const QImage image = index.data(HeadModel::ThumbnailRole).value<QImage>();
    const bool off = index.data(HeadModel::OffRole).toBool(), chosen = option.state & QStyle::State_Selected;
    painter->setOpacity(off ? 0.25 : index.data(HeadModel::DimRole).toBool() ? 0.2 : 1.0);
    if (image.isNull())
        painter->fillRect(frame, t.field);
    else
        painter->drawImage(frame, image);
    painter->setOpacity(1);
    if (t.dark) { // dark maps would run into each other
        painter->setPen(t.border);
        painter->drawRect(frame.adjusted(-1, -1, 0, 0));
    }
    if (m_nameHeight > 0) {
        painter->setFont(scaledFont(nameScale));
        painter->setPen(chosen ? t.text : t.muted);
        const QRect name(option.rect.left(), cell.bottom() + 1, option.rect.width(), m_nameHeight);
        QStringList words = index.data(HeadModel::NameRole).toString().split(u' ');
        for (QString& word : words) // a line each, where they do not stand beside each other
            word = painter->fontMetrics().elidedText(word, Qt::ElideRight, name.width() - 2);
        painter->drawText(name, Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap, words.join(u' '));
    }
    painter->setRenderHint(QPainter::Antialiasing);
    if (off) {
        painter->setPen(QPen(t.text, 1.5));
        painter->drawLine(frame.topLeft(), frame.bottomRight());
        painter->drawLine(frame.topRight(), frame.bottomLeft());
    }
    if (chosen) {
        painter->setPen(QPen(t.accent, 2));
        painter->drawRoundedRect(QRectF(frame).adjusted(-2, -2, 2, 2), 3, 3);
    }
    painter->restore();
}

HeadGrid::HeadGrid(Workspace& workspace, HeadSurvey& survey, QWidget* parent)
    : QTableView(parent), m_workspace(workspace) {
    setModel(new HeadModel(workspace, survey, this));
    setItemDelegate(new HeadDelegate(this));
    setObjectName(QStringLiteral("headGrid"));
    setAccessibleName(tr("Heads: layers down, heads across"));
    setShowGrid(false);
    setFrameShape(QFrame::NoFrame);
    setSelectionMode(QAbstractItemView::ExtendedSelection);
    setHorizontalScrollMode(ScrollPerPixel);
    setVerticalScrollMode(ScrollPerPixel);
    setTabKeyNavigation(false);
    setCornerButtonEnabled(false);
    for (QHeaderView* header : {horizontalHeader(), verticalHeader()}) {
        header->setSectionResizeMode(QHeaderView::Fixed);
        header->setMinimumSectionSize(10);
        header->setHighlightSections(false);
        header->setSectionsClickable(false);
        header->setDefaultAlignment(Qt::AlignCenter);
    }
    horizontalHeader()->setStyleSheet(QStringLiteral("QHeaderView::section { padding: 1px 0; }")); // narrow columns
    connect(model(), &QAbstractItemModel::modelReset, this, [this] {
        fitCells();
        showSelection();
    });
    connect(selectionModel(), &QItemSelectionModel::selectionChanged, this, &HeadGrid::takeSelection);
    connect(&workspace, &Workspace::viewChanged, this, &HeadGrid::showSelection);
    showSelection();
}

// Square cells, as large as the width allows; thumbnails stay tellable apart down to 16 pixels, below that it scrolls.
// No more height than they need: the list of findings gets the rest.
void HeadGrid::fitCells() {
    const bool wrapped = heads().wrapped();
    const int rows = std::max(1, heads().rowCount()), columns = std::max(1, heads().columnCount());
    horizontalHeader()->setVisible(!wrapped);
    verticalHeader()->setVisible(!wrapped);
    const int name = wrapped ? nameLines() * QFontMetrics(scaledFont(nameScale)).lineSpacing() + 4 : 0;
    static_cast<HeadDelegate*>(itemDelegate())->setNameHeight(name);
    const int besides = wrapped ? 0 : verticalHeader()->sizeHint().width();
    const int above = wrapped ? 0 : horizontalHeader()->sizeHint().height();
    const SharedModel& model = m_workspace.scenario().model;
    const int bar = model && model->config().kvHeads != model->config().heads ? groupBar : 0;
    const auto acrossIn = [&](int room) { return std::max(smallestThumbnail + 4, room / columns); };
    const int largest = std::max(56, window()->height() / 22);
    const auto sideIn = [&](int room) { return std::min(acrossIn(room), largest); };
    int room = width() - besides - 2;
    const int needed = std::max(minimumSizeHint().height(), above + rows * (sideIn(room) + bar + name) + 4);
    if (needed > height()) // it will scroll
        room -= verticalScrollBar()->sizeHint().width();
    horizontalHeader()->setDefaultSectionSize(wrapped ? acrossIn(room) : sideIn(room));
    verticalHeader()->setDefaultSectionSize(sideIn(room) + bar + name);
    heads().setHeaderStep(sideIn(room) < QFontMetrics(font()).horizontalAdvance(QStringLiteral("00")) + 2 ? 2 : 1);
    if (window()->height() > needed) // a few pixels less would make it scroll
        setMinimumHeight(std::min(needed, window()->height() * 2 / 5));
    if (needed == maximumHeight())
        return;
    setMaximumHeight(needed);
    emit heightNeeded();
}

// Names of two words stand on two lines.
int HeadGrid::nameLines() const {
    const SharedModel& model = m_workspace.scenario().model;
    return model && !model->config().headNames.empty() ? 2 : 1;
}

void HeadGrid::resizeEvent(QResizeEvent* event) {
    QTableView::resizeEvent(event);
    fitCells();
}

void HeadGrid::changeEvent(QEvent* event) {
    QTableView::changeEvent(event);
    if (event->type() == QEvent::FontChange)
        fitCells();
}

void HeadGrid::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_X || event->key() == Qt::Key_Delete)
        toggleHeads(m_workspace);
    else
        QTableView::keyPressEvent(event);
}

void HeadGrid::showKind(const QString& label) {
    heads().setKind(label);
    viewport()->update();
}

void HeadGrid::showSelection() {
    const View& view = m_workspace.view();
    m_showing = true;
    QItemSelection selection;
    for (const HeadIndex head : view.heads) {
        const QModelIndex index = heads().indexOf(view.layer, head);
        selection.select(index, index);
    }
    selectionModel()->select(selection, QItemSelectionModel::ClearAndSelect);
    const QModelIndex first = heads().indexOf(view.layer, view.heads.front());
    const std::optional<HeadModel::Place> now = heads().placeOf(currentIndex());
    if (!now || now->layer != view.layer || view.heads.size() == 1)
        selectionModel()->setCurrentIndex(first, QItemSelectionModel::NoUpdate);
    m_showing = false;
    viewport()->update(); // rings reach over the edges of their cells
}

void HeadGrid::takeSelection() {
    const QModelIndexList chosen = selectionModel()->selectedIndexes();
    if (m_showing || chosen.isEmpty())
        return;
    View view = m_workspace.view();
    const std::optional<HeadModel::Place> current = heads().placeOf(currentIndex());
    const LayerIndex layer = current ? current->layer : LayerIndex{chosen.front().row()};
    std::vector<HeadIndex> picked;
    for (const QModelIndex& index : chosen)
        if (const std::optional<HeadModel::Place> place = heads().placeOf(index); place && place->layer == layer)
            picked.push_back(place->head);
    if (picked.empty())
        return;
    std::ranges::sort(picked);
    view.layer = layer;
    view.heads = std::move(picked);
    m_workspace.setView(view);
}

void toggleHeads(Workspace& workspace) {
    Scenario next = workspace.scenario();
    const View& view = workspace.view();
    const bool allOff =
        std::ranges::all_of(view.heads, [&](HeadIndex head) { return next.headIsOff(view.layer, head); });
    std::erase_if(next.interventions, [&](const Intervention& i) {
        return i.kind == Intervention::Kind::HeadOff && i.layer == view.layer &&
               std::ranges::find(view.heads, i.head) != view.heads.end();
    });
    if (!allOff)
        for (const HeadIndex head : view.heads) {
            Intervention off;
            off.kind = Intervention::Kind::HeadOff;
            off.layer = view.layer;
            off.head = head;
            next.interventions.push_back(off);
        }
    QStringList names;
    for (const HeadIndex head : view.heads)
        names << headName(view.layer, head);
    workspace.edit((allOff ? HeadGrid::tr("Switch %1 on") : HeadGrid::tr("Switch %1 off")).arg(names.join(u", ")),
                   std::move(next));
}

} // namespace headscope
