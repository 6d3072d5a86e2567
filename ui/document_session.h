// DocumentSession: the file behind the workspace: open, save, recent files, the question before edits are lost. Opening
// happens in the background. Not here: what files contain (core/exchange, core/model).
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

// Any file that the window opens: a scenario, or a model to be used on `text`. Throws InputError or LoadError.
Document openAnyFile(const QString& path, const QString& text);
// The first document of a fresh window: the default model on the first example.
Document firstDocument();
// The scenario with another model on the same texts; the worked example brings its own sentence.
Scenario withModel(const Scenario& scenario, ModelSource source);

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
    bool save();
    bool saveAs();
    bool saveTo(const QString& path);
    bool mayDiscard(); // true when nothing is unsaved, or the user says so
    void useModel(const ModelSource& source);
    void stopOpening(); // what is being opened is forgotten; everything stays as it is
    void openText(const QString& text);
    // Offers what a crash has left behind (Autosave) and takes it up as an unsaved, undoable change; asks once a file.
    void offerRecovery(const QString& folder);

    void fillRecentMenu(QMenu* menu);
    void setRemembers(bool on) { m_remembers = on; } // recent files, folders: not while a screenshot is made

signals:
    void stateChanged();
    void problem(const QString& sentence);
    void taskChanged(const QString& task); // "Opening model.gguf"; empty: done

private:
    void remember(const QString& path);
    QString folder() const;

    Workspace& m_workspace;
    QWidget* m_window;
    QString m_path;
    QStringList m_recent;
    bool m_remembers = true;
    LatestWins<Document> m_opening;
    LatestWins<Scenario> m_switching;
};

} // namespace headscope
