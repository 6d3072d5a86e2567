#include "ui/widgets/links_panel.h"

#include "ui/render/shown_picture.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/workspace.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace headscope {

namespace {

class WidthKey : public QWidget {
public:
    explicit WidthKey(const LinksView& view) : m_view(view) {
        setAccessibleName(LinksPanel::tr("Line widths of the weights 0.1, 0.5 and 1"));
    }
    QSize sizeHint() const override {
        const QFontMetrics metrics(font());
        return {endOf(metrics), std::max(metrics.height(), static_cast<int>(std::ceil(m_view.widthOf(1))) + 2)};
    }
    QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        const QFontMetrics metrics(font());
        int x = 0;
        for (const double weight : linkKeyWeights) {
            painter.setPen(QPen(theme().muted, m_view.widthOf(weight), Qt::SolidLine, Qt::FlatCap));
            painter.drawLine(QPointF(x, height() / 2.0), QPointF(x + line, height() / 2.0));
            painter.setPen(theme().text);
            painter.drawText(QRect(x + line + space, 0, width(), height()), Qt::AlignVCenter, nameOf(weight));
            x += stepOf(metrics, weight);
        }
    }

private:
    static constexpr int line = 20, space = 5, gap = 12;
    static QString nameOf(double weight) { return QLocale().toString(weight); }
    static int stepOf(const QFontMetrics& metrics, double weight) {
        return line + space + metrics.horizontalAdvance(nameOf(weight)) + gap;
    }
    static int endOf(const QFontMetrics& metrics) {
        int x = 0;
        for (const double weight : linkKeyWeights)
            x += stepOf(metrics, weight);
        return x;
    }

    const LinksView& m_view;
};

} // namespace

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
    m_key = new WidthKey(*m_view);
    auto* below = new QHBoxLayout;
    below->setSpacing(0);
    below->addWidget(m_key);
    below->addWidget(m_caption, 1);
    column->addLayout(below);
    connect(m_view, &LinksView::laidOut, m_key, [this] {
        m_key->updateGeometry();
        m_key->update();
    });
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
    for (const LinkHead& head : heads)
        names << QStringLiteral("<span style='color:%1'>■</span>&nbsp;%2")
                     .arg(head.color(theme().dark).name(), head.name.toHtmlEscaped());
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
