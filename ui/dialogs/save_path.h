// Where to save: asks with the ending that the chosen kind has, so that the question before an older file goes is about
// the name that is written.
#pragma once

#include <QString>
#include <QStringList>

class QWidget;

namespace headscope {

// start: a folder, or a name in one. filters: "Scenarios (*.headscope)"; the first is the one to begin with. Empty when
// the user gives it up.
QString askSavePath(QWidget* window, const QString& title, const QString& start, const QStringList& filters);

} // namespace headscope
