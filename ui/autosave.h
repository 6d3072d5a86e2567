// Autosave: what is not saved yet, written to a file of the program's own some seconds after a change, so that a crash
// loses little. The file goes when the document is saved or the window closed; one that is still there without a
// running program behind it was left by a crash. Called by the window. Not here: the question whether to open it.
#pragma once

#include "ui/latest_wins.h"

#include <QLockFile>
#include <QObject>
#include <QStringList>
#include <QTimer>

#include <memory>

namespace headscope {

class Workspace;

class Autosave : public QObject {
    Q_OBJECT
public:
    static constexpr int delayMilliseconds = 10'000;

    // folder: is made when the first file is written.
    Autosave(Workspace& workspace, const QString& folder, QObject* parent = nullptr);
    ~Autosave() override;

    // In the background, since a large checkpoint is summed first. Does nothing when nothing is unsaved; a folder that
    // cannot be written to is no reason to disturb.
    void saveNow();
    void discard();
    void adopt(const QString& left); // work that was recovered: its file is this program's now, until it is saved
    void setDocument(const QString& file) { m_document = file; } // whose changes they are; empty: of none yet
    QString path() const { return m_path; }

    static QString defaultFolder(); // in the user's application data
    // Files of programs that run no more, the newest first.
    static QStringList leftBehind(const QString& folder);
    static QString documentOf(const QString& left); // the file whose changes are in such a file, or empty
    static void remove(const QString& left);

private:
    bool lock();

    Workspace& m_workspace;
    QString m_path, m_document;
    std::unique_ptr<QLockFile> m_lock; // held while the file is there and this program runs
    QTimer m_timer;
    LatestWins<bool> m_writing;
};

} // namespace headscope
