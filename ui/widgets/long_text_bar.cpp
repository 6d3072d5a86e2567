#include "ui/widgets/long_text_bar.h"

#include "core/tensor/errors.h"
#include "ui/stage_text.h"
#include "ui/workspace.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QToolButton>

#include <algorithm>

namespace headscope {

static QToolButton* addButton(QHBoxLayout* row, const QString& text, const QString& tip) {
    auto* button = new QToolButton;
    button->setText(text);
    button->setToolTip(tip);
    row->addWidget(button, 0, Qt::AlignTop);
    return button;
}

LongTextBar::LongTextBar(Workspace& workspace, QWidget* parent) : QFrame(parent), m_workspace(workspace) {
    setObjectName(QStringLiteral("strip"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(14, 5, 12, 5);
    row->setSpacing(8);
    m_label = new QLabel;
    m_label->setWordWrap(true);
    m_label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    row->addWidget(m_label, 1);
    m_first = addButton(row, tr("Show its first part"), tr("As many tokens as this model takes; then the next ones"));
    m_back = addButton(row, tr("‹ Part before"), tr("The tokens before these"));
    m_next = addButton(row, tr("Next part ›"), tr("The tokens behind these"));
    m_toy = addButton(row, tr("All of it by toy"),
                      tr("The model toy takes up to %1 tokens").arg(QLocale().toString(ModelConfig().maxTokens)));
    auto* close = addButton(row, QStringLiteral("✕"), tr("Close the message"));
    close->setAccessibleName(tr("Close the message"));
    connect(m_first, &QToolButton::clicked, this, [this] { showPart(0); });
    connect(m_back, &QToolButton::clicked, this, [this] { showPart(shownPart() - 1); });
    connect(m_next, &QToolButton::clicked, this, [this] { showPart(shownPart() + 1); });
    connect(m_toy, &QToolButton::clicked, this, [this] { emit wholeTextWanted(fromUtf8(m_text)); });
    connect(close, &QToolButton::clicked, this, [this] {
        m_text.clear();
        refresh();
    });
    connect(&workspace, &Workspace::scenarioChanged, this, [this] {
        m_offering = false;
        if (!m_text.empty() && m_model != m_workspace.scenario().original)
            cut(fromUtf8(m_text));
        refresh();
    });
    hide();
}

// The parts of a text for the present model; false where it cannot be cut or need not be.
bool LongTextBar::cut(const QString& text) {
    m_text = toUtf8(text);
    m_parts.clear();
    m_model = m_workspace.scenario().original;
    try {
        m_parts = textParts(*m_workspace.scenario().model, m_text);
    } catch (const InputError&) { // what is wrong with it has been said
    }
    if (m_parts.size() < 2)
        m_text.clear();
    return !m_text.empty();
}

void LongTextBar::offer(const QString& text, const QString& why) {
    m_offering = cut(text);
    m_label->setText(why);
    refresh();
    if (!m_offering)
        emit problem(why);
}

void LongTextBar::follow(const QString& text) {
    cut(text);
    m_offering = false;
    refresh();
}

int LongTextBar::shownPart() const {
    const Scenario& scenario = m_workspace.scenario();
    const auto isShown = [&](const TextPart& part) { return textOf(part, m_text) == scenario.firstText(); };
    const auto part = std::ranges::find_if(m_parts, isShown);
    return part == m_parts.end() ? -1 : static_cast<int>(part - m_parts.begin());
}

void LongTextBar::showPart(int part) {
    try {
        const Scenario& scenario = m_workspace.scenario();
        const std::string text(textOf(m_parts.at(static_cast<std::size_t>(part)), m_text));
        m_workspace.edit(tr("Show part %1 of the text").arg(part + 1), withTexts(scenario, text, std::nullopt));
    } catch (const InputError& error) {
        emit problem(fromUtf8(error.what()));
    }
}

void LongTextBar::refresh() {
    const int part = m_text.empty() ? -1 : shownPart();
    const bool isPart = !m_offering && part >= 0;
    if (isPart) {
        const TextPart& shown = m_parts[static_cast<std::size_t>(part)];
        const TextPart& last = m_parts.back();
        const QLocale locale;
        m_label->setText(tr("Part %1 of %2 is shown: tokens %3 to %4 of %5. %6 takes up to %7 at once.")
                             .arg(part + 1)
                             .arg(m_parts.size())
                             .arg(locale.toString(shown.firstToken))
                             .arg(locale.toString(shown.firstToken + shown.tokens - 1))
                             .arg(locale.toString(last.firstToken + last.tokens))
                             .arg(fromUtf8(m_workspace.scenario().model->config().name))
                             .arg(locale.toString(m_workspace.scenario().model->config().maxTokens)));
    }
    m_first->setVisible(m_offering);
    m_back->setVisible(isPart);
    m_next->setVisible(isPart);
    m_back->setEnabled(part > 0);
    m_next->setEnabled(part + 1 < static_cast<int>(m_parts.size()));
    m_toy->setVisible(m_workspace.scenario().source.name != "toy");
    setVisible(m_offering || isPart);
}

QString LongTextBar::sentence() const {
    return isHidden() ? QString() : m_label->text();
}

} // namespace headscope
