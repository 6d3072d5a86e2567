#include "ui/mirror_window.h"

#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/widgets/picture_stack.h"
#include "ui/workspace.h"

#include <QGuiApplication>
#include <QKeyEvent>
#include <QLabel>
#include <QScreen>
#include <QVBoxLayout>

namespace headscope {

MirrorWindow::MirrorWindow(Workspace& workspace, QWidget* parent)
    : QWidget(parent, Qt::Window), m_workspace(workspace), m_title(new QLabel),
      m_pictures(new PictureStack(workspace)) {
    setWindowTitle(tr("Headscope, second screen"));
    setObjectName(QStringLiteral("card"));
    setAttribute(Qt::WA_StyledBackground);
    m_title->setTextFormat(Qt::RichText);
    m_title->setWordWrap(true);
    auto* column = new QVBoxLayout(this);
    column->addWidget(m_title);
    column->addWidget(m_pictures, 1);
    connect(&workspace, &Workspace::viewChanged, this, &MirrorWindow::refreshTitle);
    connect(&workspace, &Workspace::traceChanged, this, &MirrorWindow::refreshTitle);
    refreshTitle();
    resize(960, 720);
}

void MirrorWindow::refreshTitle() {
    const Scenario& scenario = m_workspace.scenario();
    if (!scenario.model)
        return;
    const View& view = m_workspace.view();
    m_title->setFont(scaledFont(1.3));
    m_title->setText(QStringLiteral("<b>%1</b> &nbsp; %2")
                         .arg(headTitle(scenario.model->config(), view.layer, view.heads.front()).toHtmlEscaped(),
                              stageFormula(scenario, view.layer, view.stage)));
}

void MirrorWindow::showOnOtherScreen() {
    const QScreen* own = parentWidget() ? parentWidget()->screen() : nullptr;
    for (const QScreen* screen : QGuiApplication::screens())
        if (own && screen != own) {
            setGeometry(screen->availableGeometry());
            return showFullScreen();
        }
    showNormal();
    raise();
}

void MirrorWindow::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_F11 && event->modifiers() == Qt::NoModifier)
        setWindowState(windowState() ^ Qt::WindowFullScreen);
    else if (event->key() == Qt::Key_Escape && isFullScreen())
        showNormal();
    else
        QWidget::keyPressEvent(event);
}

} // namespace headscope
