// ComputeMenu: what computes: the CPU, the reference, an OpenCL device. Devices are looked for and measured when the
// menu opens for the first time, in the background. Not here: computing (Workspace).
#pragma once

#include "core/backend/backend.h"
#include "ui/latest_wins.h"

#include <QMenu>

class QActionGroup;

namespace headscope {

class Workspace;

class ComputeMenu : public QMenu {
    Q_OBJECT
public:
    // remembers: the choice is kept for the next start of the program.
    ComputeMenu(Workspace& workspace, bool remembers, QWidget* parent = nullptr);

    static QString rememberedBackend(); // "auto" before the first choice

private:
    QAction* addBackend(const QString& name, const QString& text, const QString& what);
    void lookForDevices();
    void showDevices(const std::vector<BackendInfo>& all);
    void checkPresent();

    Workspace& m_workspace;
    bool m_remembers;
    QActionGroup* m_backends;
    QAction* m_looking; // stands where the devices will be
    bool m_looked = false;
    LatestWins<std::vector<BackendInfo>> m_jobs;
};

} // namespace headscope
