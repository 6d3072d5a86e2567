#include "ui/widgets/sentence_bar.h"

#include "core/model/captured_attention.h"
#include "ui/examples.h"
#include "ui/merge_ids.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/unchangeable.h"
#include "ui/widgets/ticked.h"
#include "ui/workspace.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QSignalBlocker>
#include <QToolButton>
#include <QVBoxLayout>

namespace headscope {

// A line keeps 32767 characters unless it is told otherwise, and drops what is behind them.
static constexpr int longestText = 1 << 24;

SentenceBar::SentenceBar(Workspace& workspace, QWidget* parent) : QWidget(parent), m_workspace(workspace) {
    setObjectName(QStringLiteral("topBar"));
    setAttribute(Qt::WA_StyledBackground);
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(12, 7, 12, 7);
    rows->setSpacing(6);
    auto* first = new QHBoxLayout;
    first->setSpacing(8);
    rows->addLayout(first);
    createModelButton(first);
    createTextFields(first);
    createExamples(first);
    rows->addWidget(m_pairRow);
    connect(&workspace, &Workspace::scenarioChanged, this, &SentenceBar::refresh);
    refresh();
}

void SentenceBar::createModelButton(QHBoxLayout* row) {
    m_model = new QToolButton;
    m_model->setPopupMode(QToolButton::InstantPopup);
    m_model->setAccessibleName(tr("Model"));
    m_model->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Expanding);
    m_model->setMenu(new QMenu(m_model));
    m_model->menu()->setToolTipsVisible(true);
    fillModelMenu();
    row->addWidget(m_model);
}

void SentenceBar::fillModelMenu() {
    QMenu* menu = m_model->menu();
    for (const BuiltinModel& model : builtinModels()) {
        const QString name = fromUtf8(model.name);
        QAction* action = menu->addAction(name);
        action->setToolTip(fromUtf8(model.what));
        tickWhere(menu, action,
                  [this, name = std::string(model.name)] { return m_workspace.scenario().source.name == name; });
        connect(action, &QAction::triggered, this, [this, name] { emit modelRequested(name); });
    }
    menu->addSeparator();
    connect(menu->addAction(tr("Options of toy…")), &QAction::triggered, this, &SentenceBar::toyOptionsRequested);
    connect(menu->addAction(tr("Open a file…")), &QAction::triggered, this, &SentenceBar::openRequested);
}

void SentenceBar::createTextFields(QHBoxLayout* row) {
    m_text = new QLineEdit;
    m_text->setObjectName(QStringLiteral("sentence"));
    m_text->setAccessibleName(tr("Sentence"));
    m_text->setAcceptDrops(false); // the window opens files and takes texts
    m_text->setMaxLength(longestText);
    connect(m_text, &QLineEdit::textEdited, this, &SentenceBar::typed);
    leaveUndoToTheWindow(m_text);
    row->addWidget(m_text, 1);

    m_pairRow = new QWidget;
    auto* pairRow = new QHBoxLayout(m_pairRow);
    pairRow->setContentsMargins(0, 0, 0, 0);
    m_pairLabel = new QLabel;
    m_pairLabel->setObjectName(QStringLiteral("muted"));
    pairRow->addWidget(m_pairLabel);
    m_pair = new QLineEdit;
    m_pair->setObjectName(QStringLiteral("sentence"));
    m_pair->setAcceptDrops(false);
    m_pair->setMaxLength(longestText);
    m_pairLabel->setBuddy(m_pair);
    connect(m_pair, &QLineEdit::textEdited, this, &SentenceBar::typed);
    leaveUndoToTheWindow(m_pair);
    pairRow->addWidget(m_pair, 1);
    m_pairRow->hide();
}

void SentenceBar::createExamples(QHBoxLayout* row) {
    m_examples = new QToolButton;
    m_examples->setText(tr("Examples ▾"));
    m_examples->setPopupMode(QToolButton::InstantPopup);
    m_examples->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Expanding);
    auto* menu = new QMenu(m_examples);
    menu->setToolTipsVisible(true);
    for (const Example& example : examples()) {
        QAction* action = menu->addAction(example.title);
        action->setToolTip(example.shows);
        connect(action, &QAction::triggered, this, [this, example] { showExample(example); });
    }
    m_examples->setMenu(menu);
    row->addWidget(m_examples);

    m_second = new QToolButton;
    m_second->setCheckable(true);
    m_second->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Expanding);
    connect(m_second, &QToolButton::clicked, this, &SentenceBar::setSecondText);
    row->addWidget(m_second);
}

void SentenceBar::focusText() {
    m_text->setFocus(Qt::ShortcutFocusReason);
    m_text->selectAll();
}

void SentenceBar::setText(const QString& text) {
    m_text->setText(text);
    typed();
}

void SentenceBar::showExample(const Example& example) {
    m_workspace.letPinFollow();
    m_text->setText(example.text);
    replaceTexts(tr("Example: %1").arg(example.title), -1);
}

void SentenceBar::setSecondText(bool on) {
    if (on == m_workspace.scenario().secondText().has_value() && on == !m_pairRow->isHidden())
        return;
    m_pairRow->setVisible(on);
    if (on && m_pair->text().trimmed().isEmpty())
        m_pair->setText(m_text->text());
    replaceTexts(m_workspace.scenario().texts ? tr("Let the model write the target")
                 : on                         ? tr("Add a second text")
                                              : tr("Remove the second text"),
                 -1);
    if (on) {
        m_pair->setFocus(Qt::OtherFocusReason);
        m_pair->selectAll(); // typing replaces what it begins with
    }
}

// A sentence is one step for Undo: what is typed without a pause, in one field.
void SentenceBar::typed() {
    constexpr qint64 pause = 1500; // milliseconds
    if (!m_sinceTyped.isValid() || m_sinceTyped.hasExpired(pause))
        ++m_burst;
    m_sinceTyped.start();
    replaceTexts(tr("Change the text"), mergeFirstText + m_burst);
}

// A field knows what was typed into it and nothing of what came from elsewhere: the window's list of changes knows all.
void SentenceBar::leaveUndoToTheWindow(QLineEdit* field) {
    field->installEventFilter(this);
    connect(field, &QLineEdit::editingFinished, this, [this] { m_sinceTyped.invalidate(); });
}

bool SentenceBar::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::ShortcutOverride) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->matches(QKeySequence::Undo) || key->matches(QKeySequence::Redo)) {
            event->ignore();
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

void SentenceBar::replaceTexts(const QString& name, int mergeId) {
    const std::string text = toUtf8(m_text->text());
    const std::string second = toUtf8(m_pair->text());
    // A target that the model has written is written anew for another source; an empty one too.
    const std::optional<SiteTexts>& texts = m_workspace.scenario().texts;
    const bool modelWrites = texts && (!hasVisibleCharacter(second) ||
                                       (texts->author != SiteTexts::Author::User && second == texts->target.source));
    const bool pair = !m_pairRow->isHidden() && !modelWrites;
    if (!hasVisibleCharacter(text) || (pair && !hasVisibleCharacter(second))) {
        emit hint(pair ? tr("Type two texts: the first asks, the second is looked at. The last result stays below.")
                       : tr("Type a sentence above, or choose one from Examples. The last result stays below."));
        return;
    }
    try {
        Scenario next =
            withTexts(m_workspace.scenario(), text, pair ? std::optional<std::string_view>(second) : std::nullopt);
        if (m_workspace.edit(name, std::move(next), mergeId))
            emit usable();
    } catch (const TextTooLong& error) {
        pair ? emit problem(fromUtf8(error.what())) : emit tooLong(m_text->text(), fromUtf8(error.what()));
    } catch (const InputError& error) {
        emit problem(fromUtf8(error.what()));
    }
}

QString SentenceBar::refusedText() const {
    const QString text = m_text->text();
    return hasVisibleCharacter(toUtf8(text)) && toUtf8(text) != m_workspace.scenario().firstText() ? text : QString();
}

bool SentenceBar::takesSecondText() const {
    const Scenario& scenario = m_workspace.scenario();
    if (!scenario.model)
        return false;
    return scenario.texts || scenario.model->config().pair != PairUse::None;
}

void SentenceBar::refresh() {
    const Scenario& scenario = m_workspace.scenario();
    const auto show = [](QLineEdit* field, const QString& text) {
        if (field->text() != text) { // keeps the cursor while the user types
            const QSignalBlocker quiet(field);
            field->setText(text);
            field->setCursorPosition(0); // its beginning is to be read
        }
    };
    show(m_text, fromUtf8(scenario.firstText()));
    const std::optional<std::string> second = scenario.secondText();
    if (second)
        show(m_pair, fromUtf8(*second));
    m_pairRow->setVisible(second.has_value());
    m_second->setChecked(second.has_value());
    const bool possible = takesSecondText();
    describeSecondText();
    m_second->setEnabled(scenario.texts ? scenario.texts->author == SiteTexts::Author::User
                                        : possible || second.has_value());
    if (scenario.texts)
        m_second->setToolTip(tr("The model writes the target again, for the source above"));
    else
        m_second->setToolTip(possible
                                 ? tr("A second text: the keys of cross-attention, or the second segment of an encoder")
                                 : tr("This model attends within one text; choose toy or an attention module for "
                                      "cross-attention between two texts"));
    refreshModelButton();
    refreshFixedTexts();
    emit usable();
}

// The texts of captured attention are those of its file.
void SentenceBar::refreshFixedTexts() {
    const CapturedAttention* captured =
        m_workspace.scenario().model ? m_workspace.scenario().model->captured() : nullptr;
    m_text->setEnabled(!captured);
    m_examples->setEnabled(!captured);
    m_text->setPlaceholderText(
        captured ? tr("The tokens below are those of %1; another model takes a sentence").arg(fromUtf8(captured->file))
                 : tr("Type a sentence"));
    m_text->setToolTip(captured ? whyUnchangeable(m_workspace.scenario())
                                : tr("Everything below is computed anew while you type"));
    m_examples->setToolTip(captured ? m_text->toolTip() : tr("Sentences to begin with, and what to look for in them"));
}

// What the second field is to this model.
void SentenceBar::describeSecondText() {
    const Scenario& scenario = m_workspace.scenario();
    if (scenario.texts) {
        const bool written = scenario.texts->author != SiteTexts::Author::User;
        m_pairLabel->setText(written ? tr("the model writes") : tr("target"));
        m_pair->setAccessibleName(tr("Target: what the decoder reads"));
        m_pair->setPlaceholderText(tr("The model writes here; or type a target of your own"));
        m_pair->setToolTip(
            tr("The decoder's text. Change it, and the model reads yours; empty, and it writes its own"));
        m_second->setText(tr("let it write"));
        return;
    }
    const bool segment = scenario.model && scenario.model->config().pair == PairUse::SecondSegment;
    m_pairLabel->setText(segment ? tr("second segment") : tr("keys and values from"));
    m_pair->setAccessibleName(segment ? tr("Second text: second segment") : tr("Second text: keys and values"));
    m_pair->setPlaceholderText(segment ? tr("Type the second segment") : tr("Type the text that is attended to"));
    m_pair->setToolTip(segment ? tr("Both texts are one sequence, and attend to each other")
                               : tr("Queries come from the first text, keys and values from this one"));
    m_second->setText(scenario.secondText() ? tr("− second text") : tr("+ second text"));
}

void SentenceBar::refreshModelButton() {
    const Scenario& scenario = m_workspace.scenario();
    if (!scenario.model)
        return;
    const ModelConfig& config = scenario.model->config();
    m_model->setText(tr("%1 · %2 × %3 heads ▾").arg(fromUtf8(config.name)).arg(config.layers).arg(config.heads));
    m_model->setToolTip(tr("The model: %1, d_model %2, %3 heads of d_k %4. Click to choose another.")
                            .arg(fromUtf8(config.name))
                            .arg(config.dModel)
                            .arg(config.heads)
                            .arg(config.dK));
}

} // namespace headscope
