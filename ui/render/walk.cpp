#include "ui/render/walk.h"

#include "core/attention/head_problem.h"
#include "core/attention/printed_sum.h"
#include "ui/render/figure_parts.h"
#include "ui/render/figure_text.h"

#include <QRegularExpression>
#include <algorithm>
#include <cmath>

namespace headscope {
namespace {

using Runs = WalkMatrix::Runs;
using Axis = WalkMatrix::Axis;

QString nameOf(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

class Builder {
public:
    Builder(Walk& walk, const QFont& font)
        : m_walk(walk), m_trace(*walk.trace), m_view(walk.view), m_config(m_trace.config()),
          m_head(m_view.heads.front()), m_font(font) {}

    void build();

private:
    WalkMatrix& add(WalkMatrix matrix, const QString& before) {
        matrix.before = before;
        m_walk.matrices.push_back(std::move(matrix));
        return m_walk.matrices.back();
    }
    // A stage of the shown head, or of all heads.
    WalkMatrix& stage(Stage s, Axis rows, Axis cols, const QString& before) {
        return add(stageOf(s, m_head, rows, cols), before);
    }
    WalkMatrix stageOf(Stage s, HeadIndex head, Axis rows, Axis cols) {
        View view = m_view;
        view.heads = {head};
        WalkMatrix out{stagePanel(m_trace, view, s, m_font), symbolOf(s), {}, 0, false, rows, cols};
        if (stageInfo(s).scope == StageScope::QueryHead && stageInfo(s).cols == StageAxis::Dimensions)
            colour(out, {head.value});
        else if (stageInfo(s).scope == StageScope::KvHead)
            colour(out, kvBand(m_config.kvHeadOf(head)));
        return out;
    }
    // Any other matrix, signed unless it says so, with a range of its own.
    WalkMatrix& other(SharedMatrix matrix, QStringList rows, QStringList cols, const QString& symbol, Axis rowAxis,
                      Axis colAxis, const QString& before, bool isSigned = true) {
        const MatrixView shown[] = {*matrix};
        WalkMatrix out;
        const ResolvedRange range = resolveRange({RangeSpec::Kind::Head}, m_view.curve, {false, isSigned}, shown);
        out.panel.picture =
            std::make_shared<const CellPicture>(matrix, ColorScale(m_view.colors, isSigned, range.range, m_view.curve));
        out.panel.rows = std::move(rows);
        out.panel.cols = std::move(cols);
        out.panel.numbers = m_view.values;
        out.symbol = symbol;
        out.rows = rowAxis;
        out.cols = colAxis;
        return add(std::move(out), before);
    }
    static void colour(WalkMatrix& matrix, BandHead head) {
        matrix.panel.bandStarts = {0};
        matrix.panel.bandHeads = {head};
    }
    BandHead kvBand(int kvHead) const { return {kvHead, sharesKeys(m_config)}; }
    QStringList tokens(Stage like, bool rows, int count) { return stageLabels(m_trace, like, rows, count, m_font); }

    static QString symbolOf(Stage s) {
        switch (s) {
        case Stage::Scores:
            return QStringLiteral("S");
        case Stage::HeadOutput:
            return QStringLiteral("O_h");
        case Stage::Scaled:
            return FigureText::tr("scaled");
        case Stage::Masked:
            return FigureText::tr("masked");
        case Stage::Contribution:
            return FigureText::tr("part of head h");
        case Stage::Output:
            return FigureText::tr("output");
        case Stage::Norms:
            return FigureText::tr("norms");
        default:
            return nameOf(stageInfo(s).symbol);
        }
    }

    void embedding();
    void projection(Stage stage, Stage input, WeightKind weight, WeightKind bias, int width, bool ofKv);
    void weight(WeightKind kind, TensorBand band, const QString& symbol, Axis rows, Axis cols);
    void bias(WeightKind kind, TensorBand band, Axis cols);
    void split();
    void scores();
    void scaled();
    void masked();
    void softmax();
    void concat();
    void norms();

    Walk& m_walk;
    const AttentionTrace& m_trace;
    const View& m_view;
    const ModelConfig& m_config;
    HeadIndex m_head;
    QFont m_font;
    const Axis m_row{Runs::Row}, m_col{Runs::Col}, m_inner{Runs::Inner}, m_nowhere{};
    const QString m_times = QStringLiteral("×"), m_equals = QStringLiteral("="), m_plus = QStringLiteral("+"),
                  m_arrow = QStringLiteral("→");
};

// What X of the first layer is made of: its rows, their sum, and what the norm makes of it.
void Builder::embedding() {
    const Embedding& e = m_view.stage == Stage::Embedding ? m_trace.embedding : m_trace.embeddingKey;
    const bool isFirst = m_view.layer.value == 0 || m_view.stage == Stage::EmbeddingKey;
    QString before;
    const auto part = [&](const SharedMatrix& values, const QString& name) {
        other(values, tokens(m_view.stage, true, values->rows()), dimensionLabels(values->cols()), name, m_row, m_col,
              before);
    };
    if (isFirst && !e.parts.empty() && e.sum && (e.parts.size() > 1 || *e.sum != *e.x)) {
        for (const Embedding::Part& p : e.parts) {
            part(p.values, nameOf(p.name));
            before = m_plus;
        }
        before = m_equals;
        const SharedMatrix shown = stageMatrix(m_trace, m_view.layer, m_head, m_view.stage);
        if (e.parts.size() > 1 && (e.sum->cols() != shown->cols() || *e.sum != *shown))
            part(e.sum, FigureText::tr("sum"));
        if (e.sum->cols() != shown->cols() || *e.sum != *shown)
            before = m_arrow + FigureText::tr(" norm");
    }
    stage(m_view.stage, m_row, m_col, before);
}

void Builder::weight(WeightKind kind, TensorBand band, const QString& symbol, Axis rows, Axis cols) {
    const SharedMatrix& tensor = m_trace.scenario.model->tensor({m_view.layer, kind});
    const int height = band.rowEnd - band.rowBegin, width = band.colEnd - band.colBegin;
    const bool whole = height == tensor->rows() && width == tensor->cols();
    SharedMatrix part =
        whole ? tensor
              : share(copy(
                    MatrixView(*tensor).rowRange(band.rowBegin, band.rowEnd).colRange(band.colBegin, band.colEnd)));
    other(std::move(part), dimensionLabels(height), dimensionLabels(width), symbol, rows, cols, m_times).tall = true;
}

void Builder::bias(WeightKind kind, TensorBand band, Axis cols) {
    const SharedMatrix& tensor = m_trace.scenario.model->tensor({m_view.layer, kind});
    if (!tensor)
        return;
    const int width = band.colEnd - band.colBegin;
    other(share(copy(MatrixView(*tensor).colRange(band.colBegin, band.colEnd))), {}, dimensionLabels(width),
          nameOf(weightName(kind)), m_nowhere, cols, m_plus);
}

// One head's band of a projection: the band that the pinned column lies in.
void Builder::projection(Stage s, Stage input, WeightKind weightKind, WeightKind biasKind, int width, bool ofKv) {
    const int band = m_walk.start.col / width;
    const HeadIndex head{ofKv ? band * (m_config.heads / m_config.kvHeads) : band};
    const Axis cols{Runs::Col, band * width};
    const Stage from =
        input == Stage::EmbeddingKey && !stageAvailable(m_trace, Stage::EmbeddingKey) ? Stage::Embedding : input;
    const BandHead own = ofKv ? kvBand(band) : BandHead{band};
    const QString which =
        QStringLiteral(", ") + (ofKv ? kvHeadTitle(m_config, band) : FigureText::tr("head %1").arg(band));
    stage(from, m_row, m_inner, {});
    weight(weightKind, headBandOf(m_config, weightKind, head), nameOf(weightName(weightKind)) + which, m_inner, cols);
    colour(m_walk.matrices.back(), own);
    bias(biasKind, headBandOf(m_config, biasKind, head), cols);
    const SharedMatrix all = stageMatrix(m_trace, m_view.layer, m_head, s);
    const QString symbol = QStringLiteral("%1_%2").arg(nameOf(weightName(weightKind)).mid(2)).arg(band);
    WalkMatrix& result = other(share(copy(MatrixView(*all).colRange(band * width, (band + 1) * width))),
                               tokens(s, true, all->rows()), dimensionLabels(width), symbol, m_row, cols, m_equals);
    colour(result, own);
}

// The matrix of all heads above, and the pieces that it is cut into beneath.
void Builder::split() {
    const bool query = m_view.stage == Stage::Q;
    const int width = m_walk.pieceWidth, pieces = query ? m_config.heads : m_config.kvHeads;
    const Stage from = query ? Stage::ProjectionQ : m_view.stage == Stage::K ? Stage::ProjectionK : Stage::ProjectionV;
    stage(from, m_row, m_col, {});
    for (int p = 0; p < pieces; ++p) {
        const HeadIndex head{query ? p : p * (m_config.heads / m_config.kvHeads)};
        WalkMatrix& piece = add(stageOf(m_view.stage, head, m_row, {Runs::Col, p * width}), {});
        piece.symbol = QStringLiteral("%1_%2").arg(symbolOf(m_view.stage).left(1)).arg(p);
        if (!query && sharesKeys(m_config))
            piece.symbol += QStringLiteral(", ") + kvHeadTitle(m_config, p);
        piece.line = 1;
        piece.panel.cols.clear();
        if (p > 0)
            piece.panel.rows.clear();
    }
}

void Builder::concat() {
    // Under the rule concat-reshape no piece has a place of its own.
    const bool scrambled = has(m_trace.scenario.rules, Rule::ConcatReshape);
    for (int h = 0; h < m_config.heads; ++h) {
        const Axis cols = scrambled ? m_nowhere : Axis{Runs::Col, h * m_config.dV};
        WalkMatrix& piece = add(stageOf(Stage::HeadOutput, HeadIndex{h}, scrambled ? m_nowhere : m_row, cols), {});
        piece.symbol = QStringLiteral("O_%1").arg(h);
        piece.panel.cols.clear();
        if (h > 0)
            piece.panel.rows.clear();
    }
    stage(Stage::Concat, m_row, m_col, {}).line = 1;
}

void Builder::scores() {
    stage(Stage::Q, m_row, m_inner, {});
    const SharedMatrix k = stageMatrix(m_trace, m_view.layer, m_head, Stage::K);
    other(share(transposed(*k)), dimensionLabels(k->cols()), tokens(Stage::K, true, k->rows()), QStringLiteral("K_h^T"),
          m_inner, m_col, m_times)
        .tall = true;
    const int kvHead = m_config.kvHeadOf(m_head);
    colour(m_walk.matrices.back(), kvBand(kvHead));
    if (sharesKeys(m_config))
        m_walk.matrices.back().symbol += QStringLiteral(", ") + kvHeadTitle(m_config, kvHead);
    stage(Stage::Scores, m_row, m_col, m_equals);
}

void Builder::scaled() {
    stage(Stage::Scores, m_row, m_col, {});
    const double factor = scaleFactor(m_trace.scenario);
    const bool isRoot = m_trace.scenario.scale.kind == Scale::Kind::SqrtDk && !m_trace.scenario.rules.any();
    const QString by =
        isRoot ? QStringLiteral("÷ √%1").arg(m_config.dK) : QStringLiteral("× %1").arg(QString::number(factor, 'g', 3));
    const HeadInputs in = headInputs(m_trace.scenario, m_trace.mask, m_trace.layer(m_view.layer), m_view.layer, m_head);
    QString before = by + QStringLiteral(" =");
    if (in.problem.alibiSlope != 0.0F || !in.problem.relativeBias.empty()) {
        const int n = m_trace.scenario.queries(), m = m_trace.scenario.keys();
        Matrix added(n, m);
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < m; ++j)
                added(i, j) = (in.problem.relativeBias.empty()
                                   ? 0.0F
                                   : in.problem.relativeBias[static_cast<std::size_t>(j - i + n - 1)]) -
                              in.problem.alibiSlope * static_cast<float>(std::abs(i - j));
        other(share(std::move(added)), tokens(Stage::Scaled, true, n), tokens(Stage::Scaled, false, m),
              FigureText::tr("position bias"), m_row, m_col, by + QStringLiteral(" +"));
        before = m_equals;
    }
    stage(Stage::Scaled, m_row, m_col, before);
}

void Builder::masked() {
    stage(Stage::Scaled, m_row, m_col, {});
    const int n = m_trace.scenario.queries(), m = m_trace.scenario.keys();
    Matrix mask(n, m);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < m; ++j)
            mask(i, j) = !m_trace.mask.isOpen(i, j) ? KeyMask::minusInfinity
                         : m_trace.mask.additive    ? (*m_trace.mask.additive)(i, j)
                                                    : 0.0F;
    other(share(std::move(mask)), tokens(Stage::Masked, true, n), tokens(Stage::Masked, false, m), QStringLiteral("M"),
          m_row, m_col, m_plus);
    stage(Stage::Masked, m_row, m_col, m_equals);
}

// masked -> exp of what each number lies below its row's largest -> ÷ the row's sum.
void Builder::softmax() {
    stage(Stage::Masked, m_row, m_col, {});
    const RuleSet& rules = m_trace.scenario.rules;
    const double temperature = m_trace.scenario.temperature;
    if (has(rules, Rule::MaskAfterSoftmax) || has(rules, Rule::SoftmaxQueries) || has(rules, Rule::AverageHeads)) {
        stage(Stage::Weights, m_row, m_col, m_arrow);
        return;
    }
    const Matrix& scores = m_walk.matrices.front().panel.picture->matrix();
    Matrix shares(scores.rows(), scores.cols()), sums(scores.rows(), 1);
    for (int r = 0; r < scores.rows(); ++r) {
        const auto row = scores.row(r);
        const float largest = row.empty() ? 0.0F : *std::max_element(row.begin(), row.end());
        double sum = 0;
        for (int c = 0; c < scores.cols(); ++c) {
            const double below = static_cast<double>(scores(r, c)) - static_cast<double>(largest);
            const bool open = scores(r, c) != KeyMask::minusInfinity;
            const double share = !open                     ? 0.0
                                 : std::isinf(temperature) ? 1.0
                                 : temperature == 0        ? (below == 0 ? 1.0 : 0.0)
                                                           : std::exp(below / temperature);
            shares(r, c) = static_cast<float>(share);
            sum += share;
        }
        sums(r, 0) = static_cast<float>(sum);
    }
    const QStringList rows = tokens(Stage::Weights, true, scores.rows());
    other(share(std::move(shares)), rows, tokens(Stage::Weights, false, scores.cols()),
          FigureText::tr("exp(masked − row max)"), m_row, m_col, QStringLiteral("exp"), false);
    WalkMatrix& sum = other(share(std::move(sums)), rows, {}, FigureText::tr("row sums"), m_row, m_nowhere,
                            QStringLiteral("÷"), false);
    sum.panel.numbers = sum.panel.isPlain = true; // not in the range of what stands beside it
    stage(Stage::Weights, m_row, m_col, m_equals);
}

// a_ij times the length of v_j W_O[h].
void Builder::norms() {
    stage(Stage::Weights, m_row, m_col, {});
    const SharedMatrix& wO = m_trace.scenario.model->tensor({m_view.layer, WeightKind::WO});
    const SharedMatrix v = stageMatrix(m_trace, m_view.layer, m_head, Stage::V);
    const TensorBand band = headBandOf(m_config, WeightKind::WO, m_head);
    if (wO && !has(m_trace.scenario.rules, Rule::NoOutputProjection) &&
        !m_trace.scenario.headIsOff(m_view.layer, m_head)) {
        Matrix lengths(1, v->rows());
        for (int j = 0; j < v->rows(); ++j) {
            double squares = 0;
            for (int c = 0; c < wO->cols(); ++c) {
                double moved = 0;
                for (int d = 0; d < v->cols(); ++d)
                    moved += static_cast<double>((*v)(j, d)) * static_cast<double>((*wO)(band.rowBegin + d, c));
                squares += moved * moved;
            }
            lengths(0, j) = static_cast<float>(std::sqrt(squares));
        }
        other(share(std::move(lengths)), {}, tokens(Stage::Weights, false, v->rows()), QStringLiteral("||v_j W_O[h]||"),
              m_nowhere, m_col, m_times, false);
    }
    stage(Stage::Norms, m_row, m_col, m_equals);
}

void Builder::build() {
    const bool projects =
        m_trace.scenario.model->layer(m_view.layer).wO && !has(m_trace.scenario.rules, Rule::NoOutputProjection);
    if (!stageAvailable(m_trace, Stage::Scores)) { // attention from a file, without what it was made of
        stage(m_view.stage, m_row, m_col, {});
        return;
    }
    switch (m_view.stage) {
    case Stage::Embedding:
    case Stage::EmbeddingKey:
        return embedding();
    case Stage::ProjectionQ:
        return projection(m_view.stage, Stage::Embedding, WeightKind::WQ, WeightKind::BQ, m_config.dK, false);
    case Stage::ProjectionK:
        return projection(m_view.stage, Stage::EmbeddingKey, WeightKind::WK, WeightKind::BK, m_config.dK, true);
    case Stage::ProjectionV:
        return projection(m_view.stage, Stage::EmbeddingKey, WeightKind::WV, WeightKind::BV, m_config.dV, true);
    case Stage::Q:
    case Stage::K:
    case Stage::V:
        return split();
    case Stage::Scores:
        return scores();
    case Stage::Scaled:
        return scaled();
    case Stage::Masked:
        return masked();
    case Stage::Weights:
        return softmax();
    case Stage::HeadOutput:
        stage(Stage::Weights, m_row, m_inner, {});
        stage(Stage::V, m_inner, m_col, m_times);
        if (sharesKeys(m_config))
            m_walk.matrices.back().symbol += QStringLiteral(", ") + kvHeadTitle(m_config, m_config.kvHeadOf(m_head));
        stage(Stage::HeadOutput, m_row, m_col, m_equals);
        return;
    case Stage::Concat:
        return concat();
    case Stage::Contribution:
        stage(Stage::HeadOutput, m_row, projects ? m_inner : m_col, {});
        if (projects)
            weight(WeightKind::WO, headBandOf(m_config, WeightKind::WO, m_head),
                   FigureText::tr("W_O, rows of head %1").arg(m_head.value), m_inner, m_col);
        stage(Stage::Contribution, m_row, m_col, m_equals);
        m_walk.matrices.back().panel.bandStarts.clear(); // as wide as the model: no band of a head
        m_walk.matrices.back().panel.bandHeads.clear();
        return;
    case Stage::Output:
        stage(Stage::Concat, m_row, projects ? m_inner : m_col, {});
        if (projects) {
            const SharedMatrix& wO = m_trace.scenario.model->tensor({m_view.layer, WeightKind::WO});
            weight(WeightKind::WO, {0, wO->rows(), 0, wO->cols()}, QStringLiteral("W_O"), m_inner, m_col);
            bias(WeightKind::BO, {0, 1, 0, wO->cols()}, m_col);
        }
        stage(Stage::Output, m_row, m_col, m_equals);
        return;
    case Stage::Norms:
        return norms();
    }
}

// The pinned cell, or the largest of the last row when none is pinned.
CellRef cellToStart(const AttentionTrace& trace, const View& view) {
    const SharedMatrix m = stageMatrix(trace, view.layer, view.heads.front(), view.stage);
    if (view.cell && view.cell->row >= 0 && view.cell->row < m->rows() && view.cell->col >= 0 &&
        view.cell->col < m->cols())
        return *view.cell;
    const int row = m->rows() - 1;
    const auto values = m->row(row);
    return {row, static_cast<int>(std::max_element(values.begin(), values.end()) - values.begin())};
}

// The matrix's index of what is marked; nothing where it is not in this matrix.
std::optional<int> indexOf(Axis axis, WalkCell cell, int count) {
    std::optional<int> index;
    if (axis.runs == Runs::Row)
        index = cell.row;
    else if (axis.runs == Runs::Col)
        index = cell.col;
    else if (axis.runs == Runs::Inner)
        index = cell.inner;
    if (!index || *index < axis.offset || *index >= axis.offset + count)
        return std::nullopt;
    return *index - axis.offset;
}

} // namespace

HeadIndex Walk::headOf(WalkCell cell) const {
    const HeadIndex shown = view.heads.front();
    if (pieceWidth == 0)
        return shown;
    const ModelConfig& config = trace->config();
    const int piece = cell.col / pieceWidth;
    if (view.stage == Stage::Q)
        return HeadIndex{piece};
    return config.kvHeadOf(shown) == piece ? shown : HeadIndex{piece * (config.heads / config.kvHeads)};
}

CellRef Walk::cellOf(WalkCell cell) const {
    return {cell.row, pieceWidth > 0 ? cell.col % pieceWidth : cell.col};
}

Walk makeWalk(SharedTrace trace, const View& view, const QFont& font) {
    Walk walk;
    walk.trace = std::move(trace);
    walk.view = view;
    const ModelConfig& config = walk.trace->config();
    const CellRef cell = cellToStart(*walk.trace, view);
    walk.start = {cell.row, cell.col, std::nullopt};
    if (view.stage == Stage::Q || view.stage == Stage::K || view.stage == Stage::V) {
        walk.pieceWidth = view.stage == Stage::V ? config.dV : config.dK;
        const int head = view.heads.front().value;
        walk.start.col += walk.pieceWidth * (view.stage == Stage::Q ? head : config.kvHeadOf(HeadIndex{head}));
    }
    Builder(walk, font).build();
    return walk;
}

void markWalk(Walk& walk, std::optional<WalkCell> cell) {
    for (WalkMatrix& m : walk.matrices) {
        m.panel.markedRow = m.panel.markedCol = std::nullopt;
        m.panel.markedCell.reset();
        if (!cell)
            continue;
        const auto row = indexOf(m.rows, *cell, m.panel.rowCount()), col = indexOf(m.cols, *cell, m.panel.colCount());
        const bool otherPiece = m.cols.runs == Runs::Col && !col; // the row is cut there too, but nothing is looked at
        if (m.rows.runs != Runs::Inner && !otherPiece)
            m.panel.markedRow = row;
        if (m.cols.runs != Runs::Inner)
            m.panel.markedCol = col;
        if (row && col)
            m.panel.markedCell = {*row, *col};
    }
}

WalkCell walkCellAt(const WalkMatrix& matrix, int row, int col, WalkCell now) {
    now.inner.reset();
    const auto take = [&now](Axis axis, int index) {
        if (axis.runs == Runs::Row)
            now.row = index + axis.offset;
        else if (axis.runs == Runs::Col)
            now.col = index + axis.offset;
        else if (axis.runs == Runs::Inner)
            now.inner = index + axis.offset;
    };
    take(matrix.rows, row);
    take(matrix.cols, col);
    return now;
}

QString termText(const Walk& walk, WalkCell cell) {
    if (!cell.inner)
        return {};
    const WalkMatrix *left = nullptr, *right = nullptr;
    for (const WalkMatrix& m : walk.matrices) {
        if (m.cols.runs == Runs::Inner)
            left = &m;
        if (m.rows.runs == Runs::Inner)
            right = &m;
    }
    const auto valueIn = [&cell](const WalkMatrix& m) -> std::optional<float> {
        const auto row = indexOf(m.rows, cell, m.panel.rowCount()), col = indexOf(m.cols, cell, m.panel.colCount());
        return row && col ? std::optional(m.panel.picture->matrix()(*row, *col)) : std::nullopt;
    };
    if (!left || !right)
        return {};
    const auto a = valueIn(*left), b = valueIn(*right);
    if (!a || !b)
        return {};
    const auto number = [](double v) { return QString::fromStdString(printNumber(v, true)); };
    const QString name = walk.view.stage == Stage::HeadOutput ? left->panel.cols.value(*cell.inner)
                                                              : QStringLiteral("d %1").arg(*cell.inner);
    return QStringLiteral("%1: %2 × %3 = %4")
        .arg(name, number(static_cast<double>(*a)), number(static_cast<double>(*b)),
             number(static_cast<double>(*a) * static_cast<double>(*b)));
}

QString sentenceText(const CellExplanation& e, const QFont& font) {
    const QString whole = displayText(e.sentence, font), symbol = nameOf(stageInfo(e.stage).symbol);
    if (!whole.startsWith(symbol))
        return Sheet::literal(whole);
    QString rest = whole.mid(symbol.size());
    static const QRegularExpression dimension(QStringLiteral(", d (\\d+), is "));
    rest.replace(dimension, FigureText::tr(", dimension %1, is ").arg(QStringLiteral("\\1")));
    return symbol.section(QStringLiteral(" = "), 0, 0) + Sheet::literal(rest);
}

// "Q_sat" -> "Q_{sat}", "V[:, 2]" -> "column 2 of V".
static QString factorText(const std::string& name, const QFont& font) {
    const QString text = displayText(name, font);
    static const QRegularExpression column(QStringLiteral("^(.*)\\[:, (\\d+)\\]$")),
        token(QStringLiteral("^(\\w)_(\\S+)( W_O)?$"));
    if (const QRegularExpressionMatch match = column.match(text); match.hasMatch())
        return FigureText::tr("column %1 of %2").arg(match.captured(2), match.captured(1));
    if (const QRegularExpressionMatch match = token.match(text); match.hasMatch())
        return QStringLiteral("%1_{%2}%3").arg(match.captured(1), match.captured(2), match.captured(3));
    return Sheet::literal(text);
}

QString sumText(const CellExplanation& e, const QFont& font) {
    constexpr int most = 6;
    const PrintedSum sum = printTerms(e, most);
    QString out = factorText(e.leftName, font);
    if (!e.rightName.empty())
        out += QStringLiteral(" · ") + factorText(e.rightName, font);
    out += QStringLiteral(" =");
    for (const PrintedTerm& term : sum.terms)
        out += u' ' + QString::fromStdString(term.term);
    if (!sum.constantName.empty())
        out += QStringLiteral(" %1 (%2)")
                   .arg(QString::fromStdString(sum.constant), QString::fromStdString(sum.constantName));
    if (!sum.rest.empty())
        out += QStringLiteral(" %1 (%2)").arg(QString::fromStdString(sum.rest), QString::fromStdString(sum.restName));
    return out + QStringLiteral(" = ") + QString::fromStdString(sum.result);
}

} // namespace headscope
