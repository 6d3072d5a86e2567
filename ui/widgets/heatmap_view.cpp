#include "core/backend/kernels/kernels.h"
#include "core/tensor/parallel.h"
#include "ui/stage_text.h"
#include "ui/widgets/heatmap_private.h"

#include <QAccessibleWidget>
#include <QContextMenuEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QVBoxLayout>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace headscope {
namespace {

// Blocks of rows on all threads; their column sums are added in the order of the blocks, so that they are the same
// whoever computed them.
void addMargins(Prepared& out, const Matrix& m) {
    const int rowsAtOnce = std::max(64, m.rows() / 32);
    const int blocks = (m.rows() + rowsAtOnce - 1) / rowsAtOnce;
    const auto rows = static_cast<std::size_t>(m.rows()), cols = static_cast<std::size_t>(m.cols());
    out.rowSums.resize(rows);
    out.entropies.resize(rows);
    std::vector<std::vector<double>> partSums(static_cast<std::size_t>(blocks), std::vector<double>(cols));
    parallelFor(
        blocks,
        [&](int block) {
            std::vector<double>& sums = partSums[static_cast<std::size_t>(block)];
            for (int r = block * rowsAtOnce; r < std::min(m.rows(), (block + 1) * rowsAtOnce); ++r) {
                const std::span<const float> row = m.row(r);
                RowSums of;
                kernels().rowSums(row.data(), m.cols(), r, 0, m.cols(), nullptr, 0, &of);
                out.rowSums[static_cast<std::size_t>(r)] = of.sum;
                out.entropies[static_cast<std::size_t>(r)] = of.entropy;
                for (std::size_t c = 0; c < cols; ++c)
                    sums[c] += static_cast<double>(row[c]);
            }
        },
        m.size() > 100'000);
    out.colSums.assign(cols, 0.0);
    for (const std::vector<double>& sums : partSums)
        for (std::size_t c = 0; c < cols; ++c)
            out.colSums[c] += sums[c];
}

SharedPrepared prepare(HeatmapContents contents) {
    auto out = std::make_shared<Prepared>();
    if (!contents.matrix)
        contents.matrix = share(Matrix());
    out->picture = std::make_shared<const CellPicture>(contents.matrix, contents.scale, contents.closed);
    if (contents.weightMargins)
        addMargins(*out, *contents.matrix);
    out->contents = std::move(contents);
    return out;
}

// A layerable of the plot that calls a function to paint: labels, margins, the hover cross.
class Painted : public QCPAbstractItem {
public:
    Painted(QCustomPlot* plot, std::function<void(QCPPainter&)> paint)
        : QCPAbstractItem(plot), m_paint(std::move(paint)) {
        setClipToAxisRect(false);
        setSelectable(false);
    }
    double selectTest(const QPointF&, bool, QVariant*) const override { return -1; }

protected:
    void draw(QCPPainter* painter) override { m_paint(*painter); }

private:
    std::function<void(QCPPainter&)> m_paint;
};

// Cells of at most this many numbers are prepared at once: less than a frame.
constexpr std::size_t atOnce = 400'000;

} // namespace

void HeatmapView::Private::build() {
    shown = prepare({});
    plot = new QCustomPlot(q);
    plot->setFocusPolicy(Qt::NoFocus); // the view itself takes the keyboard
    plot->setMouseTracking(true);
    plot->installEventFilter(q);
    plot->setNoAntialiasingOnDrag(false);
    plot->axisRect()->setAutoMargins(QCP::msNone);
    plot->axisRect()->setMinimumMargins(QMargins());
    for (QCPAxis* axis : plot->axisRect()->axes())
        axis->setVisible(false);
    auto* cellsItem = new Painted(plot, [this](QCPPainter& p) { drawCells(p); });
    auto* aroundItem = new Painted(plot, [this](QCPPainter& p) { drawAround(p); });
    auto* overlayItem = new Painted(plot, [this](QCPPainter& p) { drawOverlay(p); });
    cellsItem->setLayer(QStringLiteral("main"));
    aroundItem->setLayer(QStringLiteral("main"));
    overlayItem->setLayer(QStringLiteral("overlay")); // buffered on its own: hovering repaints nothing else
    auto* layout = new QVBoxLayout(q);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(plot);
}

void HeatmapView::Private::show(SharedPrepared next) {
    const bool sameShape = next->contents.matrix->rows() == rows() && next->contents.matrix->cols() == cols();
    shown = std::move(next);
    if (!sameShape || window.isEmpty()) {
        window = QRectF(0, 0, cols(), rows());
        hover(std::nullopt, true);
        if (!valid(pinned))
            pinned.reset();
    }
    layOut();
    replot();
    if (current) // the number under the pointer may be another one now
        emit q->cellHovered(current);
}

void HeatmapView::Private::applyTheme() {
    plot->setBackground(QBrush(paper())); // QCustomPlot takes nothing from the palette
    layOut();
    replot();
}

// Inside the matrix, no smaller than two cells, and as wide as high in proportion to it.
void HeatmapView::Private::setWindow(QRectF next) {
    const double w =
        std::clamp(next.width(), std::min(2.0, static_cast<double>(cols())), static_cast<double>(std::max(1, cols())));
    const double h =
        std::clamp(next.height(), std::min(2.0, static_cast<double>(rows())), static_cast<double>(std::max(1, rows())));
    window = QRectF(std::clamp(next.left(), 0.0, cols() - w), std::clamp(next.top(), 0.0, rows() - h), w, h);
    plot->xAxis->setRange(window.left(), window.right());
    plot->yAxis->setRange(-window.bottom(),
                          -window.top()); // row r lies at -r: a reversed axis would mirror every frame
}

void HeatmapView::Private::zoom(double factor, QPointF at) {
    if (empty() || cells.isEmpty())
        return;
    const double fx = std::clamp((at.x() - cells.left()) / cells.width(), 0.0, 1.0);
    const double fy = std::clamp((at.y() - cells.top()) / cells.height(), 0.0, 1.0);
    const QSizeF size(std::min<double>(window.width() / factor, cols()),
                      std::min<double>(window.height() / factor, rows()));
    if (size.width() < 1.5 && size.height() < 1.5)
        return;
    // The cell under the pointer stays there.
    setWindow(QRectF(window.left() + fx * (window.width() - size.width()),
                     window.top() + fy * (window.height() - size.height()), size.width(), size.height()));
    replot();
}

void HeatmapView::Private::reveal(CellRef c) {
    QRectF next = window;
    if (c.col < next.left())
        next.moveLeft(c.col);
    if (c.col + 1 > next.right())
        next.moveRight(c.col + 1);
    if (c.row < next.top())
        next.moveTop(c.row);
    if (c.row + 1 > next.bottom())
        next.moveBottom(c.row + 1);
    if (next != window) {
        setWindow(next);
        replot();
    }
}

void HeatmapView::Private::hover(std::optional<CellRef> cell, bool tell) {
    if (!valid(cell))
        cell.reset();
    if (cell == current)
        return;
    current = cell;
    replotOverlay();
    if (tell) {
        emit q->cellHovered(current);
        QAccessibleEvent changed(q, QAccessible::DescriptionChanged);
        QAccessible::updateAccessibility(&changed);
    }
}

void HeatmapView::Private::pin(std::optional<CellRef> cell) {
    if (!valid(cell))
        cell.reset();
    if (cell == pinned)
        return;
    pinned = cell;
    replotOverlay();
    emit q->cellPinned(pinned);
}

void HeatmapView::Private::mousePress(QMouseEvent& e) {
    q->setFocus(Qt::MouseFocusReason);
    if (e.button() != Qt::LeftButton)
        return;
    pressed = e.position();
    windowAtPress = window;
    pressedInside = cells.contains(pressed);
    dragging = false;
}

void HeatmapView::Private::mouseMove(QMouseEvent& e) {
    if ((e.buttons() & Qt::LeftButton) && pressedInside) {
        const QPointF moved = e.position() - pressed;
        dragging = dragging || std::hypot(moved.x(), moved.y()) > 4;
        if (dragging) {
            setWindow(windowAtPress.translated(-moved.x() / pitchX(), -moved.y() / pitchY()));
            replot();
            return;
        }
    }
    hover(q->cellAt(e.position()), true);
}

void HeatmapView::Private::mouseRelease(QMouseEvent& e) {
    if (e.button() != Qt::LeftButton || std::exchange(swallowRelease, false))
        return;
    if (!dragging && pressedInside) {
        pinnedBeforeClick = pinned;
        const auto cell = q->cellAt(e.position());
        pin(cell == pinned ? std::nullopt : cell);
    }
    dragging = pressedInside = false;
}

void HeatmapView::Private::wheel(QWheelEvent& e) {
    if (!cells.contains(e.position())) {
        e.ignore();
        return;
    }
    zoom(std::pow(1.25, e.angleDelta().y() / 120.0), e.position());
    hover(q->cellAt(e.position()), true);
    e.accept();
}

namespace {

// QCustomPlot has no accessible content; the view reads its cell aloud.
class AccessibleHeatmap : public QAccessibleWidget {
public:
    explicit AccessibleHeatmap(HeatmapView* view) : QAccessibleWidget(view, QAccessible::Graphic) {}
    QString text(QAccessible::Text kind) const override {
        const auto* view = static_cast<const HeatmapView*>(widget());
        if (kind == QAccessible::Description || kind == QAccessible::Value) {
            const QString cell = view->describe(view->currentCell() ? view->currentCell() : view->pinnedCell());
            if (!cell.isEmpty())
                return cell;
            const Matrix& m = *view->contents().matrix;
            return HeatmapView::tr("Heatmap of %1 rows and %2 columns").arg(m.rows()).arg(m.cols());
        }
        return QAccessibleWidget::text(kind);
    }
};

QAccessibleInterface* accessibleHeatmap(const QString&, QObject* object) {
    auto* view = qobject_cast<HeatmapView*>(object);
    return view ? new AccessibleHeatmap(view) : nullptr;
}

} // namespace

HeatmapView::HeatmapView(QWidget* parent) : QWidget(parent), d(std::make_unique<Private>(this)) {
    static const bool installed = [] {
        QAccessible::installFactory(accessibleHeatmap);
        return true;
    }();
    Q_UNUSED(installed)
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Heatmap"));
    d->build();
    d->applyTheme();
}

HeatmapView::~HeatmapView() = default;

void HeatmapView::setContents(HeatmapContents contents) {
    if (!contents.matrix || contents.matrix->size() <= atOnce) {
        d->jobs.drop();
        d->show(prepare(std::move(contents)));
        return;
    }
    d->jobs.submit([contents = std::move(contents)](const std::stop_token&) { return prepare(contents); },
                   [this](const Outcome<SharedPrepared>& outcome) {
                       if (const auto* ready = std::get_if<SharedPrepared>(&outcome))
                           d->show(*ready);
                   },
                   true);
}

const HeatmapContents& HeatmapView::contents() const {
    return d->contents();
}
void HeatmapView::clear() {
    setContents({});
}
bool HeatmapView::preparing() const {
    return d->jobs.busy();
}

void HeatmapView::setPinnedCell(std::optional<CellRef> cell) {
    d->pinned = d->valid(cell) || preparing() ? cell : std::nullopt;
    d->replotOverlay();
}
std::optional<CellRef> HeatmapView::pinnedCell() const {
    return d->pinned;
}
std::optional<CellRef> HeatmapView::currentCell() const {
    return d->current;
}
void HeatmapView::setCurrentCell(std::optional<CellRef> cell) {
    d->hover(cell, false);
}

std::optional<CellRegion> HeatmapView::zoomedPart() const {
    const QRectF& window = d->window;
    if (d->empty() || (window.width() >= d->cols() && window.height() >= d->rows()))
        return std::nullopt;
    const auto cell = [](double edge) { return static_cast<int>(std::floor(edge + 1e-6)); };
    const auto end = [](double edge) { return static_cast<int>(std::ceil(edge - 1e-6)); };
    return CellRegion{cell(window.top()), end(window.bottom()), cell(window.left()), end(window.right())};
}

void HeatmapView::zoomIn() {
    d->zoom(1.5, d->current ? cellCentre(*d->current) : d->cells.center());
}
void HeatmapView::zoomOut() {
    d->zoom(1 / 1.5, d->current ? cellCentre(*d->current) : d->cells.center());
}
void HeatmapView::resetZoom() {
    d->setWindow(QRectF(0, 0, d->cols(), d->rows()));
    d->replot();
}

QString HeatmapView::describe(std::optional<CellRef> cell) const {
    if (!d->valid(cell))
        return {};
    const HeatmapContents& c = d->contents();
    const QString row = isolated(c.rowLabels.value(cell->row, QString::number(cell->row))),
                  col = isolated(c.colLabels.value(cell->col, QString::number(cell->col)));
    const float value = (*c.matrix)(cell->row, cell->col);
    const QString number = value == -std::numeric_limits<float>::infinity()
                               ? tr("masked (−∞)")
                               : QString::number(static_cast<double>(value), 'g', 9);
    const std::size_t at =
        static_cast<std::size_t>(cell->row) * static_cast<std::size_t>(d->cols()) + static_cast<std::size_t>(cell->col);
    if (at < c.closed.size() && c.closed[at])
        return tr("%1 (query) may not attend to %2 (key): closed by the mask").arg(row, col);
    if (c.weightMargins)
        return tr("%1 (query) attends %2 to %3 (key)").arg(row, number, col);
    const std::size_t band = d->bandOf(cell->col);
    if (c.bandStarts.size() > 1 && band < c.bandHeads.size())
        return tr("row %1, column %2 (%3, dimension %4): %5")
            .arg(row, col, d->bandName(band))
            .arg(cell->col - c.bandStarts[band])
            .arg(number);
    return tr("row %1, column %2: %3").arg(row, col, number);
}

QPointF HeatmapView::cellCentre(CellRef cell) const {
    return d->rectOf(cell).center();
}

std::optional<CellRef> HeatmapView::cellAt(QPointF position) const {
    if (d->empty() || !d->cells.contains(position) || d->pitchX() <= 0 || d->pitchY() <= 0)
        return std::nullopt;
    const QPointF at = position - d->origin();
    const CellRef cell{static_cast<int>(std::floor(at.y() / d->pitchY())),
                       static_cast<int>(std::floor(at.x() / d->pitchX()))};
    return d->valid(cell) ? std::optional(cell) : std::nullopt;
}

bool HeatmapView::eventFilter(QObject* watched, QEvent* event) {
    if (watched != d->plot)
        return QWidget::eventFilter(watched, event);
    switch (event->type()) {
    case QEvent::MouseButtonPress:
        d->mousePress(static_cast<QMouseEvent&>(*event));
        return true;
    case QEvent::MouseMove:
        d->mouseMove(static_cast<QMouseEvent&>(*event));
        return true;
    case QEvent::MouseButtonRelease:
        d->mouseRelease(static_cast<QMouseEvent&>(*event));
        return true;
    case QEvent::MouseButtonDblClick:
        d->swallowRelease = true;
        d->pin(d->pinnedBeforeClick); // the first click of the two pinned a cell
        resetZoom();
        return true;
    case QEvent::Wheel:
        d->wheel(static_cast<QWheelEvent&>(*event));
        return true;
    case QEvent::ContextMenu:
        contextMenuEvent(static_cast<QContextMenuEvent*>(event)); // the plot fills the view: equal coordinates
        return true;
    case QEvent::Leave:
        d->hover(std::nullopt, true);
        return false;
    case QEvent::Resize:
    case QEvent::Show:
        // The buffer's resolution is read once by the plot, and the screen may have changed.
        d->plot->setBufferDevicePixelRatio(devicePixelRatioF());
        return false;
    default:
        return false;
    }
}

void HeatmapView::contextMenuEvent(QContextMenuEvent* event) {
    const bool byKey = event->reason() == QContextMenuEvent::Keyboard;
    std::optional<CellRef> cell = byKey ? d->current : cellAt(event->pos());
    if (byKey && !cell)
        cell = d->pinned;
    if (cell)
        emit menuRequested(*cell, byKey ? mapToGlobal(cellCentre(*cell).toPoint()) : event->globalPos());
    event->accept();
}

void HeatmapView::keyPressEvent(QKeyEvent* event) {
    const std::optional<CellRef> from = d->current ? d->current : d->pinned;
    const auto move = [&](int rows, int cols) {
        CellRef to = from.value_or(CellRef{0, 0});
        if (from)
            to = {std::clamp(to.row + rows, 0, d->rows() - 1), std::clamp(to.col + cols, 0, d->cols() - 1)};
        d->reveal(to);
        d->hover(to, true);
    };
    if (d->empty()) {
        QWidget::keyPressEvent(event);
        return;
    }
    const bool alt = event->modifiers().testFlag(Qt::AltModifier),
               control = event->modifiers().testFlag(Qt::ControlModifier);
    switch (alt ? 0 : event->key()) {
    case Qt::Key_Left:
        return move(0, -1);
    case Qt::Key_Right:
        return move(0, 1);
    case Qt::Key_Up:
        return move(-1, 0);
    case Qt::Key_Down:
        return move(1, 0);
    case Qt::Key_PageUp:
        return move(-10, 0);
    case Qt::Key_PageDown:
        return move(10, 0);
    case Qt::Key_Home:
        return move(control ? -d->rows() : 0, -d->cols());
    case Qt::Key_End:
        return move(control ? d->rows() : 0, d->cols());
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
        if (from)
            d->pin(from == d->pinned ? std::nullopt : from);
        return;
    case Qt::Key_Escape:
        if (!d->pinned)
            break; // not ours: a dialog may want it
        return d->pin(std::nullopt);
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        return zoomIn();
    case Qt::Key_Minus:
        return zoomOut();
    case Qt::Key_0:
        return resetZoom();
    default:
        break;
    }
    QWidget::keyPressEvent(event);
}

void HeatmapView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    d->plot->resize(size());
    d->layOut();
    d->replot();
}

void HeatmapView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange ||
        event->type() == QEvent::StyleChange)
        d->applyTheme();
}

void HeatmapView::focusInEvent(QFocusEvent* event) {
    QWidget::focusInEvent(event);
    d->replotOverlay();
}
void HeatmapView::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    d->replotOverlay();
}

} // namespace headscope
