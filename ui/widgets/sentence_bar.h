// SentenceBar: the model, the text, the second text of cross-attention, and the examples, on rows of their own.
// Every keystroke asks the workspace for a new scenario; a text that cannot be used stays in the field and is
// explained. Not here: opening models (the window does, in the background).
#pragma once

#include <QElapsedTimer>
#include <QWidget>

class QHBoxLayout;
class QLabel;
class QLineEdit;
class QToolButton;

namespace headscope {

struct Example;
class Workspace;

class SentenceBar : public QWidget {
    Q_OBJECT
public:
    explicit SentenceBar(Workspace& workspace, QWidget* parent = nullptr);

    void setText(const QString& text); // as if typed
    void showExample(const Example& example);
    void setSecondText(bool on);  // opens or closes the second text
    bool takesSecondText() const; // of this model
    void focusText();
    QString refusedText() const; // what stands in the field and is not what is shown; else empty

signals:
    void modelRequested(const QString& name); // a built-in one
    void openRequested();
    void toyOptionsRequested();
    // Nothing to compute: what to do. Empty when the text is fine again.
    void hint(const QString& sentence);
    void problem(const QString& sentence);                 // the text cannot be used: why
    void tooLong(const QString& text, const QString& why); // for this model
    void usable();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void createModelButton(QHBoxLayout* row);
    void createTextFields(QHBoxLayout* row);
    void createExamples(QHBoxLayout* row);
    void fillModelMenu();
    void typed();
    void leaveUndoToTheWindow(QLineEdit* field);
    void replaceTexts(const QString& name, int mergeId);
    void refresh();
    void describeSecondText();
    void refreshModelButton();
    void refreshFixedTexts();

    Workspace& m_workspace;
    QToolButton* m_model;
    QToolButton* m_examples;
    QToolButton* m_second;
    QLineEdit* m_text;
    QLineEdit* m_pair;
    QWidget* m_pairRow;
    QLabel* m_pairLabel = nullptr;
    QElapsedTimer m_sinceTyped; // invalid: whatever is typed next is a step of its own
    int m_burst = 0;
};

} // namespace headscope
