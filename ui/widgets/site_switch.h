// SiteSwitch: which attention of an encoder-decoder is looked at: the encoder's own, the decoder's own, or the
// decoder's to the source; and whether the target's rows are named by the word read or predicted. Hidden for every
// other model. Nothing is computed for it: one run has all three.
#pragma once

#include <QWidget>

#include "core/model/model.h" // after Qt: moc cannot read <compare> before a Qt header

class QButtonGroup;
class QToolButton;

namespace headscope {

class Workspace;

class SiteSwitch : public QWidget {
    Q_OBJECT
public:
    static QList<std::pair<Site, QString>> sites(); // and what they are called
    explicit SiteSwitch(Workspace& workspace, QWidget* parent = nullptr);

private:
    void refresh();

    Workspace& m_workspace;
    QButtonGroup* m_buttons; // by the number of the site
    QToolButton* m_predicted;
};

} // namespace headscope
