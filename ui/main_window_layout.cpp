// The layout of MainWindow: the rows at the top, the docks, and how much room each gets.
#include "ui/main_window.h"

#include "ui/theme.h"
#include "ui/widgets/card_title.h"
#include "ui/widgets/cell_inspector.h"
#include "ui/widgets/cost_panel.h"
#include "ui/widgets/found_list.h"
#include "ui/widgets/head_grid.h"
#include "ui/widgets/long_text_bar.h"
#include "ui/widgets/message_strip.h"
#include "ui/widgets/next_word_panel.h"
#include "ui/widgets/rules_panel.h"
#include "ui/widgets/sentence_bar.h"
#include "ui/widgets/site_switch.h"
#include "ui/widgets/stage_panel.h"
#include "ui/widgets/status_line.h"
#include "ui/widgets/token_chips.h"
#include "ui/widgets/weight_editor.h"

#include <QDockWidget>
#include <QMenuBar>
#include <QScrollArea>
#include <QTabWidget>
#include <QUndoView>
#include <QVBoxLayout>

#include <algorithm>

namespace headscope {

static constexpr int windowMargin = 10;
// In a smaller window (half a screen) panels at both sides would leave no picture between them.
static constexpr int leastWidthForColumns = 1000, leastHeightForColumns = 600;

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
    m_longText = new LongTextBar(*m_workspace);
    for (QWidget* row : {static_cast<QWidget*>(menu), static_cast<QWidget*>(m_sentence), static_cast<QWidget*>(m_chips),
                         static_cast<QWidget*>(m_messages), static_cast<QWidget*>(m_longText)})
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

// A dock that looks like a card; its heading drags it. shortTitle: in menus, and on the tab of a narrow window.
static QDockWidget* cardDock(QMainWindow* window, const QString& name, const QString& shortTitle, const QString& title,
                             QWidget* content, bool atLeft) {
    auto* dock = new QDockWidget(shortTitle, window);
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
    column->addWidget(m_heads = new HeadGrid(*m_workspace, *m_survey), 100);
    column->addStretch(1); // what the heads do not need stays below them
    m_headsDock = cardDock(this, QStringLiteral("heads"), tr("Heads"), tr("Heads"), heads, true);
    connect(
        m_heads, &HeadGrid::heightNeeded, this,
        [this] {
            if (!m_restored)
                sizeHeads();
            capHeads();
        },
        Qt::QueuedConnection);
    m_found = new FoundList(*m_workspace, *m_survey);
    connect(m_found, &FoundList::kindChosen, m_heads, &HeadGrid::showKind);
    m_foundDock = cardDock(this, QStringLiteral("found"), tr("Found"), tr("Found in this sentence"), m_found, true);
    auto* inspector = new CellInspector(*m_workspace);
    connect(inspector, &CellInspector::weightWanted, this, &MainWindow::showWeight);
    m_headsDock->installEventFilter(this);
    connect(m_foundDock, &QDockWidget::visibilityChanged, this, &MainWindow::capHeads, Qt::QueuedConnection);
    m_inspectorDock = cardDock(this, QStringLiteral("inspector"), tr("Arithmetic"), tr("Arithmetic of the pinned cell"),
                               inspector, false);
    auto* tabs = new QTabWidget;
    tabs->setDocumentMode(true);
    tabs->addTab(m_weights = new WeightEditor(*m_workspace), tr("Weights"));
    tabs->addTab(scrolling(m_rules = new RulesPanel(*m_workspace)), tr("Class rules"));
    tabs->addTab(scrolling(new CostPanel(*m_workspace)), tr("Cost"));
    auto* nextWord = new NextWordPanel(*m_workspace);
    const int nextWordTab = tabs->addTab(nextWord, tr("Next word"));
    tabs->setTabVisible(nextWordTab, false);
    connect(nextWord, &NextWordPanel::available, tabs,
            [tabs, nextWordTab](bool predicts) { tabs->setTabVisible(nextWordTab, predicts); });
    m_editDock = cardDock(this, QStringLiteral("edit"), tr("Change it"), tr("Change it"), tabs, false);
    auto* history = new QUndoView(m_workspace->undoStack());
    history->setEmptyLabel(tr("as it was opened"));
    history->setAccessibleName(tr("Every change, to go back to"));
    m_historyDock =
        cardDock(this, QStringLiteral("history"), tr("History"), tr("Changes, to go back to"), history, true);
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
    m_narrow = isNarrow();
    m_wideLayout.clear();
    if (m_narrow)
        stackDocks();
    sizeDocks();
    setMargins();
}

// Where no panel stands, the picture keeps a margin: at both sides on a projector, at the right in a narrow window.
void MainWindow::setMargins() {
    const int left = theme().projector ? windowMargin : 0;
    centralWidget()->layout()->setContentsMargins(left, 0, m_narrow ? windowMargin : left, 4);
}

bool MainWindow::isNarrow() const {
    return width() < leastWidthForColumns || height() < leastHeightForColumns;
}

// One column at the left, the panels behind each other. Those that float stay where they are.
void MainWindow::stackDocks() {
    setTabPosition(Qt::LeftDockWidgetArea, QTabWidget::North);
    QDockWidget* first = nullptr;
    for (QDockWidget* dock : docks()) {
        if (dock->isFloating())
            continue;
        if (first)
            tabifyDockWidget(first, dock);
        else
            addDockWidget(Qt::LeftDockWidgetArea, first = dock);
    }
    if (first)
        first->raise();
}

// In a narrow window the panels give way; in a wide one they come back as they were.
void MainWindow::resizeEvent(QResizeEvent* event) {
    QMainWindow::resizeEvent(event);
    if (isNarrow() == m_narrow || theme().projector) // a projector shows no panels
        return;
    m_narrow = isNarrow();
    if (m_narrow) {
        m_wideLayout = saveState();
        stackDocks();
        sizeDocks();
    } else if (m_wideLayout.isEmpty() || !restoreState(m_wideLayout)) {
        arrangeDocks();
    }
    setMargins();
}

void MainWindow::sizeDocks() {
    if (m_narrow) {
        resizeDocks({m_headsDock}, {std::clamp(width() * 34 / 100, 240, 320)}, Qt::Horizontal);
        return;
    }
    resizeDocks({m_headsDock, m_inspectorDock}, {width() * 22 / 100, width() * 27 / 100}, Qt::Horizontal);
    const int room = height() - 150; // below the rows at the top
    sizeHeads();
    const int inspector = std::min(room * 58 / 100, 27 * fontMetrics().height()); // the arithmetic of most cells
    resizeDocks({m_inspectorDock, m_editDock}, {inspector, room - inspector}, Qt::Vertical);
}

// Height of the heads' panel when every head is seen.
int MainWindow::neededForHeads() const {
    const int grid = std::clamp(m_heads->sizeHint().height(), m_heads->minimumHeight(), m_heads->maximumHeight());
    return m_headsDock->titleBarWidget()->sizeHint().height() + m_headsDock->widget()->sizeHint().height() - grid +
           m_heads->maximumHeight();
}

// The heads take what they need, up to two thirds; what was found has the rest.
void MainWindow::sizeHeads() {
    if (m_narrow)
        return;
    const int room = height() - 150, heads = std::min(neededForHeads(), room * 2 / 3);
    resizeDocks({m_headsDock, m_foundDock}, {heads, room - heads}, Qt::Vertical);
}

bool MainWindow::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_headsDock && event->type() == QEvent::Resize)
        QMetaObject::invokeMethod(this, &MainWindow::capHeads, Qt::QueuedConnection);
    return QMainWindow::eventFilter(watched, event);
}

// Whatever has come and gone beneath (a message, another panel): above the list of findings they never keep more than
// they need.
void MainWindow::capHeads() {
    const auto isAtLeft = [this](QDockWidget* dock) {
        return dock->isVisible() && !dock->isFloating() && dockWidgetArea(dock) == Qt::LeftDockWidgetArea;
    };
    if (!m_narrow && isAtLeft(m_headsDock) && isAtLeft(m_foundDock) && tabifiedDockWidgets(m_headsDock).isEmpty() &&
        m_headsDock->height() > neededForHeads() + 8)
        sizeHeads();
}

} // namespace headscope
