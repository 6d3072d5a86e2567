#include "ui/widgets/links_panel.h"

#include "ui/render/shown_picture.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/workspace.h"

#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>

namespace headscope {

LinksPanel::LinksPanel(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    m_legend = new QLabel;
    m_legend->setTextFormat(Qt::RichText);
    m_legend->setWordWrap(true);
    column->addWidget(m_legend);
    m_view = new LinksView;
    m_scroll = new QScrollArea;
    m_scroll->setWidget(m_view);
    m_scroll->setWidgetResizable(true);
    m_scroll->setFrameShape(QFrame::NoFrame);
    m_scroll->setFocusPolicy(Qt::NoFocus);
    m_scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_scroll->viewport()->setAutoFillBackground(false);
    m_view->setAutoFillBackground(false);
    column->addWidget(m_scroll, 1);
    m_caption = new QLabel;
    m_caption->setObjectName(QStringLiteral("muted"));
    m_caption->setWordWrap(true);
    column->addWidget(m_caption);
    connect(m_view, &LinksView::hovered, this, &LinksPanel::described);
    connect(m_view, &LinksView::pinned, this, &LinksPanel::pin);
    connect(&workspace, &Workspace::traceChanged, this, &LinksPanel::refresh);
    connect(&workspace, &Workspace::viewChanged, this, &LinksPanel::refresh);
}

static QStringList placeTexts(const ShownAxis& axis) {
    QStringList texts;
    for (const ShownAxis::Place& place : axis.places)
        texts << tokenText(place.label);
    return texts;
}

static std::pair<SharedLinks, QString> readContents(const AttentionTrace& trace, const View& view) {
    auto contents = std::make_shared<LinksContents>();
    contents->links = readLinks(trace, view);
    const ShownStage& shown = contents->links.heads.front().shown;
    contents->queries = placeTexts(shown.rows);
    contents->keys = placeTexts(shown.cols);
    QString caption = linksCaption(contents->links, view);
    std::vector<ShownStage> all;
    for (const LinkHead& head : contents->links.heads)
        all.push_back(head.shown);
    if (const QString remark = shownRemark(all, view.stage, view); !remark.isEmpty())
        caption += QStringLiteral("; ") + remark;
    return {contents, caption};
}

void LinksPanel::refresh() {
    const SharedTrace trace = m_workspace.trace();
    if (!trace || !isVisible())
        return;
    markPinned();
    const View view = clampedView(m_workspace.view(), trace->scenario);
    const auto work = [trace, view](const std::stop_token&) {
        const auto [links, caption] = readContents(*trace, view);
        return Shown{links, caption};
    };
    m_jobs.submit(
        work,
        [this](const Outcome<Shown>& outcome) {
            if (const auto* shown = std::get_if<Shown>(&outcome))
                take(*shown);
            else if (const auto* failure = std::get_if<Failure>(&outcome))
                m_caption->setText(failure->sentence);
        },
        true);
}

void LinksPanel::take(const Shown& shown) {
    m_links = shown.links;
    m_view->setContents(m_links);
    m_caption->setText(shown.caption);
    QStringList names;
    const std::vector<LinkHead>& heads = m_links->links.heads;
    for (std::size_t i = 0; i < heads.size(); ++i)
        names << QStringLiteral("<span style='color:%1'>■</span>&nbsp;%2")
                     .arg(linkColor(static_cast<int>(i), theme().dark).name(), heads[i].name.toHtmlEscaped());
    m_legend->setText(names.join(QStringLiteral(" &nbsp; ")));
    m_legend->setVisible(names.size() > 1);
    markPinned();
}

void LinksPanel::markPinned() {
    const std::optional<CellRef>& cell = m_workspace.view().cell;
    if (!m_links)
        return;
    const ShownStage& shown = m_links->links.heads.front().shown;
    m_view->setMarked(cell ? shown.rows.placeOf(cell->row) : -1, cell ? shown.cols.placeOf(cell->col) : -1);
}

// A pinned query or key is the one of the whole window; freeing it here keeps the pinned cell.
void LinksPanel::pin(std::optional<LinksView::Place> place) {
    if (!place || !m_links)
        return;
    const ShownStage& shown = m_links->links.heads.front().shown;
    View view = m_workspace.view();
    CellRef cell = view.cell.value_or(CellRef{0, 0});
    (place->key ? cell.col : cell.row) = (place->key ? shown.cols : shown.rows).firstToken(place->index);
    view.cell = cell;
    m_workspace.setView(view);
}

void LinksPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refresh();
}

} // namespace headscope
