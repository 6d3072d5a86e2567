#include "ui/theme.h"

#include <QApplication>
#include <QPalette>
#include <QStyleFactory>

namespace headscope {

Theme makeTheme(bool dark, bool projector) {
    Theme t;
    t.dark = dark;
    t.projector = projector;
    t.window = dark ? QColor(0x14, 0x16, 0x1b) : QColor(0xf1, 0xf3, 0xf5);
    t.surface = dark ? QColor(0x1d, 0x20, 0x27) : QColor(0xff, 0xff, 0xff);
    t.field = dark ? QColor(0x12, 0x14, 0x18) : QColor(0xf4, 0xf5, 0xf7);
    t.border = dark ? QColor(0x38, 0x3d, 0x48) : QColor(0xd9, 0xdd, 0xe2);
    t.text = dark ? QColor(0xea, 0xec, 0xef) : QColor(0x12, 0x15, 0x1a);
    t.muted = dark ? QColor(0xa4, 0xab, 0xb6) : QColor(0x5d, 0x65, 0x70);
    t.accent = dark ? QColor(0xff, 0x6b, 0x9a) : QColor(0xd2, 0x2a, 0x66);
    t.selected = dark ? QColor(0x2a, 0x36, 0x55) : QColor(0xe4, 0xec, 0xfb);
    t.selectedText = dark ? QColor(0x8c, 0xb0, 0xff) : QColor(0x1b, 0x52, 0xbd);
    if (projector) { // a projector washes greys out
        t.muted = dark ? QColor(0xd5, 0xd9, 0xe0) : QColor(0x33, 0x38, 0x40);
        t.border = dark ? QColor(0x70, 0x77, 0x85) : QColor(0x9a, 0xa1, 0xab);
    }
    return t;
}

static Theme& current() {
    static Theme t = makeTheme(false, false);
    return t;
}

const Theme& theme() {
    return current();
}

static QPalette paletteOf(const Theme& t) {
    QPalette p;
    p.setColor(QPalette::Window, t.window);
    p.setColor(QPalette::WindowText, t.text);
    p.setColor(QPalette::Base, t.surface);
    p.setColor(QPalette::AlternateBase, t.field);
    p.setColor(QPalette::Text, t.text);
    p.setColor(QPalette::PlaceholderText, t.muted);
    p.setColor(QPalette::Button, t.surface);
    p.setColor(QPalette::ButtonText, t.text);
    p.setColor(QPalette::ToolTipBase, t.surface);
    p.setColor(QPalette::ToolTipText, t.text);
    p.setColor(QPalette::Highlight, t.selectedText);
    p.setColor(QPalette::HighlightedText, t.surface);
    p.setColor(QPalette::Link, t.selectedText);
    p.setColor(QPalette::Mid, t.border);
    p.setColor(QPalette::Light, t.surface);
    p.setColor(QPalette::Midlight, t.border);
    p.setColor(QPalette::Dark, t.border);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
        QColor faded = t.muted;
        faded.setAlpha(150);
        p.setColor(QPalette::Disabled, role, faded);
    }
    return p;
}

// What Fusion does not give: flat cards, quiet buttons with round corners, a chosen button that is seen in the dark.
static QString styleSheetOf(const Theme& t) {
    QString sheet = QStringLiteral(R"(
        QMenuBar, QMenu, QStatusBar, #topBar { background: @surface; color: @text; }
        QMenuBar { padding: 2px 4px; border-bottom: 1px solid @border; }
        QMenuBar::item { padding: 3px 9px; background: transparent; border-radius: 4px; }
        QMenuBar::item:selected, QMenu::item:selected { background: @selected; color: @selectedText; }
        QMenu { border: 1px solid @border; padding: 4px; }
        QMenu::item { padding: 4px 24px 4px 20px; border-radius: 4px; }
        QMenu::item:disabled { color: @muted; }
        QMenu::separator { height: 1px; background: @border; margin: 4px 8px; }
        QStatusBar { border-top: 1px solid @border; color: @muted; }
        QStatusBar::item { border: none; }
        QStatusBar QLabel { color: @muted; }
        #topBar { border-bottom: 1px solid @border; }
        #card { background: @surface; border: 1px solid @border; border-radius: 7px; }
        #cardTop { background: @surface; border: 1px solid @border; border-bottom: none;
            border-top-left-radius: 7px; border-top-right-radius: 7px; }
        #cardBody { background: @surface; border: 1px solid @border; border-top: none;
            border-bottom-left-radius: 7px; border-bottom-right-radius: 7px; }
        #heading { color: @muted; font-weight: bold; }
        #muted { color: @muted; }
        #quiet { background: transparent; border: none; color: @muted; padding: 0 4px; }
        #quiet:hover { color: @text; }
        #strip { background: @selected; color: @text; border-bottom: 1px solid @border; }
        QToolButton, QPushButton { background: @surface; color: @text; border: 1px solid @border; border-radius: 6px;
            padding: 3px 6px; }
        QToolButton#small { padding: 3px 2px; }
        #weightEditor QToolButton { padding: 1px 2px; }
        #headGrid { selection-background-color: transparent; }
        #sentence { font-size: @sentenceptpt; padding: 4px 10px; }
        QToolButton::menu-indicator { image: none; width: 0; }
        QToolButton:hover, QPushButton:hover { border-color: @muted; }
        QToolButton:focus, QPushButton:focus { border-color: @selectedText; }
        QToolButton:checked, QPushButton:checked, QToolButton:pressed, QPushButton:pressed { background: @selected;
            color: @selectedText; border-color: @selectedText; }
        QToolButton:checked:focus, QPushButton:checked:focus { border-width: 2px; padding: 2px 5px; }
        #weightEditor QToolButton:checked:focus { padding: 0px 1px; }
        QToolButton#small:checked:focus { padding: 2px 1px; }
        QToolButton:disabled, QPushButton:disabled { color: @faded; }
        QLineEdit { background: @field; color: @text; border: 1px solid @border; border-radius: 6px; padding: 3px 8px;
            selection-background-color: @selectedText; selection-color: @surface; }
        QLineEdit:focus { border-color: @selectedText; }
        QToolTip { background: @surface; color: @text; border: 1px solid @border; padding: 3px; }
        QTreeView { show-decoration-selected: 1; }
        QTableView, QTreeView, QListView { background: @surface; border: none; gridline-color: @border; }
        QTreeView::item:selected, QListView::item:selected { background: @selected; color: @selectedText; }
        QHeaderView { background: @surface; border: none; }
        QHeaderView::section { background: @surface; color: @muted; border: none; padding: 1px 3px; }
        QTableView QTableCornerButton::section { background: @surface; border: none; }
        QScrollArea { background: transparent; border: none; }
        QScrollBar { background: transparent; border: none; margin: 0; }
        QScrollBar:vertical { width: 9px; }
        QScrollBar:horizontal { height: 9px; }
        QScrollBar::handle { background: @border; border-radius: 3px; margin: 1px; }
        QScrollBar::handle:vertical { min-height: 24px; }
        QScrollBar::handle:horizontal { min-width: 24px; }
        QScrollBar::handle:hover { background: @muted; }
        QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; border: none; }
        QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
        QTextBrowser { background: @surface; border: none; }
        QAbstractScrollArea::corner { background: transparent; border: none; }
        QCheckBox::indicator, QGroupBox::indicator, QAbstractItemView::indicator { width: 13px; height: 13px;
            border: 1px solid @muted; border-radius: 3px; background: @field; }
        QCheckBox::indicator:checked, QGroupBox::indicator:checked, QAbstractItemView::indicator:checked {
            border-color: @selectedText; background: @selectedText; image: url(:/@check.svg); }
        QCheckBox::indicator:focus { border-color: @selectedText; }
        QCheckBox::indicator:disabled { border-color: @faded; }
        QTabWidget::pane { border: none; }
        QTabBar { qproperty-drawBase: 0; }
        QTabBar QToolButton { padding: 0; border-radius: 3px; }
        QTabBar QToolButton::left-arrow { image: url(:/left.svg); }
        QTabBar QToolButton::right-arrow { image: url(:/right.svg); }
        QTabBar::tab { background: transparent; color: @muted; padding: 4px 8px; border: none;
            border-bottom: 2px solid transparent; }
        QTabBar::tab:selected { color: @selectedText; border-bottom: 2px solid @selectedText; }
        QTabBar::tab:focus { color: @text; }
        QSplitter::handle, QMainWindow::separator { background: @window; width: 8px; height: 4px; }
        QDockWidget { color: @muted; titlebar-close-icon: none; }
    )");
    QColor faded = t.muted;
    faded.setAlpha(150);
    const std::pair<const char*, QColor> colours[] = {
        {"@surface", t.surface},           {"@window", t.window},     {"@field", t.field}, {"@border", t.border},
        {"@selectedText", t.selectedText}, {"@selected", t.selected}, {"@muted", t.muted}, {"@text", t.text}};
    for (const auto& [name, colour] : colours)
        sheet.replace(QLatin1String(name), colour.name());
    sheet.replace(QLatin1String("@sentencept"), QString::number(QApplication::font().pointSizeF() * 1.15, 'f', 1));
    sheet.replace(QLatin1String("@check"), t.dark ? QLatin1String("check-dark") : QLatin1String("check-light"));
    return sheet.replace(QLatin1String("@faded"), faded.name(QColor::HexArgb));
}

void applyTheme(const Theme& newTheme) {
    static const double deskPoints = QApplication::font().pointSizeF();
    if (newTheme == current() && !qApp->styleSheet().isEmpty())
        return; // every widget there is would be styled and measured anew
    current() = newTheme;
    if (qApp->styleSheet().isEmpty())
        QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    QApplication::setPalette(paletteOf(newTheme));
    QFont font = QApplication::font();
    font.setPointSizeF(deskPoints * (newTheme.projector ? 1.4 : 1.0));
    QApplication::setFont(font);
    qApp->setStyleSheet(styleSheetOf(newTheme));
}

QFont scaledFont(double factor, bool bold) {
    QFont font = QApplication::font();
    font.setPointSizeF(font.pointSizeF() * factor);
    font.setBold(bold);
    return font;
}

} // namespace headscope
