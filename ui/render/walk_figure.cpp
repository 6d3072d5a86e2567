// The walk figure: a stage as the product that it is. The row and the column that meet in one cell are marked in all
// three matrices, and the arithmetic of that cell stands beneath.
#include "ui/render/figure_parts.h"

#include "core/attention/explain.h"

#include <algorithm>
#include <cmath>

namespace headscope {
namespace {

struct Factor {
    Panel panel;
    QString symbol;
    QString before; // the sign in front of it: "×", "="
    bool tokenRows = true;
};

class Walk {
public:
    Walk(const AttentionTrace& trace, const View& view, CellRef cell, const QFont& font)
        : m_trace(trace), m_view(view), m_head(view.heads.front()), m_cell(cell), m_font(font) {}

    std::vector<Factor> factors();

private:
    // A stage with a mark; -1 marks nothing on that side.
    Factor stage(Stage s, int row, int col, const QString& before) {
        Factor f{stagePanel(m_trace, m_view, s, m_font), symbolOf(s), before,
                 stageInfo(s).rows != StageAxis::Dimensions};
        mark(f, row, col);
        return f;
    }
    // Any matrix, signed, with labels of its own.
    Factor other(Matrix matrix, QStringList rows, QStringList cols, const QString& symbol, int row, int col,
                 const QString& before) {
        const SharedMatrix shared = share(std::move(matrix));
        const MatrixView shown[] = {*shared};
        Factor f;
        f.panel.picture = std::make_shared<const CellPicture>(
            shared,
            ColorScale(m_view.colors, true,
                       resolveRange({RangeSpec::Kind::Head}, m_view.curve, {false, true}, shown).range, m_view.curve));
        f.panel.rows = std::move(rows);
        f.panel.cols = std::move(cols);
        f.panel.numbers = m_view.values;
        f.symbol = symbol;
        f.before = before;
        mark(f, row, col);
        return f;
    }
    static void mark(Factor& f, int row, int col) {
        if (row >= 0 && row < f.panel.rowCount())
            f.panel.markedRow = row;
        if (col >= 0 && col < f.panel.colCount())
            f.panel.markedCol = col;
    }
    static QString symbolOf(Stage s) {
        switch (s) {
        case Stage::Scores:
            return QStringLiteral("S");
        case Stage::HeadOutput:
            return QStringLiteral("O_h");
        case Stage::Scaled:
            return QStringLiteral("scaled");
        case Stage::Masked:
            return QStringLiteral("masked");
        default:
            return QString::fromUtf8(stageInfo(s).symbol.data(), static_cast<qsizetype>(stageInfo(s).symbol.size()));
        }
    }
    Factor weight(WeightKind kind, HeadIndex head, const QString& symbol, int col, const QString& before);
    std::vector<Factor> projection(Stage stage, Stage input, WeightKind kind, int width, bool ofKv);

    const AttentionTrace& m_trace;
    const View& m_view;
    HeadIndex m_head;
    CellRef m_cell;
    QFont m_font;
};

Factor Walk::weight(WeightKind kind, HeadIndex head, const QString& symbol, int col, const QString& before) {
    const SharedMatrix& tensor = m_trace.scenario.model->tensor({m_view.layer, kind});
    const TensorBand band = headBandOf(m_trace.config(), kind, head);
    Matrix part = copy(MatrixView(*tensor).rowRange(band.rowBegin, band.rowEnd).colRange(band.colBegin, band.colEnd));
    Factor f = other(std::move(part), dimensionLabels(band.rowEnd - band.rowBegin),
                     dimensionLabels(band.colEnd - band.colBegin), symbol, -1, col, before);
    f.tokenRows = false;
    return f;
}

// One head's band of a projection: the band that the pinned column lies in.
std::vector<Factor> Walk::projection(Stage s, Stage input, WeightKind kind, int width, bool ofKv) {
    const ModelConfig& config = m_trace.config();
    const int band = width > 0 ? m_cell.col / width : 0, col = m_cell.col - band * width;
    const HeadIndex head{ofKv ? band * (config.heads / config.kvHeads) : band};
    const Stage from =
        input == Stage::EmbeddingKey && !stageAvailable(m_trace, Stage::EmbeddingKey) ? Stage::Embedding : input;
    const SharedMatrix all = stageMatrix(m_trace, m_view.layer, m_head, s);
    const QString name = QString::fromUtf8(weightName(kind).data(), static_cast<qsizetype>(weightName(kind).size()));
    const QString which =
        (ofKv && config.kvHeads != config.heads ? QStringLiteral(", KV head %1") : QStringLiteral(", head %1"))
            .arg(band);
    std::vector<Factor> out;
    out.push_back(stage(from, m_cell.row, -1, {}));
    out.push_back(weight(kind, head, name + which, col, QStringLiteral("×")));
    Factor result = other(copy(MatrixView(*all).colRange(band * width, (band + 1) * width)),
                          stageLabels(m_trace, s, true, all->rows(), m_font), dimensionLabels(width), symbolOf(s),
                          m_cell.row, col, QStringLiteral("="));
    out.push_back(std::move(result));
    return out;
}

std::vector<Factor> Walk::factors() {
    const ModelConfig& config = m_trace.config();
    const int r = m_cell.row, c = m_cell.col;
    std::vector<Factor> out;
    switch (m_view.stage) {
    case Stage::Embedding:
    case Stage::EmbeddingKey: {
        const Embedding& e = m_view.stage == Stage::Embedding ? m_trace.embedding : m_trace.embeddingKey;
        const SharedMatrix x = stageMatrix(m_trace, m_view.layer, m_head, m_view.stage);
        if (m_view.layer.value == 0 && e.parts.size() > 1) // what X of the first layer is made of
            for (const Embedding::Part& part : e.parts)
                out.push_back(other(*part.values, stageLabels(m_trace, m_view.stage, true, part.values->rows(), m_font),
                                    dimensionLabels(part.values->cols()), QString::fromStdString(part.name), r, c,
                                    out.empty() ? QString() : QStringLiteral("+")));
        out.push_back(stage(m_view.stage, r, c, out.empty() ? QString() : QStringLiteral("=")));
        return out;
    }
    case Stage::ProjectionQ:
        return projection(Stage::ProjectionQ, Stage::Embedding, WeightKind::WQ, config.dK, false);
    case Stage::ProjectionK:
        return projection(Stage::ProjectionK, Stage::EmbeddingKey, WeightKind::WK, config.dK, true);
    case Stage::ProjectionV:
        return projection(Stage::ProjectionV, Stage::EmbeddingKey, WeightKind::WV, config.dV, true);
    case Stage::Q:
    case Stage::K:
    case Stage::V: {
        const bool query = m_view.stage == Stage::Q;
        const int width = m_view.stage == Stage::V ? config.dV : config.dK,
                  band = query ? m_head.value : config.kvHeadOf(m_head);
        const Stage from = query                      ? Stage::ProjectionQ
                           : m_view.stage == Stage::K ? Stage::ProjectionK
                                                      : Stage::ProjectionV;
        out.push_back(stage(from, r, band * width + c, {}));
        out.push_back(stage(m_view.stage, r, c, QStringLiteral("→")));
        return out;
    }
    case Stage::Scores: {
        out.push_back(stage(Stage::Q, r, -1, {}));
        const SharedMatrix k = stageMatrix(m_trace, m_view.layer, m_head, Stage::K);
        Factor kt =
            other(transposed(*k), dimensionLabels(k->cols()), stageLabels(m_trace, Stage::K, true, k->rows(), m_font),
                  QStringLiteral("K_h^T"), -1, c, QStringLiteral("×"));
        kt.tokenRows = false;
        out.push_back(std::move(kt));
        out.push_back(stage(Stage::Scores, r, c, QStringLiteral("=")));
        return out;
    }
    case Stage::Scaled:
        out.push_back(stage(Stage::Scores, r, c, {}));
        out.push_back(stage(Stage::Scaled, r, c, QStringLiteral("→")));
        return out;
    case Stage::Masked: {
        out.push_back(stage(Stage::Scaled, r, c, {}));
        const int n = m_trace.scenario.queries(), m = m_trace.scenario.keys();
        Matrix mask(n, m);
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < m; ++j)
                mask(i, j) = !m_trace.mask.isOpen(i, j) ? KeyMask::minusInfinity
                             : m_trace.mask.additive    ? (*m_trace.mask.additive)(i, j)
                                                        : 0.0F;
        out.push_back(other(std::move(mask), stageLabels(m_trace, Stage::Masked, true, n, m_font),
                            stageLabels(m_trace, Stage::Masked, false, m, m_font), QStringLiteral("M"), r, c,
                            QStringLiteral("+")));
        out.push_back(stage(Stage::Masked, r, c, QStringLiteral("=")));
        return out;
    }
    case Stage::Weights:
        out.push_back(stage(Stage::Masked, r, c, {}));
        out.push_back(stage(Stage::Weights, r, c, QStringLiteral("→")));
        return out;
    case Stage::HeadOutput:
        out.push_back(stage(Stage::Weights, r, -1, {}));
        out.push_back(stage(Stage::V, -1, c, QStringLiteral("×")));
        out.push_back(stage(Stage::HeadOutput, r, c, QStringLiteral("=")));
        return out;
    case Stage::Concat:
        out.push_back(stage(Stage::HeadOutput, r, config.dV > 0 ? c - m_head.value * config.dV : -1, {}));
        out.push_back(stage(Stage::Concat, r, c, QStringLiteral("→")));
        return out;
    case Stage::Contribution:
        out.push_back(stage(Stage::HeadOutput, r, -1, {}));
        out.push_back(weight(WeightKind::WO, m_head, QStringLiteral("W_O, rows of head %1").arg(m_head.value), c,
                             QStringLiteral("×")));
        out.push_back(stage(Stage::Contribution, r, c, QStringLiteral("=")));
        return out;
    case Stage::Output: {
        out.push_back(stage(Stage::Concat, r, -1, {}));
        if (const SharedMatrix& wO = m_trace.scenario.model->tensor({m_view.layer, WeightKind::WO})) {
            Factor f = other(*wO, dimensionLabels(wO->rows()), dimensionLabels(wO->cols()), QStringLiteral("W_O"), -1,
                             c, QStringLiteral("×"));
            f.tokenRows = false;
            out.push_back(std::move(f));
        }
        out.push_back(stage(Stage::Output, r, c, QStringLiteral("=")));
        return out;
    }
    case Stage::Norms:
        out.push_back(stage(Stage::Weights, r, c, {}));
        out.push_back(stage(Stage::Norms, r, c, QStringLiteral("→")));
        return out;
    }
    return out;
}

// The pinned cell, or the largest of the last row when none is pinned.
CellRef cellOf(const AttentionTrace& trace, const View& view) {
    const SharedMatrix m = stageMatrix(trace, view.layer, view.heads.front(), view.stage);
    if (view.cell && view.cell->row >= 0 && view.cell->row < m->rows() && view.cell->col >= 0 &&
        view.cell->col < m->cols())
        return *view.cell;
    const int row = m->rows() - 1;
    const auto values = m->row(row);
    return {row, static_cast<int>(std::max_element(values.begin(), values.end()) - values.begin())};
}

QString signedNumber(double v) {
    const QString text = QString::number(v, 'f', std::abs(v) >= 100 ? 1 : 2);
    return v < 0 ? QStringLiteral("−") + text.mid(1) : u'+' + text;
}

// The sum as people write it: the largest terms, then what the others add up to, so that the printed numbers add up.
QString sumText(const CellExplanation& e) {
    constexpr std::size_t most = 6;
    QString out = QString::fromStdString(e.leftName);
    if (!e.rightName.empty())
        out += QStringLiteral(" · ") + QString::fromStdString(e.rightName);
    out += QStringLiteral(" =");
    double shown = 0;
    const auto rounded = [](double v) {
        return std::abs(v) >= 100 ? std::round(v * 10) / 10 : std::round(v * 100) / 100;
    };
    for (std::size_t i = 0; i < std::min(most, e.terms.size()); ++i) {
        out += u' ' + signedNumber(e.terms[i].product);
        shown += rounded(e.terms[i].product);
    }
    if (!e.constantName.empty()) {
        out += u' ' + signedNumber(e.constant) + QStringLiteral(" (%1)").arg(QString::fromStdString(e.constantName));
        shown += rounded(e.constant);
    }
    if (e.terms.size() > most)
        out += u' ' + signedNumber(rounded(e.sum) - shown) +
               QStringLiteral(" (%1 smaller terms)").arg(e.terms.size() - most);
    return out + QStringLiteral(" = ") + signedNumber(e.sum);
}

} // namespace

double drawWalkFigure(Sheet& sheet, const FigureSource& source, const FigureSpec& spec, double width,
                      std::optional<double> height) {
    const AttentionTrace& trace = *source.trace;
    const View& view = spec.view;
    const HeadIndex head = view.heads.front();
    const CellRef cell = cellOf(trace, view);
    std::vector<Factor> factors = Walk(trace, view, cell, sheet.font()).factors();
    const CellExplanation explanation = explainCell(trace, view.layer, head, view.stage, cell.row, cell.col);
    const StageInfo& info = stageInfo(view.stage);

    const FigureTheme& theme = sheet.theme();
    const QFont font = sheet.font(), bold = sheet.font(1, true), sign = sheet.font(1.6), small = sheet.font(0.85);
    const double inner = width - 2 * figurePad, text = sheet.lineHeight(font);
    double y = figurePad;
    const QString name = headName(trace, view.layer, head);
    y += drawHeading(
        sheet, {figurePad, y}, inner, spec, headTitle(view.layer, head) + (name.isEmpty() ? QString() : u' ' + name),
        QString::fromUtf8(info.formula.data(), static_cast<qsizetype>(info.formula.size())), everyTokenRemark(view));
    y += sheet.paragraph({figurePad, y}, inner,
                         QString::fromUtf8(info.what.data(), static_cast<qsizetype>(info.what.size())), font,
                         theme.muted) +
         12;

    // What stands beneath, measured first.
    const auto arithmetic = [&](Sheet& on, double top) {
        double at = top;
        at += on.paragraph({figurePad, at}, inner, displayText(explanation.sentence, font), bold, theme.accent) + 4;
        if (!explanation.terms.empty())
            at += on.paragraph({figurePad, at}, inner, sumText(explanation), font, theme.text) + 4;
        double widest = 0;
        for (const ExplainStep& step : explanation.steps)
            widest = std::max(widest, on.width(QString::fromStdString(step.label), bold));
        for (std::size_t i = 0; i < explanation.steps.size(); ++i) {
            const ExplainStep& step = explanation.steps[i];
            const bool last = i + 1 == explanation.steps.size();
            const double labelWidth = std::min(widest, inner - 90);
            on.text(QRectF(figurePad, at, labelWidth + 1, text), Qt::AlignLeft, QString::fromStdString(step.label),
                    last ? bold : font, last ? theme.text : theme.muted);
            on.text(QRectF(figurePad + labelWidth + 12, at, 78, text), Qt::AlignLeft,
                    QString::number(step.value, 'g', 6), last ? bold : font, last ? theme.accent : theme.text);
            at += text * 1.25;
        }
        return at - top;
    };
    Sheet measure(nullptr, spec.dark, sheet.pointSize());
    const double beneath = arithmetic(measure, 0);

    // Widths grow with the number of columns, but slower: 384 columns are not 48 times as interesting as 8.
    const double signWidth = 26, header = text + 6, barLine = sheet.lineHeight(small) + 4;
    double cellsHeight = height ? *height - y - header - barLine - 12 - beneath - figurePad : 0.5 * width;
    const double maxLabel = 0.16 * inner;
    std::vector<PanelRoom> rooms(factors.size());
    std::vector<QSizeF> pitches(factors.size(), QSizeF(12, 12));
    double top = 0;
    for (int round = 0; round < 3; ++round) { // labels and cell sizes depend on each other
        double taken = signWidth * (static_cast<double>(factors.size()) - 1), shares = 0;
        for (std::size_t i = 0; i < factors.size(); ++i) {
            taken += rooms[i].left;
            shares += std::pow(factors[i].panel.colCount(), 0.6);
        }
        if (inner - taken < 8.0 * static_cast<double>(factors.size()) || cellsHeight - top < 8)
            refuseSize(spec);
        double newTop = 0;
        for (std::size_t i = 0; i < factors.size(); ++i) {
            const Panel& panel = factors[i].panel;
            const double share = (inner - taken) * std::pow(panel.colCount(), 0.6) / shares;
            const double tall = (height ? cellsHeight - top : cellsHeight) / panel.rowCount();
            pitches[i] = QSizeF(std::min(share / panel.colCount(), 40.0),
                                std::min(tall, factors[i].tokenRows ? 1.7 * text : 1.1 * text));
            if (factors[i].tokenRows && isTokenByToken(view.stage) &&
                panel.colCount() == panel.rowCount()) // square where it may be
                pitches[i].setHeight(std::min(tall, std::min(40.0, pitches[i].width())));
            rooms[i] = roomFor(sheet, panel, pitches[i], {maxLabel, maxLabel}, {false, true, true});
            newTop = std::max(newTop, rooms[i].top - (panel.colTitle.isEmpty() ? 0 : text + 4));
        }
        top = newTop;
    }
    double x = figurePad, bottom = 0;
    const double cellsTop = y + header + top;
    double signY = cellsTop + 10;
    for (const QSizeF& pitch : pitches)
        signY = std::max(signY, cellsTop + std::min(40.0, 3 * pitch.height()));
    for (std::size_t i = 0; i < factors.size(); ++i) {
        Factor& f = factors[i];
        Panel panel = f.panel;
        panel.rowTitle.clear();
        panel.colTitle.clear();
        panel.title.clear();
        if (!f.before.isEmpty()) {
            sheet.text(QRectF(x, signY - 12, signWidth, 24), Qt::AlignCenter, f.before, sign, theme.muted);
            x += signWidth;
        }
        rooms[i] = roomFor(sheet, panel, pitches[i], {maxLabel, maxLabel}, {false, true, true});
        x += rooms[i].left;
        const double w = pitches[i].width() * panel.colCount();
        const QString shape = shapeText(panel.picture->matrix());
        const double symbolWidth = sheet.formulaWidth(f.symbol, bold);
        sheet.formula({x, y}, f.symbol, bold, theme.text);
        if (symbolWidth + 10 + sheet.width(shape, small) <=
            std::max(w, i + 1 == factors.size() ? inner + figurePad - x : 0))
            sheet.text(QRectF(x + symbolWidth + 8, y, sheet.width(shape, small) + 1, text),
                       Qt::AlignLeft | Qt::AlignVCenter, shape, small, theme.muted);
        drawPanel(sheet, panel, {x, cellsTop}, pitches[i], rooms[i], {false, true, true});
        const double end = cellsTop + pitches[i].height() * panel.rowCount();
        const ValueRange& range = panel.picture->scale().range();
        const QString rangeText = rangeNumber(range.lo) + QStringLiteral(" … ") + rangeNumber(range.hi);
        if (sheet.width(rangeText, small) <= w + (i + 1 == factors.size() ? inner + figurePad - x - w : signWidth))
            sheet.text(QRectF(x, end + 3, sheet.width(rangeText, small) + 1, barLine), Qt::AlignLeft, rangeText, small,
                       theme.muted);
        bottom = std::max(bottom, end);
        x += w;
    }
    y = bottom + barLine + 12;
    y += arithmetic(sheet, y);
    return y + figurePad;
}

} // namespace headscope
