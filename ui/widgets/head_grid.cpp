#include "ui/widgets/head_grid.h"

#include "ui/head_survey.h"
#include "ui/render/color_scale.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/workspace.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QPainter>
#include <QSignalBlocker>

#include <algorithm>

namespace headscope {

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
    }
    if (layers > 0 && heads > 0)
        emit dataChanged(index(0, 0), index(layers - 1, heads - 1));
}

int HeadModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : m_layers;
}

int HeadModel::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : m_heads;
}

const QImage* HeadModel::thumbnail(const QModelIndex& index) const {
    const auto place = static_cast<std::size_t>(index.row() * m_heads + index.column());
    return place < m_thumbnails.size() ? &m_thumbnails[place] : nullptr;
}

QVariant HeadModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || !m_workspace.scenario().model)
        return {};
    const LayerIndex layer{index.row()};
    const HeadIndex head{index.column()};
    switch (role) {
    case ThumbnailRole: {
        const QImage* image = thumbnail(index);
        return image ? QVariant(*image) : QVariant();
    }
    case OffRole:
        return m_workspace.scenario().headIsOff(layer, head);
    case Qt::AccessibleTextRole:
    case Qt::ToolTipRole:
        return summaryOf(layer, head);
    default:
        return {};
    }
}

QString HeadModel::summaryOf(LayerIndex layer, HeadIndex head) const {
    const Scenario& scenario = m_workspace.scenario();
    QString text = headTitle(scenario.model->config(), layer, head);
    if (scenario.headIsOff(layer, head))
        text += tr(" · switched off");
    const SharedSurvey& survey = m_survey.current();
    if (!survey || survey->heads.empty() || !thumbnail(index(layer.value, head.value)))
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
    if (role == Qt::DisplayRole)
        return orientation == Qt::Horizontal ? QString::number(section) : QStringLiteral("L%1").arg(section);
    if (role == Qt::ToolTipRole && m_workspace.scenario().model && orientation == Qt::Horizontal)
        return headTitle(m_workspace.scenario().model->config(), LayerIndex{0}, HeadIndex{section}).mid(3);
    return {};
}

void HeadDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const Theme& t = theme();
    const int side = std::min(option.rect.width(), option.rect.height()) - 6;
    QRect frame(0, 0, side, side);
    frame.moveCenter(option.rect.center());
    painter->save();
    const QImage image = index.data(HeadModel::ThumbnailRole).value<QImage>();
    const bool off = index.data(HeadModel::OffRole).toBool();
    painter->setOpacity(off ? 0.25 : 1.0);
    if (image.isNull())
        painter->fillRect(frame, t.field);
    else
        painter->drawImage(frame, image);
    painter->setOpacity(1);
    painter->setRenderHint(QPainter::Antialiasing);
    if (off) {
        painter->setPen(QPen(t.text, 1.5));
        painter->drawLine(frame.topLeft(), frame.bottomRight());
        painter->drawLine(frame.topRight(), frame.bottomLeft());
    }
    if (option.state & QStyle::State_Selected) {
        painter->setPen(QPen(t.accent, 2));
        painter->drawRoundedRect(QRectF(frame).adjusted(-2, -2, 2, 2), 3, 3);
    }
    painter->restore();
}

HeadGrid::HeadGrid(Workspace& workspace, HeadSurvey& survey, QWidget* parent)
    : QTableView(parent), m_workspace(workspace) {
    setModel(new HeadModel(workspace, survey, this));
    setItemDelegate(new HeadDelegate(this));
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
        header->setMinimumSectionSize(14);
        header->setHighlightSections(false);
        header->setSectionsClickable(false);
        header->setDefaultAlignment(Qt::AlignCenter);
    }
    connect(model(), &QAbstractItemModel::modelReset, this, [this] {
        fitCells();
        showSelection();
    });
    connect(selectionModel(), &QItemSelectionModel::selectionChanged, this, &HeadGrid::takeSelection);
    connect(&workspace, &Workspace::viewChanged, this, &HeadGrid::showSelection);
    showSelection();
}

QSize HeadGrid::sizeHint() const {
    const int rows = std::max(1, model()->rowCount());
    const int cell = rows == 1 ? 40 : 30;
    return {240, horizontalHeader()->sizeHint().height() + std::min(rows, 12) * cell + 4};
}

// Square cells, as large as the width allows; thumbnails stay tellable apart down to 16 pixels, below that it scrolls.
void HeadGrid::fitCells() {
    const int columns = std::max(1, model()->columnCount());
    const int room = width() - verticalHeader()->sizeHint().width() - 4;
    const int rows = std::max(1, model()->rowCount());
    const int high = (height() - horizontalHeader()->sizeHint().height() - 4) / rows;
    const int largest = rows == 1 ? 64 : 46;
    const int cell = std::clamp(std::min(room / columns, std::max(high, 20)), 20, largest);
    horizontalHeader()->setDefaultSectionSize(cell);
    verticalHeader()->setDefaultSectionSize(cell);
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

void HeadGrid::showSelection() {
    const View& view = m_workspace.view();
    m_showing = true;
    QItemSelection selection;
    for (const HeadIndex head : view.heads) {
        const QModelIndex index = model()->index(view.layer.value, head.value);
        selection.select(index, index);
    }
    selectionModel()->select(selection, QItemSelectionModel::ClearAndSelect);
    const QModelIndex first = model()->index(view.layer.value, view.heads.front().value);
    if (currentIndex().row() != first.row() || view.heads.size() == 1)
        selectionModel()->setCurrentIndex(first, QItemSelectionModel::NoUpdate);
    m_showing = false;
}

void HeadGrid::takeSelection() {
    const QModelIndexList chosen = selectionModel()->selectedIndexes();
    if (m_showing || chosen.isEmpty())
        return;
    View view = m_workspace.view();
    const int layer = currentIndex().isValid() ? currentIndex().row() : chosen.front().row();
    std::vector<HeadIndex> heads;
    for (const QModelIndex& index : chosen)
        if (index.row() == layer)
            heads.push_back(HeadIndex{index.column()});
    if (heads.empty())
        return;
    std::ranges::sort(heads);
    view.layer = LayerIndex{layer};
    view.heads = std::move(heads);
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
