// MirrorWindow: the picture of the window once more, alone and large, for another screen: what is pinned, chosen and
// edited in the window is seen here at once. F11 fills the screen, Esc gives it back.
#pragma once

#include <QWidget>

class QLabel;

namespace headscope {

class PictureStack;
class Workspace;

class MirrorWindow : public QWidget {
    Q_OBJECT
public:
    explicit MirrorWindow(Workspace& workspace, QWidget* parent = nullptr);

    PictureStack* pictures() { return m_pictures; }
    void showOnOtherScreen(); // full screen where there is a second one

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    void refreshTitle();

    Workspace& m_workspace;
    QLabel* m_title;
    PictureStack* m_pictures;
};

} // namespace headscope
