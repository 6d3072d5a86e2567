// WeightEditor: the weights of the shown head as coloured tables: W_Q, W_K, W_V, W_O, the biases, and X (and Y) itself.
// Every change is one named step of the workspace: a typed cell, a turned cell, a pasted block, a fill, a loaded file,
// a revert. Not here: the arithmetic of edits (core/attention/tensor_edit), the table (weight_model, weight_delegate).
#pragma once

#include "core/attention/scenario.h"

#include <QWidget>

#include <functional>

class QLabel;
class QMenu;

namespace headscope {

class SymbolButton;
class WeightModel;
class WeightTable;
class Workspace;
struct WeightBlock;

class WeightEditor : public QWidget {
    Q_OBJECT
public:
    enum class Shown { WQ, WK, WV, WO, Biases, X, Y };

    explicit WeightEditor(Workspace& workspace, QWidget* parent = nullptr);

    void show(Shown what);
    using QWidget::show;
    QList<QMenu*> menus() const;                       // its choices once more, for the menu bar
    void reveal(const TensorId& id, int row, int col); // of the whole tensor; row -1: only the keyboard goes there
    Shown shown() const { return m_shown; }

public slots:
    void copyBlock();  // the selected cells, else all
    void pasteBlock(); // the clipboard's block at the first selected cell; a single number fills the selection
    void fillIdentity();
    void fillZero();
    void fillRandom(quint64 seed);
    void fillTransposed(); // a square table only
    void copyFrom(LayerIndex layer, HeadIndex head);
    void scaleBy(double factor);
    void loadFile(const QString& path); // npy, npz, safetensors, csv: the head's table or the whole tensor
    void revertCells();                 // the selected ones
    void revertHead();
    void revertAll();

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    // What a block of the table is in the scenario.
    struct Target {
        bool isEmbedding = false;
        Stage stage = Stage::Embedding; // of an embedding
        TensorId id;                    // of a weight
    };

    void createButtons();
    void createFillMenu();
    void createRevertMenu();
    void createTable();
    void refresh();
    void refreshButtons();
    void refreshCaption();
    void addWeightBlock(WeightKind kind, QStringList rowNames, std::vector<WeightBlock>& blocks);
    void addEmbeddingBlock(Stage stage, std::vector<WeightBlock>& blocks);

    void setCell(const QModelIndex& index, float value, int mergeId);
    void turn(const QModelIndex& index, double steps);
    // Cells of the table from (row, col) on; they must all exist.
    Scenario withCells(int row, int col, const Matrix& values) const;
    Scenario withWholeTable(const std::function<Matrix(const Matrix& now)>& change) const; // block by block
    QRect selection() const; // columns and rows; the whole table when nothing is selected
    void commit(const QString& name, Scenario next, int mergeId = -1);
    void say(const QString& sentence);             // empty: nothing to say
    QString place(const QModelIndex& index) const; // "W_Q[2, 1] of L0 H3"
    QString tableName() const;                     // "W_Q of L0 H3"
    bool isMatrix() const { return m_shown != Shown::Biases; }
    bool showsAllHeads() const;
    void askRandom();
    void askCopyFrom();
    void askScale();
    void askLoad();

    Workspace& m_workspace;
    Shown m_shown = Shown::WQ;
    std::vector<Target> m_targets; // one per block of the model
    WeightModel* m_model = nullptr;
    WeightTable* m_table = nullptr;
    QList<SymbolButton*> m_buttons; // in the order of Shown
    QWidget* m_buttonRow = nullptr;
    SymbolButton* m_allHeads = nullptr;
    QMenu *m_fill = nullptr, *m_revert = nullptr;
    QAction* m_transpose = nullptr;
    QAction* m_identity = nullptr;
    QAction* m_copyFrom = nullptr;
    QLabel* m_caption = nullptr;
    QLabel* m_message = nullptr;
    // X and Y before any change by hand, and what they belong to.
    struct OpenedEmbedding {
        SharedMatrix values;
        TokenSequence tokens;
        SharedModel model;
    };
    OpenedEmbedding m_openedX, m_openedY;
    bool m_committing = false;
    int m_mergeId;
    double m_turnStart = 0, m_turnUnit = 0;
};

} // namespace headscope
