// HeatmapPanel: the shown stage of the shown head in a HeatmapView. Makes the view's contents from a trace in the
// background and passes pins on to the workspace. Not here: drawing (HeatmapView), colours (ui/render).
#pragma once

#include "core/analysis/shown.h"
#include "ui/latest_wins.h"
#include "ui/widgets/heatmap_view.h"

#include <QWidget>

class QLabel;
class QStackedLayout;

namespace headscope {

class Workspace;

// What the heatmap of a view shows: the picked heads combined as the view says, words and special tokens too.
struct ShownHeatmap {
    HeatmapContents contents;
    ShownAxis rows, cols; // which tokens its rows and columns stand for
    QString remark;       // what was left out or merged; often empty
};
// Pure. Throws InputError when the matrix would have more than mostHeatmapCells.
ShownHeatmap shownHeatmap(const AttentionTrace& trace, const View& view);
inline constexpr std::int64_t mostHeatmapCells = 4096LL * 4096;

class HeatmapPanel : public QWidget {
    Q_OBJECT
public:
    explicit HeatmapPanel(Workspace& workspace, QWidget* parent = nullptr);
    HeatmapView* view() { return m_view; }

signals:
    void described(const QString& cell); // under the pointer or the keyboard's cell; empty for none

protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    void refresh();
    void pin(std::optional<CellRef> cell);
    void showMenu(CellRef cell, QPoint globalPosition);
    CellRef tokensOf(CellRef place) const; // of the shown places
    std::optional<CellRef> placeOf(std::optional<CellRef> tokens) const;

    Workspace& m_workspace;
    HeatmapView* m_view;
    QLabel* m_problem;
    QLabel* m_remark;
    QStackedLayout* m_layers;
    ShownAxis m_rows, m_cols; // of what is shown now
    LatestWins<ShownHeatmap> m_jobs;
};

} // namespace headscope
