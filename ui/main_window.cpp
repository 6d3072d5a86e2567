#include "ui/main_window.h"

#include "ui/autosave.h"
#include "ui/compute_menu.h"
#include "ui/copying.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/model_dialog.h"
#include "ui/document_session.h"
#include "ui/head_survey.h"
#include "ui/mirror_window.h"
#include "ui/render_command.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/widgets/heatmap_panel.h"
#include "ui/widgets/links_panel.h"
#include "ui/widgets/long_text_bar.h"
#include "ui/widgets/message_strip.h"
#include "ui/widgets/sentence_bar.h"
#include "ui/widgets/stage_panel.h"
#include "ui/widgets/status_line.h"
#include "ui/widgets/view_controls.h"
#include "ui/widgets/weight_editor.h"

#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QEventLoop>
#include <QIcon>
#include <QMimeData>
#include <QScreen>
#include <QSettings>
#include <QTabWidget>
#include <QTimer>

namespace headscope {

// Raised when the arrangement of the docks changes, so that an old saved layout is not forced onto it.
static constexpr int layoutVersion = 2;
static constexpr int mostBeforeShown = 400; // milliseconds until the window is shown, though its file is not open yet

static Theme rememberedTheme() {
    const QSettings settings;
    return makeTheme(settings.value(QStringLiteral("dark"), theme().dark).toBool(),
                     settings.value(QStringLiteral("projector"), theme().projector).toBool());
}

MainWindow::MainWindow(Document document, bool remembers, QWidget* parent)
    : QMainWindow(parent), m_remembers(remembers), m_workspace(new Workspace(this)),
      m_survey(new HeadSurvey(*m_workspace, this)), m_session(new DocumentSession(*m_workspace, this)) {
    setWindowIcon(QIcon(QStringLiteral(":/headscope.svg")));
    setAcceptDrops(true);
    if (remembers)
        applyTheme(rememberedTheme()); // before there is a widget to be styled anew
    m_session->setRemembers(remembers);
    createTop();
    createDocks();
    createActions();
    connectWorkspace();
    if (remembers)
        m_workspace->setBackend(ComputeMenu::rememberedBackend());
    m_workspace->reset(std::move(document.scenario), std::move(document.view));
    restoreLayout();
    showTitle();
    if (!remembers)
        return;
    m_autosave = new Autosave(*m_workspace, Autosave::defaultFolder(), this);
    connect(m_session, &DocumentSession::stateChanged, m_autosave,
            [this] { m_autosave->setDocument(m_session->path()); });
    connect(m_session, &DocumentSession::recovered, m_autosave, &Autosave::adopt);
}

// What goes down with the window must not be heard by it any more.
MainWindow::~MainWindow() {
    delete m_autosave;
    m_session->disconnect(this);
    m_stage->heatmap()->disconnect(m_status); // it hides before it goes, and tells that nothing is pointed at
    m_workspace->disconnect();
    m_workspace->undoStack()->disconnect();
}

void MainWindow::connectWorkspace() {
    connect(m_workspace, &Workspace::failed, m_messages, &MessageStrip::say);
    connect(m_workspace, &Workspace::traceChanged, m_messages, [this] { m_messages->say({}); });
    connect(m_workspace, &Workspace::scenarioChanged, this, &MainWindow::showTitle);
    connect(m_session, &DocumentSession::problem, m_messages, &MessageStrip::say);
    connect(m_session, &DocumentSession::written, this, &MainWindow::sayWritten);
    connect(m_session, &DocumentSession::scenarioSaved, this, [this] {
        if (!m_sentence->refusedText().isEmpty())
            m_messages->say(tr("Saved with the text of the result below, “%1”: the one in the field cannot be used.")
                                .arg(fromUtf8(m_workspace->scenario().firstText())));
    });
    connect(m_session, &DocumentSession::taskChanged, m_status, &StatusLine::setTask);
    connect(m_session, &DocumentSession::taskProgressed, m_status, &StatusLine::setTaskProgress);
    connect(m_status, &StatusLine::taskCancelled, m_session, &DocumentSession::stopTask);
    connect(m_workspace, &Workspace::noted, m_messages, &MessageStrip::say);
    connect(m_session, &DocumentSession::tooLong, m_longText, &LongTextBar::offer);
    connect(m_session, &DocumentSession::textWasCut, m_longText, &LongTextBar::follow);
    connect(m_sentence, &SentenceBar::tooLong, m_longText, &LongTextBar::offer);
    connect(m_longText, &LongTextBar::problem, m_messages, &MessageStrip::say);
    connect(m_longText, &LongTextBar::wholeTextWanted, this, [this](const QString& text) {
        ModelSource toy;
        toy.name = "toy";
        m_session->useModel(toy, text);
    });
    connect(m_session, &DocumentSession::stateChanged, this, &MainWindow::showTitle);
    connect(m_stage->controls(), &ViewControls::problem, m_messages, &MessageStrip::say);
    connect(m_stage->controls(), &ViewControls::exportRequested, this, &MainWindow::showExport);
    connect(m_stage->heatmap(), &HeatmapPanel::described, m_status,
            [this](const QString& cell) { cell.isEmpty() ? m_status->clearMessage() : m_status->showMessage(cell); });
    connect(m_stage->links(), &LinksPanel::described, m_status, [this](const QString& links) {
        links.isEmpty() ? m_status->clearMessage() : m_status->showMessage(links);
    });
    connect(m_sentence, &SentenceBar::problem, m_messages, &MessageStrip::say);
    connect(m_sentence, &SentenceBar::hint, m_stage, &StagePanel::setHint);
    connect(m_sentence, &SentenceBar::usable, this, [this] {
        m_stage->setHint({});
        m_messages->say({});
    });
    connect(m_sentence, &SentenceBar::modelRequested, this, [this](const QString& name) {
        ModelSource source;
        source.name = toUtf8(name);
        useModel(source);
    });
    connect(m_sentence, &SentenceBar::openRequested, m_session, &DocumentSession::openByDialog);
    connect(m_sentence, &SentenceBar::toyOptionsRequested, this, &MainWindow::showToyOptions);
}

void MainWindow::restoreLayout() {
    resize(1366, 768);
    const QSettings settings;
    if (m_remembers)
        restoreGeometry(settings.value(QStringLiteral("geometry")).toByteArray());
    setLook(theme().dark, theme().projector);
    arrangeDocks();
    if (m_remembers)
        m_restored = restoreState(settings.value(QStringLiteral("docks")).toByteArray(), layoutVersion);
}

void MainWindow::setLook(bool dark, bool projector) {
    const bool otherRoom = projector != theme().projector;
    applyTheme(makeTheme(dark, projector));
    m_darkAction->setChecked(dark);
    m_projectorAction->setChecked(projector);
    if (!otherRoom)
        return;
    arrangeDocks(); // a projector shows the sentence, the stages and the picture alone
    constexpr int milliseconds = 8000;
    if (projector && isVisible())
        m_status->showMessage(tr("The picture alone; View > Panels brings the others back, F6 the desk"), milliseconds);
}

void MainWindow::showTitle() {
    setWindowTitle(tr("%1[*] – Headscope").arg(m_session->displayName()));
    setWindowModified(m_session->unsaved());
    m_status->setSaved(m_session->savedState());
}

void MainWindow::showExport() {
    if (!m_workspace->trace())
        return;
    FigureSpec spec = figureSpec(*m_workspace);
    if (m_stage->heatmap()->isVisible())
        spec.region = m_stage->heatmap()->view()->zoomedPart();
    ExportDialog dialog(figureSource(*m_workspace), spec, this);
    connect(&dialog, &ExportDialog::written, this, &MainWindow::sayWritten);
    dialog.exec();
}

void MainWindow::sayWritten(const QString& path) {
    constexpr int milliseconds = 6000;
    m_status->showMessage(tr("Written: %1").arg(path), milliseconds);
}

// A text that the present model refuses may suit the next one.
void MainWindow::useModel(const ModelSource& source) {
    const QString text = m_sentence->refusedText();
    text.isEmpty() ? m_session->useModel(source) : m_session->useModel(source, text);
}

void MainWindow::toggleMirror() {
    if (!m_mirror) {
        m_mirror = new MirrorWindow(*m_workspace, this);
        for (QAction* action : findChildren<QAction*>()) // its keys are those of the window, but for its own two
            if (!action->shortcut().isEmpty() && action->shortcut() != Qt::Key_Escape &&
                action->shortcut() != Qt::Key_F11)
                m_mirror->addAction(action);
    }
    m_mirror->isVisible() ? m_mirror->hide() : m_mirror->showOnOtherScreen();
}

void MainWindow::showWeight(const TensorId& id, int row, int col) {
    m_editDock->show();
    auto* tabs = m_editDock->findChild<QTabWidget*>();
    tabs->setCurrentWidget(m_weights);
    m_weights->reveal(id, row, col);
}

void MainWindow::copyCommand() {
    try {
        const Document document{m_workspace->scenario(), m_workspace->view()};
        const QString saved = m_session->unsaved() ? QString() : m_session->path();
        QApplication::clipboard()->setText(renderCommand(document, saved));
    } catch (const InputError& error) {
        m_messages->say(fromUtf8(error.what()));
    }
}

void MainWindow::showToyOptions() {
    ModelDialog dialog(m_workspace->scenario().source, this);
    if (dialog.exec() == QDialog::Accepted)
        m_session->useModel(dialog.source());
}

// Before the style has seen the widgets they ask for more room than they need, and showing makes the window taller. So
// its size is given again once it is shown, and the docks share what there is.
void MainWindow::setVisible(bool visible) {
    const QSize wanted = size();
    const bool first = visible && !isVisible();
    QMainWindow::setVisible(visible);
    if (!first)
        return;
    QTimer::singleShot(0, this, [this, wanted] {
        if (!(windowState() & (Qt::WindowMaximized | Qt::WindowFullScreen)))
            resize(wanted);
        if (!m_restored)
            sizeDocks();
    });
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (!m_session->mayDiscard())
        return event->ignore();
    if (m_remembers) {
        QSettings settings;
        settings.setValue(QStringLiteral("geometry"), saveGeometry());
        if (m_narrow && !m_wideLayout.isEmpty())
            restoreState(m_wideLayout); // a narrow window stacks them anew
        settings.setValue(QStringLiteral("docks"), saveState(layoutVersion));
        settings.setValue(QStringLiteral("dark"), theme().dark);
        settings.setValue(QStringLiteral("projector"), theme().projector);
    }
    if (m_autosave)
        m_autosave->discard(); // the user has said that it may go
    event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls() || event->mimeData()->hasText())
        event->acceptProposedAction();
}

// A file is opened, a text file read, a text used as the sentence.
void MainWindow::dropEvent(QDropEvent* event) {
    const QMimeData* dropped = event->mimeData();
    const QString path = dropped->hasUrls() ? dropped->urls().constFirst().toLocalFile() : QString();
    if (path.endsWith(QLatin1String(".txt"), Qt::CaseInsensitive)) {
        m_session->openTextFile(path);
    } else if (!path.isEmpty()) {
        m_session->open(path);
    } else if (dropped->hasText()) {
        m_session->openText(dropped->text());
    }
    event->acceptProposedAction();
}

// Opens the file in the window that is not shown yet. What is wrong with it is thrown as long as the user has seen
// nothing; what takes longer than a moment goes on under the user's eyes.
static void openBeforeShown(MainWindow& window, const QString& file) {
    DocumentSession& session = window.session();
    QString problem;
    QEventLoop loop;
    QObject::connect(&session, &DocumentSession::problem, &loop, [&problem](const QString& s) { problem = s; });
    QObject::connect(&session, &DocumentSession::taskChanged, &loop, [&loop](const QString& task) {
        if (task.isEmpty())
            loop.quit();
    });
    QTimer::singleShot(mostBeforeShown, &loop, &QEventLoop::quit);
    session.open(file);
    loop.exec();
    if (!problem.isEmpty())
        throw InputError(toUtf8(problem));
}

int runWindow(const QString& file, const QString& backend) {
    QApplication::setOrganizationName(QStringLiteral("Headscope"));
    QApplication::setApplicationName(QStringLiteral("headscope"));
    QApplication::setApplicationDisplayName(QStringLiteral("Headscope"));
    applyTheme(makeTheme(false, false));
    MainWindow window(firstDocument());
    if (!backend.isEmpty())
        window.workspace().setBackend(backend);
    if (!file.isEmpty())
        openBeforeShown(window, file);
    if (!QSettings().contains(QStringLiteral("geometry"))) { // with its frame on the screen
        constexpr QSize frame(4, 40);
        window.resize(window.size().boundedTo(window.screen()->availableSize() - frame));
    }
    window.show();
    QTimer::singleShot(0, &window, [&window] { window.session().offerRecovery(Autosave::defaultFolder()); });
    return QApplication::exec();
}

} // namespace headscope
