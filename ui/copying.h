// What leaves the window through the clipboard and the printer: the figure as a picture, the shown matrix as a table,
// the command that draws it.
#pragma once

#include "ui/render/figure.h"

#include <QString>

class QWidget;

class QPrinter;

namespace headscope {

class Workspace;

// The figure of the present view; dark follows the window. Null trace before the first result.
FigureSource figureSource(const Workspace& workspace);
FigureSpec figureSpec(const Workspace& workspace);

void copyPicture(const Workspace& workspace);
void copyTable(Workspace& workspace); // tab-separated, with labels; where it is too large that is noted
QString tableText(const Workspace& workspace);
void printFigure(const Workspace& workspace, QWidget* window);   // asks for a printer
void printFigure(const Workspace& workspace, QPrinter& printer); // as wide as the page, on white; ScreenResolution

} // namespace headscope
