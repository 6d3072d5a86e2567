// OffscreenApplication: the QApplication of a command that draws. Commands need no display, so they never use one.
#pragma once

#include <QApplication>
#include <memory>

namespace headscope::cli {

// Fonts and pictures need a QApplication; one that is already there (a test's) is used.
class OffscreenApplication {
public:
    OffscreenApplication();
    ~OffscreenApplication();
    OffscreenApplication(const OffscreenApplication&) = delete;
    OffscreenApplication& operator=(const OffscreenApplication&) = delete;

private:
    std::unique_ptr<QApplication> m_application;
};

// Standard error belongs to `headscope: ...`: what libraries say is dropped, and a fatal error becomes one such line.
void silenceQtMessages();

} // namespace headscope::cli
