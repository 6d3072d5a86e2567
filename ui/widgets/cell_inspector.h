// CellInspector: the arithmetic of the pinned cell, as text that can be selected and copied: the terms of its sum,
// largest first, and the chain from the sum to the number shown. Not here: the arithmetic (core/attention/explain), the
// rounding that makes the printed column add up (core/attention/printed_sum).
#pragma once

#include "core/attention/printed_sum.h"
#include "core/attention/view.h"

#include <QString>
#include <QStringList>
#include <QTextBrowser>
#include <QTimer>
#include <optional>
#include <vector>

namespace headscope {

class Workspace;

// What the panel says about one cell, before it is laid out. Numbers in the locale's way.
struct CellSheet {
    CellExplanation explanation;
    PrintedSum sum;
    QString sumName;    // "score", "sum"
    QStringList notes;  // in words: masked, temperature 0, a wrong rule, ...
    QString query, key; // token texts where the cell joins two tokens; else empty
};
CellSheet cellSheet(const AttentionTrace& trace, LayerIndex layer, HeadIndex head, Stage stage, int row, int col,
                    int shownTerms);
QString cellSheetText(const CellSheet& sheet); // tab-separated lines

class CellInspector : public QTextBrowser {
    Q_OBJECT
public:
    explicit CellInspector(Workspace& workspace, QWidget* parent = nullptr);
    ~CellInspector() override;

    // Empty until a cell is pinned and computed.
    const std::optional<CellSheet>& sheet() const { return m_sheet; }
    bool showsAll() const { return m_showAll; }
    QSize sizeHint() const override;

public slots:
    void setShowAll(bool all);
    void copyAsText();
    void goBack(); // to the cell from which a factor was followed

signals:
    void weightWanted(headscope::TensorId id, int row, int col); // a factor that is a weight: of the whole tensor

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    QVariant loadResource(int type, const QUrl& name) override;

private:
    void refresh();
    void refreshSoon();
    void layOut();
    void fitTerms();
    void setTerms(int count);
    int overflow() const;
    QString html() const;
    QString headline() const;
    QString sumTable() const;
    QString bar(double share, int width) const;
    QString linked(const QString& number, std::size_t term, bool left) const;
    void follow(const CellSource& source);
    struct Room {
        bool factors = false; // the factors of every term are shown
        double scale = 1;     // of the font
        int padding = 1;      // of every cell
        int bar = 0;          // width of the longest; 0: none
    };
    Room roomFor(bool hasFactors) const;

    Workspace& m_workspace;
    std::optional<CellSheet> m_sheet;
    bool m_showAll = false;
    std::vector<View> m_visited; // views to go back to, the newest last
    QTimer m_soon;
    int m_laidOutWidth = -1, m_shownTerms = 0;
    View m_laidOut; // another cell is read from its beginning
};

} // namespace headscope
