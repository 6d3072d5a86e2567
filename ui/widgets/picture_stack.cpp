#include "ui/widgets/picture_stack.h"

#include "ui/widgets/comparison_view.h"
#include "ui/widgets/figure_widget.h"
#include "ui/widgets/heatmap_panel.h"
#include "ui/widgets/links_panel.h"
#include "ui/widgets/walk_view.h"
#include "ui/workspace.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace headscope {

PictureStack::PictureStack(Workspace& workspace, QWidget* parent) : QStackedWidget(parent), m_workspace(workspace) {
    setMinimumSize(160, 120); // not what its tallest page would like
    m_heatmap = new HeatmapPanel(workspace);
    m_links = new LinksPanel(workspace);
    m_walk = new WalkView(workspace);
    m_figure = new FigureWidget(workspace);
    m_comparison = new ComparisonView;
    connect(m_comparison, &ComparisonView::cellPinned, this, [this](CellRef cell) {
        View view = m_workspace.view();
        view.cell = cell;
        m_workspace.setView(view);
    });
    createNote();
    for (QWidget* page :
         {m_note, static_cast<QWidget*>(m_heatmap), static_cast<QWidget*>(m_links), static_cast<QWidget*>(m_walk),
          static_cast<QWidget*>(m_figure), static_cast<QWidget*>(m_comparison)})
        addWidget(page);
    connect(&workspace, &Workspace::traceChanged, this, &PictureStack::refresh);
    connect(&workspace, &Workspace::viewChanged, this, &PictureStack::refresh);
    refresh(); // a second window comes when there is a result
}

// Before the first result: blank for a moment, then that something is computed, or why there is nothing.
void PictureStack::createNote() {
    m_note = new QWidget;
    auto* column = new QVBoxLayout(m_note);
    m_sentence = new QLabel;
    m_sentence->setAlignment(Qt::AlignCenter);
    m_sentence->setWordWrap(true);
    m_button = new QPushButton;
    m_button->hide();
    column->addStretch();
    column->addWidget(m_sentence);
    column->addWidget(m_button, 0, Qt::AlignHCenter);
    column->addStretch();
    m_patience.setSingleShot(true);
    m_patience.setInterval(patienceMilliseconds);
    connect(&m_patience, &QTimer::timeout, this, [this] { say(tr("Computing the first result…"), tr("Cancel")); });
    connect(&m_workspace, &Workspace::busyChanged, this,
            [this](bool busy) { busy && !m_workspace.trace() ? m_patience.start() : m_patience.stop(); });
    connect(&m_workspace, &Workspace::failed, this, [this](const QString& sentence) {
        m_patience.stop();
        say(sentence, tr("Compute again"));
    });
    connect(m_button, &QPushButton::clicked, this,
            [this] { m_workspace.busy() ? m_workspace.cancel() : m_workspace.compute(); });
}

void PictureStack::say(const QString& sentence, const QString& button) {
    m_sentence->setText(sentence);
    m_button->setText(button);
    m_button->show();
}

void PictureStack::focusPicture() {
    QWidget* page = currentWidget() == m_heatmap ? m_heatmap->view() : currentWidget();
    for (QWidget* child : page->findChildren<QWidget*>())
        if (page->focusPolicy() == Qt::NoFocus && child->focusPolicy() & Qt::TabFocus)
            page = child;
    page->setFocus(Qt::ShortcutFocusReason);
}

QString PictureStack::note() const {
    return currentWidget() == m_note ? m_sentence->text() : QString();
}

// Under a class rule the wrong map beside the right one; in the worked example what the article printed beside what is
// right; else nothing.
static std::optional<Comparison> comparisonOf(const Workspace& workspace, const View& view) {
    if (workspace.rightTrace())
        return wrongAndRight(*workspace.trace(), *workspace.rightTrace(), view);
    return printedAndCorrect(*workspace.trace(), view);
}

void PictureStack::refresh() {
    const SharedTrace& trace = m_workspace.trace();
    if (!trace)
        return setCurrentWidget(m_note);
    if (m_workspace.view().figure == FigureKind::Links && m_workspace.view().stage != Stage::Weights) {
        View view = m_workspace.view(); // the stepper has gone on to a stage without links
        view.figure = FigureKind::Heatmap;
        return m_workspace.setView(view);
    }
    const View view = clampedView(m_workspace.view(), trace->scenario);
    const bool oneMap =
        view.figure == FigureKind::Heatmap && (view.heads.size() == 1 || view.combine != Combine::None ||
                                               stageInfo(view.stage).scope == StageScope::AllHeads);
    const std::optional<Comparison> comparison = oneMap ? comparisonOf(m_workspace, view) : std::nullopt;
    if (comparison) {
        m_comparison->setComparison(comparison);
        setCurrentWidget(m_comparison);
    } else if (oneMap) {
        setCurrentWidget(m_heatmap);
    } else if (view.figure == FigureKind::Links) {
        setCurrentWidget(m_links);
    } else if (view.figure == FigureKind::Walk) {
        setCurrentWidget(m_walk);
    } else {
        setCurrentWidget(m_figure);
    }
}

} // namespace headscope
