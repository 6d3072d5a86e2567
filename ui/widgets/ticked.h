// Ticks in menus: what is the case now, asked when the menu opens.
#pragma once

#include <QAction>
#include <QMenu>

#include <functional>

namespace headscope {

inline void tickWhere(QMenu* menu, QAction* action, const std::function<bool()>& isSo) {
    action->setCheckable(true);
    QObject::connect(menu, &QMenu::aboutToShow, action, [action, isSo] { action->setChecked(isSo()); });
}

} // namespace headscope
