#include "ui/widgets/stage_panel.h"

#include "ui/stage_text.h"
#include "ui/theme.h"
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
    auto* header = new QHBoxLayout;
    header->setSpacing(4);
    createHeader(header);
    column->addLayout(header);
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

void StagePanel::createHeader(QHBoxLayout* row) {
    m_formula = new QLabel;
    m_formula->setTextFormat(Qt::RichText);
    m_formula->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_formula->setWordWrap(true);
    m_formula->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    row->addWidget(m_formula, 1);
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
    m_figures->button(static_cast<int>(FigureKind::Walk))->setToolTip(tr("The stage as the product that it is"));
    m_figures->button(static_cast<int>(FigureKind::Stages))->setToolTip(tr("This head's whole chain in one picture"));
    connect(m_figures, &QButtonGroup::idClicked, this, [this](int id) {
        View view = m_workspace.view();
        view.figure = static_cast<FigureKind>(id);
        if (view.figure == FigureKind::Links)
            view.stage = Stage::Weights; // only weights have a width
        m_workspace.setView(view);
    });
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
    const StageInfo& info = stageInfo(view.stage);
    m_formula->setFont(scaledFont(1.15));
    const QString sizes = stageSizes(scenario, view.stage);
    m_formula->setText(stageFormula(scenario, view.layer, view.stage));
    m_formula->setToolTip(sizes);
    QString what = fromUtf8(info.what);
    if (info.scope != StageScope::AllHeads)
        what = headTitle(scenario.model->config(), view.layer, view.heads.front()) + QStringLiteral(": ") + sizes +
               QStringLiteral(". ") + what;
    else
        what = tr("all heads, L%1: ").arg(view.layer.value) + sizes + QStringLiteral(". ") + what;
    for (const RuleInfo& rule : ruleTable())
        if (has(scenario.rules, rule.rule))
            what = tr("Wrong on purpose (%1). ").arg(fromUtf8(rule.title)) + what;
    m_what->setText(richFormula(what));
    m_figures->button(static_cast<int>(view.figure))->setChecked(true);
    refreshStageButtons();
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
        View view = m_workspace.view();
        view.stage = stage;
        m_workspace.setView(view);
        refreshStageButtons(); // also when the view did not change: the button stays pressed
    });
    m_stageButtons->layout()->addWidget(button);
}

} // namespace headscope
