#include "ui/widgets/mask_brush.h"

#include "ui/merge_ids.h"
#include "ui/widgets/cell_menu.h"
#include "ui/widgets/heatmap_view.h"
#include "ui/workspace.h"

#include <QKeyEvent>
#include <QMouseEvent>

#include <algorithm>
#include <cstdlib>

namespace headscope {

MaskBrush::MaskBrush(Workspace& workspace, HeatmapView& view)
    : QObject(&view), m_workspace(workspace), m_view(view), m_mergeId(mergeFirstStroke) {
    view.installEventFilter(this);
    for (QWidget* child : view.findChildren<QWidget*>()) // the plot that takes the mouse
        child->installEventFilter(this);
}

void MaskBrush::setOn(bool on) {
    if (on == m_on)
        return;
    if (on && !whyNotHere().isEmpty()) {
        refuse();
        emit toggled(false);
        return;
    }
    m_on = on;
    m_painting = false;
    const std::optional<QCursor> cursor = on ? std::optional<QCursor>(Qt::CrossCursor) : std::nullopt;
    for (QWidget* child : m_view.findChildren<QWidget*>())
        cursor ? child->setCursor(*cursor) : child->unsetCursor();
    emit toggled(on);
}

QString MaskBrush::whyNotHere() const {
    const View& view = m_workspace.view();
    if (view.figure != FigureKind::Heatmap || !isTokenByToken(view.stage))
        return tr(
            "The mask is painted on the heatmap of scores or weights: choose that picture and one of those stages.");
    if (view.words)
        return tr(
            "The mask says for each token what it may attend to, and here the pieces of a word are merged: a cell "
            "of this picture can stand for several.");
    if (view.special == Special::Hide || view.special == Special::Drop)
        return tr("The mask is painted token by token, and here the special tokens are not shown.");
    return {};
}

void MaskBrush::refuse() {
    const View& view = m_workspace.view();
    const bool isMap = view.figure == FigureKind::Heatmap && isTokenByToken(view.stage);
    emit refused(whyNotHere(), isMap ? tr("Show every token") : tr("Show the heatmap of weights"));
}

void MaskBrush::takeWayOut() {
    View view = m_workspace.view();
    view.figure = FigureKind::Heatmap;
    if (!isTokenByToken(view.stage))
        view.stage = Stage::Weights;
    view.words = false;
    if (view.special == Special::Hide || view.special == Special::Drop)
        view.special = Special::Show;
    m_workspace.setView(view);
    setOn(true);
}

bool MaskBrush::usable() const {
    return m_workspace.trace() && whyNotHere().isEmpty() &&
           m_workspace.trace()->scenario.query == m_workspace.scenario().query &&
           m_workspace.trace()->scenario.key == m_workspace.scenario().key;
}

bool MaskBrush::eventFilter(QObject* watched, QEvent* event) {
    if (!m_on)
        return false;
    const auto cellUnder = [&] {
        const auto* mouse = static_cast<QMouseEvent*>(event);
        return m_view.cellAt(static_cast<QWidget*>(watched)->mapTo(&m_view, mouse->position().toPoint()));
    };
    switch (event->type()) {
    case QEvent::MouseButtonPress: {
        if (static_cast<QMouseEvent*>(event)->button() != Qt::LeftButton)
            return false;
        if (!whyNotHere().isEmpty()) { // the view has changed under the brush
            refuse();
            return true;
        }
        if (!usable())
            return false;
        m_view.setFocus(Qt::MouseFocusReason);
        if (const std::optional<CellRef> cell = cellUnder())
            begin(*cell);
        return true;
    }
    case QEvent::MouseMove:
        if (!m_painting)
            return false; // hovering goes on
        if (const std::optional<CellRef> cell = cellUnder())
            moveTo(*cell);
        return true;
    case QEvent::MouseButtonRelease:
        return std::exchange(m_painting, false);
    case QEvent::MouseButtonDblClick:
        return true;
    case QEvent::KeyPress: {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Escape) {
            setOn(false);
            return true;
        }
        const std::optional<CellRef> cell = m_view.currentCell() ? m_view.currentCell() : m_view.pinnedCell();
        if (key != Qt::Key_Space || !cell || !usable())
            return false;
        begin(*cell);
        m_painting = false;
        return true;
    }
    default:
        return false;
    }
}

void MaskBrush::begin(CellRef cell) {
    ++m_mergeId;
    m_painting = true;
    m_opens = !maskOf(m_workspace.scenario()).isOpen(cell.row, cell.col);
    m_stroke = {cell};
    m_last = cell;
    paint();
}

// A quick hand skips cells: those on the way are painted too.
void MaskBrush::moveTo(CellRef cell) {
    const int steps = std::max(std::abs(cell.row - m_last.row), std::abs(cell.col - m_last.col));
    bool grew = false;
    for (int i = 1; i <= steps; ++i) {
        const CellRef between{m_last.row + (cell.row - m_last.row) * i / steps,
                              m_last.col + (cell.col - m_last.col) * i / steps};
        if (std::ranges::find(m_stroke, between) == m_stroke.end()) {
            m_stroke.push_back(between);
            grew = true;
        }
    }
    m_last = cell;
    if (grew)
        paint();
}

void MaskBrush::paint() {
    paintMask(m_workspace, m_stroke, m_opens, m_mergeId);
}

} // namespace headscope
