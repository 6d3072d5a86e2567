#include "ui/main_window.h"

#include "ui/autosave.h"
#include "ui/copying.h"
#include "ui/dialogs/about_dialog.h"
#include "ui/dialogs/export_dialog.h"
#include "ui/dialogs/model_dialog.h"
#include "ui/document_session.h"
#include "ui/examples.h"
#include "ui/head_survey.h"
#include "ui/mirror_window.h"
#include "ui/render_command.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/widgets/card_title.h"
#include "ui/widgets/cell_inspector.h"
#include "ui/widgets/cell_menu.h"
#include "ui/widgets/cost_panel.h"
#include "ui/widgets/found_list.h"
#include "ui/widgets/head_grid.h"
#include "ui/widgets/heatmap_panel.h"
#include "ui/widgets/links_panel.h"
#include "ui/widgets/mask_brush.h"
#include "ui/widgets/next_word_panel.h"
#include "ui/widgets/rules_panel.h"
#include "ui/widgets/sentence_bar.h"
#include "ui/widgets/site_switch.h"
#include "ui/widgets/stage_panel.h"
#include "ui/widgets/stage_stepper.h"
#include "ui/widgets/status_line.h"
#include "ui/widgets/token_chips.h"
#include "ui/widgets/view_controls.h"
#include "ui/widgets/weight_editor.h"

#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFile>
#include <QIcon>
#include <QLabel>
#include <QMenuBar>
#include <QMimeData>
#include <QScrollArea>
#include <QSettings>
#include <QTabWidget>
#include <QTimer>
#include <QUndoView>
#include <QVBoxLayout>

#include <algorithm>

namespace headscope {

// Raised when the arrangement of the docks changes, so that an old saved layout is not forced onto it.
static constexpr int layoutVersion = 2;
static constexpr int windowMargin = 10;

MainWindow::MainWindow(Document document, bool remembers, QWidget* parent)
    : QMainWindow(parent), m_remembers(remembers), m_workspace(new Workspace(this)),
      m_survey(new HeadSurvey(*m_workspace, this)), m_session(new DocumentSession(*m_workspace, this)) {
    setWindowIcon(QIcon(QStringLiteral(":/headscope.svg")));
    setAcceptDrops(true);
    m_session->setRemembers(remembers);
    createTop();
    createDocks();
    createActions();
    connectWorkspace();
    m_workspace->reset(std::move(document.scenario), std::move(document.view));
    restoreLayout();
    showTitle();
    if (remembers)
        m_autosave = new Autosave(*m_workspace, Autosave::defaultFolder(), this);
}

// What goes down with the window must not be heard by it any more.
MainWindow::~MainWindow() {
    delete m_autosave;
    m_session->disconnect(this);
    m_workspace->disconnect();
    m_workspace->undoStack()->disconnect();
}

// Menu, sentence, tokens and messages run across the whole width, above the docks.
void MainWindow::createTop() {
    auto* top = new QWidget;
    auto* rows = new QVBoxLayout(top);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    auto* menu = new QMenuBar;
    m_sentence = new SentenceBar(*m_workspace);
    m_chips = new TokenChips(*m_workspace);
    m_messages = new MessageStrip;
    for (QWidget* row : {static_cast<QWidget*>(menu), static_cast<QWidget*>(m_sentence), static_cast<QWidget*>(m_chips),
                         static_cast<QWidget*>(m_messages)})
        rows->addWidget(row);
    rows->addSpacing(windowMargin - 2);
    setMenuWidget(top);
    m_stage = new StagePanel(*m_workspace);
    auto* center = new QWidget;
    auto* around = new QVBoxLayout(center);
    around->setContentsMargins(0, 0, 0, 4);
    around->addWidget(m_stage);
    setCentralWidget(center);
    m_status = new StatusLine(*m_workspace, *m_survey);
    setStatusBar(m_status);
}

// A dock that looks like a card; its heading drags it.
static QDockWidget* cardDock(QMainWindow* window, const QString& name, const QString& title, QWidget* content,
                             bool atLeft) {
    auto* dock = new QDockWidget(title, window);
    dock->setObjectName(name);
    const bool hasTabs = qobject_cast<QTabWidget*>(content) != nullptr; // a heading of their own
    dock->setTitleBarWidget(
        new CardTitle(*dock, hasTabs ? QString() : title, atLeft ? windowMargin : 0, atLeft ? 0 : windowMargin));
    auto* frame = new QWidget;
    auto* around = new QVBoxLayout(frame);
    around->setContentsMargins(atLeft ? windowMargin : 0, 0, atLeft ? 0 : windowMargin, 4);
    auto* card = new QFrame;
    card->setObjectName(QStringLiteral("cardBody"));
    auto* column = new QVBoxLayout(card);
    column->setContentsMargins(12, hasTabs ? 0 : 6, 12, 8);
    if (content->minimumHeight() == 0)
        content->setMinimumHeight(90); // the window stays whole on a small screen; contents scroll
    column->addWidget(content, 1);
    around->addWidget(card);
    dock->setWidget(frame);
    dock->setFeatures(QDockWidget::DockWidgetClosable | QDockWidget::DockWidgetMovable |
                      QDockWidget::DockWidgetFloatable);
    return dock;
}

// A page of a tab that may be taller than its dock.
static QWidget* scrolling(QWidget* page) {
    auto* area = new QScrollArea;
    area->setWidget(page);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->viewport()->setAutoFillBackground(false);
    page->setAutoFillBackground(false);
    return area;
}

void MainWindow::createDocks() {
    auto* heads = new QWidget;
    auto* column = new QVBoxLayout(heads);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    column->setSizeConstraint(QLayout::SetMinimumSize); // the heads say how much they need
    column->addWidget(new SiteSwitch(*m_workspace));
    column->addWidget(m_heads = new HeadGrid(*m_workspace, *m_survey));
    m_headsDock = cardDock(this, QStringLiteral("heads"), tr("Heads"), heads, true);
    connect(
        m_heads, &HeadGrid::heightNeeded, this,
        [this] {
            if (!m_restored)
                sizeHeads();
        },
        Qt::QueuedConnection);
    auto* found = new FoundList(*m_workspace, *m_survey);
    connect(found, &FoundList::kindChosen, m_heads, &HeadGrid::showKind);
    m_foundDock = cardDock(this, QStringLiteral("found"), tr("Found in this sentence"), found, true);
    auto* inspector = new CellInspector(*m_workspace);
    connect(inspector, &CellInspector::weightWanted, this, &MainWindow::showWeight);
    m_inspectorDock =
        cardDock(this, QStringLiteral("inspector"), tr("Arithmetic of the pinned cell"), inspector, false);
    auto* tabs = new QTabWidget;
    tabs->setDocumentMode(true);
    tabs->addTab(m_weights = new WeightEditor(*m_workspace), tr("Weights"));
    tabs->addTab(scrolling(new RulesPanel(*m_workspace)), tr("Class rules"));
    tabs->addTab(scrolling(new CostPanel(*m_workspace)), tr("Cost"));
    auto* nextWord = new NextWordPanel(*m_workspace);
    const int nextWordTab = tabs->addTab(nextWord, tr("Next word"));
    tabs->setTabVisible(nextWordTab, false);
    connect(nextWord, &NextWordPanel::available, tabs,
            [tabs, nextWordTab](bool predicts) { tabs->setTabVisible(nextWordTab, predicts); });
    m_editDock = cardDock(this, QStringLiteral("edit"), tr("Change it"), tabs, false);
    auto* history = new QUndoView(m_workspace->undoStack());
    history->setEmptyLabel(tr("as it was opened"));
    history->setAccessibleName(tr("Every change, to go back to"));
    m_historyDock = cardDock(this, QStringLiteral("history"), tr("Changes"), history, true);
}

QList<QDockWidget*> MainWindow::docks() const {
    return {m_headsDock, m_foundDock, m_inspectorDock, m_editDock, m_historyDock};
}

void MainWindow::arrangeDocks() {
    for (QDockWidget* dock : docks()) {
        dock->setFloating(false);
        removeDockWidget(dock);
    }
    addDockWidget(Qt::LeftDockWidgetArea, m_headsDock);
    addDockWidget(Qt::LeftDockWidgetArea, m_foundDock);
    addDockWidget(Qt::RightDockWidgetArea, m_inspectorDock);
    addDockWidget(Qt::RightDockWidgetArea, m_editDock);
    addDockWidget(Qt::LeftDockWidgetArea, m_historyDock);
    for (QDockWidget* dock : docks())
        dock->setVisible(!theme().projector && dock != m_historyDock);
    // A projector shows the picture alone, from edge to edge but for the margin.
    centralWidget()->layout()->setContentsMargins(theme().projector ? windowMargin : 0, 0,
                                                  theme().projector ? windowMargin : 0, 4);
    sizeDocks();
}

void MainWindow::sizeDocks() {
    resizeDocks({m_headsDock, m_inspectorDock}, {width() * 22 / 100, width() * 27 / 100}, Qt::Horizontal);
    const int room = height() - 150; // below the rows at the top
    sizeHeads();
    const int inspector = std::min(room * 52 / 100, 27 * fontMetrics().height()); // the arithmetic of most cells
    resizeDocks({m_inspectorDock, m_editDock}, {inspector, room - inspector}, Qt::Vertical);
}

// The heads take what they need, up to two thirds; what was found has the rest.
void MainWindow::sizeHeads() {
    const int room = height() - 150;
    const int around = m_headsDock->titleBarWidget()->sizeHint().height() + m_headsDock->widget()->sizeHint().height() -
                       std::min(m_heads->sizeHint().height(), m_heads->maximumHeight());
    const int heads = std::min(around + m_heads->maximumHeight(), room * 2 / 3);
    resizeDocks({m_headsDock, m_foundDock}, {heads, room - heads}, Qt::Vertical);
}

QAction* MainWindow::add(QMenu* menu, const QString& text, const QKeySequence& key, const QString& tip,
                         const std::function<void()>& run) {
    QAction* action = menu->addAction(text);
    action->setShortcut(key);
    action->setToolTip(tip);
    action->setStatusTip(QString());
    connect(action, &QAction::triggered, this, run);
    return action;
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
    add(menu, tr("Copy as &picture"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), tr("The figure, as exported"),
        [this] { copyPicture(*m_workspace); });
    add(menu, tr("Copy as &table"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_T),
        tr("The shown matrix with its labels, for a spreadsheet"), [this] { copyTable(*m_workspace); });
    add(menu, tr("Copy as &command"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_L),
        tr("The headscope line that draws this figure"), [this] { copyCommand(); });
    menu->addSeparator();
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
    connect(m_brush, &MaskBrush::toggled, brush, &QAction::setChecked);
    connect(m_brush, &MaskBrush::refused, m_messages, &MessageStrip::say);
    const auto withPinned = [this](const std::function<void(CellRef)>& run) {
        const View& view = m_workspace->view();
        if (view.cell && isTokenByToken(view.stage))
            run(*view.cell);
        else
            m_messages->say(tr("Pin a cell of the scores or weights first: click it in the heatmap."));
    };
    add(menu, tr("Set the s&core of the pinned cell…"), QKeySequence(Qt::Key_F4), tr("Q·K, before scale and mask"),
        [this, withPinned] { withPinned([this](CellRef cell) { askScore(*m_workspace, cell, this); }); });
    add(menu, tr("C&lose or open the pinned cell"), QKeySequence(Qt::CTRL | Qt::Key_K), tr("In the mask of all heads"),
        [this, withPinned] {
            withPinned([this](CellRef cell) {
                setMaskCell(*m_workspace, cell, !maskOf(m_workspace->scenario()).isOpen(cell.row, cell.col));
            });
        });
    add(menu, tr("Restore &all cells"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_K),
        tr("No painted cell and no set score any more"), [this] { restoreEveryCell(*m_workspace); });
    add(menu, tr("&Switch head off or on"), QKeySequence(Qt::Key_F8), tr("The chosen heads hand on zeros"),
        [this] { toggleHeads(*m_workspace); });
    add(menu, tr("Edit the &weights"), QKeySequence(Qt::CTRL | Qt::Key_G),
        tr("The table of this head takes the keyboard"), [this] {
            showWeight({m_workspace->view().layer, WeightKind::WQ}, -1, -1);
        });
    add(menu, tr("Edit the s&entence"), QKeySequence(Qt::CTRL | Qt::Key_L), tr("Put the cursor into the sentence"),
        [this] { m_sentence->focusText(); });
    QAction* second = add(menu, tr("&Add or remove the second text"), QKeySequence(Qt::CTRL | Qt::Key_2),
                          tr("Cross-attention: keys and values from another text"),
                          [this] { m_sentence->setSecondText(!m_workspace->scenario().secondText().has_value()); });
    connect(m_workspace, &Workspace::scenarioChanged, second, [this, second] {
        second->setEnabled(m_sentence->takesSecondText() || m_workspace->scenario().secondText().has_value());
    });
}

void MainWindow::createModelMenu() {
    QMenu* menu = addMenu(this, tr("&Model"));
    int number = 1;
    for (const BuiltinModel& model : builtinModels()) {
        ModelSource source;
        source.name = model.name;
        add(menu, fromUtf8(model.name), QKeySequence(Qt::ALT | static_cast<Qt::Key>(Qt::Key_0 + number++)),
            fromUtf8(model.what), [this, source] { m_session->useModel(source); });
    }
    menu->addSeparator();
    add(menu, tr("&Options of toy…"), QKeySequence(Qt::CTRL | Qt::Key_M), tr("Sizes, seed, positions, biases"),
        [this] { showToyOptions(); });
    add(menu, tr("Open a model &file…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_O),
        tr("A checkpoint (GGUF, hub folder) or an attention module as saved from PyTorch"),
        [this] { m_session->openByDialog(); });
    menu->addSeparator();
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

void MainWindow::createViewMenu() {
    QMenu* menu = addMenu(this, tr("&View"));
    int number = 1;
    const std::pair<FigureKind, QString> kinds[] = {{FigureKind::Heatmap, tr("&Heatmap")},
                                                    {FigureKind::Links, tr("&Links")},
                                                    {FigureKind::Walk, tr("&Walk")},
                                                    {FigureKind::Stages, tr("&Stages of this head")},
                                                    {FigureKind::Grid, tr("All hea&ds")}};
    for (const auto& [kind, text] : kinds)
        add(menu, text, QKeySequence(Qt::CTRL | Qt::ALT | static_cast<Qt::Key>(Qt::Key_0 + number++)), QString(),
            [this, kind = kind] {
                View view = m_workspace->view();
                view.figure = kind;
                if (kind == FigureKind::Links)
                    view.stage = Stage::Weights; // only weights have a width
                m_workspace->setView(view);
            });
    add(menu, tr("&Numbers in cells"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_V), tr("Where they fit"), [this] {
        View view = m_workspace->view();
        view.values = !view.values;
        m_workspace->setView(view);
    });
    QMenu* special = menu->addMenu(tr("Spe&cial tokens"));
    for (const auto& [how, text] : TokenChips::specialChoices())
        add(special, text, QKeySequence(), QString(), [this, how = how] {
            View view = m_workspace->view();
            view.special = how;
            m_workspace->setView(view);
        });
    add(menu, tr("Merge pieces into &words"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_W),
        tr("Weights: the sum over the keys of a word, the mean over its queries"), [this] {
            View view = m_workspace->view();
            view.words = !view.words;
            m_workspace->setView(view);
        });
    menu->addSeparator();
    add(menu, tr("Next head"), QKeySequence(Qt::CTRL | Qt::Key_Right), QString(), [this] { goToHead(0, 1); });
    add(menu, tr("Previous head"), QKeySequence(Qt::CTRL | Qt::Key_Left), QString(), [this] { goToHead(0, -1); });
    add(menu, tr("Next layer"), QKeySequence(Qt::CTRL | Qt::Key_Down), QString(), [this] { goToHead(1, 0); });
    add(menu, tr("Previous layer"), QKeySequence(Qt::CTRL | Qt::Key_Up), QString(), [this] { goToHead(-1, 0); });
    menu->addSeparator();
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
        tr("The picture alone, in a window of its own"), [this] { showMirror(); });
    menu->addSeparator();
    int dockNumber = 2;
    for (QDockWidget* dock : docks()) {
        QAction* action = dock->toggleViewAction();
        action->setShortcut(QKeySequence(Qt::SHIFT | static_cast<Qt::Key>(Qt::Key_F1 + dockNumber++)));
        menu->addAction(action);
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
    QMenu* speed = menu->addMenu(tr("Play &speed"));
    auto* paces = new QActionGroup(speed);
    for (const auto& [text, pace] : {std::pair(tr("&Slow, 5 seconds a stage"), 5000),
                                     {tr("&Normal, 2½ seconds"), 2500},
                                     {tr("&Fast, 1 second"), 1000}}) {
        QAction* action = speed->addAction(text);
        action->setCheckable(true);
        action->setChecked(pace == stepper->pace());
        paces->addAction(action);
        connect(action, &QAction::triggered, stepper, [stepper, pace = pace] { stepper->setPace(pace); });
    }
    menu->addSeparator();
    for (const Example& example : examples()) {
        QAction* action = menu->addAction(example.title);
        action->setToolTip(example.shows);
        connect(action, &QAction::triggered, this, [this, example] { m_sentence->setText(example.text); });
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

void MainWindow::connectWorkspace() {
    connect(m_workspace, &Workspace::failed, m_messages, &MessageStrip::say);
    connect(m_workspace, &Workspace::traceChanged, m_messages, [this] { m_messages->say({}); });
    connect(m_workspace, &Workspace::scenarioChanged, this, &MainWindow::showTitle);
    connect(m_session, &DocumentSession::problem, m_messages, &MessageStrip::say);
    connect(m_session, &DocumentSession::taskChanged, m_status, &StatusLine::setTask);
    connect(m_status, &StatusLine::taskCancelled, m_session, &DocumentSession::stopOpening);
    connect(m_session, &DocumentSession::stateChanged, this, &MainWindow::showTitle);
    connect(m_stage->controls(), &ViewControls::problem, m_messages, &MessageStrip::say);
    connect(m_stage->controls(), &ViewControls::exportRequested, this, &MainWindow::showExport);
    connect(m_stage->heatmap(), &HeatmapPanel::described, m_status,
            [this](const QString& cell) { cell.isEmpty() ? m_status->clearMessage() : m_status->showMessage(cell); });
    connect(m_stage->links(), &LinksPanel::described, m_status, [this](const QString& links) {
        links.isEmpty() ? m_status->clearMessage() : m_status->showMessage(links);
    });
    connect(m_sentence, &SentenceBar::problem, m_messages, &MessageStrip::say);
    connect(m_sentence, &SentenceBar::hint, m_stage, &StagePanel::setHint);
    connect(m_sentence, &SentenceBar::usable, this, [this] {
        m_stage->setHint({});
        m_messages->say({});
    });
    connect(m_sentence, &SentenceBar::modelRequested, this, [this](const QString& name) {
        ModelSource source;
        source.name = toUtf8(name);
        m_session->useModel(source);
    });
    connect(m_sentence, &SentenceBar::openRequested, m_session, &DocumentSession::openByDialog);
    connect(m_sentence, &SentenceBar::toyOptionsRequested, this, &MainWindow::showToyOptions);
}

void MainWindow::restoreLayout() {
    bool dark = theme().dark;
    bool projector = theme().projector;
    resize(1366, 768);
    if (m_remembers) {
        const QSettings settings;
        dark = settings.value(QStringLiteral("dark"), dark).toBool();
        projector = settings.value(QStringLiteral("projector"), projector).toBool();
        restoreGeometry(settings.value(QStringLiteral("geometry")).toByteArray());
    }
    setLook(dark, projector);
    arrangeDocks();
    if (m_remembers)
        m_restored = restoreState(QSettings().value(QStringLiteral("docks")).toByteArray(), layoutVersion);
}

void MainWindow::setLook(bool dark, bool projector) {
    const bool otherRoom = projector != theme().projector;
    applyTheme(makeTheme(dark, projector));
    m_darkAction->setChecked(dark);
    m_projectorAction->setChecked(projector);
    if (otherRoom)
        arrangeDocks(); // a projector shows the sentence, the stages and the picture alone
}

void MainWindow::showTitle() {
    setWindowTitle(tr("%1[*] – Headscope").arg(m_session->displayName()));
    setWindowModified(m_session->unsaved());
    m_status->setSaved(m_session->savedState());
}

void MainWindow::showExport() {
    if (!m_workspace->trace())
        return;
    ExportDialog dialog(figureSource(*m_workspace), figureSpec(*m_workspace), this);
    dialog.exec();
}

void MainWindow::showMirror() {
    if (!m_mirror)
        m_mirror = new MirrorWindow(*m_workspace, this);
    m_mirror->showOnOtherScreen();
}

void MainWindow::showWeight(const TensorId& id, int row, int col) {
    m_editDock->show();
    auto* tabs = m_editDock->findChild<QTabWidget*>();
    tabs->setCurrentWidget(m_weights);
    m_weights->reveal(id, row, col);
}

void MainWindow::copyCommand() {
    try {
        const Document document{m_workspace->scenario(), m_workspace->view()};
        const QString saved = m_session->unsaved() ? QString() : m_session->path();
        QApplication::clipboard()->setText(renderCommand(document, saved));
    } catch (const InputError& error) {
        m_messages->say(fromUtf8(error.what()));
    }
}

void MainWindow::showToyOptions() {
    ModelDialog dialog(m_workspace->scenario().source, this);
    if (dialog.exec() == QDialog::Accepted)
        m_session->useModel(dialog.source());
}

// Before the style has seen the widgets they ask for more room than they need, and showing makes the window taller. So
// its size is given again once it is shown, and the docks share what there is.
void MainWindow::setVisible(bool visible) {
    const QSize wanted = size();
    const bool first = visible && !isVisible();
    QMainWindow::setVisible(visible);
    if (!first)
        return;
    QTimer::singleShot(0, this, [this, wanted] {
        if (!(windowState() & (Qt::WindowMaximized | Qt::WindowFullScreen)))
            resize(wanted);
        if (!m_restored)
            sizeDocks();
    });
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (!m_session->mayDiscard())
        return event->ignore();
    if (m_remembers) {
        QSettings settings;
        settings.setValue(QStringLiteral("geometry"), saveGeometry());
        settings.setValue(QStringLiteral("docks"), saveState(layoutVersion));
        settings.setValue(QStringLiteral("dark"), theme().dark);
        settings.setValue(QStringLiteral("projector"), theme().projector);
    }
    if (m_autosave)
        m_autosave->discard(); // the user has said that it may go
    event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (event->mimeData()->hasUrls() || event->mimeData()->hasText())
        event->acceptProposedAction();
}

// A file is opened, a text file read, a text used as the sentence.
void MainWindow::dropEvent(QDropEvent* event) {
    const QMimeData* dropped = event->mimeData();
    const QString path = dropped->hasUrls() ? dropped->urls().constFirst().toLocalFile() : QString();
    if (path.endsWith(QLatin1String(".txt"), Qt::CaseInsensitive)) {
        QFile file(path);
        if (file.open(QIODevice::ReadOnly))
            m_session->openText(QString::fromUtf8(file.readAll()));
        else
            m_messages->say(tr("%1: %2").arg(path, file.errorString()));
    } else if (!path.isEmpty()) {
        m_session->open(path);
    } else if (dropped->hasText()) {
        m_session->openText(dropped->text());
    }
    event->acceptProposedAction();
}

int runWindow(const QString& file) {
    QApplication::setOrganizationName(QStringLiteral("Headscope"));
    QApplication::setApplicationName(QStringLiteral("headscope"));
    QApplication::setApplicationDisplayName(QStringLiteral("Headscope"));
    applyTheme(makeTheme(false, false));
    Document document = firstDocument();
    if (!file.isEmpty())
        document = openAnyFile(file, fromUtf8(document.scenario.firstText()));
    MainWindow window(std::move(document));
    window.show();
    QTimer::singleShot(0, &window, [&window] { window.session().offerRecovery(Autosave::defaultFolder()); });
    return QApplication::exec();
}

} // namespace headscope
