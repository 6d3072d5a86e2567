// MaskBrush: while it is on, dragging over the heatmap paints the mask: the first cell decides whether the stroke
// closes or opens, and one stroke is one named undo step. The space bar paints the keyboard's cell; Esc puts the brush
// away. Not here: what a painted cell means (core/attention/mask), drawing (HeatmapView).
#pragma once

#include "core/attention/view.h"

#include <QObject>
#include <QPointF>

#include <optional>
#include <vector>

namespace headscope {

class HeatmapView;
class Workspace;

class MaskBrush : public QObject {
    Q_OBJECT
public:
    MaskBrush(Workspace& workspace, HeatmapView& view);

    bool isOn() const { return m_on; }
    void setOn(bool on);
    void takeWayOut(); // to the picture that can be painted on, token by token, with the brush in hand

signals:
    void toggled(bool on);
    void refused(const QString& sentence, const QString& wayOut); // why it does not paint, and what takeWayOut() does

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    bool usable() const;        // cells of queries by keys, as the texts are now
    QString whyNotHere() const; // empty: the picture is one that can be painted on
    void refuse();
    void begin(CellRef cell);
    void moveTo(CellRef cell);
    void paint();

    Workspace& m_workspace;
    HeatmapView& m_view;
    bool m_on = false, m_painting = false, m_opens = false;
    std::vector<CellRef> m_stroke; // its cells, each once
    CellRef m_last;
    int m_mergeId;
};

} // namespace headscope
