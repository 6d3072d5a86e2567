#include "ui/dialogs/about_dialog.h"

#include <QAction>
#include <QDialog>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QMessageBox>
#include <QTreeWidget>
#include <QVBoxLayout>

namespace headscope {

void showAbout(QWidget* window) {
    QMessageBox::about(
        window, QObject::tr("About Headscope"),
        QObject::tr("<h3>Headscope %1</h3>"
                    "<p>Shows what attention heads really compute: every number on screen comes from the model.</p>"
                    "<p>Free software under the GNU General Public License, version 3 or later. Built with Qt, "
                    "QCustomPlot, Eigen, ICU, SentencePiece and nlohmann-json. The model mini is "
                    "sentence-transformers/all-MiniLM-L6-v2, Apache-2.0; story and translate were trained for "
                    "Headscope. Colour maps "
                    "viridis, cividis, magma and inferno: CC0; "
                    "PuOr: ColorBrewer, Apache-2.0.</p>")
            .arg(QLatin1String(HEADSCOPE_VERSION)));
}

void showShortcuts(QWidget* window, const QList<QAction*>& actions) {
    QDialog dialog(window);
    dialog.setWindowTitle(QObject::tr("Keys"));
    auto* column = new QVBoxLayout(&dialog);
    auto* list = new QTreeWidget;
    list->setHeaderLabels({QObject::tr("Action"), QObject::tr("Key")});
    list->setRootIsDecorated(false);
    for (const QAction* action : actions)
        if (!action->shortcut().isEmpty())
            new QTreeWidgetItem(list,
                                {action->text().remove(u'&'), action->shortcut().toString(QKeySequence::NativeText)});
    new QTreeWidgetItem(
        list, {QObject::tr("Among the heads: another head, several heads"), QObject::tr("arrows, Shift+arrows")});
    new QTreeWidgetItem(list, {QObject::tr("Among the heads: switch off or on"), QStringLiteral("X")});
    list->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
    column->addWidget(list);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    QObject::connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
    column->addWidget(buttons);
    dialog.resize(460, 520);
    dialog.exec();
}

} // namespace headscope
