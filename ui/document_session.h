// DocumentSession: the file behind the workspace: open, save, recent files, the question before edits are lost. Opening
// and saving happen in the background and can be stopped; until they are done everything stays as it is. Not here: what
// files contain (core/exchange, core/model).
#pragma once

#include "core/exchange/scenario_file.h"
#include "ui/latest_wins.h"

#include <QObject>
#include <QStringList>

#include <functional>
#include <optional>

class QMenu;
class QWidget;

namespace headscope {

class Workspace;

// Any file that the window opens: a scenario, or a model to be used on `text`, or on the first part of it that the
// model takes. Throws InputError, LoadError, Cancelled.
Document openAnyFile(const QString& path, const QString& text, const OpenHooks& hooks = {});
// The first document of a fresh window: the default model on the first example.
Document firstDocument();
// The scenario with another model on the same texts, or on the first part that the model takes; the worked example
// brings its own sentence.
Scenario withModel(const Scenario& scenario, ModelSource source, const OpenHooks& hooks = {});

class DocumentSession : public QObject {
    Q_OBJECT
public:
    DocumentSession(Workspace& workspace, QWidget* window);

    const QString& path() const { return m_path; }
    QString displayName() const; // of the file, or "untitled"
    QString savedState() const;  // for the status line
    bool unsaved() const;

    void open(const QString& path); // asks before edits are lost
    void openByDialog();
    // False when it failed or the user gave it up. What takes longer than a moment (a large checkpoint is summed first)
    // goes on in the background: the document is saved as it was when it was asked for.
    bool save();
    bool saveAs();
    bool saveTo(const QString& path);
    void exportNumbers(); // asks for a file; writes in the background
    bool mayDiscard();    // true when nothing is unsaved, or the user says so; waits for what is being saved
    void useModel(const ModelSource& source);
    void useModel(const ModelSource& source, const QString& text); // on another text
    void stopTask();                        // what is being opened or saved is given up; everything stays as it is
    void openText(const QString& text);     // in place of the first one
    void openTextFile(const QString& path); // UTF-8
    // Offers what a crash has left behind (Autosave) and takes one up as an unsaved, undoable change without a file of
    // its own: what undo brings back is not what that file holds. The others wait for the next start.
    void offerRecovery(const QString& folder);

    void fillRecentMenu(QMenu* menu);
    void setRemembers(bool on) { m_remembers = on; } // recent files, folders: not while a screenshot is made

signals:
    void stateChanged();
    void problem(const QString& sentence);
    void recovered(const QString& path);   // what an autosave had: still only there
    void written(const QString& path);     // an export, which leaves no trace in the window
    void taskChanged(const QString& task); // "Opening model.gguf"; empty: done
    void taskProgressed(double fraction);
    void scenarioSaved();
    void savingEnded();
    void tooLong(const QString& text, const QString& why); // a text, for this model
    // A model was opened that takes only a part of this text, and shows it.
    void textWasCut(const QString& whole);

private:
    OpenHooks hooks(const std::stop_token& stop);
    void tellTask();
    void takeModel(const ModelSource& source, const Scenario& asked);
    void endSaving(const Outcome<QString>& outcome, const Scenario& saved);
    void waitForSaving(int milliseconds);
    bool finishSaving();
    void tellWhatWasCut(const std::string& text);
    void remember(const QString& path);
    QString folder() const;

    Workspace& m_workspace;
    QWidget* m_window;
    QString m_path;
    QStringList m_recent;
    bool m_remembers = true;
    QString m_openingTask, m_savingTask, m_exportingTask; // what is said of them
    QString m_ownText;                                    // the user's, before the worked example
    bool m_savedLast = true;                              // the last saving has worked
    LatestWins<Document> m_opening;
    LatestWins<Scenario> m_switching;
    LatestWins<QString> m_saving;    // the path
    LatestWins<QString> m_exporting; // the path
};

} // namespace headscope
