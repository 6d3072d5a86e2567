// LinksPanel: the links of the picked heads: which colour is which head, the view itself (longer texts scroll), a
// key of the widths, what they mean and how many links are not drawn. Reads links from a trace in the background and
// passes pins on to the workspace. Not here: threshold and top-k (ViewControls), drawing (LinksView).
#pragma once

#include "ui/widgets/links_view.h"

class QLabel;
class QScrollArea;

namespace headscope {

class Workspace;

class LinksPanel : public QWidget {
    Q_OBJECT
public:
    explicit LinksPanel(Workspace& workspace, QWidget* parent = nullptr);
    LinksView* view() { return m_view; }

signals:
    void described(const QString& links); // of the token under the pointer; empty for none

protected:
    void showEvent(QShowEvent* event) override;

private:
    struct Shown {
        SharedLinks links;
        QString caption;
    };
    void refresh();
    void take(const Shown& shown);
    void markPinned();
    void pin(std::optional<LinksView::Place> place);

    Workspace& m_workspace;
    QLabel* m_legend;
    QScrollArea* m_scroll;
    LinksView* m_view;
    QWidget* m_key; // lines as wide as the view's, with their weights
    QLabel* m_caption;
    SharedLinks m_links;
    LatestWins<Shown> m_jobs;
};

} // namespace headscope
