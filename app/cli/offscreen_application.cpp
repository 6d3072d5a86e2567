#ifdef HEADSCOPE_WITH_UI
#include "app/cli/offscreen_application.h"

#include "app/cli/run.h"

#include <array>
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
    // Qt keeps references to argc and argv as long as the application lives.
    static std::array<char*, 4> argv{const_cast<char*>("headscope"), const_cast<char*>("-platform"),
                                     const_cast<char*>("offscreen"), nullptr};
    static int argc = 3;
    argc = 3;
    m_application = std::make_unique<QApplication>(argc, argv.data());
}

OffscreenApplication::~OffscreenApplication() = default;

} // namespace headscope::cli
#endif
