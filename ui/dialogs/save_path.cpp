#include "ui/dialogs/save_path.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QRegularExpression>

namespace headscope {

static QString endingOf(const QString& filter) {
    static const QRegularExpression ending(QStringLiteral("\\*\\.(\\w+)"));
    return ending.match(filter).captured(1);
}

QString askSavePath(QWidget* window, const QString& title, const QString& start, const QStringList& filters) {
    const QFileInfo from(start);
    QFileDialog dialog(window, title, from.isDir() ? start : from.path());
    dialog.setAcceptMode(QFileDialog::AcceptSave);
    dialog.setNameFilters(filters);
    dialog.setDefaultSuffix(endingOf(filters.constFirst()));
    QObject::connect(&dialog, &QFileDialog::filterSelected, &dialog,
                     [&dialog](const QString& filter) { dialog.setDefaultSuffix(endingOf(filter)); });
    if (!start.isEmpty() && !from.isDir())
        dialog.selectFile(from.fileName());
    return dialog.exec() == QDialog::Accepted ? dialog.selectedFiles().value(0) : QString();
}

} // namespace headscope
