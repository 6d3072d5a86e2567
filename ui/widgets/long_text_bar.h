// LongTextBar: what to do with a text that has more tokens than the model takes: another model for all of it, or one
// part of it at a time; then which part is shown, and the next one. Hidden as long as the text fits. Not here: cutting
// (core/text/text_parts), opening models (the window).
#pragma once

#include "core/model/model.h"
#include "core/text/text_parts.h"

#include <QFrame>

class QLabel;
class QToolButton;

namespace headscope {

class Workspace;

class LongTextBar : public QFrame {
    Q_OBJECT
public:
    explicit LongTextBar(Workspace& workspace, QWidget* parent = nullptr);

    void offer(const QString& text, const QString& why); // it was refused: why, and what could be done
    void follow(const QString& text);                    // a part of it is shown
    QString sentence() const;                            // empty while hidden

signals:
    void wholeTextWanted(const QString& text); // by the toy, which takes more
    void problem(const QString& sentence);

private:
    bool cut(const QString& text);
    void showPart(int part);
    void refresh();
    int shownPart() const; // -1: none of them

    Workspace& m_workspace;
    std::string m_text; // the whole of it, UTF-8; empty: nothing to say
    std::vector<TextPart> m_parts;
    SharedModel m_model;     // that they were cut for
    bool m_offering = false; // it was refused just now, and no part is shown
    QLabel* m_label;
    QToolButton *m_first, *m_back, *m_next, *m_toy;
};

} // namespace headscope
