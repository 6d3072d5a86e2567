// MainWindow: puts the widgets together: menus, docks, the file behind the document, light and dark. It shows nothing
// itself and computes nothing. Called by the program's main and by the screenshot. Three sources:
// main_window_layout.cpp places the parts, main_window_actions.cpp has the menus, main_window.cpp connects them and
// meets the desktop.
#pragma once

#include "core/exchange/scenario_file.h"
#include "ui/workspace.h"

#include <QMainWindow>

namespace headscope {

class Autosave;
class DocumentSession;
class FoundList;
class HeadGrid;
class HeadSurvey;
class LongTextBar;
class MaskBrush;
class MirrorWindow;
class MessageStrip;
class RulesPanel;
class SentenceBar;
class StagePanel;
class StatusLine;
class TokenChips;
class WeightEditor;

class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    // remembers: layout, theme and recent files are kept between sessions; a screenshot neither reads nor writes them.
    explicit MainWindow(Document document, bool remembers = true, QWidget* parent = nullptr);
    ~MainWindow() override;

    Workspace& workspace() { return *m_workspace; }
    DocumentSession& session() { return *m_session; }
    StagePanel& stagePanel() { return *m_stage; }
    SentenceBar& sentenceBar() { return *m_sentence; }
    MessageStrip& messages() { return *m_messages; }
    LongTextBar& longText() { return *m_longText; }
    void setVisible(bool visible) override;
    void setLook(bool dark, bool projector);
    void arrangeDocks(); // as on the first day, for the present size

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void createTop();
    void createDocks();
    void createActions();
    void createFileMenu();
    void createEditMenu();
    void createModelMenu();
    void createViewMenu();
    void createLearnMenu();
    void createHelpMenu();
    void addCopyActions(QMenu* menu);
    void addCellActions(QMenu* menu);
    void addFigureActions(QMenu* menu);
    void addWindowActions(QMenu* menu);
    void addPaceActions(QMenu* speed);
    void addZoomActions(QMenu* menu);
    void addSiteActions(QMenu* sites);
    void needsModel(QAction* action);
    void connectWorkspace();
    void restoreLayout();

    QAction* add(QMenu* menu, const QString& text, const QKeySequence& key, const QString& tip,
                 const std::function<void()>& run);
    bool isNarrow() const;
    void stackDocks();
    void setMargins();
    void sizeDocks();
    int neededForHeads() const;
    void sizeHeads();
    void capHeads();
    void showExport();
    void sayWritten(const QString& path);
    void toggleMirror();
    void useModel(const ModelSource& source);
    void showWeight(const TensorId& id, int row, int col); // in the table that it belongs to
    QList<QDockWidget*> docks() const;
    void copyCommand();
    void showToyOptions();
    void showTitle();
    void changeView(const std::function<void(View&)>& change);
    void goToHead(int layers, int heads); // a step in the grid

    bool m_remembers;
    bool m_restored = false; // the docks are as the user left them
    bool m_narrow = false;   // they stand behind each other
    QByteArray m_wideLayout; // how they stood before that; empty: as on the first day
    Workspace* m_workspace;
    HeadSurvey* m_survey;
    DocumentSession* m_session;
    Autosave* m_autosave = nullptr; // only where things are remembered
    SentenceBar* m_sentence;
    TokenChips* m_chips;
    MessageStrip* m_messages;
    LongTextBar* m_longText;
    StagePanel* m_stage;
    StatusLine* m_status;
    HeadGrid* m_heads;
    FoundList* m_found;
    RulesPanel* m_rules;
    QDockWidget *m_headsDock, *m_foundDock, *m_inspectorDock, *m_editDock, *m_historyDock;
    WeightEditor* m_weights;
    MaskBrush* m_brush;
    MirrorWindow* m_mirror = nullptr; // made when first wanted
    QAction *m_darkAction, *m_projectorAction;
};

// Opens the window on a scenario, a checkpoint or nothing (the first example) and runs until it is closed; the exit
// status. backend: what computes this time; empty: as remembered. Needs a QApplication. Throws InputError when the file
// cannot be used; one that takes a while to open is opened in the window, which then says it.
int runWindow(const QString& file, const QString& backend);

} // namespace headscope
