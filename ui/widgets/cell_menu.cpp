#include "ui/widgets/cell_menu.h"

#include "core/tensor/errors.h"
#include "ui/copying.h"
#include "ui/stage_text.h"
#include "ui/unchangeable.h"
#include "ui/widgets/number_block.h"
#include "ui/workspace.h"

#include <QCoreApplication>
#include <QInputDialog>
#include <QMenu>

#include <limits>

namespace headscope {

static QString tr(const char* text) {
    return QCoreApplication::translate("headscope::CellMenu", text);
}

// "sat → cat"
static QString linkName(const Scenario& scenario, CellRef cell) {
    return QStringLiteral("%1 → %2").arg(tokenText(scenario.query.tokens[static_cast<std::size_t>(cell.row)]),
                                         tokenText(scenario.keyTokens().tokens[static_cast<std::size_t>(cell.col)]));
}

static Intervention scoreOf(const View& view, CellRef cell, float value) {
    return {Intervention::Kind::SetCell, view.layer, view.heads.front(), Stage::Scores, cell.row, cell.col, value};
}

static bool sameCell(const Intervention& i, CellRef cell) {
    return i.row == cell.row && i.col == cell.col;
}

static bool isScoreOf(const Intervention& i, const View& view, CellRef cell) {
    return i.kind == Intervention::Kind::SetCell && i.stage == Stage::Scores && i.layer == view.layer &&
           i.head == view.heads.front() && sameCell(i, cell);
}

static bool isMaskOf(const Intervention& i, CellRef cell) {
    return i.kind == Intervention::Kind::MaskCell && sameCell(i, cell);
}

void setScore(Workspace& workspace, CellRef cell, float score) {
    Scenario next = workspace.scenario();
    const View& view = workspace.view();
    std::erase_if(next.interventions, [&](const Intervention& i) { return isScoreOf(i, view, cell); });
    next.interventions.push_back(scoreOf(view, cell, score));
    const QString name =
        tr("Set score %1 of %2 to %3")
            .arg(linkName(next, cell), headName(view.layer, view.heads.front()), shortestNumber(score));
    workspace.edit(name, std::move(next));
}

static void paintCell(Scenario& scenario, CellRef cell, bool open) {
    std::erase_if(scenario.interventions, [&](const Intervention& i) { return isMaskOf(i, cell); });
    Intervention painted;
    painted.kind = Intervention::Kind::MaskCell;
    painted.row = cell.row;
    painted.col = cell.col;
    painted.value = open ? 0.0F : -std::numeric_limits<float>::infinity();
    scenario.interventions.push_back(painted);
}

void setMaskCell(Workspace& workspace, CellRef cell, bool open) {
    paintMask(workspace, {cell}, open, -1);
}

void paintMask(Workspace& workspace, const std::vector<CellRef>& cells, bool open, int mergeId) {
    Scenario next = workspace.scenario();
    for (const CellRef cell : cells)
        paintCell(next, cell, open);
    const QString what = cells.size() == 1 ? linkName(next, cells.front()) : tr("%1 cells").arg(cells.size());
    workspace.edit((open ? tr("Open %1 in the mask") : tr("Close %1 in the mask")).arg(what), std::move(next), mergeId);
}

void restoreEveryCell(Workspace& workspace) {
    Scenario next = workspace.scenario();
    std::erase_if(next.interventions, [](const Intervention& i) {
        return i.kind == Intervention::Kind::MaskCell ||
               (i.kind == Intervention::Kind::SetCell && i.stage == Stage::Scores);
    });
    workspace.edit(tr("Restore all cells"), std::move(next));
}

void restoreCell(Workspace& workspace, CellRef cell) {
    Scenario next = workspace.scenario();
    const View& view = workspace.view();
    std::erase_if(next.interventions,
                  [&](const Intervention& i) { return isScoreOf(i, view, cell) || isMaskOf(i, cell); });
    const QString name = tr("Restore %1").arg(linkName(next, cell));
    workspace.edit(name, std::move(next));
}

bool isSetByHand(const Workspace& workspace, CellRef cell) {
    for (const Intervention& i : workspace.scenario().interventions)
        if (isScoreOf(i, workspace.view(), cell) || isMaskOf(i, cell))
            return true;
    return false;
}

void askScore(Workspace& workspace, CellRef cell, QWidget* window) {
    const View& view = workspace.view();
    const SharedMatrix scores = workspace.stageMatrix(view.layer, view.heads.front(), Stage::Scores);
    const QString now = scores ? shortestNumber((*scores)(cell.row, cell.col)) : QString();
    bool accepted = false;
    const QString text =
        QInputDialog::getText(window, tr("Set a score"),
                              tr("Score Q·K of %1, before scale and mask:").arg(linkName(workspace.scenario(), cell)),
                              QLineEdit::Normal, now, &accepted);
    if (!accepted)
        return;
    if (const std::optional<float> score = parseNumber(text))
        setScore(workspace, cell, *score);
    else
        emit workspace.failed(
            tr("\"%1\" is no finite number; type one like %2.").arg(text.trimmed().left(40), QLocale().toString(0.5)));
}

void fillCellMenu(QMenu& menu, Workspace& workspace, CellRef cell, QWidget* window) {
    const SharedTrace& trace = workspace.trace();
    if (trace && isTokenByToken(workspace.view().stage) && trace->scenario == workspace.scenario() &&
        whyUnchangeable(workspace.scenario()).isEmpty()) {
        menu.addAction(linkName(workspace.scenario(), cell))->setEnabled(false);
        menu.addSeparator();
        menu.addAction(tr("Set score in this head…"), window,
                       [&workspace, cell, window] { askScore(workspace, cell, window); });
        const bool open = trace->mask.isOpen(cell.row, cell.col);
        menu.addAction(open ? tr("Close this cell in the mask of all heads")
                            : tr("Open this cell in the mask of all heads"),
                       window, [&workspace, cell, open] { setMaskCell(workspace, cell, !open); });
        menu.addAction(tr("Restore this cell"), window, [&workspace, cell] { restoreCell(workspace, cell); })
            ->setEnabled(isSetByHand(workspace, cell));
        menu.addSeparator();
    }
    menu.addAction(tr("Copy as picture"), window, [&workspace] { copyPicture(workspace); });
    menu.addAction(tr("Copy as table"), window, [&workspace] { copyTable(workspace); });
}

} // namespace headscope
