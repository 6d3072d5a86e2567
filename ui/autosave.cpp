#include "ui/autosave.h"

#include "core/exchange/atomic_file.h"
#include "core/exchange/scenario_file.h"
#include "ui/stage_text.h"
#include "ui/workspace.h"

#include <QCoreApplication>
#include <QDir>
#include <QStandardPaths>

#include <ostream>

namespace headscope {

static QString lockOf(const QString& path) {
    return path + QStringLiteral(".lock");
}

static QString noteOf(const QString& path) {
    return path + QStringLiteral(".of");
}

Autosave::Autosave(Workspace& workspace, const QString& folder, QObject* parent)
    : QObject(parent), m_workspace(workspace),
      m_path(QDir(folder).filePath(QStringLiteral("%1.headscope").arg(QCoreApplication::applicationPid()))) {
    m_timer.setSingleShot(true);
    m_timer.setInterval(delayMilliseconds);
    connect(&m_timer, &QTimer::timeout, this, &Autosave::saveNow);
    connect(&workspace, &Workspace::scenarioChanged, this, [this] {
        if (!m_timer.isActive()) // counts from the first change, so that steady typing is saved too
            m_timer.start();
    });
    connect(workspace.undoStack(), &QUndoStack::cleanChanged, this, [this](bool clean) {
        if (clean)
            discard();
    });
}

Autosave::~Autosave() {
    discard();
}

bool Autosave::lock() {
    if (m_lock)
        return true;
    QDir().mkpath(QFileInfo(m_path).path());
    auto lock = std::make_unique<QLockFile>(lockOf(m_path));
    lock->setStaleLockTime(0); // however long the program runs
    if (!lock->tryLock(0))
        return false;
    m_lock = std::move(lock);
    return true;
}

void Autosave::adopt(const QString& left) {
    if (!lock() || left == m_path)
        return;
    remove(m_path);
    QFile::rename(left, m_path);
    QFile::rename(noteOf(left), noteOf(m_path));
}

void Autosave::saveNow() {
    if (m_workspace.undoStack()->isClean())
        return;
    if (!lock())
        return;
    const Document document{m_workspace.scenario(), m_workspace.view()};
    const auto work = [document, path = m_path, of = m_document](const std::stop_token& stop) {
        writeFileAtomically(toUtf8(noteOf(path)), [&of](std::ostream& out) { out << toUtf8(of); });
        saveScenario(document, toUtf8(path), {.progress = {}, .stop = stop});
        return true;
    };
    m_writing.submit(
        work, [](const Outcome<bool>&) {}, true); // disk full, no permission: the next change tries again
}

void Autosave::discard() {
    m_timer.stop();
    m_writing.stopAndWait();
    if (!m_lock)
        return;
    remove(m_path);
    m_lock.reset();
}

QString Autosave::documentOf(const QString& left) {
    QFile note(noteOf(left));
    return note.open(QIODevice::ReadOnly) ? QString::fromUtf8(note.readAll()) : QString();
}

void Autosave::remove(const QString& left) {
    QFile::remove(left);
    QFile::remove(noteOf(left));
}

QString Autosave::defaultFolder() {
    return QDir(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation)).filePath(QStringLiteral("autosave"));
}

QStringList Autosave::leftBehind(const QString& folder) {
    QStringList files;
    for (const QFileInfo& file : QDir(folder).entryInfoList({QStringLiteral("*.headscope")}, QDir::Files, QDir::Time)) {
        QLockFile lock(lockOf(file.filePath()));
        lock.setStaleLockTime(0);
        if (lock.tryLock(0)) // nobody holds it, or a program that is gone
            files << file.filePath();
    }
    return files;
}

} // namespace headscope
