// Theme: the few colours and sizes of the window, light or dark, for a desk or for a projector. Widgets that paint
// themselves read theme(); the others follow the palette and the style sheet. Not here: colours of data (ui/render).
#pragma once

#include <QColor>
#include <QFont>

namespace headscope {

struct Theme {
    bool dark = false;
    bool projector = false; // large type, high contrast
    QColor window;          // behind the cards
    QColor surface;         // cards, menus
    QColor field;           // what is typed into
    QColor border;
    QColor text;
    QColor muted;    // everything that is said beside the data
    QColor accent;   // what is pinned, everywhere
    QColor selected; // background of the chosen stage, head, button
    QColor selectedText;

    bool operator==(const Theme&) const = default;
};

Theme makeTheme(bool dark, bool projector);
const Theme& theme();                   // the current one
void applyTheme(const Theme& newTheme); // to the whole application: style, palette, font, style sheet

QFont scaledFont(double factor, bool bold = false); // of the application's font

} // namespace headscope
