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
    list->setSelectionMode(QAbstractItemView::NoSelection);
    for (const QAction* action : actions)
        if (!action->shortcut().isEmpty())
            new QTreeWidgetItem(list,
                                {action->text().remove(u'&'), action->shortcut().toString(QKeySequence::NativeText)});
    const std::pair<QString, QString> places[] = {
        {QObject::tr("Heads: another head, several heads"), QObject::tr("arrows, Shift+arrows")},
        {QObject::tr("Heads: switch off or on"), QStringLiteral("X")},
        {QObject::tr("Heatmap: go from cell to cell, to the ends"), QObject::tr("arrows, Home, End")},
        {QObject::tr("Heatmap: pin the cell, let it go"), QObject::tr("Return or Space, Esc")},
        {QObject::tr("Heatmap: zoom in, out, everything"), QStringLiteral("+  −  0")},
        {QObject::tr("Heatmap: zoom at the pointer, move, everything"), QObject::tr("wheel, drag, double click")},
        {QObject::tr("Walk: the marked row, column and cell"), QObject::tr("arrows")},
        {QObject::tr("Stages: the next, the one before"), QObject::tr("right, left")},
        {QObject::tr("Weights: turn a cell like a dial"), QObject::tr("drag up or down")},
        {QObject::tr("Weights: copy, paste, revert cells"), QObject::tr("Ctrl+C, Ctrl+V, Del")}};
    for (const auto& [what, key] : places)
        new QTreeWidgetItem(list, {what, key});
    list->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
    column->addWidget(list);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    QObject::connect(buttons, &QDialogButtonBox::rejected, &dialog, &QDialog::reject);
    column->addWidget(buttons);
    dialog.resize(460, 520);
    dialog.exec();
}

} // namespace headscope
