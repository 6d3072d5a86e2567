// Workspace: the only thing in the program that changes, and it changes by replacing one value with another.
// Owns scenario, view, trace and the undo stack; computes in the background, latest wins. Every widget reads values
// from it and asks it for new ones; no widget changes another widget.
#pragma once

#include "core/attention/trace.h"
#include "core/attention/view.h"
#include "ui/pinned_place.h"
#include "ui/trace_runner.h"

#include <QObject>
#include <QString>
#include <QUndoStack>

namespace headscope {

class Workspace : public QObject {
    Q_OBJECT
public:
    explicit Workspace(QObject* parent = nullptr);

    // The document, as the user has it now.
    const Scenario& scenario() const { return m_scenario; }
    const View& view() const { return m_view; }
    // What was last computed: may be older than the scenario while busy(); null before the first result.
    const SharedTrace& trace() const { return m_traces.trace; }
    // The same scenario without class rules, when it has some; null otherwise. For wrong / right / difference.
    const SharedTrace& rightTrace() const { return m_traces.right; }
    bool busy() const { return m_runner.busy(); }
    QUndoStack* undoStack() { return &m_undo; }

    // One undoable step with a name ("Set W_Q[2, 1] to 0.25"). Steps with the same mergeId >= 0 in a row become one
    // (a dragged cell); a step that changes nothing is dropped, and one that does not fit the model is refused:
    // failed() says why, and false comes back.
    bool edit(const QString& name, Scenario next, int mergeId = -1);
    // Opens another document: clears the undo stack. A view without a pinned cell gets the strongest one of its matrix,
    // so that the inspector and the tokens have something to say.
    void reset(Scenario scenario, View view = {});
    // Looks at an encoder-decoder from another of its sites; nothing is computed for it, and there is no undo.
    void setSite(Site site);
    void setView(View view);            // clamps to what the model has; no undo
    int pinnedQuery() const;            // whatever the rows of the stage are; 0 where nothing was pinned
    void showStage(Stage stage);        // the pinned cell keeps its meaning: its query, its key, its dimension
    void showFigure(FigureKind figure); // links are those of the weights: nothing else has a width
    // A head that has something to say about this text: taken when nobody chose one since the model was opened.
    void offerHead(LayerIndex layer, HeadIndex head, std::optional<CellRef> cell);
    void keepHead();     // the present one was chosen
    void letPinFollow(); // the next text brings its strongest cell, whoever pinned the present one
    void compute();      // again: after a cancel or a failure
    // What computes (TraceRunner::setBackend), and computes anew with it.
    void setBackend(const QString& name);
    const QString& backend() const { return m_runner.backend(); }
    // What the backends have to tell since the last call, such as a device that failed: as noted().
    void tellNotes();
    void cancel(); // stops computing; the last trace stays, and failed() says so

    // The trace's matrix of a stage for one head; the last few are kept, as long as they are small. Null before the
    // first result and for what the trace does not have.
    SharedMatrix stageMatrix(LayerIndex layer, HeadIndex head, Stage stage) const;
    // Where a query looks: one row of a head's weights. Empty before the first result, and where there is no such row.
    std::vector<float> weightsRow(LayerIndex layer, HeadIndex head, int row) const;

signals:
    void documentChanged(); // another one altogether: nothing of the old is to be gone back to
    void scenarioChanged(); // at once, before computing
    void traceChanged();    // a new result is there
    void viewChanged();
    void busyChanged(bool busy);
    void progressChanged(double fraction);
    void failed(const QString& sentence); // refused or failed; the last trace stays
    void noted(const QString& sentence);  // the numbers are right, but
    void backendChanged();

private:
    friend class ReplaceScenario; // the one undo command
    void replace(const Scenario& scenario, bool letFinish);
    void accept(const TracePair& traces);
    void adoptWrittenTarget(); // of the trace, where the scenario leaves its target to the model

    std::optional<CellRef> cellToPin() const;

    Scenario m_scenario;
    View m_view;
    PinnedPlace m_place;
    bool m_pinStrongest = false; // the next result brings the cell to pin
    bool m_headIsOpen = false;   // nobody chose the head yet
    bool m_pinIsOurs = false;    // nobody chose the pinned cell: another text brings another one
    TracePair m_traces;
    QUndoStack m_undo;
    TraceRunner m_runner;

    struct CachedMatrix {
        LayerIndex layer;
        HeadIndex head;
        Stage stage = Stage::Weights;
        SharedMatrix matrix;
    };
    bool isInTrace(LayerIndex layer, HeadIndex head, Stage stage) const;
    mutable std::vector<CachedMatrix> m_recent; // of the current trace, newest last
};

// What is left of a view when it has to fit a scenario: layer, heads, stage and cell exist.
View clampedView(View view, const Scenario& scenario);

} // namespace headscope
