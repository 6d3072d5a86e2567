#include "ui/widgets/stage_panel.h"

#include "core/model/captured_attention.h"
#include "ui/render/figure_parts.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/unchangeable.h"
#include "ui/widgets/dim_overlay.h"
#include "ui/widgets/picture_stack.h"
#include "ui/widgets/stage_stepper.h"
#include "ui/widgets/view_controls.h"
#include "ui/workspace.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <QVBoxLayout>

namespace headscope {

StagePanel::StagePanel(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
    setObjectName(QStringLiteral("card"));
    setAttribute(Qt::WA_StyledBackground);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(12, 8, 12, 8);
    column->setSpacing(6);
    m_stepper = new StageStepper(workspace);
    column->addWidget(m_stepper);
    m_header = new QBoxLayout(QBoxLayout::LeftToRight);
    m_header->setSpacing(4);
    createHeader();
    column->addLayout(m_header);
    m_what = new QLabel;
    m_what->setObjectName(QStringLiteral("muted"));
    m_what->setWordWrap(true);
    m_what->setTextFormat(Qt::RichText);
    column->addWidget(m_what);
    m_pictures = new PictureStack(workspace);
    m_overlay = new DimOverlay(m_pictures);
    column->addWidget(m_pictures, 1);
    m_controls = new ViewControls(workspace);
    column->addWidget(m_controls);
    connect(&workspace, &Workspace::traceChanged, this, &StagePanel::refreshText);
    connect(&workspace, &Workspace::viewChanged, this, &StagePanel::refreshText);
    connect(&workspace, &Workspace::scenarioChanged, this, &StagePanel::refreshText);
}

void StagePanel::createHeader() {
    m_formula = new QLabel;
    m_formula->setObjectName(QStringLiteral("stageFormula"));
    m_formula->setTextFormat(Qt::RichText);
    m_formula->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_formula->setWordWrap(true);
    m_formula->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_header->addWidget(m_formula, 1);
    m_buttons = new QWidget;
    auto* row = new QHBoxLayout(m_buttons);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(4);
    row->addStretch(1);
    m_header->addWidget(m_buttons);
    m_stageButtons = new QWidget;
    auto* stages = new QHBoxLayout(m_stageButtons);
    stages->setContentsMargins(0, 0, 10, 0);
    stages->setSpacing(4);
    row->addWidget(m_stageButtons);
    m_figures = new QButtonGroup(this);
    const std::pair<FigureKind, QString> kinds[] = {{FigureKind::Heatmap, tr("Heatmap")},
                                                    {FigureKind::Links, tr("Links")},
                                                    {FigureKind::Walk, tr("Walk")},
                                                    {FigureKind::Stages, tr("Stages")},
                                                    {FigureKind::Grid, tr("All heads")}};
    for (const auto& [kind, name] : kinds) {
        auto* button = new QToolButton;
        button->setText(name);
        button->setCheckable(true);
        button->setObjectName(QStringLiteral("small"));
        m_figures->addButton(button, static_cast<int>(kind));
        row->addWidget(button);
    }
    m_figures->button(static_cast<int>(FigureKind::Links))
        ->setToolTip(tr("Queries left, keys right, lines as wide as the weight"));
    connect(m_figures, &QButtonGroup::idClicked, this,
            [this](int id) { m_workspace.showFigure(static_cast<FigureKind>(id)); });
}

// The picture keeps its room: in a narrow panel the formula stands above the buttons, in a low one the explanation is
// left to the tooltip.
void StagePanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    const int line = fontMetrics().height();
    const bool narrow = width() < m_buttons->sizeHint().width() + 11 * line;
    m_header->setDirection(narrow ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
    const int lines = (narrow ? 25 : 20) + (theme().projector ? 8 : 0); // there the picture is what a class looks at
    m_what->setVisible(height() >= lines * line);
}

// A new look gives every label its own font again, this panel's last of all: what is larger is so afterwards.
void StagePanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange)
        QMetaObject::invokeMethod(this, &StagePanel::refreshText, Qt::QueuedConnection);
}

void StagePanel::focusPicture() {
    m_pictures->focusPicture();
}

HeatmapPanel* StagePanel::heatmap() {
    return m_pictures->heatmap();
}

LinksPanel* StagePanel::links() {
    return m_pictures->links();
}

void StagePanel::setHint(const QString& hint) {
    m_overlay->setHint(hint);
}

void StagePanel::refreshText() {
    const Scenario& scenario = m_workspace.scenario();
    if (!scenario.model)
        return;
    const View& view = m_workspace.view();
    m_formula->setFont(scaledFont(1.15));
    const QString sizes = stageSizes(scenario, view.stage);
    m_formula->setText(stageFormula(scenario, view.layer, view.stage));
    QString what = (whoseStage() + QStringLiteral(": ") + sizes + QStringLiteral(". ")).toHtmlEscaped() +
                   stageWords(scenario, view.stage);
    if (const CapturedAttention* captured = scenario.model->captured())
        what += QStringLiteral(" ") + tr("%1 holds %2; the other stages are not in it.")
                                          .arg(fromUtf8(captured->file), fromUtf8(captured->stageList()))
                                          .toHtmlEscaped();
    if (stageInfo(view.stage).scope != StageScope::AllHeads && scenario.headIsOff(view.layer, view.heads.front()))
        what = tr("%1 is switched off: it hands on zeros. ").arg(headName(view.layer, view.heads.front())) + what;
    if (view.figure == FigureKind::Walk)
        if (const QString remark = everyTokenRemark(view); !remark.isEmpty())
            what += QStringLiteral(" ") + tr("Here %1.").arg(remark);
    for (const RuleInfo& rule : ruleTable())
        if (has(scenario.rules, rule.rule))
            what = tr("Wrong on purpose (%1). ").arg(richFormula(fromUtf8(rule.title))) + what;
    m_what->setText(what);
    m_formula->setToolTip(m_what->text());
    refreshFigureButtons();
    refreshStageButtons();
}

// The heads that the picture shows: "L5 H11", "L0 H2, H5, H8", "all heads, L3".
QString StagePanel::whoseStage() const {
    const View& view = m_workspace.view();
    if (stageInfo(view.stage).scope == StageScope::AllHeads)
        return tr("all heads, L%1").arg(view.layer.value);
    QString whose = headTitle(m_workspace.scenario().model->config(), view.layer, view.heads.front());
    if (view.figure == FigureKind::Heatmap || view.figure == FigureKind::Links)
        for (std::size_t h = 1; h < view.heads.size(); ++h)
            whose += QStringLiteral(", H%1").arg(view.heads[h].value);
    if (view.figure == FigureKind::Heatmap && view.heads.size() > 1 && view.combine != Combine::None)
        whose += tr(", the %1 of each cell").arg(ViewControls::combineName(view.combine));
    return whose;
}

void StagePanel::refreshFigureButtons() {
    const QString why = whyUnchangeable(m_workspace.scenario());
    for (const auto& [kind, tip] : {std::pair(FigureKind::Walk, tr("The stage as the product that it is")),
                                    std::pair(FigureKind::Stages, tr("This head's whole chain in one picture"))}) {
        QAbstractButton* button = m_figures->button(static_cast<int>(kind));
        button->setEnabled(why.isEmpty());
        button->setToolTip(why.isEmpty() ? tip : why);
    }
    m_figures->button(static_cast<int>(m_workspace.view().figure))->setChecked(true);
}

// A step with several matrices gets a button for each. They are made anew only when the list changes, so that the
// keyboard keeps its place.
void StagePanel::refreshStageButtons() {
    const View& view = m_workspace.view();
    const std::vector<Stage> stages = stagesOfStep(m_workspace.scenario(), stageInfo(view.stage).step);
    if (stages != m_stages) {
        m_stages = stages;
        for (QToolButton* old : m_stageButtons->findChildren<QToolButton*>(Qt::FindDirectChildrenOnly)) {
            m_stageButtons->layout()->removeWidget(old);
            old->hide();
            old->deleteLater(); // it may be the one that was just clicked
        }
        for (const Stage stage : stages)
            addStageButton(stage);
    }
    for (QToolButton* button : m_stageButtons->findChildren<QToolButton*>(Qt::FindDirectChildrenOnly))
        button->setChecked(button->property("stage").toInt() == static_cast<int>(view.stage));
    m_stageButtons->setVisible(stages.size() > 1);
}

void StagePanel::addStageButton(Stage stage) {
    auto* button = new QToolButton;
    button->setText(stageShortName(stage));
    button->setToolTip(fromUtf8(stageInfo(stage).id));
    button->setCheckable(true);
    button->setObjectName(QStringLiteral("small"));
    button->setProperty("stage", static_cast<int>(stage));
    connect(button, &QToolButton::clicked, this, [this, stage] {
        m_workspace.showStage(stage);
        refreshStageButtons(); // also when the view did not change: the button stays pressed
    });
    m_stageButtons->layout()->addWidget(button);
}

} // namespace headscope
