#include "ui/compute_menu.h"

#include "ui/stage_text.h"
#include "ui/workspace.h"

#include <QActionGroup>
#include <QSettings>

namespace headscope {

static QString settingsKey() {
    return QStringLiteral("backend");
}

QString ComputeMenu::rememberedBackend() {
    return QSettings().value(settingsKey(), QStringLiteral("auto")).toString();
}

ComputeMenu::ComputeMenu(Workspace& workspace, bool remembers, QWidget* parent)
    : QMenu(tr("&Compute on"), parent), m_workspace(workspace), m_remembers(remembers),
      m_backends(new QActionGroup(this)) {
    setToolTipsVisible(true);
    addBackend(QStringLiteral("auto"), tr("&Automatic"), tr("The fastest that is always there: the CPU"));
    addBackend(QStringLiteral("cpu"), tr("&CPU"), tr("The program's own kernels, single precision"));
    addBackend(QStringLiteral("reference"), tr("&Reference: sums in double, slow"),
               tr("The plain one that every other is tested against"));
    m_looking = addAction(tr("Looking for OpenCL devices…"));
    m_looking->setEnabled(false);
    connect(this, &QMenu::aboutToShow, this, &ComputeMenu::lookForDevices);
    connect(&workspace, &Workspace::backendChanged, this, &ComputeMenu::checkPresent);
    checkPresent();
}

QAction* ComputeMenu::addBackend(const QString& name, const QString& text, const QString& what) {
    QAction* action = addAction(text);
    action->setCheckable(true);
    action->setData(name);
    action->setToolTip(what);
    m_backends->addAction(action);
    connect(action, &QAction::triggered, this, [this, name] {
        m_workspace.setBackend(name);
        if (m_remembers)
            QSettings().setValue(settingsKey(), name);
    });
    return action;
}

void ComputeMenu::lookForDevices() {
    if (m_looked)
        return;
    m_looked = true;
    m_jobs.submit([](const std::stop_token&) { return listBackends(); },
                  [this](const Outcome<std::vector<BackendInfo>>& outcome) {
                      if (const auto* all = std::get_if<std::vector<BackendInfo>>(&outcome))
                          showDevices(*all);
                  });
}

void ComputeMenu::showDevices(const std::vector<BackendInfo>& all) {
    for (const BackendInfo& info : all) {
        const QString name = fromUtf8(info.name);
        if (!name.startsWith(QLatin1String("opencl")))
            continue;
        const QString device = fromUtf8(info.description).section(QStringLiteral(" ("), 0, 0);
        const QString text =
            info.available ? tr("%1: %2").arg(name, device) : tr("%1: %2 is not available").arg(name, device);
        QAction* action = addBackend(name, text, fromUtf8(info.available ? info.description : info.why));
        action->setEnabled(info.available);
    }
    m_looking->setVisible(false);
    checkPresent();
}

void ComputeMenu::checkPresent() {
    for (QAction* action : m_backends->actions())
        action->setChecked(action->data().toString() == m_workspace.backend());
}

} // namespace headscope
