// Each stage's arithmetic is done again here, cell by cell in double, from the numbers of the stages before it: the
// same numbers that the views show. It is independent of the backend that made the trace, which is what a test
// compares.
#include "core/attention/explain.h"

#include "core/attention/head_problem.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace headscope {

namespace {

// Four decimals, as the panels show them; four significant digits where that would say nothing.
std::string number(double v) {
    if (std::isinf(v))
        return v > 0 ? "∞" : "−∞";
    char buffer[64];
    const bool fixed = v == 0 || (std::abs(v) >= 1e-3 && std::abs(v) < 1e6);
    const auto end = fixed ? std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::fixed, 4).ptr
                           : std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::general, 4).ptr;
    return {buffer, end};
}

// As short as it can be said: 0.5, 32, 0.0883883.
std::string shortNumber(double v) {
    if (std::isinf(v))
        return v > 0 ? "∞" : "−∞";
    char buffer[64];
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, v, std::chars_format::general, 6).ptr};
}

// A token written from right to left must not turn the words around it: U+2068 ... U+2069 isolate it. Lead bytes D6 to
// DF and EF AC..EF BB hold Hebrew, Arabic, Syriac, Thaana and N'Ko.
std::string isolated(const std::string& token) {
    for (std::size_t i = 0; i < token.size(); ++i) {
        const auto byte = static_cast<unsigned char>(token[i]);
        const auto next = i + 1 < token.size() ? static_cast<unsigned char>(token[i + 1]) : 0U;
        if ((byte >= 0xD6 && byte <= 0xDF) || (byte == 0xEF && next >= 0xAC && next <= 0xBB) ||
            (byte == 0xE0 && (next == 0xA0 || next == 0xA1 || next == 0xA2 || next == 0xA3)))
            return "\u2068" + token + "\u2069";
    }
    return token;
}

class Explainer {
public:
    Explainer(const AttentionTrace& trace, LayerIndex layer, HeadIndex head, Stage stage, int row, int col)
        : m_trace(trace), m_scenario(trace.scenario), m_config(trace.config()),
          m_weights(m_scenario.model->layer(layer)), m_computed(trace.layer(layer)), m_layer(layer), m_head(head),
          m_row(row), m_col(col) {
        m_out.stage = stage;
        m_out.row = row;
        m_out.col = col;
    }

    CellExplanation run() {
        if (m_scenario.model->captured()) { // what it was computed from is not known
            m_out.value = (*stageMatrix(m_trace, m_layer, m_head, m_out.stage))(m_row, m_col);
            addStep("captured: the number of the file", m_out.value);
            m_out.sentence = sentence();
            return std::move(m_out);
        }
        switch (m_out.stage) {
        case Stage::Embedding:
        case Stage::EmbeddingKey:
            embedding();
            break;
        case Stage::ProjectionQ:
        case Stage::ProjectionK:
        case Stage::ProjectionV:
            projection(m_out.stage, m_col);
            break;
        case Stage::Q:
        case Stage::K:
        case Stage::V:
            split();
            break;
        case Stage::Scores:
        case Stage::Scaled:
        case Stage::Masked:
            dotProduct();
            break;
        case Stage::Weights:
            weights();
            break;
        case Stage::HeadOutput:
            headOutput();
            break;
        case Stage::Concat:
            concat();
            break;
        case Stage::Contribution:
            contribution();
            break;
        case Stage::Output:
            output();
            break;
        case Stage::Norms:
            norms();
            break;
        }
        m_out.sum = m_out.constant;
        for (const Term& term : m_out.terms)
            m_out.sum += term.product;
        std::ranges::stable_sort(m_out.terms, std::greater{}, [](const Term& t) { return std::abs(t.product); });
        m_out.sentence = sentence();
        return std::move(m_out);
    }

private:
    // --- the stages ---

    void embedding() {
        const bool isKey = m_out.stage == Stage::EmbeddingKey;
        const SharedMatrix& shown = isKey ? m_computed.y : m_computed.x;
        m_out.value = (*shown)(m_row, m_col);
        m_out.leftName = "part";
        if (m_layer.value > 0 && !isKey) // the layer before wrote it; Y is the embedded key text in every layer
            handedOn();
        else
            embedded(isKey ? m_trace.embeddingKey : m_trace.embedding, isKey ? m_scenario.y : m_scenario.x);
        for (const Intervention& i : m_scenario.interventions)
            if (m_layer.value == 0 && isSetCell(i, m_out.stage))
                addStep("set by hand", i.value);
        const bool normFirst = m_config.block == BlockForm::PreNorm || m_config.block == BlockForm::Parallel;
        if (normFirst && !isKey) {
            const NormWeights& norm =
                m_scenario.model->transformer()->blocks[static_cast<std::size_t>(m_layer.value)].norm1;
            normSteps(m_computed.stream->row(m_row), norm, m_config.norm, m_config.normEpsilon);
        }
    }

    // Where a layer is attention alone its input is a sum; behind an MLP and norms it is told as one number.
    void handedOn() {
        const LayerIndex from{m_layer.value - 1};
        const LayerTrace& before = m_trace.layer(from);
        const std::string name = "layer " + std::to_string(from.value);
        const auto cell = [&](Stage stage) { return CellSource{stage, {}, from, m_head, m_row, m_col}; };
        if (m_config.block != BlockForm::Attention) {
            addTerm("hidden state after " + name, 0, (*m_computed.stream)(m_row, m_col), 1.0);
            return;
        }
        if (m_config.residual)
            addTerm(name + " input", 0, (*before.x)(m_row, m_col), 1.0, cell(Stage::Embedding));
        addTerm(name + " output", 1, (*before.output)(m_row, m_col), 1.0, cell(Stage::Output));
    }

    // Parts, their sum, and what the model's norm and projection make of it.
    void embedded(const Embedding& e, const SharedMatrix& own) {
        int index = 0;
        for (const Embedding::Part& part : e.parts)
            if (m_col < part.values->cols())
                addTerm(part.name, index++, (*part.values)(m_row, m_col), 1.0);
        if (own || e.sum == e.x)
            return;
        SharedMatrix gain, bias, projection;
        for (const Embedding::Part& tensor : m_scenario.model->embedder().tensors()) {
            gain = tensor.name == "norm gain" ? tensor.values : gain;
            bias = tensor.name == "norm bias" ? tensor.values : bias;
            projection = tensor.name == "projection" ? tensor.values : projection;
        }
        if (projection) { // another width: the parts above are no terms of it
            m_out.terms.clear();
            addTerm("projection of the normed sum", 0, (*e.x)(m_row, m_col), 1.0);
        } else if (gain) {
            normSteps(e.sum->row(m_row), {gain, bias}, Norm::Layer, m_config.normEpsilon);
        }
    }

    // (x - mean) / deviation * gain + bias (Ba et al. 2016); without the mean for RMS (Zhang and Sennrich 2019).
    void normSteps(std::span<const float> row, const NormWeights& norm, Norm kind, double epsilon) {
        if (!norm.gain)
            return;
        double mean = 0, squares = 0;
        for (const float x : row)
            mean += x;
        mean = kind == Norm::Layer ? mean / static_cast<double>(row.size()) : 0;
        for (const float x : row)
            squares += (x - mean) * (x - mean);
        const double deviation = std::sqrt(squares / static_cast<double>(row.size()) + epsilon);
        double value = row[static_cast<std::size_t>(m_col)];
        if (kind == Norm::Layer)
            addStep("− mean of the row " + number(mean), value -= mean);
        addStep((kind == Norm::Layer ? "÷ deviation of the row " : "÷ root mean square of the row ") +
                    number(deviation),
                value /= deviation);
        addStep("× gain of the norm " + number((*norm.gain)(0, m_col)), value *= (*norm.gain)(0, m_col));
        if (norm.bias)
            addStep("+ bias of the norm " + number((*norm.bias)(0, m_col)), value + (*norm.bias)(0, m_col));
    }

    // One column of X W + b.
    void projection(Stage which, int column) {
        const bool isQ = which == Stage::ProjectionQ, isK = which == Stage::ProjectionK;
        const Matrix& x = isQ ? *m_computed.x : *m_computed.y;
        const SharedMatrix& w = isQ ? m_weights.wQ : isK ? m_weights.wK : m_weights.wV;
        const SharedMatrix& b = isQ ? m_weights.bQ : isK ? m_weights.bK : m_weights.bV;
        const std::string letter = isQ ? "Q" : isK ? "K" : "V";
        const int heads = isQ ? m_config.heads : m_config.kvHeads;
        m_out.leftName = (!isQ && m_config.cross ? "Y_" : "X_") + rowToken();
        m_out.rightName = "W_" + letter + "[:, " + std::to_string(column) + "]";
        const Stage input = !isQ && m_config.cross ? Stage::EmbeddingKey : Stage::Embedding;
        // Rule split-input: a head sees only its own slice of X.
        const int slice = x.cols() / heads, width = w->cols() / heads;
        const bool sliced = has(m_scenario.rules, Rule::SplitInput);
        for (int d = 0; d < x.cols(); ++d) {
            if (sliced && d / slice != column / width)
                continue;
            addTerm(dimension(d), d, x(m_row, d), (*w)(d, column), cellOf(input, m_row, d),
                    weightCell(isQ   ? WeightKind::WQ
                               : isK ? WeightKind::WK
                                     : WeightKind::WV,
                               d, column));
        }
        if (b) {
            m_out.constant = (*b)(0, column);
            m_out.constantName = "b_" + letter;
        }
        m_out.value = (*projected(which))(m_row, column);
    }

    // A head's own columns of the projection; turned by its position where the model has RoPE (Su et al. 2021).
    void split() {
        const bool isQ = m_out.stage == Stage::Q, isK = m_out.stage == Stage::K;
        const Stage from = isQ ? Stage::ProjectionQ : isK ? Stage::ProjectionK : Stage::ProjectionV;
        const int width = isQ || isK ? m_config.dK : m_config.dV;
        const int band = (isQ ? m_head.value : m_config.kvHeadOf(m_head)) * width;
        const int dims = m_config.ropeDims > 0 ? m_config.ropeDims : width, half = dims / 2;
        if (m_config.position != Position::Rope || !(isQ || isK) || m_col >= 2 * half) {
            projection(from, band + m_col);
            return;
        }
        // (a, b) -> (a cos - b sin, a sin + b cos), a and b half of the turned dimensions apart.
        const int pair = m_col % half, second = pair + half;
        const bool isFirst = m_col < half;
        const double frequency = m_config.ropeFrequencies.empty()
                                     ? std::pow(m_config.ropeTheta, -2.0 * pair / dims)
                                     : m_config.ropeFrequencies[static_cast<std::size_t>(pair)];
        const double angle = m_row * frequency;
        const Matrix& p = *projected(from);
        m_out.leftName = std::string(stageInfo(from).symbol) + " of " + rowToken();
        m_out.rightName = "turn by " + shortNumber(angle) + " rad" +
                          (m_config.ropeMagnitude == 1.0 ? "" : ", times " + shortNumber(m_config.ropeMagnitude));
        const double cosine = m_config.ropeMagnitude * std::cos(angle), sine = m_config.ropeMagnitude * std::sin(angle);
        addTerm(dimension(pair) + (isFirst ? " · cos" : " · sin"), pair, p(m_row, band + pair), isFirst ? cosine : sine,
                cellOf(from, m_row, band + pair));
        addTerm(dimension(second) + (isFirst ? " · −sin" : " · cos"), second, p(m_row, band + second),
                isFirst ? -sine : cosine, cellOf(from, m_row, band + second));
        m_out.value = (*(isQ ? m_computed.q : m_computed.k))(m_row, band + m_col);
    }

    // Scores, and what is done to one of them alone: scale, position bias, mask, softcap.
    void dotProduct() {
        const HeadStages rows = headRow({true, true, true, false, false});
        double value = score();
        m_out.value = rows.scores(0, m_col);
        if (m_out.stage == Stage::Scores)
            return;
        value = scaleSteps(value);
        m_out.value = rows.scaled(0, m_col);
        if (m_out.stage == Stage::Scaled)
            return;
        maskSteps(value);
        m_out.value = rows.masked(0, m_col);
    }

    void weights() {
        if (m_computed.meanWeights) { // rule average-heads
            m_out.value = (*m_computed.meanWeights)(m_row, m_col);
            m_out.leftName = "A of each head";
            m_out.rightName = "1/h";
            for (int h = 0; h < m_config.heads; ++h)
                addTerm(headName(h), h, cellWeight(HeadIndex{h}), 1.0 / m_config.heads);
            return;
        }
        const bool overQueries = has(m_scenario.rules, Rule::SoftmaxQueries);
        const bool maskAfter = !overQueries && has(m_scenario.rules, Rule::MaskAfterSoftmax);
        const HeadStages s = overQueries ? headStages(m_trace, m_layer, m_head, {true, true, true, true, false})
                                         : headRow({true, true, true, true, false});
        const int r = overQueries ? m_row : 0;
        m_out.value = s.weights(r, m_col);
        const double scaled = scaleSteps(score());
        if (!maskAfter)
            maskSteps(scaled);

        // The numbers that share one unit: the row of this query, or under the wrong rule the column of this key.
        Sharers sharers;
        sharers.line = overQueries ? "column" : "row";
        sharers.own = overQueries ? m_row : m_col;
        const int count = overQueries ? s.masked.rows() : s.masked.cols();
        for (int i = 0; i < count; ++i) {
            sharers.logits.push_back(overQueries ? s.masked(i, m_col) : maskAfter ? s.scaled(0, i) : s.masked(0, i));
            sharers.open.push_back(maskAfter ||
                                   (overQueries ? m_trace.mask.isOpen(i, m_col) : m_trace.mask.isOpen(m_row, i)));
        }
        softmaxSteps(sharers);
        if (maskAfter && !m_trace.mask.isOpen(m_row, m_col))
            addStep("closed after the softmax", 0);
    }

    void headOutput() {
        const HeadStages rows = headRow({false, false, false, true, true});
        const MatrixView v = headBand(*m_computed.v, m_config.kvHeadOf(m_head), m_config.dV);
        m_out.leftName = "A_" + rowToken();
        m_out.rightName = "V[:, " + std::to_string(m_col) + "]";
        for (int j = 0; j < v.rows; ++j)
            addTerm(keyToken(j), j, rows.weights(0, j), v(j, m_col), cellOf(Stage::Weights, m_row, j),
                    cellOf(Stage::V, j, m_col));
        m_out.value = rows.output(0, m_col);
    }

    void concat() {
        const Source from = sourceOf(m_row, m_col);
        m_out.leftName = "O of " + headName(from.head) + ", " + queryToken(from.row) + ", " + dimension(from.column);
        const HeadStages rows = headRowOf(HeadIndex{from.head}, from.row, {false, false, false, false, true});
        addTerm(headName(from.head), from.head, rows.output(0, from.column), 1.0,
                cellOf(Stage::HeadOutput, from.row, from.column, HeadIndex{from.head}));
        if (m_scenario.headIsOff(m_layer, HeadIndex{from.head}))
            addStep(headName(from.head) + " is switched off", 0);
        m_out.value = (*m_computed.concat)(m_row, m_col);
    }

    void contribution() {
        m_out.leftName = "O of " + headName(m_head.value) + ", " + rowToken();
        const Matrix& concat = *m_computed.concat;
        Matrix alone(1, concat.cols()); // this row of concat if the head were the only one
        for (const int c : columnsOf(m_head.value)) {
            alone(0, c) = concat(m_row, c);
            if (projectsOutput())
                addTerm(dimension(sourceOf(m_row, c).column), c, concat(m_row, c), (*m_weights.wO)(c, m_col),
                        cellOf(Stage::Concat, m_row, c), weightCell(WeightKind::WO, c, m_col));
            else if (c == m_col)
                addTerm("concat column " + std::to_string(c), c, concat(m_row, c), 1.0,
                        cellOf(Stage::Concat, m_row, c));
        }
        if (projectsOutput())
            m_out.rightName = "W_O[:, " + std::to_string(m_col) + "]";
        m_out.value =
            projectsOutput() ? m_trace.backend->linear(alone, *m_weights.wO, nullptr)(0, m_col) : alone(0, m_col);
        if (m_scenario.headIsOff(m_layer, m_head))
            addStep(headName(m_head.value) + " is switched off", 0);
    }

    void output() {
        m_out.leftName = "contribution";
        for (int h = 0; h < m_config.heads; ++h) {
            double part = 0;
            for (const int c : columnsOf(h))
                part += !projectsOutput()
                            ? (c == m_col ? static_cast<double>((*m_computed.concat)(m_row, c)) : 0.0)
                            : static_cast<double>((*m_computed.concat)(m_row, c)) * (*m_weights.wO)(c, m_col);
            std::optional<CellSource> from; // without W_O there is no contribution to go to
            if (m_weights.wO)
                from = cellOf(Stage::Contribution, m_row, m_col, HeadIndex{h});
            m_out.terms.push_back({headName(h), h, static_cast<float>(part), 1.0F, part, from, {}});
        }
        if (projectsOutput() && m_weights.bO) {
            m_out.constant = (*m_weights.bO)(0, m_col);
            m_out.constantName = "b_O";
        }
        m_out.value = (*m_computed.output)(m_row, m_col);
    }

    // ||a_ij v_j W_O[h]|| = a_ij ||v_j W_O[h]|| (Kobayashi et al. 2020): the sum is of squares.
    void norms() {
        const MatrixView v = headBand(*m_computed.v, m_config.kvHeadOf(m_head), m_config.dV);
        m_out.leftName = m_out.rightName = "v_" + keyToken(m_col) + (projectsOutput() ? " W_O" : "");
        const int rowO = m_head.value * m_config.dV;
        const Matrix moved =
            projectsOutput()
                ? m_trace.backend->linear(v.rowRange(m_col, m_col + 1),
                                          MatrixView(*m_weights.wO).rowRange(rowO, rowO + m_config.dV), nullptr)
                : copy(v.rowRange(m_col, m_col + 1));
        double squares = 0;
        for (int d = 0; d < moved.cols(); ++d) {
            addTerm(dimension(d), d, moved(0, d), moved(0, d));
            squares += m_out.terms.back().product;
        }
        const double a = cellWeight(m_head);
        addStep("√ of the sum of squares", std::sqrt(squares));
        addStep("× weight " + number(a), a * std::sqrt(squares));
        const bool isOff = m_scenario.headIsOff(m_layer, m_head);
        if (isOff)
            addStep(headName(m_head.value) + " is switched off", 0);
        m_out.value = isOff ? 0.0F : static_cast<float>(m_out.steps.back().value);
    }

    // --- the chain from a score to a weight ---

    // The dot product, or the number that was set in its place.
    double score() {
        const MatrixView q = headBand(*m_computed.q, m_head.value, m_config.dK);
        const MatrixView k = headBand(*m_computed.k, m_config.kvHeadOf(m_head), m_config.dK);
        m_out.leftName = "Q_" + rowToken();
        m_out.rightName = "K_" + keyToken(m_col);
        double value = 0;
        for (int d = 0; d < m_config.dK; ++d) {
            addTerm(dimension(d), d, q(m_row, d), k(m_col, d), cellOf(Stage::Q, m_row, d), cellOf(Stage::K, m_col, d));
            value += m_out.terms.back().product;
        }
        const Intervention* edit = nullptr; // of several edits of one cell the last one counts
        for (const Intervention& i : m_scenario.interventions)
            if (isSetCell(i, Stage::Scores) && i.layer == m_layer && i.head == m_head)
                edit = &i;
        if (!edit)
            return value;
        addStep("score set by hand", edit->value);
        return edit->value;
    }

    double scaleSteps(double score) {
        const HeadInputs in = headInputs(m_scenario, m_trace.mask, m_computed, m_layer, m_head);
        const HeadProblem& p = in.problem;
        double value = score * scaleFactor(m_scenario);
        addStep(scaleLabel(), value);
        if (p.alibiSlope != 0.0F) {
            value -= static_cast<double>(p.alibiSlope) * std::abs(m_row - m_col);
            addStep("+ position bias −" + shortNumber(p.alibiSlope) + " · |" + std::to_string(m_row) + " − " +
                        std::to_string(m_col) + "|",
                    value);
        }
        if (!p.relativeBias.empty()) {
            const float bias = p.relativeBias[static_cast<std::size_t>(m_col - m_row + p.q.rows - 1)];
            value += bias;
            addStep("+ position bias " + number(bias), value);
        }
        return value;
    }

    std::string scaleLabel() const {
        const std::string dK = std::to_string(m_config.dK), dModel = std::to_string(m_config.dModel);
        if (has(m_scenario.rules, Rule::ScaleDModel))
            return "÷ √d_model = √" + dModel + " (wrong rule)";
        if (has(m_scenario.rules, Rule::ScaleDk))
            return "÷ d_k = " + dK + " (wrong rule)";
        if (has(m_scenario.rules, Rule::NoScale))
            return "not scaled (wrong rule)";
        if (m_scenario.scale.kind == Scale::Kind::None)
            return "not scaled";
        if (m_scenario.scale.kind == Scale::Kind::Number)
            return "× " + shortNumber(m_scenario.scale.number);
        return "÷ √d_k = √" + dK;
    }

    void maskSteps(double scaled) {
        if (!m_trace.mask.isOpen(m_row, m_col)) {
            addStep("mask: closed", KeyMask::minusInfinity);
            return;
        }
        const SharedMatrix& additive = m_trace.mask.additive;
        const float added = additive ? (*additive)(m_row, m_col) : 0.0F;
        addStep(added == 0.0F ? "mask: open" : "+ mask " + number(added), scaled + added);
        const double cap = m_config.softcap;
        if (cap > 0)
            addStep("softcap " + shortNumber(cap) + " · tanh(x / " + shortNumber(cap) + ")",
                    cap * std::tanh((scaled + added) / cap));
    }

    struct Sharers {
        std::string line; // "row" or "column"
        int own = 0;      // the cell's place among them
        std::vector<float> logits;
        std::vector<bool> open;
    };

    void softmaxSteps(const Sharers& s) {
        const auto own = static_cast<std::size_t>(s.own);
        const auto openCount = std::ranges::count(s.open, true);
        if (openCount == 0) {
            addStep("every cell of the " + s.line + " is closed: it gives nothing", 0);
            return;
        }
        if (!s.open[own]) {
            addStep("exp(−∞)", 0);
            return;
        }
        double largest = -INFINITY;
        for (std::size_t i = 0; i < s.logits.size(); ++i)
            if (s.open[i])
                largest = std::max(largest, static_cast<double>(s.logits[i]));
        const double temperature = m_scenario.temperature, below = s.logits[own] - largest;
        if (std::isinf(temperature)) {
            addStep("T = ∞: every open cell counts 1", 1);
            addStep("÷ " + std::to_string(openCount) + " open cells of the " + s.line,
                    1.0 / static_cast<double>(openCount));
            return;
        }
        addStep("− largest of the " + s.line + " " + number(largest), below);
        if (temperature == 0) {
            int ties = 0;
            for (std::size_t i = 0; i < s.logits.size(); ++i)
                ties += s.open[i] && static_cast<double>(s.logits[i]) == largest ? 1 : 0;
            const double isLargest = below == 0 ? 1.0 : 0.0;
            addStep("T = 0: the largest counts 1, all others 0", isLargest);
            addStep("÷ " + std::to_string(ties) + " equal to the largest", isLargest / ties);
            return;
        }
        if (temperature != 1)
            addStep("÷ T = " + shortNumber(temperature), below / temperature);
        double sum = 0;
        for (std::size_t i = 0; i < s.logits.size(); ++i)
            sum += s.open[i] ? std::exp((s.logits[i] - largest) / temperature) : 0.0;
        addStep("exp", std::exp(below / temperature));
        addStep("÷ sum of the " + s.line + " " + number(sum), std::exp(below / temperature) / sum);
    }

    // --- where numbers come from ---

    // The cell of a head's output that stands in a cell of concat: under concat-reshape not the one that should.
    struct Source {
        int head, row, column;
    };
    Source sourceOf(int row, int column) const {
        const int dV = m_config.dV;
        if (!has(m_scenario.rules, Rule::ConcatReshape))
            return {column / dV, row, column % dV};
        const std::int64_t flat = std::int64_t{row} * m_config.heads * dV + column; // in (h, n, d_v)
        const std::int64_t perHead = std::int64_t{m_scenario.queries()} * dV;
        return {static_cast<int>(flat / perHead), static_cast<int>(flat % perHead / dV), static_cast<int>(flat % dV)};
    }

    // The columns of this row of concat that a head wrote.
    std::vector<int> columnsOf(int head) const {
        std::vector<int> columns;
        for (int c = 0; c < m_config.heads * m_config.dV; ++c)
            if (sourceOf(m_row, c).head == head)
                columns.push_back(c);
        return columns;
    }

    bool projectsOutput() const { return m_weights.wO && !has(m_scenario.rules, Rule::NoOutputProjection); }

    const SharedMatrix& projected(Stage which) const {
        return which == Stage::ProjectionQ   ? m_computed.projectionQ
               : which == Stage::ProjectionK ? m_computed.projectionK
                                             : m_computed.projectionV;
    }

    // One row of a head's stages; the whole head only where rows depend on each other.
    HeadStages headRowOf(HeadIndex head, int row, HeadWanted wanted) const {
        const auto rowOf = [row](const Matrix& m) {
            return m.empty() ? Matrix() : copy(MatrixView(m).rowRange(row, row + 1));
        };
        const HeadInputs in = headInputs(m_scenario, m_trace.mask, m_computed, m_layer, head);
        if (in.problem.softmaxOverQueries) {
            const HeadStages all = headStages(m_trace, m_layer, head, wanted);
            return {rowOf(all.scores), rowOf(all.scaled), rowOf(all.masked), rowOf(all.weights), rowOf(all.output)};
        }
        HeadRows rows = m_trace.backend->attend(in.problem, row, row + 1, wanted);
        if (m_computed.meanWeights) { // rule average-heads
            rows.weights = rowOf(*m_computed.meanWeights);
            rows.output = m_trace.backend->linear(rows.weights, in.problem.v, nullptr);
        }
        return {std::move(rows.scores), std::move(rows.scaled), std::move(rows.masked), std::move(rows.weights),
                std::move(rows.output)};
    }
    HeadStages headRow(HeadWanted wanted) const { return headRowOf(m_head, m_row, wanted); }

    // A head's own weight in this cell, whatever the rule average-heads makes of it.
    float cellWeight(HeadIndex head) const {
        if (m_computed.meanWeights && m_out.stage != Stage::Weights)
            return (*m_computed.meanWeights)(m_row, m_col);
        const HeadInputs in = headInputs(m_scenario, m_trace.mask, m_computed, m_layer, head);
        const bool all = in.problem.softmaxOverQueries;
        const int begin = all ? 0 : m_row, end = all ? m_scenario.queries() : m_row + 1;
        return m_trace.backend->attend(in.problem, begin, end, {false, false, false, true, false})
            .weights(m_row - begin, m_col);
    }

    bool isSetCell(const Intervention& i, Stage stage) const {
        return i.kind == Intervention::Kind::SetCell && i.stage == stage && i.row == m_row && i.col == m_col;
    }

    // --- words ---

    CellSource cellOf(Stage stage, int row, int col, std::optional<HeadIndex> head = {}) const {
        return {stage, {}, m_layer, head.value_or(m_head), row, col};
    }
    CellSource weightCell(WeightKind kind, int row, int col) const { return {{}, kind, m_layer, m_head, row, col}; }

    void addTerm(std::string label, int index, float left, double right, std::optional<CellSource> leftFrom = {},
                 std::optional<CellSource> rightFrom = {}) {
        m_out.terms.push_back(
            {std::move(label), index, left, static_cast<float>(right), left * right, leftFrom, rightFrom});
    }
    void addStep(std::string label, double value) { m_out.steps.push_back({std::move(label), value}); }

    static std::string dimension(int d) { return "d " + std::to_string(d); }
    std::string queryToken(int i) const { return m_scenario.query.tokens[static_cast<std::size_t>(i)].text; }
    std::string keyToken(int j) const { return m_scenario.keyTokens().tokens[static_cast<std::size_t>(j)].text; }
    std::string rowToken() const {
        return stageInfo(m_out.stage).rows == StageAxis::KeyTokens ? keyToken(m_row) : queryToken(m_row);
    }
    std::string headName(int head) const {
        const std::string index = "L" + std::to_string(m_layer.value) + " H" + std::to_string(head);
        return m_config.headNames.empty() ? index : index + " " + m_config.headNames[static_cast<std::size_t>(head)];
    }

    std::string sentence() const {
        const std::string value = number(m_out.value);
        if (isTokenByToken(m_out.stage)) {
            const std::string query = isolated(queryToken(m_row)) + " (query)",
                              key = isolated(keyToken(m_col)) + " (key)";
            switch (m_out.stage) {
            case Stage::Weights:
                return query + " attends " + value + " to " + key;
            case Stage::Norms:
                return key + " moves the output of " + query + " by " + value;
            case Stage::Scaled:
                return query + " has the scaled score " + value + " with " + key;
            case Stage::Masked:
                return query + " has the masked score " + value + " with " + key;
            default:
                return query + " has the score " + value + " with " + key;
            }
        }
        return inScenario(stageInfo(m_out.stage).symbol, m_scenario) + " of " + isolated(rowToken()) + ", " +
               dimension(m_col) + ", is " + value;
    }

    const AttentionTrace& m_trace;
    const Scenario& m_scenario;
    const ModelConfig& m_config;
    const LayerWeights& m_weights;
    const LayerTrace& m_computed;
    LayerIndex m_layer;
    HeadIndex m_head;
    int m_row, m_col;
    CellExplanation m_out{};
};

} // namespace

CellExplanation explainCell(const AttentionTrace& trace, LayerIndex layer, HeadIndex head, Stage stage, int row,
                            int col) {
    return Explainer(trace, layer, head, stage, row, col).run();
}

} // namespace headscope
