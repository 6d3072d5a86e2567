#include "ui/document_session.h"

#include "ui/autosave.h"
#include "ui/examples.h"
#include "ui/stage_text.h"
#include "ui/workspace.h"

#include <QDateTime>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMessageBox>
#include <QSettings>

namespace headscope {

static constexpr int mostRecent = 8;

static bool isScenarioFile(const QString& path) {
    return path.endsWith(QLatin1String(".headscope"), Qt::CaseInsensitive);
}

Document openAnyFile(const QString& path, const QString& text) {
    if (isScenarioFile(path))
        return openScenario(toUtf8(path));
    ScenarioRequest request;
    request.source.name = toUtf8(path);
    request.defaultText = toUtf8(text);
    View view;
    view.values = true;
    return {makeScenario(std::move(request)), view};
}

Document firstDocument() {
    ScenarioRequest request;
    request.text = toUtf8(examples().isEmpty() ? QStringLiteral("The cat sat on the mat") : examples().first().text);
    Document document{makeScenario(std::move(request)), View()};
    document.view.values = true;
    return document;
}

Scenario withModel(const Scenario& scenario, ModelSource source) {
    ScenarioRequest request;
    const bool worked = source.name == "worked-example";
    const bool leavesWorked = scenario.source.name == "worked-example" && !worked;
    source.cross = source.cross && source.name == "toy";
    request.text = worked ? std::string(workedExampleText()) : scenario.firstText();
    if (leavesWorked || !hasVisibleCharacter(*request.text))
        request.text = firstDocument().scenario.query.source;
    if (source.cross)
        request.pair = scenario.secondText().value_or(scenario.firstText());
    request.source = std::move(source);
    request.mask = scenario.mask;
    if (scenario.scale != ownScale(scenario.model->config())) // the new model has a scale of its own
        request.scale = scenario.scale;
    request.temperature = scenario.temperature;
    request.rules = scenario.rules;
    return makeScenario(std::move(request));
}

DocumentSession::DocumentSession(Workspace& workspace, QWidget* window)
    : QObject(window), m_workspace(workspace), m_window(window) {
    m_recent = QSettings().value(QStringLiteral("recentFiles")).toStringList();
    connect(workspace.undoStack(), &QUndoStack::cleanChanged, this, &DocumentSession::stateChanged);
}

QString DocumentSession::displayName() const {
    return m_path.isEmpty() ? tr("untitled") : QFileInfo(m_path).fileName();
}

bool DocumentSession::unsaved() const {
    return !m_workspace.undoStack()->isClean();
}

QString DocumentSession::savedState() const {
    if (unsaved())
        return tr("unsaved changes");
    return m_path.isEmpty() ? tr("not saved") : tr("saved");
}

void DocumentSession::open(const QString& path) {
    if (!mayDiscard())
        return;
    const QString text = fromUtf8(m_workspace.scenario().firstText());
    const auto work = [path, text](const std::stop_token& stop) {
        Document document = openAnyFile(path, text);
        if (stop.stop_requested())
            throw Cancelled();
        return document;
    };
    emit taskChanged(tr("Opening %1").arg(QFileInfo(path).fileName()));
    m_opening.submit(work, [this, path](const Outcome<Document>& outcome) {
        if (!m_opening.busy())
            emit taskChanged({});
        if (const auto* failure = std::get_if<Failure>(&outcome))
            emit problem(failure->sentence);
        const auto* document = std::get_if<Document>(&outcome);
        if (!document)
            return;
        m_path = isScenarioFile(path) ? path : QString();
        remember(path);
        m_workspace.reset(document->scenario, document->view);
        emit stateChanged();
    });
}

void DocumentSession::openByDialog() {
    const QString path = QFileDialog::getOpenFileName(
        m_window, tr("Open"), folder(),
        tr("All that Headscope reads (*.headscope *.safetensors *.gguf *.npz config.json);;Scenarios "
           "(*.headscope);;All files (*)"));
    const QFileInfo chosen(path);
    if (!path.isEmpty()) // a checkpoint is its whole folder, chosen by its config
        open(chosen.fileName() == QLatin1String("config.json") ? chosen.path() : path);
}

bool DocumentSession::save() {
    return m_path.isEmpty() ? saveAs() : saveTo(m_path);
}

bool DocumentSession::saveAs() {
    QString path = QFileDialog::getSaveFileName(m_window, tr("Save the scenario"), folder(),
                                                tr("Headscope scenarios (*.headscope)"));
    if (path.isEmpty())
        return false;
    if (!isScenarioFile(path))
        path += QLatin1String(".headscope");
    return saveTo(path);
}

bool DocumentSession::saveTo(const QString& path) {
    try {
        saveScenario({m_workspace.scenario(), m_workspace.view()}, toUtf8(path));
    } catch (const std::exception& error) {
        emit problem(fromUtf8(error.what()));
        return false;
    }
    m_path = path;
    m_workspace.undoStack()->setClean();
    remember(path);
    emit stateChanged();
    return true;
}

bool DocumentSession::mayDiscard() {
    if (!unsaved())
        return true;
    QMessageBox box(QMessageBox::Question, tr("Unsaved changes"),
                    tr("%1 has changes that are not saved.").arg(displayName()),
                    QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, m_window);
    box.setInformativeText(tr("Save them before going on?"));
    box.setDefaultButton(QMessageBox::Save);
    const int answer = box.exec();
    return answer == QMessageBox::Discard || (answer == QMessageBox::Save && save());
}

void DocumentSession::useModel(const ModelSource& source) {
    const Scenario scenario = m_workspace.scenario();
    const auto work = [scenario, source](const std::stop_token& stop) {
        Scenario next = withModel(scenario, source);
        if (stop.stop_requested())
            throw Cancelled();
        return next;
    };
    emit taskChanged(tr("Opening %1").arg(fromUtf8(source.name)));
    m_switching.submit(work, [this, source](const Outcome<Scenario>& outcome) {
        if (!m_switching.busy())
            emit taskChanged({});
        if (const auto* failure = std::get_if<Failure>(&outcome))
            emit problem(failure->sentence);
        else if (const auto* next = std::get_if<Scenario>(&outcome))
            m_workspace.edit(tr("Use the model %1").arg(fromUtf8(source.name)), *next);
    });
}

void DocumentSession::stopOpening() {
    m_opening.cancel();
    m_switching.cancel();
    emit taskChanged({});
}

void DocumentSession::openText(const QString& text) {
    try {
        const QString line = text.simplified();
        m_workspace.edit(tr("Drop a text"), withTexts(m_workspace.scenario(), toUtf8(line), std::nullopt));
    } catch (const InputError& error) {
        emit problem(fromUtf8(error.what()));
    }
}

void DocumentSession::offerRecovery(const QString& folder) {
    for (const QString& path : Autosave::leftBehind(folder)) {
        QMessageBox box(QMessageBox::Question, tr("Unsaved work found"),
                        tr("Headscope ended without saving, at %1.")
                            .arg(QLocale().toString(QFileInfo(path).lastModified(), QLocale::ShortFormat)),
                        QMessageBox::Open | QMessageBox::Discard, m_window);
        box.setInformativeText(tr("Open what was there? It is not kept otherwise."));
        box.setDefaultButton(QMessageBox::Open);
        if (box.exec() == QMessageBox::Open) {
            try {
                const Document document = openScenario(toUtf8(path));
                m_workspace.edit(tr("Recover unsaved work"), document.scenario);
                m_workspace.setView(document.view);
            } catch (const std::exception& error) {
                emit problem(fromUtf8(error.what()));
                continue; // the file stays
            }
        }
        QFile::remove(path);
    }
}

QString DocumentSession::folder() const {
    return m_path.isEmpty() ? QSettings().value(QStringLiteral("folder")).toString() : QFileInfo(m_path).path();
}

void DocumentSession::remember(const QString& path) {
    const QString full = QFileInfo(path).absoluteFilePath();
    m_recent.removeAll(full);
    m_recent.prepend(full);
    m_recent = m_recent.mid(0, mostRecent);
    if (!m_remembers)
        return;
    QSettings settings;
    settings.setValue(QStringLiteral("recentFiles"), m_recent);
    settings.setValue(QStringLiteral("folder"), QFileInfo(full).path());
}

void DocumentSession::fillRecentMenu(QMenu* menu) {
    menu->clear();
    for (const QString& path : m_recent) {
        QAction* action = menu->addAction(QFileInfo(path).fileName());
        action->setToolTip(path);
        connect(action, &QAction::triggered, this, [this, path] { open(path); });
    }
    if (m_recent.isEmpty())
        menu->addAction(tr("no recent files"))->setEnabled(false);
}

} // namespace headscope
