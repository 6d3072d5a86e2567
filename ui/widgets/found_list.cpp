#include "ui/widgets/found_list.h"

#include "ui/head_survey.h"
#include "ui/stage_text.h"
#include "ui/unchangeable.h"
#include "ui/widgets/head_grid.h"
#include "ui/workspace.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QMap>
#include <QMenu>
#include <QSignalBlocker>
#include <QToolButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace headscope {

// A list that shows whole rows only.
class WholeRows : public QTreeWidget {
protected:
    void resizeEvent(QResizeEvent* event) override {
        const int row = sizeHintForRow(0);
        if (const int rest = row > 0 ? contentsRect().height() % row : 0; rest != viewportMargins().bottom())
            setViewportMargins(0, 0, 0, rest);
        QTreeWidget::resizeEvent(event);
    }
};

FoundList::FoundList(Workspace& workspace, HeadSurvey& survey, QWidget* parent)
    : QWidget(parent), m_workspace(workspace), m_survey(survey) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    createChoices();
    createList();
    m_facts = new QLabel;
    m_facts->setObjectName(QStringLiteral("muted"));
    m_facts->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
    column->addWidget(m_facts);
    createButtons();
    connect(&survey, &HeadSurvey::changed, this, &FoundList::refresh);
    connect(&workspace, &Workspace::viewChanged, this, &FoundList::showCurrent);
    connect(&workspace, &Workspace::scenarioChanged, this, &FoundList::showCurrent);
}

static QString labelText(const std::string& label) {
    const bool isPlace = label == "previous" || label == "next" || label == "first";
    return isPlace           ? FoundList::tr("%1 token").arg(fromUtf8(label))
           : label == "none" ? FoundList::tr("no simple pattern")
                             : fromUtf8(label);
}

// What the list is sorted by, and which kind of head it is cut down to.
void FoundList::createChoices() {
    auto* row = new QHBoxLayout;
    const auto menuButton = [row](const QString& what) {
        auto* button = new QToolButton;
        button->setObjectName(QStringLiteral("small"));
        button->setPopupMode(QToolButton::InstantPopup);
        button->setToolTip(what);
        button->setAccessibleName(what);
        button->setMenu(new QMenu(button));
        row->addWidget(button);
        return button;
    };
    m_sortButton = menuButton(tr("What the heads are sorted by"));
    for (const SortKey& key : sortKeys())
        connect(m_sortButton->menu()->addAction(key.name), &QAction::triggered, this,
                [this, id = key.id] { sortBy(id); });
    m_kindButton = menuButton(tr("Which heads are listed: all, or those of one kind"));
    m_sortButton->menu()->setTitle(tr("S&ort heads"));
    m_kindButton->menu()->setTitle(tr("Kind o&f heads"));
    connect(m_kindButton->menu(), &QMenu::aboutToShow, this, &FoundList::fillKinds);
    row->addStretch();
    static_cast<QVBoxLayout*>(layout())->addLayout(row);
}

QList<QMenu*> FoundList::menus() const {
    return {m_sortButton->menu(), m_kindButton->menu()};
}

const std::vector<FoundList::SortKey>& FoundList::sortKeys() {
    using M = HeadMetrics;
    static const std::vector<SortKey> keys = {
        {QStringLiteral("strength"), tr("by strength"), nullptr},
        {QStringLiteral("cell"), tr("by the pinned cell"), nullptr},
        {QStringLiteral("place"), tr("by layer and head"), nullptr},
        {QStringLiteral("entropy"), tr("by entropy (bits)"), &M::entropy},
        {QStringLiteral("concentration"), tr("by concentration"), &M::concentration},
        {QStringLiteral("distance"), tr("by mean distance"), &M::distance},
        {QStringLiteral("self"), tr("by weight on itself"), &M::self},
        {QStringLiteral("previous"), tr("by previous token"), &M::previous},
        {QStringLiteral("next"), tr("by next token"), &M::next},
        {QStringLiteral("first"), tr("by first token"), &M::first},
        {QStringLiteral("same"), tr("by same word"), &M::same},
        {QStringLiteral("separator"), tr("by separator"), &M::separator},
        {QStringLiteral("induction"), tr("by induction"), &M::induction}};
    return keys;
}

void FoundList::sortBy(const QString& id) {
    m_sort = id;
    refresh();
}

// The kinds that occur here, each with how many heads are of it.
void FoundList::fillKinds() {
    QMenu* menu = m_kindButton->menu();
    menu->clear();
    connect(menu->addAction(tr("all kinds")), &QAction::triggered, this, [this] { showKind({}); });
    if (!m_survey.current())
        return;
    QMap<QString, int> counts;
    for (const HeadSummary& head : m_survey.current()->heads)
        ++counts[fromUtf8(head.metrics.label)];
    for (auto kind = counts.cbegin(); kind != counts.cend(); ++kind)
        connect(menu->addAction(tr("%1 (%2)").arg(labelText(toUtf8(kind.key()))).arg(kind.value())),
                &QAction::triggered, this, [this, label = kind.key()] { showKind(label); });
}

void FoundList::showKind(const QString& label) {
    m_kind = label;
    emit kindChosen(label);
    refresh();
}

void FoundList::createList() {
    m_list = new WholeRows;
    m_list->setAccessibleName(tr("Found in this sentence"));
    m_list->setColumnCount(3);
    m_list->setHeaderHidden(true);
    m_list->setRootIsDecorated(false);
    m_list->setUniformRowHeights(true);
    m_list->setFrameShape(QFrame::NoFrame);
    m_list->setTextElideMode(Qt::ElideRight);
    m_list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    m_list->header()->setStretchLastSection(false);
    m_list->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
    m_list->header()->setSectionResizeMode(1, QHeaderView::Stretch);
    m_list->header()->setSectionResizeMode(2, QHeaderView::ResizeToContents);
    connect(m_list, &QTreeWidget::itemSelectionChanged, this, &FoundList::choose);
    layout()->addWidget(m_list);
}

void FoundList::createButtons() {
    auto* row = new QHBoxLayout;
    m_off = new QToolButton;
    connect(m_off, &QToolButton::clicked, this, [this] { toggleHeads(m_workspace); });
    m_byCell = new QToolButton;
    m_byCell->setText(tr("By pinned cell"));
    m_byCell->setCheckable(true);
    m_byCell->setToolTip(
        tr("Which head links these two words? Pin a query and a key: all heads are ranked by that cell"));
    connect(m_byCell, &QToolButton::toggled, this,
            [this](bool on) { sortBy(on ? QStringLiteral("cell") : QStringLiteral("strength")); });
    row->addWidget(m_off);
    row->addWidget(m_byCell);
    row->addStretch();
    static_cast<QVBoxLayout*>(layout())->addLayout(row);
}

// The two words between which a head looks hardest.
static QString linkText(const Scenario& scenario, CellRef cell) {
    return QStringLiteral("%1 → %2").arg(isolated(distinctText(scenario.query, cell.row)),
                                         isolated(distinctText(scenario.keyTokens(), cell.col)));
}

// True where the label alone says that the pinned cell is bright: position explains it, not the words.
static bool isByPosition(const std::string& label, CellRef cell) {
    return (label == "previous" && cell.col == cell.row - 1) || (label == "next" && cell.col == cell.row + 1) ||
           (label == "first" && cell.col == 0) || (label == "self" && cell.col == cell.row);
}

// What the head does here; where the model names its heads, its name first and, if it is another, what was found. A
// head that rests on special tokens is told by the words that it links besides.
static FoundList::Finding findingOf(const HeadSummary& summary, const Survey& survey) {
    const HeadMetrics& m = summary.metrics;
    const Scenario& scenario = survey.trace->scenario;
    const ModelConfig& config = survey.trace->config();
    FoundList::Finding finding{m.layer, m.head, labelText(m.label), m.strength, {}};
    const bool rests = restsOnSpecial(summary, scenario);
    if (rests)
        finding.note = FoundList::tr("mostly on special tokens");
    if (m.label == "none" || rests) {
        finding.what = summary.strongest ? linkText(scenario, *summary.strongest) : QString();
        finding.strength = static_cast<double>(summary.strongestWeight);
    }
    const auto head = static_cast<std::size_t>(m.head.value);
    if (head < config.headNames.size()) {
        const QString name = fromUtf8(config.headNames[head]);
        const bool another = m.label != "none" && !name.endsWith(finding.what);
        finding.what = another ? FoundList::tr("%1 · here %2").arg(name, finding.what) : name;
    }
    return finding;
}

// The same, said of the pinned cell.
static FoundList::Finding findingOfCell(const HeadSummary& summary, const Survey& survey) {
    const HeadMetrics& m = summary.metrics;
    FoundList::Finding finding{m.layer,
                               m.head,
                               m.label == "none" ? QString() : labelText(m.label),
                               static_cast<double>(summary.pinnedWeight),
                               {}};
    if (isByPosition(m.label, *survey.pinned))
        finding.what = FoundList::tr("%1: by position alone").arg(finding.what);
    return finding;
}

std::vector<FoundList::Finding> FoundList::findings(const Survey& survey) const {
    const bool byCell = m_sort == QLatin1String("cell") && survey.pinned;
    const auto key = std::ranges::find(sortKeys(), m_sort, &SortKey::id);
    std::vector<Finding> found;
    for (const HeadSummary& summary : survey.heads) {
        if (!m_kind.isEmpty() && fromUtf8(summary.metrics.label) != m_kind)
            continue;
        found.push_back(byCell ? findingOfCell(summary, survey) : findingOf(summary, survey));
        if (key->metric)
            found.back().strength = summary.metrics.*(key->metric);
    }
    if (m_sort != QLatin1String("place"))
        std::ranges::stable_sort(found, std::greater<>(), &Finding::strength);
    return found;
}

void FoundList::refresh() {
    const SharedSurvey& survey = m_survey.current();
    m_showing = true;
    const QString arrow = QStringLiteral(" ▾");
    const bool nothingPinned = m_sort == QLatin1String("cell") && survey && !survey->pinned;
    m_sortButton->setText(
        std::ranges::find(sortKeys(), nothingPinned ? QStringLiteral("strength") : m_sort, &SortKey::id)->name + arrow);
    m_kindButton->setText((m_kind.isEmpty() ? tr("all kinds") : labelText(toUtf8(m_kind))) + arrow);
    m_list->clear();
    if (survey) {
        for (const Finding& finding : findings(*survey)) {
            auto* item = new QTreeWidgetItem(
                {headName(finding.layer, finding.head), finding.what, QString::number(finding.strength, 'f', 2)});
            QFont bold = font();
            bold.setBold(true);
            item->setFont(0, bold);
            item->setTextAlignment(2, Qt::AlignRight | Qt::AlignVCenter);
            const QString note = finding.note.isEmpty() ? QString() : QStringLiteral(" (%1)").arg(finding.note);
            item->setToolTip(1,
                             QStringLiteral("%1: %2%3").arg(headName(finding.layer, finding.head), finding.what, note));
            item->setSizeHint(1, QSize(0, fontMetrics().height() * 3 / 2));
            item->setData(0, Qt::UserRole, QPoint(finding.layer.value, finding.head.value));
            m_list->addTopLevelItem(item);
        }
        if (survey->heads.empty())
            m_list->addTopLevelItem(
                new QTreeWidgetItem({QString(), tr("text too long to survey all heads"), QString()}));
    }
    m_showing = false;
    showCurrent();
}

void FoundList::showCurrent() {
    const View& view = m_workspace.view();
    const Scenario& scenario = m_workspace.scenario();
    if (!scenario.model)
        return;
    m_showing = true;
    const QPoint current(view.layer.value, view.heads.front().value);
    for (int i = 0; i < m_list->topLevelItemCount(); ++i)
        if (m_list->topLevelItem(i)->data(0, Qt::UserRole).toPoint() == current &&
            m_list->topLevelItem(i)->data(0, Qt::UserRole).isValid())
            m_list->setCurrentItem(m_list->topLevelItem(i));
    m_showing = false;
    showFacts();
    revealCurrent();
    const bool off = scenario.headIsOff(view.layer, view.heads.front());
    m_off->setText(off ? tr("Switch on") : tr("Switch off"));
    const QString why = whyUnchangeable(scenario);
    m_off->setEnabled(why.isEmpty());
    m_off->setToolTip(
        why.isEmpty() ? tr("A head that is switched off hands on zeros; undo brings it back (F8, or X among the heads)")
                      : why);
    const bool canRank = view.cell.has_value() && isTokenByToken(view.stage);
    const QSignalBlocker blocked(m_byCell);
    m_byCell->setEnabled(canRank);
    m_byCell->setChecked(canRank && m_sort == QLatin1String("cell"));
}

// The shown head's numbers, where the list leaves room for them.
void FoundList::showFacts() {
    const View& view = m_workspace.view();
    const SharedSurvey& survey = m_survey.current();
    const auto place = static_cast<std::size_t>(view.layer.value) * static_cast<std::size_t>(heads()) +
                       static_cast<std::size_t>(view.heads.front().value);
    const int rows = 5, rowHeight = fontMetrics().height() + 4;
    if (!survey || place >= survey->heads.size() || height() < 11 * rowHeight + rows * rowHeight)
        return m_facts->hide();
    const HeadMetrics& m = survey->heads[place].metrics;
    const std::pair<QString, double> facts[] = {
        {tr("entropy (bits)"), m.entropy}, {tr("distance"), m.distance},  {tr("itself"), m.self},
        {tr("previous"), m.previous},      {tr("next"), m.next},          {tr("first"), m.first},
        {tr("same word"), m.same},         {tr("separator"), m.separator}};
    const bool narrow = width() < 34 * fontMetrics().averageCharWidth();
    const std::size_t perRow = narrow ? 1 : 2, count = narrow ? 4 : std::size(facts);
    QString table = QStringLiteral("<table width='100%' cellpadding='1'><tr><td colspan='4'><b>%1</b></td></tr>")
                        .arg(headTitle(survey->trace->config(), m.layer, m.head).toHtmlEscaped());
    for (std::size_t i = 0; i < count; ++i)
        table += (i % perRow == 0 ? QStringLiteral("<tr>") : QString()) +
                 QStringLiteral("<td>%1</td><td align='right'>%2%3</td>")
                     .arg(facts[i].first, QLocale().toString(facts[i].second, 'f', 2),
                          i % 2 == 0 && !narrow ? QStringLiteral("&nbsp;&nbsp;") : QString()) +
                 (i % perRow == perRow - 1 ? QStringLiteral("</tr>") : QString());
    m_facts->setText(table + QStringLiteral("</table>"));
    m_facts->show();
}

// When the list has its height: the facts beneath it come and go.
void FoundList::revealCurrent() {
    QMetaObject::invokeMethod(
        this,
        [this] {
            if (m_sort == QLatin1String("cell")) // the answer is at the top
                m_list->scrollToTop();
            else if (QTreeWidgetItem* current = m_list->currentItem())
                m_list->scrollToItem(current);
        },
        Qt::QueuedConnection);
}

int FoundList::heads() const {
    const SharedModel& model = m_workspace.scenario().model;
    return model ? model->config().heads : 0;
}

void FoundList::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    showFacts();
    revealCurrent();
}

void FoundList::choose() {
    const QTreeWidgetItem* item = m_list->currentItem();
    if (m_showing || !item || !item->data(0, Qt::UserRole).isValid())
        return;
    const QPoint place = item->data(0, Qt::UserRole).toPoint();
    View view = m_workspace.view();
    view.layer = LayerIndex{place.x()};
    view.heads = {HeadIndex{place.y()}};
    m_workspace.setView(view);
}

void FoundList::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange)
        refresh();
}

} // namespace headscope
