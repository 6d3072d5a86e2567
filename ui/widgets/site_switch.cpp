#include "ui/widgets/site_switch.h"

#include "ui/workspace.h"

#include <QButtonGroup>
#include <QHBoxLayout>
#include <QToolButton>

#include <map>

namespace headscope {

QList<std::pair<Site, QString>> SiteSwitch::sites() {
    return {{Site::EncoderSelf, tr("encoder")}, {Site::DecoderSelf, tr("decoder")}, {Site::DecoderCross, tr("cross")}};
}

SiteSwitch::SiteSwitch(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(4);
    m_buttons = new QButtonGroup(this);
    const std::map<Site, QString> tips = {
        {Site::EncoderSelf, tr("The source attends to itself")},
        {Site::DecoderSelf, tr("The target attends to itself, to what was written before")},
        {Site::DecoderCross, tr("The target attends to the source: queries of one text, keys of the other")}};
    for (const auto& [site, name] : sites()) {
        auto* button = new QToolButton;
        button->setObjectName(QStringLiteral("small"));
        button->setText(name);
        button->setToolTip(tips.at(site));
        button->setCheckable(true);
        m_buttons->addButton(button, static_cast<int>(site));
        row->addWidget(button);
    }
    row->addStretch();
    m_predicted = new QToolButton;
    m_predicted->setObjectName(QStringLiteral("small"));
    m_predicted->setText(tr("predicted"));
    m_predicted->setToolTip(
        tr("Names the rows of the target by the word that they predict instead of the one they read"));
    m_predicted->setCheckable(true);
    row->addWidget(m_predicted);
    connect(m_predicted, &QToolButton::clicked, this, [this](bool on) {
        View view = m_workspace.view();
        view.predicted = on;
        m_workspace.setView(view);
    });
    connect(&workspace, &Workspace::viewChanged, this, &SiteSwitch::refresh);
    connect(m_buttons, &QButtonGroup::idClicked, this,
            [this](int site) { m_workspace.setSite(static_cast<Site>(site)); });
    connect(&workspace, &Workspace::scenarioChanged, this, &SiteSwitch::refresh);
    refresh();
}

void SiteSwitch::refresh() {
    const SharedModel& model = m_workspace.scenario().model;
    setVisible(model && model->config().site);
    if (model && model->config().site)
        m_buttons->button(static_cast<int>(*model->config().site))->setChecked(true);
    m_predicted->setEnabled(model && model->config().site != Site::EncoderSelf);
    m_predicted->setChecked(m_workspace.view().predicted);
}

} // namespace headscope
