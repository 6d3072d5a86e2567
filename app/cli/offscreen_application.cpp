#ifdef HEADSCOPE_WITH_UI
#include "app/cli/offscreen_application.h"

#include "app/cli/run.h"

#include <cstdlib>
#include <iostream>

namespace headscope::cli {

namespace {

// Before it gives up, Qt warns of the cause ("could not connect to display :0"); the last words only list its plugins.
void onMessage(QtMsgType type, const QMessageLogContext&, const QString& message) {
    static QString cause;
    if (type == QtWarningMsg && cause.isEmpty() && message.contains(QLatin1String("display")))
        cause = message.simplified();
    if (type != QtFatalMsg)
        return;
    printFailure(std::cerr, "the window system cannot be used (" +
                                (cause.isEmpty() ? message.simplified() : cause).toStdString() +
                                "); `headscope render` and `headscope screenshot` need none");
    std::_Exit(1); // Qt would abort and leave a core dump
}

} // namespace

void silenceQtMessages() {
    qInstallMessageHandler(onMessage);
}

OffscreenApplication::OffscreenApplication() {
    silenceQtMessages();
    if (QCoreApplication::instance())
        return;
    m_application = std::make_unique<QApplication>(m_argc, m_argv.data());
}

OffscreenApplication::~OffscreenApplication() = default;

} // namespace headscope::cli
#endif
