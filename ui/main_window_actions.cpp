// The actions of MainWindow: every one is in a menu. What an action does is one line here or a function of its own.
#include "ui/main_window.h"

#include "ui/compute_menu.h"
#include "ui/copying.h"
#include "ui/dialogs/about_dialog.h"
#include "ui/document_session.h"
#include "ui/examples.h"
#include "ui/stage_text.h"
#include "ui/unchangeable.h"
#include "ui/widgets/cell_menu.h"
#include "ui/widgets/found_list.h"
#include "ui/widgets/head_grid.h"
#include "ui/widgets/heatmap_panel.h"
#include "ui/widgets/mask_brush.h"
#include "ui/widgets/message_strip.h"
#include "ui/widgets/rules_panel.h"
#include "ui/widgets/sentence_bar.h"
#include "ui/widgets/site_switch.h"
#include "ui/widgets/stage_panel.h"
#include "ui/widgets/stage_stepper.h"
#include "ui/widgets/status_line.h"
#include "ui/widgets/ticked.h"
#include "ui/widgets/token_chips.h"
#include "ui/widgets/view_controls.h"
#include "ui/widgets/weight_editor.h"

#include <QActionGroup>
#include <QDockWidget>
#include <QMenuBar>
#include <QSettings>

#include <algorithm>

namespace headscope {

QAction* MainWindow::add(QMenu* menu, const QString& text, const QKeySequence& key, const QString& tip,
                         const std::function<void()>& run) {
    QAction* action = menu->addAction(text);
    action->setShortcut(key);
    action->setToolTip(tip);
    action->setStatusTip(QString());
    connect(action, &QAction::triggered, this, run);
    return action;
}

// An action that changes what is computed: not there for attention that was captured elsewhere, and why.
void MainWindow::needsModel(QAction* action) {
    const QString tip = action->toolTip();
    connect(m_workspace, &Workspace::scenarioChanged, action, [this, action, tip] {
        const QString why = whyUnchangeable(m_workspace->scenario());
        action->setEnabled(why.isEmpty());
        action->setToolTip(why.isEmpty() ? tip : why);
    });
}

void MainWindow::createActions() {
    createFileMenu();
    createEditMenu();
    createModelMenu();
    createViewMenu();
    createLearnMenu();
    createHelpMenu();
}

static QMenuBar* barOf(QMainWindow* window) {
    return window->menuWidget()->findChild<QMenuBar*>();
}

static QMenu* addMenu(QMainWindow* window, const QString& title) {
    QMenu* menu = barOf(window)->addMenu(title);
    menu->setToolTipsVisible(true);
    return menu;
}

void MainWindow::createFileMenu() {
    QMenu* menu = addMenu(this, tr("&File"));
    add(menu, tr("&Open…"), QKeySequence::Open, tr("A scenario, an attention module or a text"),
        [this] { m_session->openByDialog(); });
    QMenu* recent = menu->addMenu(tr("Open &recent"));
    recent->setToolTipsVisible(true);
    connect(recent, &QMenu::aboutToShow, this, [this, recent] { m_session->fillRecentMenu(recent); });
    menu->addSeparator();
    add(menu, tr("&Save"), QKeySequence::Save, tr("Everything that decides these numbers, in one small file"),
        [this] { m_session->save(); });
    add(menu, tr("Save &as…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S), tr("Save under another name"),
        [this] { m_session->saveAs(); });
    menu->addSeparator();
    add(menu, tr("&Export the figure…"), QKeySequence(Qt::CTRL | Qt::Key_E), tr("PNG, SVG or PDF, with a preview"),
        [this] { showExport(); });
    add(menu, tr("Export the &numbers…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_E),
        tr("Every stage for numpy or as JSON, or the shown matrix for a spreadsheet"),
        [this] { m_session->exportNumbers(); });
    add(menu, tr("&Print…"), QKeySequence::Print, tr("The figure on paper"),
        [this] { printFigure(*m_workspace, this); });
    menu->addSeparator();
    add(menu, tr("&Quit"), QKeySequence(Qt::CTRL | Qt::Key_Q), tr("Close the window"), [this] { close(); });
}

void MainWindow::createEditMenu() {
    QMenu* menu = addMenu(this, tr("&Edit"));
    QAction* undo = m_workspace->undoStack()->createUndoAction(this, tr("&Undo"));
    undo->setShortcut(QKeySequence::Undo);
    QAction* redo = m_workspace->undoStack()->createRedoAction(this, tr("&Redo"));
    redo->setShortcut(QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z));
    menu->addActions({undo, redo});
    menu->addSeparator();
    addCopyActions(menu);
    menu->addSeparator();
    addCellActions(menu);
    needsModel(add(menu, tr("&Switch head off or on"), QKeySequence(Qt::Key_F8), tr("The chosen heads hand on zeros"),
                   [this] { toggleHeads(*m_workspace); }));
    needsModel(add(menu, tr("Edit the &weights"), QKeySequence(Qt::CTRL | Qt::Key_G),
                   tr("The table of this head takes the keyboard"), [this] { showWeight({}, -1, -1); }));
    for (QMenu* choices : m_weights->menus()) {
        needsModel(menu->addMenu(choices));
        connect(choices, &QMenu::triggered, this, [this] { showWeight({}, -1, -1); });
    }
    needsModel(add(menu, tr("Edit the s&entence"), QKeySequence(Qt::CTRL | Qt::Key_L),
                   tr("Put the cursor into the sentence"), [this] { m_sentence->focusText(); }));
    QAction* second = add(menu, tr("&Add or remove the second text"), QKeySequence(Qt::CTRL | Qt::Key_2),
                          tr("Cross-attention: keys and values from another text"),
                          [this] { m_sentence->setSecondText(!m_workspace->scenario().secondText().has_value()); });
    connect(m_workspace, &Workspace::scenarioChanged, second, [this, second] {
        second->setEnabled(m_sentence->takesSecondText() || m_workspace->scenario().secondText().has_value());
    });
}

void MainWindow::addCopyActions(QMenu* menu) {
    add(menu, tr("Copy as &picture"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), tr("The figure, as exported"),
        [this] { copyPicture(*m_workspace); });
    add(menu, tr("Copy as &table"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_T),
        tr("The shown matrix with its labels, for a spreadsheet"), [this] { copyTable(*m_workspace); });
    add(menu, tr("Copy as &command"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_L),
        tr("The headscope line that draws this figure"), [this] { copyCommand(); });
}

// What changes cells of the attention itself: the brush, and the pinned cell's score and mask.
void MainWindow::addCellActions(QMenu* menu) {
    m_brush = new MaskBrush(*m_workspace, *m_stage->heatmap()->view());
    QAction* brush = menu->addAction(tr("&Paint the mask"));
    brush->setShortcut(QKeySequence(Qt::Key_F7));
    brush->setCheckable(true);
    brush->setToolTip(tr("Drag over cells of the heatmap to close or open them; Esc ends"));
    connect(brush, &QAction::toggled, this, [this](bool on) {
        m_brush->setOn(on);
        if (on)
            m_status->showMessage(tr("Drag over the heatmap to close or open cells; Space paints one, Esc ends"));
        else
            m_status->clearMessage();
    });
    needsModel(brush);
    connect(m_brush, &MaskBrush::toggled, brush, &QAction::setChecked);
    connect(m_brush, &MaskBrush::refused, this, [this](const QString& sentence, const QString& wayOut) {
        m_messages->offer(sentence, wayOut, [this] { m_brush->takeWayOut(); });
    });
    const auto withPinned = [this](const std::function<void(CellRef)>& run) {
        const View& view = m_workspace->view();
        if (view.cell && isTokenByToken(view.stage))
            run(*view.cell);
        else
            m_messages->say(tr("Pin a cell of the scores or weights first: click it in the heatmap."));
    };
    needsModel(add(menu, tr("Set the s&core of the pinned cell…"), QKeySequence(Qt::Key_F4),
                   tr("Q·K, before scale and mask"),
                   [this, withPinned] { withPinned([this](CellRef cell) { askScore(*m_workspace, cell, this); }); }));
    needsModel(add(menu, tr("C&lose or open the pinned cell"), QKeySequence(Qt::CTRL | Qt::Key_K),
                   tr("In the mask of all heads"), [this, withPinned] {
                       withPinned([this](CellRef cell) {
                           const bool open = maskOf(m_workspace->scenario()).isOpen(cell.row, cell.col);
                           setMaskCell(*m_workspace, cell, !open);
                       });
                   }));
    needsModel(add(menu, tr("Restore &all cells"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_K),
                   tr("No painted cell and no set score any more"), [this] { restoreEveryCell(*m_workspace); }));
}

void MainWindow::createModelMenu() {
    QMenu* menu = addMenu(this, tr("&Model"));
    int number = 1;
    for (const BuiltinModel& model : builtinModels()) {
        ModelSource source;
        source.name = model.name;
        QAction* action =
            add(menu, fromUtf8(model.name), QKeySequence(Qt::ALT | static_cast<Qt::Key>(Qt::Key_0 + number++)),
                fromUtf8(model.what), [this, source] { useModel(source); });
        tickWhere(menu, action, [this, name = source.name] { return m_workspace->scenario().source.name == name; });
    }
    menu->addSeparator();
    add(menu, tr("&Options of toy…"), QKeySequence(Qt::CTRL | Qt::Key_M), tr("Sizes, seed, positions, biases"),
        [this] { showToyOptions(); });
    add(menu, tr("Open a model &file…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O),
        tr("A checkpoint (GGUF, hub folder) or an attention module as saved from PyTorch"),
        [this] { m_session->openByDialog(); });
    menu->addSeparator();
    for (QMenu* choices : m_stage->controls()->computeMenus())
        menu->addMenu(choices);
    menu->addSeparator();
    menu->addMenu(new ComputeMenu(*m_workspace, m_remembers, this));
    add(menu, tr("Compute &again"), QKeySequence(Qt::Key_F9), tr("After Stop, or after a failure"),
        [this] { m_workspace->compute(); });
    add(menu, tr("Stop &computing"), QKeySequence(Qt::CTRL | Qt::Key_Period), tr("The last result stays"),
        [this] { m_workspace->cancel(); });
}

void MainWindow::goToHead(int layers, int heads) {
    const SharedModel& model = m_workspace->scenario().model;
    View view = m_workspace->view();
    view.layer.value = std::clamp(view.layer.value + layers, 0, model->config().layers - 1);
    view.heads = {HeadIndex{std::clamp(view.heads.front().value + heads, 0, model->config().heads - 1)}};
    m_workspace->setView(view);
}

// One step of the view: a copy of it, changed, replaces it.
void MainWindow::changeView(const std::function<void(View&)>& change) {
    View view = m_workspace->view();
    change(view);
    m_workspace->setView(view);
}

void MainWindow::createViewMenu() {
    QMenu* menu = addMenu(this, tr("&View"));
    addFigureActions(menu);
    menu->addSeparator();
    for (QMenu* choices : m_found->menus())
        menu->addMenu(choices);
    addSiteActions(menu->addMenu(tr("&Where it attends")));
    QMenu* go = menu->addMenu(tr("&Go to"));
    add(go, tr("Next head"), QKeySequence(Qt::CTRL | Qt::Key_Right), QString(), [this] { goToHead(0, 1); });
    add(go, tr("Previous head"), QKeySequence(Qt::CTRL | Qt::Key_Left), QString(), [this] { goToHead(0, -1); });
    add(go, tr("Next layer"), QKeySequence(Qt::CTRL | Qt::Key_Down), QString(), [this] { goToHead(1, 0); });
    add(go, tr("Previous layer"), QKeySequence(Qt::CTRL | Qt::Key_Up), QString(), [this] { goToHead(-1, 0); });
    menu->addSeparator();
    addWindowActions(menu);
}

// What is drawn, and how its words are.
void MainWindow::addFigureActions(QMenu* menu) {
    int number = 1;
    const std::pair<FigureKind, QString> kinds[] = {{FigureKind::Heatmap, tr("&Heatmap")},
                                                    {FigureKind::Links, tr("&Links")},
                                                    {FigureKind::Walk, tr("&Walk")},
                                                    {FigureKind::Stages, tr("&Stages of this head")},
                                                    {FigureKind::Grid, tr("All hea&ds")}};
    for (const auto& [kind, text] : kinds) {
        QAction* action = add(menu, text, QKeySequence(Qt::CTRL | Qt::ALT | static_cast<Qt::Key>(Qt::Key_0 + number++)),
                              QString(), [this, kind = kind] {
                                  m_workspace->showFigure(kind);
                                  m_stage->focusPicture();
                              });
        tickWhere(menu, action, [this, kind = kind] { return m_workspace->view().figure == kind; });
        if (kind == FigureKind::Walk || kind == FigureKind::Stages)
            needsModel(action);
    }
    QAction* numbers =
        add(menu, tr("&Numbers in cells"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_V), tr("Where they fit"),
            [this] { changeView([](View& view) { view.values = !view.values; }); });
    tickWhere(menu, numbers, [this] { return m_workspace->view().values; });
    addZoomActions(menu->addMenu(tr("&Zoom")));
    for (QMenu* choices : m_stage->controls()->pictureMenus())
        menu->addMenu(choices);
    QMenu* special = menu->addMenu(tr("Spe&cial tokens"));
    for (const auto& [how, text] : TokenChips::specialChoices())
        tickWhere(special,
                  add(special, text, QKeySequence(), QString(),
                      [this, how = how] { changeView([how](View& view) { view.special = how; }); }),
                  [this, how = how] { return m_workspace->view().special == how; });
    QAction* words = add(menu, tr("Merge pieces into &words"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_W),
                         tr("Weights: the sum over the keys of a word, the mean over its queries"),
                         [this] { changeView([](View& view) { view.words = !view.words; }); });
    tickWhere(menu, words, [this] { return m_workspace->view().words; });
}

// Of the heatmap, which takes + - and 0 itself where it has the keyboard.
void MainWindow::addZoomActions(QMenu* menu) {
    HeatmapView* view = m_stage->heatmap()->view();
    add(menu, tr("Zoom &in"), QKeySequence::ZoomIn, tr("Or the wheel over the heatmap"), [view] { view->zoomIn(); });
    add(menu, tr("Zoom &out"), QKeySequence::ZoomOut, QString(), [view] { view->zoomOut(); });
    add(menu, tr("&Everything"), QKeySequence(Qt::CTRL | Qt::Key_0), tr("Or a double click"),
        [view] { view->resetZoom(); });
}

// The three places of an encoder-decoder; for other models there is nothing to choose.
void MainWindow::addSiteActions(QMenu* sites) {
    for (const auto& [site, name] : SiteSwitch::sites())
        add(sites, name, QKeySequence(), QString(), [this, site = site] { m_workspace->setSite(site); });
    connect(m_workspace, &Workspace::scenarioChanged, sites, [this, sites] {
        const SharedModel& model = m_workspace->scenario().model;
        sites->menuAction()->setEnabled(model && model->config().site);
    });
}

// The window itself: its look and its parts.
void MainWindow::addWindowActions(QMenu* menu) {
    m_darkAction = menu->addAction(tr("&Dark"));
    m_darkAction->setShortcut(QKeySequence(Qt::CTRL | Qt::Key_D));
    m_projectorAction = menu->addAction(tr("&Projector: large type, high contrast"));
    m_projectorAction->setShortcut(QKeySequence(Qt::Key_F6));
    for (QAction* action : {m_darkAction, m_projectorAction}) {
        action->setCheckable(true);
        connect(action, &QAction::triggered, this,
                [this] { setLook(m_darkAction->isChecked(), m_projectorAction->isChecked()); });
    }
    add(menu, tr("&Full screen"), QKeySequence(Qt::Key_F11), QString(),
        [this] { setWindowState(windowState() ^ Qt::WindowFullScreen); });
    menu->addSeparator();
    add(menu, tr("&Mirror on another screen"), QKeySequence(Qt::SHIFT | Qt::Key_F11),
        tr("The picture alone, in a window of its own"), [this] { toggleMirror(); });
    menu->addSeparator();
    int dockNumber = 2;
    QMenu* panels = menu->addMenu(tr("P&anels"));
    for (QDockWidget* dock : docks()) {
        QAction* action = dock->toggleViewAction();
        action->setShortcut(QKeySequence(Qt::SHIFT | static_cast<Qt::Key>(Qt::Key_F1 + dockNumber++)));
        panels->addAction(action);
    }
    add(menu, tr("&Reset the layout"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_R), tr("As on the first day"),
        [this] { arrangeDocks(); });
}

void MainWindow::createLearnMenu() {
    QMenu* menu = addMenu(this, tr("&Learn"));
    StageStepper* stepper = m_stage->stepper();
    add(menu, tr("&Next stage"), QKeySequence(Qt::ALT | Qt::Key_Right), QString(), [stepper] { stepper->next(); });
    add(menu, tr("&Back one stage"), QKeySequence(Qt::ALT | Qt::Key_Left), QString(), [stepper] { stepper->back(); });
    add(menu, tr("&Play the stages"), QKeySequence(Qt::Key_F5), tr("One after the other; again to stop"),
        [stepper] { stepper->setPlaying(!stepper->playing()); });
    addPaceActions(menu->addMenu(tr("Play &speed")));
    QMenu* rules = menu->addMenu(tr("Class &rules: break it"));
    connect(rules, &QMenu::aboutToShow, m_rules, [this, rules] { m_rules->fillMenu(*rules); });
    menu->addSeparator();
    for (const Example& example : examples()) {
        QAction* action = menu->addAction(example.title);
        action->setToolTip(example.shows);
        connect(action, &QAction::triggered, this, [this, example] { m_sentence->showExample(example); });
        needsModel(action);
    }
}

void MainWindow::addPaceActions(QMenu* speed) {
    StageStepper* stepper = m_stage->stepper();
    const QString key = QStringLiteral("playPace");
    if (m_remembers)
        stepper->setPace(QSettings().value(key, stepper->pace()).toInt());
    auto* paces = new QActionGroup(speed);
    for (const auto& [text, pace] : {std::pair(tr("&Slow, 5 seconds a stage"), 5000),
                                     {tr("&Normal, 2½ seconds"), 2500},
                                     {tr("&Fast, 1 second"), 1000}}) {
        QAction* action = speed->addAction(text);
        action->setCheckable(true);
        action->setChecked(pace == stepper->pace());
        paces->addAction(action);
        connect(action, &QAction::triggered, stepper, [this, stepper, key, pace = pace] {
            stepper->setPace(pace);
            if (m_remembers)
                QSettings().setValue(key, pace);
        });
    }
}

void MainWindow::createHelpMenu() {
    QMenu* menu = addMenu(this, tr("&Help"));
    add(menu, tr("&Keys"), QKeySequence(Qt::Key_F1), tr("Every action with its key"), [this] {
        QList<QAction*> actions;
        for (const QAction* top : barOf(this)->actions())
            for (QAction* action : top->menu()->actions())
                actions += action->menu() ? action->menu()->actions() : QList<QAction*>{action};
        showShortcuts(this, actions);
    });
    add(menu, tr("&About Headscope"), QKeySequence(), QString(), [this] { showAbout(this); });
}

} // namespace headscope
