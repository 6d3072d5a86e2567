#include "ui/widgets/cell_inspector.h"

#include "core/analysis/shown_cell.h"
#include "core/tensor/errors.h"
#include "ui/latest_wins.h"
#include "ui/render/color_scale.h"
#include "ui/stage_text.h"
#include "ui/theme.h"
#include "ui/widgets/rich_text.h"
#include "ui/workspace.h"

#include <QAbstractTextDocumentLayout>
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QLocale>
#include <QMenu>
#include <QScrollBar>
#include <QStyle>
#include <QTextDocument>
#include <QTextFrame>

#include <algorithm>
#include <cmath>

namespace headscope {

namespace {

constexpr int fewTerms = 6;
constexpr int mostTerms = 128; // of "all": a longer table would stall the window; copied text has every term

// A printed number in the locale's way. Only the point differs: it must keep adding up.
QString local(const std::string& number) {
    return fromUtf8(number).replace(u'.', QLocale().decimalPoint()).replace(QStringLiteral("inf"), QStringLiteral("∞"));
}

// "Q_sat"; the token may be a comma.
QString withIndex(const std::string& name) {
    const QString text = fromUtf8(name);
    if (text.size() > 2 && text[1] == u'_' && !text.contains(u'[') && !text.contains(u' '))
        return QStringLiteral("%1<sub>%2</sub>").arg(text[0]).arg(text.mid(2).toHtmlEscaped());
    return withIndices(text);
}

// What the last line of the chain is called.
QString nameOfResult(Stage stage) {
    switch (stage) {
    case Stage::Scores:
        return QObject::tr("score");
    case Stage::Scaled:
        return QObject::tr("scaled score");
    case Stage::Masked:
        return QObject::tr("masked score");
    case Stage::Weights:
        return QObject::tr("weight");
    case Stage::Norms:
        return QObject::tr("norm");
    default:
        return QObject::tr("result");
    }
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
                            "This key is masked for this query: the mask makes the score −∞, and exp(−∞) = 0, so "
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

// The same part of every score of a row comes from b_K, so the softmax takes it away again. Not so with rotary
// positions, which turn b_K by the place of its key, or a softcap, which bends the sum.
void addKeyBiasNote(const AttentionTrace& trace, LayerIndex layer, HeadIndex head, Stage stage, int row,
                    QStringList& notes) {
    const Scenario& scenario = trace.scenario;
    const ModelConfig& config = trace.config();
    const SharedMatrix& bK = scenario.model->tensor({layer, WeightKind::BK});
    const bool setByHand = std::ranges::any_of(scenario.interventions, [](const Intervention& i) {
        return i.kind == Intervention::Kind::SetCell && i.stage == Stage::Scores;
    });
    if ((stage != Stage::Scores && stage != Stage::Weights) || !bK || config.position == Position::Rope ||
        config.softcap != 0 || scenario.rules.any() || setByHand ||
        trace.layer(layer).emptyRows[static_cast<std::size_t>(row)])
        return;
    const SharedMatrix q = stageMatrix(trace, layer, head, Stage::Q); // (n, d_k)
    const TensorBand band = headBandOf(config, WeightKind::BK, head);
    double part = 0;
    for (int d = 0; d < q->cols(); ++d)
        part += static_cast<double>((*q)(row, d)) * static_cast<double>((*bK)(0, band.colBegin + d));
    if (part != 0)
        notes << QObject::tr("b_K adds Q·b_K = %1 to the score of every key of this row: equal for all, so the softmax "
                             "takes it away again.")
                     .arg(local(printNumber(part, true)));
}

QStringList notesOf(const AttentionTrace& trace, LayerIndex layer, HeadIndex head, Stage stage, int row, int col) {
    QStringList notes;
    addMaskNotes(trace, layer, stage, row, col, notes);
    if (stage == Stage::Weights)
        addTemperatureNotes(trace, row, notes);
    for (const RuleInfo& info : ruleTable())
        if (has(trace.scenario.rules, info.rule))
            notes << QObject::tr("Wrong on purpose: %1.").arg(fromUtf8(info.title));
    addKeyBiasNote(trace, layer, head, stage, row, notes);
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
    sheet.notes = notesOf(trace, layer, head, stage, row, col);
    if (isTokenByToken(stage)) {
        sheet.query = distinctText(trace.scenario.query, row);
        sheet.key = distinctText(trace.scenario.keyTokens(), col);
    }
    return sheet;
}

// Of a weight that the view has put together; nothing where it is the engine's own.
static std::optional<CellSheet> shownSheet(const AttentionTrace& trace, const View& view, int shownTerms) {
    constexpr std::size_t most = 1 << 20; // cells: more takes longer than a frame
    if (view.stage != Stage::Weights ||
        static_cast<std::size_t>(trace.scenario.queries()) * static_cast<std::size_t>(trace.scenario.keys()) > most)
        return std::nullopt;
    const auto shown = explainShownWeight(trace, view.layer, view.heads.front(), view, view.cell->row, view.cell->col);
    if (!shown)
        return std::nullopt;
    CellSheet sheet;
    sheet.explanation = shown->arithmetic;
    sheet.sum = printTerms(sheet.explanation, shownTerms);
    sheet.sumName = QObject::tr("sum");
    sheet.query = fromUtf8(shown->query);
    sheet.key = fromUtf8(shown->key);
    sheet.notes << fromUtf8(shown->rule) + u'.';
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
    setTextInteractionFlags(Qt::TextBrowserInteraction | Qt::TextSelectableByKeyboard);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff); // layOut leaves out what does not fit
    viewport()->setAutoFillBackground(false);
    document()->setDocumentMargin(0);
    setCursorWidth(0);                      // nothing is typed here
    setWordWrapMode(QTextOption::WordWrap); // never inside a number
    connect(this, &QTextBrowser::anchorClicked, this, [this](const QUrl& link) {
        const QString path = link.path();
        if (path == QStringLiteral("copy"))
            copyAsText();
        else if (path == QStringLiteral("back"))
            goBack();
        else if (path.startsWith(QStringLiteral("left")) || path.startsWith(QStringLiteral("right"))) {
            const PrintedTerm& term = m_sheet->sum.terms[path.section(u'-', 1).toULongLong()];
            follow(path.startsWith(QStringLiteral("left")) ? *term.leftFrom : *term.rightFrom);
        } else
            setShowAll(!m_showAll);
    });
    m_soon.setSingleShot(true);
    m_soon.setInterval(12);
    connect(&m_soon, &QTimer::timeout, this, [this] {
        --backgroundJobs;
        refresh();
    });
    connect(&m_workspace, &Workspace::traceChanged, this, &CellInspector::refreshSoon);
    connect(&m_workspace, &Workspace::documentChanged, this, [this] { m_visited.clear(); });
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
    if (!m_sheet)
        return;
    CellSheet sheet = *m_sheet;
    if (m_showAll)
        sheet.sum = printTerms(sheet.explanation, -1);
    QApplication::clipboard()->setText(cellSheetText(sheet));
}

// To the cell or the weight that a factor is.
void CellInspector::follow(const CellSource& source) {
    if (source.weight) {
        emit weightWanted({source.layer, *source.weight}, source.row, source.col);
        return;
    }
    m_visited.push_back(m_workspace.view());
    View view = m_workspace.view();
    view.layer = source.layer;
    view.heads = {source.head};
    view.stage = *source.stage;
    view.cell = CellRef{source.row, source.col};
    m_workspace.setView(view);
}

void CellInspector::goBack() {
    if (m_visited.empty())
        return;
    const View view = m_visited.back();
    m_visited.pop_back();
    m_workspace.setView(view);
    layOut();
}

// A factor that stands somewhere leads there.
QString CellInspector::linked(const QString& number, std::size_t term, bool left) const {
    const PrintedTerm& printed = m_sheet->sum.terms[term];
    if (!(left ? printed.leftFrom : printed.rightFrom))
        return number;
    return QStringLiteral("<a href='%1-%2' style='color:%3; text-decoration:none'>%4</a>")
        .arg(left ? QStringLiteral("left") : QStringLiteral("right"))
        .arg(term)
        .arg(theme().text.name(), number);
}

CellInspector::~CellInspector() {
    if (m_soon.isActive())
        --backgroundJobs;
}

// New numbers are seen in the picture first: laying out rich text takes longer than painting a heatmap.
void CellInspector::refreshSoon() {
    if (m_soon.isActive())
        return;
    ++backgroundJobs;
    m_soon.start();
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
        const bool isThere = view.cell->row < shape.rows && view.cell->col < shape.cols;
        const int terms = m_showAll ? mostTerms : fewTerms;
        if (isThere)
            m_sheet = shownSheet(*trace, view, terms);
        if (isThere && !m_sheet)
            m_sheet =
                cellSheet(*trace, view.layer, view.heads.front(), view.stage, view.cell->row, view.cell->col, terms);
    }
    fitTerms();
    layOut();
}

// Fewer terms in a low panel, so that the result is seen without scrolling: the steps to it are the arithmetic.
void CellInspector::fitTerms() {
    if (!m_sheet || m_showAll)
        return;
    const int rowHeight = fontMetrics().lineSpacing() + 3;                      // with the table's padding
    const int around = 7 + static_cast<int>(m_sheet->explanation.steps.size()); // headline, names, rest, sum, result
    setTerms(std::clamp(height() / rowHeight - around, 3, fewTerms));
}

void CellInspector::setTerms(int count) {
    m_shownTerms = count;
    m_sheet->sum = printTerms(m_sheet->explanation, count);
}

// By how many pixels the table, whose last line is the result, is higher than the panel.
int CellInspector::overflow() const {
    for (const QTextFrame* frame : document()->rootFrame()->childFrames())
        return static_cast<int>(
                   document()->documentLayout()->frameBoundingRect(const_cast<QTextFrame*>(frame)).bottom()) -
               viewport()->height();
    return 0;
}

void CellInspector::layOut() {
    m_laidOutWidth = width();
    const View& view = m_workspace.view();
    const bool sameCell = view.cell == m_laidOut.cell && view.stage == m_laidOut.stage &&
                          view.layer == m_laidOut.layer && view.heads == m_laidOut.heads;
    m_laidOut = view;
    const int scroll = sameCell ? verticalScrollBar()->value() : 0;
    setHtml(html());
    if (const int tooMuch = overflow(); m_sheet && !m_showAll && m_shownTerms > 1 && tooMuch > 0) {
        setTerms(std::max(1, m_shownTerms - 1 - tooMuch / (fontMetrics().lineSpacing() + 3)));
        setHtml(html());
    }
    verticalScrollBar()->setValue(scroll);
}

// A word of a hundred letters would push everything else aside.
static QString shortened(const QString& word) {
    constexpr qsizetype most = 24;
    return word.size() <= most ? word : word.left(most / 2) + QStringLiteral("…") + word.right(most / 2 - 1);
}

QString CellInspector::headline() const {
    const CellExplanation& e = m_sheet->explanation;
    const QString accent = QStringLiteral("<b><span style='color:%1'>%2</span></b>")
                               .arg(theme().accent.name(), local(printNumber(static_cast<double>(e.value))));
    const View& view = m_workspace.view();
    const QString whose = view.heads.size() > 1 ? headName(view.layer, view.heads.front()) + tr(": ") : QString();
    if (e.stage != Stage::Weights)
        return whose + withIndices(fromUtf8(e.sentence));
    return whose + tr("<b>%1</b> (query) attends %2 to <b>%3</b> (key)")
                       .arg(isolated(shortened(m_sheet->query).toHtmlEscaped()), accent,
                            isolated(shortened(m_sheet->key).toHtmlEscaped()));
}

// A column of pixels in the colour that negative and positive numbers have everywhere, stretched to a bar in the middle
// of its line.
QVariant CellInspector::loadResource(int type, const QUrl& name) {
    if (name.scheme() != QStringLiteral("bar"))
        return QTextBrowser::loadResource(type, name);
    // Asked for at every bar of every layout, so made once.
    const auto pixel = [](float value) {
        constexpr int height = 16, thick = 8;
        QImage image(1, height, QImage::Format_ARGB32_Premultiplied);
        image.fill(Qt::transparent);
        for (int y = (height - thick) / 2; y < (height + thick) / 2; ++y)
            image.setPixel(0, y, ColorScale(ColorMap::Viridis, true, {-1, 1}).color(value));
        return image;
    };
    static const QImage negative = pixel(-0.7F), positive = pixel(0.7F);
    return name.path() == QStringLiteral("negative") ? negative : positive;
}

QString CellInspector::bar(double share, int width) const {
    const int length = static_cast<int>(std::lround(std::fabs(share) * width));
    if (length == 0)
        return {};
    return QStringLiteral("<img src='bar:%1' width='%2' height='%3' style='vertical-align:bottom'>")
        .arg(share < 0 ? QStringLiteral("negative") : QStringLiteral("positive"))
        .arg(length)
        .arg(std::max(4, fontMetrics().ascent()));
}

// What fits beside each other in a width: the largest type first; in a very narrow panel the factors go.
CellInspector::Room CellInspector::roomFor(bool hasFactors) const {
    const PrintedSum& sum = m_sheet->sum;
    const CellExplanation& e = m_sheet->explanation;
    const int available = width() - style()->pixelMetric(QStyle::PM_ScrollBarExtent);
    // The longest text of every column stands for the column: measuring each would take longer than laying them out.
    const auto longest = [](std::string& sofar, const std::string& text) {
        if (text.size() > sofar.size())
            sofar = text;
    };
    std::string labelText, leftText = e.leftName, rightText = e.rightName, valueText = sum.result;
    for (const PrintedTerm& term : sum.terms) {
        longest(labelText, term.label);
        longest(leftText, term.left);
        longest(rightText, term.right);
        longest(valueText, term.term);
    }
    for (const bool factors : {true, false}) {
        if (factors && !hasFactors)
            continue;
        for (const double scale : {1.0, 0.88, 0.76}) {
            QFont scaled = font();
            scaled.setPointSizeF(scaled.pointSizeF() * scale);
            const QFontMetrics metrics(scaled);
            const auto widthOf = [&metrics](const std::string& text) {
                return metrics.horizontalAdvance(fromUtf8(text));
            };
            const int label = widthOf(labelText), left = widthOf(leftText), right = widthOf(rightText);
            const int value = widthOf(valueText);
            int needed = label + value;
            if (factors)
                needed += left + right + metrics.horizontalAdvance(QStringLiteral("×="));
            for (const ExplainStep& step : e.steps) // these lines share the columns
                needed = std::max(needed, metrics.horizontalAdvance(fromUtf8(step.label)) + value);
            needed = std::max(needed, metrics.horizontalAdvance(fromUtf8(sum.restName) + tr(" show")) + value);
            const int gap = metrics.averageCharWidth(), columns = factors ? 7 : 3;
            const int bar = std::min(available - needed - (columns + 2) * gap, metrics.height() * 5);
            if (bar >= 0 || (!factors && scale < 0.8))
                return {factors, scale, gap / 2, bar >= 12 ? bar : 0};
        }
    }
    return {};
}

QString CellInspector::sumTable() const {
    const CellExplanation& e = m_sheet->explanation;
    const PrintedSum& sum = m_sheet->sum;
    const QString muted = theme().muted.name();
    const auto [factors, scale, padding, barWidth] = roomFor(!e.leftName.empty() && !e.rightName.empty());
    const bool bars = barWidth > 0;

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
    else if (!e.leftName.empty() && e.rightName.empty())
        row(cell({}, "left") + cell(grey(withIndex(e.leftName)), "right"));
    for (std::size_t i = 0; i < sum.terms.size(); ++i) {
        const PrintedTerm& term = sum.terms[i];
        QString cells = cell(grey(fromUtf8(term.label).toHtmlEscaped().replace(u' ', QChar::Nbsp)), "left");
        if (factors)
            cells += cell(linked(local(term.left), i, true), "right") + cell(grey(QStringLiteral("×")), "center") +
                     cell(linked(local(term.right), i, false), "right") + cell(grey(QStringLiteral("=")), "center");
        const bool onlyHere = e.rightName.empty() || !factors; // one number a term: it is the factor
        cells += cell(onlyHere ? linked(local(term.term), i, true) : local(term.term), "right");
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
    // A row under a line: the line is the upper edge of its cells.
    const auto ruled = [](QString cells) {
        return cells.replace(QStringLiteral("<td "),
                             QStringLiteral("<td style='border-top:1px solid %1' ").arg(theme().border.name()));
    };
    const auto strong = [](const QString& text, bool last) {
        return last ? QStringLiteral("<b><span style='color:%1'>%2</span></b>").arg(theme().accent.name(), text)
                    : QStringLiteral("<b>%1</b>").arg(text);
    };
    if (!e.terms.empty()) {
        row(ruled(cell(m_sheet->sumName, "left", labelSpan) +
                  cell(strong(local(sum.result), e.steps.empty()), "right")));
    }
    // The last step ends in the number itself, which has a line and a name of its own.
    const QString result = nameOfResult(e.stage);
    for (std::size_t i = 0; i < e.steps.size(); ++i) {
        const bool isResult = i + 1 == e.steps.size();
        row(cell(withIndex(e.steps[i].label), "left", labelSpan) +
            cell(isResult ? QString() : local(printNumber(e.steps[i].value)), "right"));
    }
    if (!e.steps.empty()) {
        row(ruled(cell(strong(result, false), "left", labelSpan) +
                  cell(strong(local(printNumber(static_cast<double>(e.value))), true), "right")));
    }
    return QStringLiteral("<table cellspacing='0' cellpadding='%1' style='font-size:%2pt'>")
               .arg(std::clamp(padding, 1, 2))
               .arg(font().pointSizeF() * scale) +
           rows + QStringLiteral("</table>");
}

QString CellInspector::html() const {
    if (!m_sheet)
        return QStringLiteral("<p style='color:%1'>%2</p>")
            .arg(theme().muted.name(), tr("Click a cell to see its arithmetic"));
    QString text =
        QStringLiteral("<p style='font-size:large; margin-bottom:6px'>") + headline() + QStringLiteral("</p>");
    text += sumTable();
    for (const QString& note : m_sheet->notes)
        text +=
            QStringLiteral("<p style='margin-top:6px; color:%1'>%2</p>").arg(theme().muted.name(), withIndices(note));
    QStringList links;
    if (m_showAll && m_sheet->explanation.terms.size() > static_cast<std::size_t>(fewTerms))
        links << QStringLiteral("<a href='few'>%1</a>").arg(tr("show the largest only"));
    if (!m_visited.empty())
        links << QStringLiteral("<a href='back'>%1</a>").arg(tr("‹ back"));
    links << QStringLiteral("<a href='copy'>%1</a>").arg(tr("copy as text"));
    if (std::ranges::any_of(m_sheet->sum.terms, [](const PrintedTerm& t) { return t.leftFrom || t.rightFrom; }))
        links << QStringLiteral("<span style='color:%1'>%2</span>")
                     .arg(theme().muted.name(), tr("click a factor to go where it stands"));
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
    const int shown = m_shownTerms;
    fitTerms();
    if (width() != m_laidOutWidth || shown != m_shownTerms ||
        overflow() > 0) // not the scroll bar: its room is always kept
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
