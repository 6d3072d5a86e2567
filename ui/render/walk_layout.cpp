#include "ui/render/walk_layout.h"

#include "core/attention/printed_sum.h"
#include "ui/render/figure_parts.h"

#include <algorithm>
#include <cmath>

namespace headscope {
namespace {

constexpr PanelShows shows{false, true, true};
constexpr double pieceGap = 7, most = 64; // between pieces of one matrix; largest side of a cell
constexpr double steepest = 3;            // how many times as wide as high a cell may be, or the other way round
constexpr double symbolGap = 14;          // after a symbol that is wider than its matrix
constexpr int wide = 64;                  // more columns than this are looked at as a band, not cell by cell

// A panel as a walk draws it: symbol and shape stand in a line of their own. Where the matrices have no room for
// numbers, what is marked still has its own.
Panel bare(const Panel& panel, const WalkLayout::Place& at) {
    Panel out = panel;
    out.numbersOfMarks = panel.numbers && !at.numbers;
    out.numbers = panel.numbers && at.numbers;
    out.numberFont = at.numbers;
    out.title.clear();
    out.rowTitle.clear();
    out.colTitle.clear();
    out.elides = true;
    if (!at.namesRows)
        out.rows.clear();
    return out;
}

QFont signFont(Sheet& sheet, const QString& sign) {
    return sheet.font(sign.size() > 1 ? 1.1 : 1.6);
}

double signWidth(Sheet& sheet, const WalkMatrix& m) {
    return m.before.isEmpty() ? pieceGap : std::max(26.0, sheet.width(m.before, signFont(sheet, m.before)) + 12);
}

bool isWide(const WalkMatrix& m) {
    return m.panel.colCount() > wide;
}

// All such matrices of a walk have cells of one size.
bool hasCommonCells(const WalkMatrix& m) {
    return !isWide(m) && !m.tall && !m.panel.isPlain;
}

// Numbers without colours are as wide as they are written.
double plainWidth(const Sheet& sheet, const WalkMatrix& m) {
    return m.panel.isPlain ? sheet.width(m.panel.picture->longestNumber(), figureFont(sheet.leastNumber())) / 0.8 : 0;
}

// Widths grow with the number of columns, but slower: 384 columns are not 48 times as interesting as 8.
double shareOf(const WalkMatrix& m) {
    return std::pow(m.panel.colCount(), 0.6);
}

// Places the matrices line by line; lines: of each matrix.
class Liner {
public:
    Liner(Sheet& sheet, const Walk& walk, const std::vector<int>& lines, double width)
        : m_sheet(sheet), m_walk(walk), m_lines(lines), m_width(width), m_text(sheet.lineHeight(sheet.font())),
          m_places(walk.matrices.size()) {}

    // The matrices of one line; height: of its cells. Returns the y below it, or nothing. One cell size for the whole
    // walk: no cell is larger than `cell`, which shrinks to those of this line.
    std::optional<double> place(int line, QPointF topLeft, double height, QSizeF& cell);
    double around() const { return m_text + 6 + rangeLine(); } // of a line, beside labels and cells
    std::vector<WalkLayout::Place> take() { return std::move(m_places); }

private:
    double rangeLine() const { return m_sheet.lineHeight(m_sheet.font(0.85)) + 8; }
    double signOf(std::size_t i, bool first) const {
        return first && m_walk.matrices[i].before.isEmpty() ? 0 : signWidth(m_sheet, m_walk.matrices[i]);
    }
    std::vector<std::size_t> matricesOf(int line);
    double cellWidth(const std::vector<std::size_t>& own, double available) const;
    double rowHeight(const std::vector<std::size_t>& own, double width) const;

    Sheet& m_sheet;
    const Walk& m_walk;
    const std::vector<int>& m_lines;
    double m_width, m_text;
    std::vector<WalkLayout::Place> m_places;
};

// Tokens that run through a whole line are named at its ends; the matrices between have the room for their cells.
std::vector<std::size_t> Liner::matricesOf(int line) {
    std::vector<std::size_t> own;
    for (std::size_t i = 0; i < m_walk.matrices.size(); ++i)
        if (m_lines[i] == line)
            own.push_back(i);
    for (const std::size_t i : own)
        m_places[i].namesRows =
            i == own.front() || i == own.back() || m_walk.matrices[i].rows.runs != WalkMatrix::Runs::Row;
    return own;
}

// Of the matrices that are looked at cell by cell: what the bands leave them, evenly.
double Liner::cellWidth(const std::vector<std::size_t>& own, double available) const {
    double shares = 0, bands = 0;
    int columns = 0;
    for (const std::size_t i : own) {
        const WalkMatrix& m = m_walk.matrices[i];
        if (m.panel.isPlain)
            continue;
        shares += shareOf(m);
        if (isWide(m))
            bands += shareOf(m);
        else
            columns += m.panel.colCount();
    }
    return columns > 0 ? std::min(most, available * (1 - bands / shares) / columns) : most;
}

// The same row stands at the same height in every matrix; cells of queries by keys are square where they may be.
double Liner::rowHeight(const std::vector<std::size_t>& own, double width) const {
    const auto isSquare = [this](std::size_t i) {
        const WalkMatrix& m = m_walk.matrices[i];
        return !m.tall && !isWide(m) && m.panel.colCount() == m.panel.rowCount();
    };
    const bool square = own.size() > 1 && std::ranges::any_of(own, isSquare);
    const double height = square ? std::clamp(width, 1.1 * m_text, 2.6 * m_text) : 1.7 * m_text;
    return width < 8 ? height : std::min(height, steepest * width);
}

std::optional<double> Liner::place(int line, QPointF topLeft, double height, QSizeF& cell) {
    const std::vector<std::size_t> own = matricesOf(line);
    double signs = 0, shares = 0;
    for (const std::size_t i : own) {
        signs += signOf(i, i == own.front()) + plainWidth(m_sheet, m_walk.matrices[i]);
        shares += shareOf(m_walk.matrices[i]);
    }
    const double maxLabel = 0.16 * m_width;
    double top = 0;
    // Labels and cell sizes depend on each other; room for labels is only ever given more, so that it settles.
    // right: what a symbol that is wider than its matrix needs beside it.
    std::vector<double> left(m_places.size()), right(m_places.size());
    for (int round = 0; round < 4; ++round) {
        double taken = signs;
        for (const std::size_t i : own)
            taken += (left[i] = std::max(left[i], m_places[i].room.left)) + right[i];
        if (m_width - taken < 3.0 * static_cast<double>(own.size()) || height - top < 8)
            return std::nullopt;
        const double widest = std::min(cell.width(), cellWidth(own, m_width - taken)),
                     highest = std::min(cell.height(), rowHeight(own, widest));
        double newTop = 0;
        for (const std::size_t i : own) {
            const WalkMatrix& m = m_walk.matrices[i];
            const Panel panel = bare(m.panel, m_places[i]);
            const double band = (m_width - taken) * shareOf(m) / shares / panel.colCount();
            const double tall = (height - top) / panel.rowCount();
            QSizeF pitch(isWide(m) ? std::min(band, most) : widest,
                         std::min(tall, m.tall ? std::min(1.1 * m_text, highest) : highest));
            if (hasCommonCells(m))
                pitch.setWidth(std::min(pitch.width(), steepest * pitch.height()));
            if (m.panel.isPlain)
                pitch.setWidth(plainWidth(m_sheet, m));
            m_places[i].pitch = pitch;
            if (m.tall && pitch.height() < 0.55 * m_text) // numbers of dimensions that nobody can read
                m_places[i].namesRows = false;
            m_places[i].room = roomFor(m_sheet, panel, pitch, {maxLabel, maxLabel}, shows);
            newTop = std::max(newTop, m_places[i].room.top);
            const double lacking = m_sheet.formulaWidth(m.symbol, m_sheet.font(1, true)) + symbolGap -
                                   pitch.width() * panel.colCount() - (i == own.back() ? 0 : signOf(i + 1, false));
            right[i] = std::max(right[i], std::min(lacking, 0.12 * m_width));
        }
        top = newTop;
    }
    const double cellsTop = topLeft.y() + m_text + 6 + top;
    double signY = cellsTop + 10;
    for (const std::size_t i : own)
        signY = std::max(signY, cellsTop + std::min(40.0, 1.5 * m_places[i].pitch.height()));
    for (const std::size_t i : own)
        if (hasCommonCells(m_walk.matrices[i]))
            cell = cell.boundedTo(m_places[i].pitch);
    double x = topLeft.x(), bottom = cellsTop;
    for (const std::size_t i : own) {
        WalkLayout::Place& at = m_places[i];
        at.sign = {x, signY};
        x += signOf(i, i == own.front()) + left[i];
        at.symbol = {x, topLeft.y()};
        at.topLeft = {x, cellsTop};
        at.endsLine = i == own.back();
        const QRectF area = at.area(m_walk.matrices[i].panel);
        x = area.right() + right[i];
        bottom = std::max(bottom, area.bottom());
    }
    return bottom + rangeLine();
}

std::optional<WalkLayout> layOutLines(Sheet& sheet, const Walk& walk, const std::vector<int>& lines, QPointF topLeft,
                                      double width, std::optional<double> height) {
    Liner liner(sheet, walk, lines, width);
    const int count = lines.back() + 1;
    const double perLine = height ? *height / count - liner.around() : 0.5 * width / count;
    double y = 0;
    QSizeF cell(most, most);
    for (int round = 0; round < 3; ++round) { // until every line has the cells of the one with the smallest
        y = topLeft.y();
        const QSizeF before = cell;
        for (int line = 0; line < count; ++line) {
            const std::optional<double> next = liner.place(line, {topLeft.x(), y}, perLine, cell);
            if (!next)
                return std::nullopt;
            y = *next;
        }
        if (before == cell)
            break;
    }
    return WalkLayout{liner.take(), y};
}

// One size of numbers for all matrices that are looked at cell by cell, or none; others have them where they fit.
void chooseNumbers(Sheet& sheet, const Walk& walk, WalkLayout& layout) {
    std::optional<QFont> common = sheet.font();
    for (std::size_t i = 0; common && i < walk.matrices.size(); ++i) {
        const WalkMatrix& m = walk.matrices[i];
        if (!hasCommonCells(m))
            continue;
        const std::optional<QFont> own = sheet.numbersIn(*m.panel.picture, layout.places[i].pitch);
        if (!own || own->pointSizeF() < common->pointSizeF())
            common = own;
    }
    for (std::size_t i = 0; i < walk.matrices.size(); ++i) {
        const WalkMatrix& m = walk.matrices[i];
        WalkLayout::Place& at = layout.places[i];
        const auto fits = [&] {
            return numberFont(*m.panel.picture, *common, 0.98 * common->pointSizeF(), at.pitch, figureDevice());
        };
        if (common && (hasCommonCells(m) || (!isWide(m) && fits())))
            at.numbers = common;
        else if (m.panel.isPlain)
            at.numbers = sheet.numbersIn(*m.panel.picture, at.pitch);
    }
}

// A line may begin with what is made, or with what the line above is divided by; never with a factor or an addend.
bool mayBegin(const QString& sign) {
    return sign.startsWith(u'=') || sign.startsWith(u'÷');
}

// How well the least cell can be read: nobody gains from cells wider than their numbers.
double legibility(Sheet& sheet, const std::optional<WalkLayout>& layout) {
    if (!layout)
        return 0;
    const double text = sheet.lineHeight(sheet.font());
    double least = 2.2 * text * text;
    for (const WalkLayout::Place& place : layout->places)
        least = std::min(least, std::min(place.pitch.width(), 2 * text) * std::min(place.pitch.height(), 1.1 * text));
    return least;
}

} // namespace

// Several matrices in a narrow room stand in two lines, where that makes the cells plainly larger.
std::optional<WalkLayout> layOutWalk(Sheet& sheet, const Walk& walk, QPointF topLeft, double width,
                                     std::optional<double> height) {
    std::vector<int> lines;
    for (const WalkMatrix& m : walk.matrices)
        lines.push_back(m.line);
    std::optional<WalkLayout> best = layOutLines(sheet, walk, lines, topLeft, width, height);
    const bool mayBreak = lines.back() == 0;
    for (std::size_t cut = 1; mayBreak && cut < lines.size(); ++cut) {
        if (!mayBegin(walk.matrices[cut].before))
            continue;
        for (std::size_t i = 0; i < lines.size(); ++i)
            lines[i] = i < cut ? 0 : 1;
        std::optional<WalkLayout> broken = layOutLines(sheet, walk, lines, topLeft, width, height);
        if (legibility(sheet, broken) > 1.2 * legibility(sheet, best))
            best = std::move(broken);
    }
    if (best)
        chooseNumbers(sheet, walk, *best);
    return best;
}

void drawWalk(Sheet& sheet, const Walk& walk, const WalkLayout& layout, double right) {
    const FigureTheme& theme = sheet.theme();
    const QFont bold = sheet.font(1, true), small = sheet.font(0.85);
    const double text = sheet.lineHeight(sheet.font());
    for (std::size_t i = 0; i < walk.matrices.size(); ++i) {
        const WalkMatrix& m = walk.matrices[i];
        const WalkLayout::Place& at = layout.places[i];
        const QRectF area = at.area(m.panel);
        const double next =
            at.endsLine ? right : layout.places[i + 1].sign.x() + signWidth(sheet, walk.matrices[i + 1]);
        if (!m.before.isEmpty()) {
            const QFont sign = signFont(sheet, m.before);
            const double from = layout.places[i].sign.x();
            sheet.text(QRectF(from, at.sign.y() - 12, at.topLeft.x() - at.room.left - from, 24), Qt::AlignCenter,
                       m.before, sign, theme.muted);
        }
        const QString shape = shapeText(m.panel.picture->matrix());
        const double symbol = sheet.formulaWidth(m.symbol, bold);
        const double room = next - area.left() - (at.endsLine ? 0 : 6);
        if (symbol <= room) {
            sheet.formula(at.symbol, m.symbol, bold, theme.text);
            if (symbol + 8 + sheet.width(shape, small) <= room)
                sheet.text(QRectF(at.symbol.x() + symbol + 8, at.symbol.y(), sheet.width(shape, small) + 1, text),
                           Qt::AlignLeft | Qt::AlignVCenter, shape, small, theme.muted);
        } else { // small, or without whose it is
            const QString shorter = m.symbol.section(QStringLiteral(", "), 0, 0);
            for (const QString& fits : {m.symbol, shorter})
                if (sheet.formulaWidth(fits, small) <= room) {
                    sheet.formula(at.symbol, fits, small, theme.text);
                    break;
                }
        }
        drawPanel(sheet, bare(m.panel, at), at.topLeft, at.pitch, at.room, shows);
        if (m.panel.isPlain)
            continue;
        if (m.panel.numbers && !at.numbers)
            sheet.countNumbered(false);
        // Of a matrix with few rows it stands beside the sign that follows, not below it; at the end it may begin
        // before its matrix.
        const ColorScale& scale = m.panel.picture->scale();
        const bool meetsSign = !at.endsLine && area.bottom() < layout.places[i + 1].sign.y() + 12;
        const double end = at.endsLine ? right : meetsSign ? layout.places[i + 1].sign.x() : next;
        const double needed = smallBarWidth(sheet, scale);
        const double from = at.endsLine ? std::min(area.left(), right - needed) : area.left();
        drawSmallBar(sheet, {from, area.bottom() + 3},
                     std::min(end - from - (at.endsLine ? 0 : 4), std::max(area.width(), needed)), scale,
                     countCut(*m.panel.picture));
    }
}

void drawWalkMarks(Sheet& sheet, const Walk& walk, const WalkLayout& layout, const QColor& ground) {
    for (std::size_t i = 0; i < walk.matrices.size(); ++i) {
        const WalkLayout::Place& at = layout.places[i];
        drawPanelMarks(sheet, bare(walk.matrices[i].panel, at), at.topLeft, at.pitch, at.room, ground);
    }
}

double drawWalkArithmetic(Sheet& sheet, const Walk& walk, WalkCell cell, QPointF topLeft, double width, bool compact) {
    const FigureTheme& theme = sheet.theme();
    const QFont font = sheet.font(), bold = sheet.font(1, true);
    const double text = sheet.lineHeight(font);
    const CellRef own = walk.cellOf(cell);
    const CellExplanation explanation =
        explainCell(*walk.trace, walk.view.layer, walk.headOf(cell), walk.view.stage, own.row, own.col);
    double y = topLeft.y();
    y += sheet.formulaParagraph({topLeft.x(), y}, width, sentenceText(explanation, font), bold, theme.accent) + 4;
    if (!explanation.terms.empty())
        y += sheet.formulaParagraph({topLeft.x(), y}, width, sumText(explanation, font), font, theme.text) + 4;
    if (const QString term = termText(walk, cell); !term.isEmpty())
        y += sheet.paragraph({topLeft.x(), y}, width, term, bold, theme.text) + 4;
    const auto number = [](double v) { return QString::fromStdString(printNumber(v)); }; // as in the inspector
    if (compact) {
        QStringList steps;
        for (const ExplainStep& step : explanation.steps)
            steps << QString::fromStdString(step.label) + QStringLiteral(" → ") + number(step.value);
        if (!steps.isEmpty())
            y +=
                sheet.formulaParagraph({topLeft.x(), y}, width, steps.join(QStringLiteral("  ·  ")), font, theme.muted);
        return y - topLeft.y();
    }
    double widest = 0;
    for (const ExplainStep& step : explanation.steps)
        widest = std::max(widest, sheet.formulaWidth(QString::fromStdString(step.label), bold));
    for (std::size_t i = 0; i < explanation.steps.size(); ++i) {
        const ExplainStep& step = explanation.steps[i];
        const bool last = i + 1 == explanation.steps.size();
        const double label = std::min(widest, width - 90);
        sheet.formula({topLeft.x(), y}, QString::fromStdString(step.label), last ? bold : font,
                      last ? theme.text : theme.muted);
        sheet.text(QRectF(topLeft.x() + label + 12, y, 78, text), Qt::AlignLeft, number(step.value), last ? bold : font,
                   last ? theme.accent : theme.text);
        y += text * 1.25;
    }
    return y - topLeft.y();
}

std::optional<WalkHit> walkHit(const Walk& walk, const WalkLayout& layout, QPointF position) {
    for (std::size_t i = 0; i < walk.matrices.size(); ++i) {
        const Panel& panel = walk.matrices[i].panel;
        const QRectF area = layout.places[i].area(panel);
        if (!area.contains(position))
            continue;
        const QSizeF pitch = layout.places[i].pitch;
        return WalkHit{
            static_cast<int>(i),
            std::clamp(static_cast<int>((position.y() - area.top()) / pitch.height()), 0, panel.rowCount() - 1),
            std::clamp(static_cast<int>((position.x() - area.left()) / pitch.width()), 0, panel.colCount() - 1)};
    }
    return std::nullopt;
}

} // namespace headscope
