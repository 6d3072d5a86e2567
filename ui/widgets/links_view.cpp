#include "ui/widgets/links_view.h"

#include "ui/render/axis_labels.h"
#include "ui/stage_text.h"
#include "ui/theme.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>

namespace headscope {

static constexpr double labelGap = 8, around = 6;
static constexpr double smallestLabel = 0.72; // of the font: every label of a long text is still read

LinksView::LinksView(QWidget* parent) : QWidget(parent) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Links"));
}

void LinksView::setContents(SharedLinks contents) {
    const bool sameShape = m_contents && contents->queries.size() == m_contents->queries.size() &&
                           contents->keys.size() == m_contents->keys.size();
    m_contents = std::move(contents);
    if (!sameShape)
        m_hovered = m_pinned = std::nullopt;
    updateGeometry();
    layOut();
}

void LinksView::setMarked(int query, int key) {
    m_markedQuery = query;
    m_markedKey = key;
    update();
}

int LinksView::longer() const {
    return m_contents ? static_cast<int>(std::max(m_contents->queries.size(), m_contents->keys.size())) : 1;
}

// Tall enough that no label has to be left out; a longer text scrolls.
QSize LinksView::minimumSizeHint() const {
    const double line = QFontMetricsF(font()).height();
    return {260, static_cast<int>(longer() * 1.05 * smallestLabel * line + 2 * line + 2 * around)};
}

static double widest(const QStringList& texts, const QFont& font) {
    const QFontMetricsF metrics(font);
    double width = 0;
    for (const QString& text : texts)
        width = std::max(width, metrics.horizontalAdvance(text));
    return width;
}

void LinksView::layOut() {
    if (!m_contents)
        return;
    const double line = QFontMetricsF(font()).height(), top = line + 2 * around;
    QFont bold = font();
    bold.setBold(true);
    const double room = 0.3 * width();
    const double left = std::min(widest(m_contents->queries, bold), room),
                 right = std::min(widest(m_contents->keys, bold), room);
    m_columns.pitch = std::min(2.4 * line, (height() - top - around) / longer());
    m_columns.lanes = static_cast<int>(m_contents->links.heads.size());
    const double inner = width() - left - right - 2 * (labelGap + around);
    const double span = std::max(40.0, std::min(inner, std::max(480.0, 1.6 * longer() * m_columns.pitch)));
    m_columns.x0 = around + left + labelGap + (inner - span) / 2;
    m_columns.x1 = m_columns.x0 + span;
    // The shorter text stands in the middle.
    m_columns.top0 = top + (longer() - static_cast<double>(m_contents->queries.size())) * m_columns.pitch / 2;
    m_columns.top1 = top + (longer() - static_cast<double>(m_contents->keys.size())) * m_columns.pitch / 2;
    redrawAll();
    update();
    emit laidOut();
}

static QImage pictureOf(const LinksContents& contents, const LinkColumns& columns, QSize size, double ratio, bool dark,
                        const std::stop_token& stop) {
    QImage image(size * ratio, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(ratio);
    image.fill(Qt::transparent);
    QPainter painter(&image);
    painter.setRenderHint(QPainter::Antialiasing);
    for (const Link& link : contents.links.drawn) {
        if (stop.stop_requested())
            throw Cancelled();
        paintLink(painter, columns, contents.links, link, dark);
    }
    return image;
}

void LinksView::redrawAll() {
    if (!m_contents || !isVisible())
        return;
    const double ratio = m_ratio > 0 ? m_ratio : devicePixelRatioF();
    const auto work = [contents = m_contents, columns = m_columns, size = size(), ratio,
                       dark = theme().dark](const std::stop_token& stop) {
        return pictureOf(*contents, columns, size, ratio, dark, stop);
    };
    m_jobs.submit(work, [this](const Outcome<QImage>& outcome) {
        if (const auto* picture = std::get_if<QImage>(&outcome))
            m_all = *picture;
        update();
    });
}

static bool belongs(const Link& link, LinksView::Place place) {
    return (place.key ? link.key : link.query) == place.index;
}

int LinksView::shownLinks() const {
    if (!m_contents)
        return 0;
    const std::optional<Place> alone = shownPlace();
    const std::vector<Link>& drawn = m_contents->links.drawn;
    return static_cast<int>(
        std::ranges::count_if(drawn, [&](const Link& link) { return !alone || belongs(link, *alone); }));
}

QPointF LinksView::centreOf(Place place) const {
    const double rows = (place.index + 0.5) * m_columns.pitch;
    return place.key ? QPointF(m_columns.x1 + labelGap + 4, m_columns.top1 + rows)
                     : QPointF(m_columns.x0 - labelGap - 4, m_columns.top0 + rows);
}

// Its strongest links, in words.
QString LinksView::describe(Place place) const {
    const QStringList &own = place.key ? m_contents->keys : m_contents->queries,
                      &others = place.key ? m_contents->queries : m_contents->keys;
    QStringList parts;
    const std::vector<Link>& drawn = m_contents->links.drawn; // strongest first
    for (auto link = drawn.begin(); link != drawn.end() && parts.size() < 6; ++link)
        if (belongs(*link, place))
            parts << QStringLiteral("%1 %2").arg(isolated(others.value(place.key ? link->query : link->key)),
                                                 QLocale().toString(static_cast<double>(link->weight), 'f', 2));
    const QString list = parts.isEmpty() ? tr("no link is drawn") : parts.join(QStringLiteral(", "));
    return (place.key ? tr("%1 (key) is attended by: %2") : tr("%1 (query) attends to: %2"))
        .arg(isolated(own.value(place.index)), list);
}

void LinksView::drawLabels(QPainter& painter, bool keys) const {
    const QStringList& texts = keys ? m_contents->keys : m_contents->queries;
    const double room = keys ? width() - m_columns.x1 - labelGap - around : m_columns.x0 - labelGap - around;
    const double top = keys ? m_columns.top1 : m_columns.top0;
    const LabelPlan plan =
        planLabels(Side::Left, texts, font(), {m_columns.pitch, room, smallestLabel * font().pointSizeF(), this});
    const std::optional<Place> alone = shownPlace();
    const int marked = keys ? m_markedKey : m_markedQuery;
    for (int i = 0; i < texts.size(); ++i) {
        const bool strong = alone && *alone == Place{keys, i};
        if (!strong && i != marked && i % plan.step != 0)
            continue;
        QFont used = plan.font;
        used.setBold(strong);
        const QFontMetricsF metrics(used, const_cast<LinksView*>(this));
        const QString text = metrics.elidedText(texts[i], Qt::ElideMiddle, room);
        const double y = top + (i + 0.5) * m_columns.pitch - metrics.height() / 2 + metrics.ascent();
        const double x = keys ? m_columns.x1 + labelGap : m_columns.x0 - labelGap - metrics.horizontalAdvance(text);
        painter.setFont(used);
        painter.setPen(i == marked ? theme().accent : alone && !strong ? theme().muted : theme().text);
        painter.drawText(QPointF(x, y), text);
    }
}

void LinksView::paintEvent(QPaintEvent*) {
    if (!m_contents)
        return;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QFontMetricsF metrics(font(), this);
    painter.setPen(theme().muted);
    const QString queries = tr("queries"), keys = tr("keys (attended to)");
    painter.drawText(QPointF(std::max(around, m_columns.x0 - labelGap - metrics.horizontalAdvance(queries)),
                             around + metrics.ascent()),
                     queries);
    painter.drawText(QPointF(std::min(m_columns.x1 + labelGap, width() - metrics.horizontalAdvance(keys) - around),
                             around + metrics.ascent()),
                     keys);
    const std::optional<Place> alone = shownPlace();
    painter.setOpacity(alone ? 0.12 : 1.0);
    if (!m_all.isNull())
        painter.drawImage(QPointF(0, 0), m_all);
    painter.setOpacity(1);
    if (alone)
        for (const Link& link : m_contents->links.drawn)
            if (belongs(link, *alone))
                paintLink(painter, m_columns, m_contents->links, link, theme().dark);
    drawLabels(painter, false);
    drawLabels(painter, true);
    if (hasFocus()) {
        painter.setPen(theme().selectedText);
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

std::optional<LinksView::Place> LinksView::placeAt(QPointF point) const {
    if (!m_contents || m_columns.pitch <= 0)
        return std::nullopt;
    const bool key = point.x() > m_columns.x1;
    if (!key && point.x() > m_columns.x0)
        return std::nullopt; // among the lines
    const int index =
        static_cast<int>(std::floor((point.y() - (key ? m_columns.top1 : m_columns.top0)) / m_columns.pitch));
    const qsizetype count = key ? m_contents->keys.size() : m_contents->queries.size();
    return index >= 0 && index < count ? std::optional(Place{key, index}) : std::nullopt;
}

void LinksView::hover(std::optional<Place> place) {
    if (place == m_hovered)
        return;
    m_hovered = place;
    update();
    emit hovered(place ? describe(*place) : QString());
}

void LinksView::pin(std::optional<Place> place) {
    m_pinned = place;
    update();
    emit pinned(place);
}

void LinksView::mouseMoveEvent(QMouseEvent* event) {
    hover(placeAt(event->position()));
}

void LinksView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton)
        return;
    const std::optional<Place> place = placeAt(event->position());
    pin(place == m_pinned ? std::nullopt : place);
}

void LinksView::leaveEvent(QEvent* event) {
    hover(std::nullopt);
    QWidget::leaveEvent(event);
}

// Up and down walk along a column, left and right change it, Enter keeps, Esc frees.
void LinksView::keyPressEvent(QKeyEvent* event) {
    if (!m_contents)
        return QWidget::keyPressEvent(event);
    Place at = m_hovered ? *m_hovered : m_pinned.value_or(Place{false, -1});
    const auto go = [&](bool key, int step) {
        const auto count = static_cast<int>(key ? m_contents->keys.size() : m_contents->queries.size());
        hover(Place{key, std::clamp(at.index + step, 0, count - 1)});
    };
    switch (event->key()) {
    case Qt::Key_Up:
        return go(at.key, -1);
    case Qt::Key_Down:
        return go(at.key, 1);
    case Qt::Key_Left:
        return go(false, 0);
    case Qt::Key_Right:
        return go(true, 0);
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
        if (m_hovered)
            pin(m_hovered == m_pinned ? std::nullopt : m_hovered);
        return;
    case Qt::Key_Escape:
        hover(std::nullopt);
        return pin(std::nullopt);
    default:
        return QWidget::keyPressEvent(event);
    }
}

void LinksView::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    layOut();
}

void LinksView::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    layOut();
}

void LinksView::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange) {
        updateGeometry();
        layOut();
    }
}

} // namespace headscope
