// OffscreenApplication: the QApplication of a command that draws. Commands need no display, so they never use one.
#pragma once

#include <QApplication>
#include <array>
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
    // Qt keeps references to these, and takes out what it understood.
    std::array<char, 10> m_program{"headscope"};
    std::array<char, 10> m_option{"-platform"};
    std::array<char, 10> m_platform{"offscreen"};
    std::array<char*, 4> m_argv{m_program.data(), m_option.data(), m_platform.data(), nullptr};
    int m_argc = 3;
    std::unique_ptr<QApplication> m_application;
};

// Standard error belongs to `headscope: ...`: what libraries say is dropped, and a fatal error becomes one such line.
void silenceQtMessages();

} // namespace headscope::cli
