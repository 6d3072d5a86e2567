// CardTitle: the upper edge of a dock that looks like a card: its heading, and on it a button that hides the dock.
// Dragging it moves the dock; a double click lets it float. Without a heading only the edge is there to drag.
#pragma once

#include <QWidget>

class QDockWidget;

namespace headscope {

class CardTitle : public QWidget {
    Q_OBJECT
public:
    CardTitle(QDockWidget& dock, const QString& heading, int leftMargin, int rightMargin);
};

} // namespace headscope
