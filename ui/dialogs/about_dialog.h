// AboutDialog: what Headscope is, its version and licences. ShortcutsDialog text: every action with its key.
#pragma once

#include <QList>

class QAction;
class QWidget;

namespace headscope {

void showAbout(QWidget* window);
// A table of all actions that have a shortcut.
void showShortcuts(QWidget* window, const QList<QAction*>& actions);

} // namespace headscope
