#include "ui/widgets/found_list.h"

#include "ui/head_survey.h"
#include "ui/stage_text.h"
#include "ui/widgets/head_grid.h"
#include "ui/workspace.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QToolButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace headscope {

FoundList::FoundList(Workspace& workspace, HeadSurvey& survey, QWidget* parent)
    : QWidget(parent), m_workspace(workspace), m_survey(survey) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
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

void FoundList::createList() {
    m_list = new QTreeWidget;
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
    m_off->setToolTip(tr("A head that is switched off hands on zeros; undo brings it back (F8, or X among the heads)"));
    connect(m_off, &QToolButton::clicked, this, [this] { toggleHeads(m_workspace); });
    m_byCell = new QToolButton;
    m_byCell->setText(tr("By pinned cell"));
    m_byCell->setCheckable(true);
    m_byCell->setToolTip(
        tr("Which head links these two words? Pin a query and a key: all heads are ranked by that cell"));
    connect(m_byCell, &QToolButton::toggled, this, &FoundList::refresh);
    row->addWidget(m_off);
    row->addWidget(m_byCell);
    row->addStretch();
    static_cast<QVBoxLayout*>(layout())->addLayout(row);
}

// One line of the list, before it is sorted.
struct Finding {
    LayerIndex layer;
    HeadIndex head;
    QString what;
    double strength = 0;
};

static QString labelText(const std::string& label) {
    const bool isPlace = label == "previous" || label == "next" || label == "first";
    return isPlace ? FoundList::tr("%1 token").arg(fromUtf8(label)) : fromUtf8(label);
}

// The two words between which a head looks hardest.
static QString linkText(const Scenario& scenario, CellRef cell) {
    const auto text = [](const TokenSequence& tokens, int i) {
        return tokenText(tokens.tokens[static_cast<std::size_t>(i)]);
    };
    return QStringLiteral("%1 → %2").arg(text(scenario.query, cell.row), text(scenario.keyTokens(), cell.col));
}

// What the head does here; where the model names its heads, its name first and, if it is another, what was found.
static Finding findingOf(const HeadSummary& summary, const Survey& survey, bool byCell) {
    const HeadMetrics& m = summary.metrics;
    const ModelConfig& config = survey.trace->config();
    Finding finding{m.layer, m.head, labelText(m.label), m.strength};
    if (m.label == "none") {
        finding.what = summary.strongest ? linkText(survey.trace->scenario, *summary.strongest) : QString();
        finding.strength = static_cast<double>(summary.strongestWeight);
    }
    if (byCell) {
        const bool byPosition = m.label == "previous" || m.label == "next" || m.label == "first" || m.label == "self";
        finding.strength = static_cast<double>(summary.pinnedWeight);
        finding.what = m.label == "none" ? QString()
                       : byPosition      ? FoundList::tr("%1: by position alone").arg(labelText(m.label))
                                         : labelText(m.label);
        return finding;
    }
    const auto head = static_cast<std::size_t>(m.head.value);
    if (head < config.headNames.size()) {
        const QString name = fromUtf8(config.headNames[head]);
        const bool another = m.label != "none" && !name.endsWith(finding.what);
        finding.what = another ? FoundList::tr("%1 · here %2").arg(name, finding.what) : name;
    }
    return finding;
}

void FoundList::refresh() {
    const SharedSurvey& survey = m_survey.current();
    m_showing = true;
    m_list->clear();
    if (survey) {
        const bool byCell = m_byCell->isChecked() && survey->pinned;
        std::vector<Finding> findings;
        for (const HeadSummary& summary : survey->heads)
            findings.push_back(findingOf(summary, *survey, byCell));
        std::ranges::stable_sort(findings, std::greater<>(), &Finding::strength);
        for (const Finding& finding : findings) {
            auto* item = new QTreeWidgetItem(
                {headName(finding.layer, finding.head), finding.what, QString::number(finding.strength, 'f', 2)});
            QFont bold = font();
            bold.setBold(true);
            item->setFont(0, bold);
            item->setTextAlignment(2, Qt::AlignRight | Qt::AlignVCenter);
            item->setToolTip(1, QStringLiteral("%1: %2").arg(headName(finding.layer, finding.head), finding.what));
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
    const bool off = scenario.headIsOff(view.layer, view.heads.front());
    m_off->setText(off ? tr("Switch on") : tr("Switch off"));
    m_byCell->setEnabled(view.cell.has_value() && isTokenByToken(view.stage));
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
    QString table = QStringLiteral("<table width='100%' cellpadding='1'><tr><td colspan='4'><b>%1</b></td></tr>")
                        .arg(headTitle(survey->trace->config(), m.layer, m.head).toHtmlEscaped());
    for (std::size_t i = 0; i < std::size(facts); ++i)
        table += (i % 2 == 0 ? QStringLiteral("<tr>") : QString()) +
                 QStringLiteral("<td>%1</td><td align='right'>%2%3</td>")
                     .arg(facts[i].first, QLocale().toString(facts[i].second, 'f', 2),
                          i % 2 == 0 ? QStringLiteral("&nbsp;&nbsp;") : QString()) +
                 (i % 2 == 1 ? QStringLiteral("</tr>") : QString());
    m_facts->setText(table + QStringLiteral("</table>"));
    m_facts->show();
}

int FoundList::heads() const {
    const SharedModel& model = m_workspace.scenario().model;
    return model ? model->config().heads : 0;
}

void FoundList::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    showFacts();
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
