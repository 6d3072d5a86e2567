#include "ui/document_session.h"

#include "ui/autosave.h"
#include "ui/dialogs/save_path.h"
#include "ui/examples.h"
#include "ui/number_export.h"
#include "ui/stage_text.h"
#include "ui/workspace.h"

#include <QAbstractButton>
#include <QDateTime>
#include <QEventLoop>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMessageBox>
#include <QProgressDialog>
#include <QSettings>
#include <QTimer>

namespace headscope {

static constexpr int mostRecent = 8;

static bool isScenarioFile(const QString& path) {
    return path.endsWith(QLatin1String(".headscope"), Qt::CaseInsensitive);
}

Document openAnyFile(const QString& path, const QString& text, const OpenHooks& hooks) {
    if (isScenarioFile(path))
        return openScenario(toUtf8(path), hooks);
    ScenarioRequest request;
    request.source.name = toUtf8(path);
    request.defaultText = toUtf8(text);
    request.firstPart = true;
    View view;
    view.values = true;
    return {makeScenario(std::move(request), hooks), view};
}

Document firstDocument() {
    ScenarioRequest request;
    request.text = toUtf8(examples().isEmpty() ? QStringLiteral("The cat sat on the mat") : examples().first().text);
    Document document{makeScenario(std::move(request)), View()};
    document.view.values = true;
    return document;
}

Scenario withModel(const Scenario& scenario, ModelSource source, const OpenHooks& hooks) {
    ScenarioRequest request;
    const bool worked = source.name == "worked-example";
    const bool leavesWorked =
        scenario.source.name == "worked-example" && !worked && scenario.firstText() == workedExampleText();
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
    request.firstPart = true;
    return makeScenario(std::move(request), hooks);
}

DocumentSession::DocumentSession(Workspace& workspace, QWidget* window)
    : QObject(window), m_workspace(workspace), m_window(window) {
    m_recent = QSettings().value(QStringLiteral("recentFiles")).toStringList();
    connect(workspace.undoStack(), &QUndoStack::cleanChanged, this, &DocumentSession::stateChanged);
    connect(&workspace, &Workspace::documentChanged, this, [this] { m_ownText.clear(); });
}

QString DocumentSession::displayName() const {
    return m_path.isEmpty() ? tr("untitled") : QFileInfo(m_path).fileName();
}

bool DocumentSession::unsaved() const {
    return !m_workspace.undoStack()->isClean();
}

QString DocumentSession::savedState() const {
    if (m_saving.busy())
        return tr("saving");
    if (unsaved())
        return tr("unsaved changes");
    return m_path.isEmpty() ? tr("not saved") : tr("saved");
}

// The hooks of a job: how far it is is told on this thread. The job ends before this object does.
OpenHooks DocumentSession::hooks(const std::stop_token& stop) {
    const auto tell = [this](double fraction) {
        QMetaObject::invokeMethod(
            this, [this, fraction] { emit taskProgressed(fraction); }, Qt::QueuedConnection);
    };
    return {tell, stop};
}

void DocumentSession::tellTask() {
    if (m_saving.busy())
        emit taskChanged(m_savingTask);
    else if (m_exporting.busy())
        emit taskChanged(m_exportingTask);
    else
        emit taskChanged(m_opening.busy() || m_switching.busy() ? m_openingTask : QString());
}

void DocumentSession::stopTask() {
    if (m_saving.busy()) {
        m_saving.cancel();
    } else if (m_exporting.busy()) {
        m_exporting.cancel();
    } else {
        m_opening.cancel();
        m_switching.cancel();
    }
    emit taskChanged({});
}

void DocumentSession::tellWhatWasCut(const std::string& text) {
    const Scenario& scenario = m_workspace.scenario();
    if (!scenario.x && !scenario.model->captured() && scenario.firstText() != text)
        emit textWasCut(fromUtf8(text));
}

void DocumentSession::open(const QString& path) {
    if (!mayDiscard())
        return;
    const std::string text = m_workspace.scenario().firstText();
    const auto work = [this, path, text](const std::stop_token& stop) {
        Document document = openAnyFile(path, fromUtf8(text), hooks(stop));
        if (stop.stop_requested())
            throw Cancelled();
        return document;
    };
    m_openingTask = tr("Opening %1").arg(QFileInfo(path).fileName());
    m_opening.submit(work, [this, path, text](const Outcome<Document>& outcome) {
        if (const auto* failure = std::get_if<Failure>(&outcome))
            emit problem(failure->sentence);
        tellTask();
        const auto* document = std::get_if<Document>(&outcome);
        if (!document)
            return;
        m_path = isScenarioFile(path) ? QFileInfo(path).absoluteFilePath() : QString();
        remember(path);
        m_workspace.reset(document->scenario, document->view);
        emit stateChanged();
        if (!isScenarioFile(path))
            tellWhatWasCut(text);
    });
    tellTask();
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
    const QString path =
        askSavePath(m_window, tr("Save the scenario"), folder(), {tr("Headscope scenarios (*.headscope)")});
    if (path.isEmpty())
        return false;
    return saveTo(path);
}

bool DocumentSession::saveTo(const QString& path) {
    const Document document{m_workspace.scenario(), m_workspace.view()};
    const auto work = [this, document, path](const std::stop_token& stop) {
        saveScenario(document, toUtf8(path), hooks(stop));
        return path;
    };
    m_savingTask = tr("Saving %1").arg(QFileInfo(path).fileName());
    m_saving.submit(
        work, [this, scenario = document.scenario](const Outcome<QString>& outcome) { endSaving(outcome, scenario); },
        true);
    waitForSaving(patienceMilliseconds);
    if (!m_saving.busy())
        return m_savedLast;
    tellTask();
    emit stateChanged();
    return true;
}

void DocumentSession::endSaving(const Outcome<QString>& outcome, const Scenario& saved) {
    m_savedLast = std::holds_alternative<QString>(outcome);
    if (const auto* failure = std::get_if<Failure>(&outcome))
        emit problem(failure->sentence);
    if (const auto* path = std::get_if<QString>(&outcome)) {
        m_path = *path;
        remember(m_path);
        if (saved == m_workspace.scenario()) // else it has been changed since
            m_workspace.undoStack()->setClean();
        emit scenarioSaved();
    }
    tellTask();
    emit stateChanged();
    emit savingEnded();
}

// What the user does meanwhile waits too.
void DocumentSession::waitForSaving(int milliseconds) {
    QEventLoop loop;
    connect(this, &DocumentSession::savingEnded, &loop, &QEventLoop::quit);
    QTimer::singleShot(milliseconds, &loop, &QEventLoop::quit);
    if (m_saving.busy())
        loop.exec(QEventLoop::ExcludeUserInputEvents);
}

// Before the document goes: what is being saved is waited for, with a dialog to give it up. False: it was not saved.
bool DocumentSession::finishSaving() {
    const auto busy = [this] { return m_saving.busy() || m_exporting.busy(); };
    if (!busy())
        return true;
    m_savedLast = m_savedLast || !m_saving.busy();
    QProgressDialog dialog(m_saving.busy() ? m_savingTask : m_exportingTask, tr("Cancel"), 0, 1000, m_window);
    if (!m_saving.busy())
        dialog.setRange(0, 0); // how far an export is nobody knows
    dialog.setWindowModality(Qt::WindowModal);
    dialog.setMinimumDuration(0);
    dialog.setAutoClose(false);
    dialog.setAutoReset(false);
    connect(this, &DocumentSession::taskProgressed, &dialog,
            [&dialog](double fraction) { dialog.setValue(static_cast<int>(1000 * fraction)); });
    connect(&dialog, &QProgressDialog::canceled, this, [this] { stopTask(); });
    QEventLoop loop;
    connect(this, &DocumentSession::savingEnded, &loop, [&] {
        if (!busy())
            loop.quit();
    });
    dialog.show();
    loop.exec();
    return m_savedLast;
}

void DocumentSession::exportNumbers() {
    const SharedTrace trace = m_workspace.trace();
    if (!trace)
        return emit problem(tr("There are no numbers yet; wait for the first result."));
    const QString path = askSavePath(m_window, tr("Export the numbers"), folder(),
                                     {tr("Every stage of every head, for numpy (*.npz)"),
                                      tr("Every stage of every head (*.json)"), tr("The shown matrix (*.csv)")});
    if (path.isEmpty())
        return;
    const View view = clampedView(m_workspace.view(), trace->scenario);
    m_exportingTask = tr("Writing %1").arg(QFileInfo(path).fileName());
    m_exporting.submit(
        [trace, view, path](const std::stop_token& stop) {
            writeNumbers(*trace, view, toUtf8(path), stop);
            return path;
        },
        [this](const Outcome<QString>& outcome) {
            if (const auto* failure = std::get_if<Failure>(&outcome))
                emit problem(failure->sentence);
            else if (const auto* finished = std::get_if<QString>(&outcome))
                emit written(*finished);
            tellTask();
            emit savingEnded();
        },
        true);
    tellTask();
}

// A letter is enough to answer.
static void nameButtons(QMessageBox& box) {
    const std::pair<QMessageBox::StandardButton, QString> names[] = {
        {QMessageBox::Save, DocumentSession::tr("&Save")},
        {QMessageBox::Open, DocumentSession::tr("&Open")},
        {QMessageBox::Discard, DocumentSession::tr("&Discard")},
        {QMessageBox::Cancel, DocumentSession::tr("&Cancel")}};
    for (const auto& [button, name] : names)
        if (QAbstractButton* b = box.button(button))
            b->setText(name);
}

bool DocumentSession::mayDiscard() {
    if (!finishSaving())
        return false;
    if (!unsaved())
        return true;
    QMessageBox box(QMessageBox::Question, tr("Unsaved changes"),
                    tr("%1 has changes that are not saved.").arg(displayName()),
                    QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, m_window);
    box.setInformativeText(tr("Save them before going on?"));
    nameButtons(box);
    box.setDefaultButton(QMessageBox::Save);
    const int answer = box.exec();
    return answer == QMessageBox::Discard || (answer == QMessageBox::Save && save() && finishSaving());
}

// The worked example brings its own sentence; behind it the user's comes back.
void DocumentSession::useModel(const ModelSource& source) {
    const Scenario& scenario = m_workspace.scenario();
    const bool isWorked = scenario.source.name == "worked-example";
    if (!isWorked)
        m_ownText = fromUtf8(scenario.firstText());
    if (isWorked && !m_ownText.isEmpty() && scenario.firstText() == workedExampleText())
        return useModel(source, m_ownText);
    takeModel(source, scenario);
}

void DocumentSession::useModel(const ModelSource& source, const QString& text) {
    Scenario scenario = m_workspace.scenario();
    (scenario.texts ? scenario.texts->source : scenario.query).source = toUtf8(text);
    m_ownText = text;
    takeModel(source, scenario);
}

// asked: its texts and settings are taken over.
void DocumentSession::takeModel(const ModelSource& source, const Scenario& asked) {
    const auto work = [this, asked, source](const std::stop_token& stop) {
        Scenario next = withModel(asked, source, hooks(stop));
        if (stop.stop_requested())
            throw Cancelled();
        return next;
    };
    m_openingTask = tr("Opening %1").arg(fromUtf8(source.name));
    m_switching.submit(work, [this, source, text = asked.firstText()](const Outcome<Scenario>& outcome) {
        if (const auto* failure = std::get_if<Failure>(&outcome))
            emit problem(failure->sentence);
        tellTask();
        const auto* next = std::get_if<Scenario>(&outcome);
        if (next && m_workspace.edit(tr("Use the model %1").arg(fromUtf8(source.name)), *next))
            tellWhatWasCut(text);
    });
    tellTask();
}

void DocumentSession::openText(const QString& text) {
    const QString line = text.simplified();
    try {
        m_workspace.edit(tr("Drop a text"), withTexts(m_workspace.scenario(), toUtf8(line), std::nullopt));
    } catch (const TextTooLong& error) {
        emit tooLong(line, fromUtf8(error.what()));
    } catch (const InputError& error) {
        emit problem(fromUtf8(error.what()));
    }
}

void DocumentSession::openTextFile(const QString& path) {
    constexpr qint64 longest = 1 << 20; // bytes: many times what any model takes
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly))
        emit problem(tr("%1: %2").arg(path, file.errorString()));
    else if (file.size() > longest)
        emit problem(tr("%1: a text has at most 1 MiB here, this file has %2; take a part of it")
                         .arg(path, QLocale().formattedDataSize(file.size())));
    else
        openText(QString::fromUtf8(file.readAll()));
}

void DocumentSession::offerRecovery(const QString& folder) {
    for (const QString& path : Autosave::leftBehind(folder)) {
        const QString of = Autosave::documentOf(path);
        QMessageBox box(QMessageBox::Question, tr("Unsaved work found"),
                        tr("Headscope ended without saving %1, at %2.")
                            .arg(of.isEmpty() ? tr("a new document") : QFileInfo(of).fileName(),
                                 QLocale().toString(QFileInfo(path).lastModified(), QLocale::ShortFormat)),
                        QMessageBox::Open | QMessageBox::Discard, m_window);
        nameButtons(box);
        box.setInformativeText(tr("Open what was there? It is not kept otherwise."));
        box.setDefaultButton(QMessageBox::Open);
        if (box.exec() == QMessageBox::Open) {
            try {
                const Document document = openScenario(toUtf8(path));
                m_workspace.edit(tr("Recover unsaved work"), document.scenario);
                m_workspace.setView(document.view);
                emit recovered(path);
                return Autosave::remove(path); // where nobody has adopted it
            } catch (const std::exception& error) {
                emit problem(fromUtf8(error.what()));
                continue; // the file stays
            }
        }
        Autosave::remove(path);
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
