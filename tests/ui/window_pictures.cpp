// Pictures of the window in states that only a hand brings it into: a floating panel, the mirror, every tab, dialogs,
// what is said when something is refused. To be looked at by people; pictures.sh calls it.
// usage: window_pictures FOLDER [dark]
#include "ui/copying.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/model_dialog.h"
#include "ui/main_window.h"
#include "ui/mirror_window.h"
#include "ui/screenshot.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/widgets/rules_panel.h"
#include "ui/widgets/sentence_bar.h"
#include "ui/widgets/stage_panel.h"

#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QDockWidget>
#include <QTabWidget>
#include <QTimer>

#include <memory>

using namespace headscope;

namespace {

QString folder;

void save(QWidget& widget, const QString& name) {
    waitUntilSettled();
    const QString path = folder + u'/' + name + QStringLiteral(".png");
    if (!widget.grab().save(path))
        qFatal("cannot write %s", qPrintable(path));
}

std::unique_ptr<MainWindow> windowOn(const std::string& model, const QString& text, View view = {}) {
    ScenarioRequest request;
    request.source.name = model;
    request.text = toUtf8(text);
    view.values = true;
    auto window = std::make_unique<MainWindow>(Document{makeScenario(std::move(request)), std::move(view)}, false);
    window->resize(1366, 768);
    window->show();
    waitUntilSettled();
    return window;
}

void choose(MainWindow& window, const QString& begins) {
    for (QAction* action : window.findChildren<QAction*>())
        if (action->text().remove(u'&').startsWith(begins))
            return action->trigger();
    qFatal("no action %s", qPrintable(begins));
}

// The modal dialog that an action opens.
void saveDialog(MainWindow& window, const QString& action, const QString& name) {
    QTimer::singleShot(500, [name] {
        QWidget* dialog = QApplication::activeModalWidget();
        save(*dialog, name);
        dialog->close();
    });
    choose(window, action);
}

void tabs() {
    const auto window = windowOn("story", QStringLiteral("Lily saw a big dog. The dog saw"));
    auto* tabs = window->findChild<QTabWidget*>();
    for (int t = 1; t < tabs->count(); ++t) {
        tabs->setCurrentIndex(t);
        save(*window, QStringLiteral("tab-") + tabs->tabText(t));
    }
}

void panels() {
    const auto window = windowOn("mini", QStringLiteral("The cat sat on the mat"));
    const auto dock = [&](const char* name) { return window->findChild<QDockWidget*>(QLatin1String(name)); };
    choose(*window, QStringLiteral("Switch head off"));
    window->sentenceBar().setText(QStringLiteral("The dog sat on the unbelievable mat"));
    dock("history")->show();
    save(*window, QStringLiteral("history"));
    for (const char* name : {"heads", "inspector", "edit"}) {
        dock(name)->setFloating(true);
        dock(name)->resize(420, 420);
        save(*dock(name), QStringLiteral("floating-") + QLatin1String(name));
    }
    save(*window, QStringLiteral("floating-window"));
    choose(*window, QStringLiteral("Mirror"));
    save(*window->findChild<MirrorWindow*>(), QStringLiteral("mirror"));
}

void messages() {
    const auto window = windowOn("mini", QStringLiteral("The unbelievable catfish sat"));
    View view = window->workspace().view();
    view.words = true;
    window->workspace().setView(view);
    choose(*window, QStringLiteral("Paint the mask"));
    save(*window, QStringLiteral("brush-refused"));
    window->sentenceBar().setText(QStringLiteral(" "));
    save(*window, QStringLiteral("empty-sentence"));
}

void dialogs() {
    const auto window = windowOn("toy", QStringLiteral("a rose is a rose"));
    saveDialog(*window, QStringLiteral("Export"), QStringLiteral("dialog-export"));
    saveDialog(*window, QStringLiteral("Options of toy"), QStringLiteral("dialog-toy"));
    saveDialog(*window, QStringLiteral("Keys"), QStringLiteral("dialog-keys"));
    saveDialog(*window, QStringLiteral("About"), QStringLiteral("dialog-about"));
    saveDialog(*window, QStringLiteral("Set the score"), QStringLiteral("dialog-score"));
}

} // namespace

int main(int argc, char** argv) {
    QApplication app(argc, argv);
    if (argc < 2)
        qFatal("usage: window_pictures FOLDER [dark]");
    folder = QString::fromLocal8Bit(argv[1]);
    applyTheme(makeTheme(argc > 2, false));
    tabs();
    panels();
    messages();
    dialogs();
    return 0;
}
