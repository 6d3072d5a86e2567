#include "ui/widgets/figure_widget.h"

#include "core/analysis/shown.h"
#include "core/tensor/errors.h"
#include "ui/render/figure.h"
#include "ui/render/figure_export.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/workspace.h"

#include <QEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>

#include <algorithm>

namespace headscope {

static constexpr double millimetresPerPixel = 25.4 / 96; // a figure's unit is 1/96 inch

FigureWidget::FigureWidget(Workspace& workspace, QWidget* parent)
    : QAbstractScrollArea(parent), m_workspace(workspace) {
    setMinimumSize(160, 100);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setAutoFillBackground(false);
    setAccessibleName(tr("Figure"));
    m_patience.setSingleShot(true);
    m_patience.setInterval(patienceMilliseconds);
    connect(&m_patience, &QTimer::timeout, this, &FigureWidget::sayDrawing);
    connect(&workspace, &Workspace::traceChanged, this, &FigureWidget::redraw);
    connect(&workspace, &Workspace::viewChanged, this, &FigureWidget::redraw);
}

static QImage pictureOf(const FigureSource& source, const FigureSpec& spec, double ratio) {
    const QSizeF size = figureSizeMm(source, spec) / millimetresPerPixel;
    QImage image((size * ratio).toSize(), QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(ratio);
    image.fill(Qt::transparent);
    QPainter painter(&image);
    painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
    paintFigure(painter, source, spec);
    return image;
}

// A row of the stages that can still be told from the next. All of a very long text would be a picture too large to
// keep: its rows are lower.
double FigureWidget::leastRow(const Scenario& scenario) const {
    constexpr double highest = 6000;
    const double readable = theme().projector ? 14 : 10, rows = 4.0 * std::max(scenario.queries(), scenario.keys());
    return m_workspace.view().figure == FigureKind::Stages ? std::min(readable, highest / rows) : 0;
}

void FigureWidget::redraw() {
    if (!isVisible() || !m_workspace.trace() || width() < 40 || height() < 40)
        return;
    const FigureSource source{m_workspace.trace(), m_workspace.rightTrace()};
    FigureSpec spec;
    spec.view = clampedView(m_workspace.view(), source.trace->scenario);
    // A figure that scrolls has its bar beside it: it is laid out for the width that is left, bar or not.
    spec.leastRow = leastRow(source.trace->scenario);
    spec.widthMm = (width() - (spec.leastRow > 0 ? verticalScrollBar()->sizeHint().width() : 0)) * millimetresPerPixel;
    spec.heightMm = height() * millimetresPerPixel;
    spec.fontSizePt = font().pointSizeF();
    spec.transparent = true;
    spec.dark = theme().dark;
    const double ratio = m_ratio > 0 ? m_ratio : devicePixelRatioF();
    const auto drawAt = [](const FigureSource& of, const FigureSpec& how, double fine) {
        Drawn made{pictureOf(of, how, fine), {}};
        for (const Sheet::PlacedCells& cells : figureLayout(of, how).cells)
            made.panels.push_back({cells.area, cells.picture->matrix().rows(), cells.picture->matrix().cols()});
        return made;
    };
    const auto work = [given = source, spec, ratio, drawAt](const std::stop_token& stop) {
        FigureSource stoppable = given;
        stoppable.stop = stop;
        // What has no room beside labels of this size may have it with smaller ones (a projector's are large).
        FigureSpec fits = spec;
        for (const double scale : {1.0, 0.85, 0.7, 0.6}) {
            fits.fontSizePt = scale * spec.fontSizePt;
            try {
                return drawAt(stoppable, fits, ratio);
            } catch (const FigureTooSmall&) { // said below, if no size fits
            }
        }
        throw InputError(toUtf8(tr("There is no room for this picture here; make the window larger, hide a panel "
                                   "(View), or look at the heatmap.")));
    };
    m_patience.start();
    m_jobs.submit(work, [this, view = spec.view](const Outcome<Drawn>& outcome) {
        m_patience.stop();
        if (const auto* drawn = std::get_if<Drawn>(&outcome)) {
            m_view = view;
            take(*drawn);
        } else if (const auto* failure = std::get_if<Failure>(&outcome)) {
            m_problem = failure->sentence;
        }
        viewport()->update();
    });
}

void FigureWidget::take(const Drawn& drawn) {
    m_drawn = drawn;
    m_problem.clear();
    const int hidden = std::max(0, static_cast<int>(m_drawn.picture.deviceIndependentSize().height()) - height());
    verticalScrollBar()->setRange(0, hidden);
    verticalScrollBar()->setPageStep(height());
    verticalScrollBar()->setSingleStep(fontMetrics().height());
}

QPointF FigureWidget::inPicture(QPointF position) const {
    return position + QPointF(0, verticalScrollBar()->value());
}

// In place of the old picture, which is of something else, once it takes more than a moment.
void FigureWidget::sayDrawing() {
    m_problem = tr("Drawing…");
    viewport()->update();
}

void FigureWidget::paintEvent(QPaintEvent*) {
    QPainter painter(viewport());
    if (!m_problem.isEmpty()) {
        painter.setPen(theme().muted);
        painter.drawText(viewport()->rect().adjusted(20, 20, -20, -20), Qt::AlignCenter | Qt::TextWordWrap, m_problem);
    } else if (!m_drawn.picture.isNull()) {
        painter.drawImage(-inPicture({0, 0}), m_drawn.picture);
    }
}

// In the grid of heads a click chooses a head, a double click opens it as a heatmap; in heatmaps beside each other it
// pins the cell for all of them. Other figures have no one place for a cell.
void FigureWidget::mousePressEvent(QMouseEvent* event) {
    const bool isGrid = m_view.figure == FigureKind::Grid, isMaps = m_view.figure == FigureKind::Heatmap;
    if (event->button() != Qt::LeftButton || !(isGrid || isMaps) || !m_workspace.trace())
        return QAbstractScrollArea::mousePressEvent(event);
    const QPointF at = inPicture(event->position());
    for (std::size_t i = 0; i < m_drawn.panels.size(); ++i)
        if (m_drawn.panels[i].area.contains(at))
            return isGrid ? chooseHead(static_cast<int>(i)) : pinCell(m_drawn.panels[i], at);
}

void FigureWidget::mouseDoubleClickEvent(QMouseEvent* event) {
    if (m_view.figure != FigureKind::Grid)
        return QAbstractScrollArea::mouseDoubleClickEvent(event);
    View view = m_workspace.view(); // the first of the two clicks has chosen the head
    view.figure = FigureKind::Heatmap;
    m_workspace.setView(view);
}

void FigureWidget::chooseHead(int panel) {
    const int inLayer = static_cast<int>(m_drawn.panels.size()) / static_cast<int>(m_workspace.trace()->layers.size());
    View view = m_workspace.view();
    if (inLayer < 1 || view.heads.size() > 1) // a grid of picked heads stays one
        return;
    view.layer = LayerIndex{panel / inLayer};
    view.heads = {HeadIndex{panel % inLayer}};
    m_workspace.setView(view);
}

void FigureWidget::pinCell(const Panel& panel, QPointF position) {
    const Scenario& scenario = m_workspace.trace()->scenario;
    const CellRef place{static_cast<int>((position.y() - panel.area.top()) / panel.area.height() * panel.rows),
                        static_cast<int>((position.x() - panel.area.left()) / panel.area.width() * panel.cols)};
    const bool words = m_view.words && mergesWords(m_view.stage);
    const auto tokenAt = [&](StageAxis axis, int index) {
        if (axis == StageAxis::Dimensions)
            return index;
        const TokenSequence& tokens = axis == StageAxis::QueryTokens ? scenario.query : scenario.keyTokens();
        const ShownAxis shown = tokenAxis(tokens, m_view.special, words);
        return shown.firstToken(std::clamp(index, 0, shown.size() - 1));
    };
    const StageInfo& info = stageInfo(m_view.stage);
    View view = m_workspace.view();
    view.cell = CellRef{tokenAt(info.rows, place.row), tokenAt(info.cols, place.col)};
    m_workspace.setView(view);
}

void FigureWidget::resizeEvent(QResizeEvent* event) {
    QAbstractScrollArea::resizeEvent(event);
    redraw();
}

void FigureWidget::showEvent(QShowEvent* event) {
    QAbstractScrollArea::showEvent(event);
    redraw();
}

void FigureWidget::changeEvent(QEvent* event) {
    QAbstractScrollArea::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange)
        redraw();
}

} // namespace headscope
