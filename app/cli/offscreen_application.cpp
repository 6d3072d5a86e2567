#ifdef HEADSCOPE_WITH_UI
#include "app/cli/offscreen_application.h"

#include "app/cli/run.h"

#include <cstdlib>
#include <iostream>

namespace headscope::cli {

namespace {

void onMessage(QtMsgType type, const QMessageLogContext&, const QString& message) {
    if (type != QtFatalMsg)
        return;
    printFailure(std::cerr, "the window system cannot be used (" + message.simplified().toStdString() +
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
