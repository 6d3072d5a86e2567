#include "ui/widgets/cell_inspector.h"

#include "core/tensor/errors.h"
#include "ui/render/color_scale.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/workspace.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QLocale>
#include <QMenu>
#include <QScrollBar>

#include <algorithm>
#include <cmath>

namespace headscope {

namespace {

constexpr int fewTerms = 6;
constexpr int mostTerms = 512; // of "all": a longer table would stall the window; the rest stays one row

// A printed number in the locale's way. Only the point differs: it must keep adding up.
QString local(const std::string& number) {
    return fromUtf8(number).replace(u'.', QLocale().decimalPoint()).replace(QStringLiteral("inf"), QStringLiteral("∞"));
}

// "Q_sat" with its index below the line.
QString withIndex(const std::string& name) {
    const QString text = fromUtf8(name);
    const qsizetype underscore = text.indexOf(u'_');
    if (underscore < 0)
        return text.toHtmlEscaped();
    return text.left(underscore).toHtmlEscaped() + QStringLiteral("<sub>") + text.mid(underscore + 1).toHtmlEscaped() +
           QStringLiteral("</sub>");
}

bool isAttentionStage(Stage stage) {
    return stage == Stage::Scores || stage == Stage::Scaled || stage == Stage::Masked || stage == Stage::Weights;
}

// What the mask did to this cell or its row.
void addMaskNotes(const AttentionTrace& trace, LayerIndex layer, Stage stage, int row, int col, QStringList& notes) {
    const std::vector<bool>& empty = trace.layer(layer).emptyRows;
    const bool rowIsEmpty = static_cast<std::size_t>(row) < empty.size() && empty[static_cast<std::size_t>(row)];
    const bool needsRow = stage == Stage::Weights || stage == Stage::HeadOutput || stage == Stage::Norms;
    if (rowIsEmpty && needsRow) {
        notes << QObject::tr(
            "Every key of this row is masked: there is nothing to attend to, so the row is all zero and "
            "does not sum to 1.");
        return;
    }
    if ((stage == Stage::Masked || stage == Stage::Weights || stage == Stage::Norms) && !trace.mask.isOpen(row, col)) {
        notes << (has(trace.scenario.rules, Rule::MaskAfterSoftmax)
                      ? QObject::tr(
                            "This key is masked for this query, but only after the softmax (wrong on purpose): its "
                            "share is lost to the row.")
                      : QObject::tr(
                            "This key is masked for this query: the mask makes the score -∞, and exp(-∞) = 0, so "
                            "the weight is exactly 0."));
    }
}

void addTemperatureNotes(const AttentionTrace& trace, int row, QStringList& notes) {
    const double temperature = trace.scenario.temperature;
    if (temperature == 0)
        notes << QObject::tr("Temperature 0: the largest masked score of the row takes the whole weight; equal largest "
                             "scores share it, all others get 0.");
    if (std::isinf(temperature)) {
        int open = 0;
        for (int c = 0; c < trace.scenario.keys(); ++c)
            open += trace.mask.isOpen(row, c) ? 1 : 0;
        notes
            << QObject::tr("Temperature ∞: the scores no longer count; each of the %1 open keys gets 1/%1.").arg(open);
    }
}

QStringList notesOf(const AttentionTrace& trace, LayerIndex layer, Stage stage, int row, int col) {
    QStringList notes;
    addMaskNotes(trace, layer, stage, row, col, notes);
    if (stage == Stage::Weights)
        addTemperatureNotes(trace, row, notes);
    for (const RuleInfo& info : ruleTable())
        if (has(trace.scenario.rules, info.rule))
            notes << QObject::tr("Wrong on purpose: %1.").arg(fromUtf8(info.title));
    return notes;
}

} // namespace

CellSheet cellSheet(const AttentionTrace& trace, LayerIndex layer, HeadIndex head, Stage stage, int row, int col,
                    int shownTerms) {
    CellSheet sheet;
    sheet.explanation = explainCell(trace, layer, head, stage, row, col);
    sheet.sum = printTerms(sheet.explanation, shownTerms);
    const bool isScore = isAttentionStage(stage) && !(stage == Stage::Weights && trace.layer(layer).meanWeights);
    sheet.sumName = isScore                 ? QObject::tr("score Q·K")
                    : stage == Stage::Norms ? QObject::tr("sum of squares")
                                            : QObject::tr("sum");
    sheet.notes = notesOf(trace, layer, stage, row, col);
    if (isTokenByToken(stage)) {
        sheet.query = tokenText(trace.scenario.query.tokens[static_cast<std::size_t>(row)]);
        sheet.key = tokenText(trace.scenario.keyTokens().tokens[static_cast<std::size_t>(col)]);
    }
    return sheet;
}

QString cellSheetText(const CellSheet& sheet) {
    const CellExplanation& e = sheet.explanation;
    QStringList lines{fromUtf8(e.sentence)};
    const auto line = [&lines](const QStringList& cells) { lines << cells.join(u'\t'); };
    if (!e.leftName.empty() && !e.rightName.empty())
        line({{}, fromUtf8(e.leftName), fromUtf8(e.rightName), QObject::tr("term")});
    for (const PrintedTerm& term : sheet.sum.terms)
        line({fromUtf8(term.label), local(term.left), local(term.right), local(term.term)});
    if (!sheet.sum.rest.empty())
        line({fromUtf8(sheet.sum.restName), {}, {}, local(sheet.sum.rest)});
    if (!sheet.sum.constantName.empty())
        line({fromUtf8(sheet.sum.constantName), {}, {}, local(sheet.sum.constant)});
    if (!e.terms.empty())
        line({sheet.sumName, {}, {}, local(sheet.sum.result)});
    for (const ExplainStep& step : e.steps)
        line({fromUtf8(step.label), {}, {}, local(printNumber(step.value))});
    return (lines + sheet.notes).join(u'\n') + u'\n';
}

CellInspector::CellInspector(Workspace& workspace, QWidget* parent) : QTextBrowser(parent), m_workspace(workspace) {
    setObjectName(QStringLiteral("cellInspector"));
    setAccessibleName(tr("Arithmetic of the pinned cell"));
    setFrameShape(QFrame::NoFrame);
    setOpenLinks(false);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff); // layOut leaves out what does not fit
    viewport()->setAutoFillBackground(false);
    document()->setDocumentMargin(0);
    connect(this, &QTextBrowser::anchorClicked, this, [this](const QUrl& link) {
        if (link.path() == QStringLiteral("copy"))
            copyAsText();
        else
            setShowAll(!m_showAll);
    });
    connect(&m_workspace, &Workspace::traceChanged, this, &CellInspector::refresh);
    connect(&m_workspace, &Workspace::viewChanged, this, &CellInspector::refresh);
    refresh();
}

void CellInspector::setShowAll(bool all) {
    if (m_showAll == all)
        return;
    m_showAll = all;
    refresh();
}

void CellInspector::copyAsText() {
    if (m_sheet)
        QApplication::clipboard()->setText(cellSheetText(*m_sheet));
}

void CellInspector::refresh() {
    m_sheet.reset();
    const SharedTrace& trace = m_workspace.trace();
    const View& view = m_workspace.view();
    if (trace && view.cell && view.layer.value < static_cast<int>(trace->layers.size()) && !view.heads.empty() &&
        view.heads.front().value < trace->config().heads && stageAvailable(*trace, view.stage)) {
        // The trace may still be that of a shorter sentence.
        const StageShape shape =
            stageShape(trace->config(), view.stage, trace->scenario.queries(), trace->scenario.keys());
        if (view.cell->row < shape.rows && view.cell->col < shape.cols)
            m_sheet = cellSheet(*trace, view.layer, view.heads.front(), view.stage, view.cell->row, view.cell->col,
                                m_showAll ? mostTerms : fewTerms);
    }
    layOut();
}

void CellInspector::layOut() {
    const int scroll = verticalScrollBar()->value();
    setHtml(html());
    verticalScrollBar()->setValue(scroll);
}

QString CellInspector::headline() const {
    const CellExplanation& e = m_sheet->explanation;
    const QString accent = QStringLiteral("<b><span style='color:%1'>%2</span></b>")
                               .arg(theme().accent.name(), local(printNumber(static_cast<double>(e.value))));
    if (e.stage != Stage::Weights)
        return fromUtf8(e.sentence).toHtmlEscaped();
    return tr("<b>%1</b> (query) attends %2 to <b>%3</b> (key)")
        .arg(m_sheet->query.toHtmlEscaped(), accent, m_sheet->key.toHtmlEscaped());
}

// A rectangle of its share of the width: a table of one cell, since rich text knows no bars.
QString CellInspector::bar(double share, int width) const {
    const int length = static_cast<int>(std::lround(std::fabs(share) * width));
    if (length == 0)
        return {};
    const ColorScale scale(ColorMap::Viridis, true, {-1, 1});
    const QColor color(scale.color(share < 0 ? -0.7F : 0.7F));
    return QStringLiteral("<table cellspacing='0' cellpadding='0' width='%1'><tr><td bgcolor='%2'>"
                          "<span style='font-size:%3px'>&nbsp;</span></td></tr></table>")
        .arg(length)
        .arg(color.name())
        .arg(std::max(3, fontMetrics().height() / 2));
}

QString CellInspector::sumTable() const {
    const CellExplanation& e = m_sheet->explanation;
    const PrintedSum& sum = m_sheet->sum;
    const QString muted = theme().muted.name();
    bool factors = !e.leftName.empty() && !e.rightName.empty();

    // What fits: the bar takes what the numbers leave; in a very narrow panel the factors go first.
    const QFontMetrics metrics(font());
    const auto widest = [&metrics](int so_far, const std::string& text) {
        return std::max(so_far, metrics.horizontalAdvance(fromUtf8(text)));
    };
    int label = 0, left = widest(0, e.leftName), right = widest(0, e.rightName), value = widest(0, sum.result);
    for (const PrintedTerm& term : sum.terms) {
        label = widest(label, term.label);
        left = widest(left, term.left);
        right = widest(right, term.right);
        value = widest(value, term.term);
    }
    const int gap = metrics.averageCharWidth() * 2;
    const int signs = metrics.horizontalAdvance(QStringLiteral("×=")) + 2 * gap;
    const int available = viewport()->width() - 5 * gap;
    const int needed = label + value + gap;
    if (factors && needed + left + right + signs > available)
        factors = false;
    const int barWidth = std::min(available - needed - (factors ? left + right + signs : 0), 160);
    const bool bars = barWidth >= 16;

    QString rows;
    const auto cell = [](const QString& text, const char* align, int span = 1) {
        return QStringLiteral("<td align='%1' colspan='%2'>%3</td>").arg(QLatin1String(align)).arg(span).arg(text);
    };
    const auto row = [&rows](const QString& cells) {
        rows += QStringLiteral("<tr>") + cells + QStringLiteral("</tr>");
    };
    const int labelSpan = factors ? 5 : 1;
    const auto grey = [&muted](const QString& text) {
        return QStringLiteral("<span style='color:%1'>%2</span>").arg(muted, text);
    };

    if (factors)
        row(cell({}, "left") + cell(grey(withIndex(e.leftName)), "right") + cell({}, "left") +
            cell(grey(withIndex(e.rightName)), "right") + cell({}, "left") + cell(grey(tr("term")), "right"));
    for (const PrintedTerm& term : sum.terms) {
        QString cells = cell(grey(fromUtf8(term.label).toHtmlEscaped()), "left");
        if (factors)
            cells += cell(local(term.left), "right") + cell(grey(QStringLiteral("×")), "center") +
                     cell(local(term.right), "right") + cell(grey(QStringLiteral("=")), "center");
        cells += cell(local(term.term), "right");
        if (bars)
            cells += cell(bar(term.share, barWidth), "left");
        row(cells);
    }
    const bool canShowMore = sum.smaller > 0 && !m_showAll;
    if (!sum.rest.empty()) {
        QString name = grey(fromUtf8(sum.restName).toHtmlEscaped());
        if (canShowMore)
            name += QStringLiteral(" <a href='all'>%1</a>").arg(tr("show"));
        row(cell(name, "left", labelSpan) + cell(grey(local(sum.rest)), "right"));
    }
    if (!sum.constantName.empty())
        row(cell(QStringLiteral("+ ") + withIndex(sum.constantName), "left", labelSpan) +
            cell(local(sum.constant), "right"));
    const QString line =
        QStringLiteral("<tr><td colspan='%1' style='border-top:1px solid %2; font-size:1px'></td></tr>")
            .arg(labelSpan + 1 + (bars ? 1 : 0))
            .arg(theme().border.name());
    const auto strong = [](const QString& text, bool last) {
        return last ? QStringLiteral("<b><span style='color:%1'>%2</span></b>").arg(theme().accent.name(), text)
                    : QStringLiteral("<b>%1</b>").arg(text);
    };
    if (!e.terms.empty()) {
        rows += line;
        row(cell(m_sheet->sumName, "left", labelSpan) + cell(strong(local(sum.result), e.steps.empty()), "right"));
    }
    for (std::size_t i = 0; i < e.steps.size(); ++i) {
        const bool last = i + 1 == e.steps.size();
        if (last)
            rows += line;
        const QString name = fromUtf8(e.steps[i].label).toHtmlEscaped();
        const QString number = local(printNumber(e.steps[i].value));
        row(cell(last ? strong(name, false) : name, "left", labelSpan) +
            cell(last ? strong(number, true) : number, "right"));
    }
    return QStringLiteral("<table cellspacing='0' cellpadding='%1'>").arg(std::max(1, gap / 6)) + rows +
           QStringLiteral("</table>");
}

QString CellInspector::html() const {
    if (!m_sheet)
        return QStringLiteral("<p style='color:%1'>%2</p>")
            .arg(theme().muted.name(), tr("Click a cell to see its arithmetic"));
    QString text =
        QStringLiteral("<p style='font-size:large; margin-bottom:6px'>") + headline() + QStringLiteral("</p>");
    text += sumTable();
    for (const QString& note : m_sheet->notes)
        text += QStringLiteral("<p style='margin-top:6px; color:%1'>%2</p>")
                    .arg(theme().muted.name(), note.toHtmlEscaped());
    QStringList links;
    if (m_showAll && m_sheet->explanation.terms.size() > static_cast<std::size_t>(fewTerms))
        links << QStringLiteral("<a href='few'>%1</a>").arg(tr("show the largest only"));
    links << QStringLiteral("<a href='copy'>%1</a>").arg(tr("copy as text"));
    return text + QStringLiteral("<p style='margin-top:6px'>") + links.join(QStringLiteral(" · ")) +
           QStringLiteral("</p>");
}

QSize CellInspector::sizeHint() const {
    const QFontMetrics metrics(font());
    return {metrics.averageCharWidth() * 46, metrics.height() * 19};
}

void CellInspector::changeEvent(QEvent* event) {
    QTextBrowser::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange ||
        event->type() == QEvent::StyleChange)
        layOut();
}

void CellInspector::resizeEvent(QResizeEvent* event) {
    QTextBrowser::resizeEvent(event);
    if (event->size().width() != event->oldSize().width())
        layOut();
}

void CellInspector::keyPressEvent(QKeyEvent* event) {
    if (event->matches(QKeySequence::Copy) && !textCursor().hasSelection())
        copyAsText();
    else
        QTextBrowser::keyPressEvent(event);
}

void CellInspector::contextMenuEvent(QContextMenuEvent* event) {
    QMenu menu(this);
    QAction* selection = menu.addAction(tr("Copy selection"), this, &QTextBrowser::copy);
    selection->setEnabled(textCursor().hasSelection());
    menu.addAction(tr("Copy as text"), this, &CellInspector::copyAsText)->setEnabled(m_sheet.has_value());
    QAction* all = menu.addAction(tr("Show all terms"), this, &CellInspector::setShowAll);
    all->setCheckable(true);
    all->setChecked(m_showAll);
    menu.exec(event->globalPos());
}

} // namespace headscope
