// What can be done to one cell of the heatmap: set its score, close or open it in the mask, take that back. Each is one
// undoable step with a name. Called by the heatmap's context menu. Not here: which cell (HeatmapPanel).
#pragma once

#include "core/attention/view.h"

#include <vector>

class QMenu;
class QWidget;

namespace headscope {

class Workspace;

// The actions for a cell of the shown stage; on stages that are not queries by keys, those that need none.
void fillCellMenu(QMenu& menu, Workspace& workspace, CellRef cell, QWidget* window);

void setScore(Workspace& workspace, CellRef cell, float score);  // of the shown head
void setMaskCell(Workspace& workspace, CellRef cell, bool open); // for all heads and layers
// Several at once, as one step; strokes with the same mergeId grow into one.
void paintMask(Workspace& workspace, const std::vector<CellRef>& cells, bool open, int mergeId);
// The score of a cell, by a question.
void askScore(Workspace& workspace, CellRef cell, QWidget* window);
void restoreEveryCell(Workspace& workspace);          // all painted cells and set scores
void restoreCell(Workspace& workspace, CellRef cell); // no score, no mask of one's own
bool isSetByHand(const Workspace& workspace, CellRef cell);

} // namespace headscope
