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

#include <algorithm>

namespace headscope {

static constexpr double millimetresPerPixel = 25.4 / 96; // a figure's unit is 1/96 inch

FigureWidget::FigureWidget(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
    setMinimumSize(160, 100);
    setAccessibleName(tr("Figure"));
    m_patience.setSingleShot(true);
    m_patience.setInterval(patienceMilliseconds);
    connect(&m_patience, &QTimer::timeout, this, &FigureWidget::sayDrawing);
    connect(&workspace, &Workspace::traceChanged, this, &FigureWidget::redraw);
    connect(&workspace, &Workspace::viewChanged, this, &FigureWidget::redraw);
}

static QImage pictureOf(const FigureSource& source, const FigureSpec& spec, QSize size, double ratio) {
    QImage image(size * ratio, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(ratio);
    image.fill(Qt::transparent);
    QPainter painter(&image);
    painter.setRenderHints(QPainter::Antialiasing | QPainter::TextAntialiasing);
    paintFigure(painter, source, spec);
    return image;
}

void FigureWidget::redraw() {
    if (!isVisible() || !m_workspace.trace() || width() < 40 || height() < 40)
        return;
    const FigureSource source{m_workspace.trace(), m_workspace.rightTrace()};
    FigureSpec spec;
    spec.view = clampedView(m_workspace.view(), source.trace->scenario);
    spec.widthMm = width() * millimetresPerPixel;
    spec.heightMm = height() * millimetresPerPixel;
    spec.fontSizePt = font().pointSizeF();
    spec.transparent = true;
    spec.dark = theme().dark;
    const QSize pixels = size();
    const double ratio = m_ratio > 0 ? m_ratio : devicePixelRatioF();
    const auto drawAt = [](const FigureSource& of, const FigureSpec& how, QSize size, double fine) {
        Drawn made{pictureOf(of, how, size, fine), {}};
        for (const Sheet::PlacedCells& cells : figureLayout(of, how).cells)
            made.panels.push_back({cells.area, cells.picture->matrix().rows(), cells.picture->matrix().cols()});
        return made;
    };
    const auto work = [given = source, spec, pixels, ratio, drawAt](const std::stop_token& stop) {
        FigureSource stoppable = given;
        stoppable.stop = stop;
        // What has no room beside labels of this size may have it with smaller ones (a projector's are large).
        FigureSpec fits = spec;
        for (const double scale : {1.0, 0.85, 0.7}) {
            fits.fontSizePt = scale * spec.fontSizePt;
            try {
                return drawAt(stoppable, fits, pixels, ratio);
            } catch (const InputError&) { // said below, if no size fits
            }
        }
        fits.fontSizePt = 0.6 * spec.fontSizePt;
        return drawAt(stoppable, fits, pixels, ratio);
    };
    m_patience.start();
    m_jobs.submit(work, [this, view = spec.view](const Outcome<Drawn>& outcome) {
        m_patience.stop();
        if (const auto* drawn = std::get_if<Drawn>(&outcome)) {
            m_drawn = *drawn;
            m_view = view;
            m_problem.clear();
        } else if (const auto* failure = std::get_if<Failure>(&outcome)) {
            m_problem = failure->sentence;
        }
        update();
    });
}

// In place of the old picture, which is of something else, once it takes more than a moment.
void FigureWidget::sayDrawing() {
    m_problem = tr("Drawing…");
    update();
}

void FigureWidget::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (!m_problem.isEmpty()) {
        painter.setPen(theme().muted);
        painter.drawText(rect().adjusted(20, 20, -20, -20), Qt::AlignCenter | Qt::TextWordWrap, m_problem);
    } else if (!m_drawn.picture.isNull()) {
        painter.drawImage(QPointF(0, 0), m_drawn.picture);
    }
}

// In the grid of heads a click chooses a head, a double click opens it as a heatmap; in heatmaps beside each other it
// pins the cell for all of them. Other figures have no one place for a cell.
void FigureWidget::mousePressEvent(QMouseEvent* event) {
    const bool isGrid = m_view.figure == FigureKind::Grid, isMaps = m_view.figure == FigureKind::Heatmap;
    if (event->button() != Qt::LeftButton || !(isGrid || isMaps) || !m_workspace.trace())
        return QWidget::mousePressEvent(event);
    for (std::size_t i = 0; i < m_drawn.panels.size(); ++i)
        if (m_drawn.panels[i].area.contains(event->position()))
            return isGrid ? chooseHead(static_cast<int>(i)) : pinCell(m_drawn.panels[i], event->position());
}

void FigureWidget::mouseDoubleClickEvent(QMouseEvent* event) {
    if (m_view.figure != FigureKind::Grid)
        return QWidget::mouseDoubleClickEvent(event);
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
    QWidget::resizeEvent(event);
    redraw();
}

void FigureWidget::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    redraw();
}

void FigureWidget::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange)
        redraw();
}

} // namespace headscope
