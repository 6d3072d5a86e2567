#include "ui/widgets/figure_widget.h"

#include "ui/render/figure.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/workspace.h"

#include <QEvent>
#include <QPainter>

namespace headscope {

static constexpr double millimetresPerPixel = 25.4 / 96; // a figure's unit is 1/96 inch

FigureWidget::FigureWidget(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
    setMinimumSize(200, 120);
    setAccessibleName(tr("Figure"));
    connect(&workspace, &Workspace::traceChanged, this, &FigureWidget::redraw);
    connect(&workspace, &Workspace::viewChanged, this, &FigureWidget::redraw);
}

static QImage drawFigure(const FigureSource& source, const FigureSpec& spec, QSize size, double ratio) {
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
    const auto work = [source, spec, pixels, ratio](const std::stop_token&) {
        return drawFigure(source, spec, pixels, ratio);
    };
    m_jobs.submit(work, [this](const Outcome<QImage>& outcome) {
        if (const auto* picture = std::get_if<QImage>(&outcome)) {
            m_picture = *picture;
            m_problem.clear();
        } else if (const auto* failure = std::get_if<Failure>(&outcome)) {
            m_problem = failure->sentence;
        }
        update();
    });
}

void FigureWidget::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (!m_problem.isEmpty()) {
        painter.setPen(theme().muted);
        painter.drawText(rect().adjusted(20, 20, -20, -20), Qt::AlignCenter | Qt::TextWordWrap, m_problem);
    } else if (!m_picture.isNull()) {
        painter.drawImage(QPointF(0, 0), m_picture);
    }
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
