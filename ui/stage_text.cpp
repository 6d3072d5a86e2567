#include "ui/stage_text.h"

#include <QCoreApplication>
#include <QGlyphRun>
#include <QGuiApplication>
#include <QRegularExpression>
#include <QTextLayout>

#include <algorithm>
#include <cmath>

namespace headscope {

QString fromUtf8(std::string_view text) {
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

std::string toUtf8(const QString& text) {
    return text.toStdString();
}

QString richFormula(const QString& formula) {
    QString rich = formula.toHtmlEscaped();
    static const QRegularExpression sub(QStringLiteral("_\\{?([A-Za-z0-9]+)\\}?"));
    static const QRegularExpression super(QStringLiteral("\\^\\{?([A-Za-z0-9]+)\\}?"));
    rich.replace(sub, QStringLiteral("<sub>\\1</sub>"));
    rich.replace(super, QStringLiteral("<sup>\\1</sup>"));
    return rich;
}

// "X = token rows + position rows", as far as the model has them; in later layers what the layer before hands on.
static QString embeddingFormula(const Scenario& scenario, LayerIndex layer, Stage stage) {
    const bool isKey = stage == Stage::EmbeddingKey;
    const QString symbol = fromUtf8(stageInfo(stage).symbol) + QStringLiteral(" = ");
    if (layer.value > 0 && !isKey)
        return symbol + QCoreApplication::translate("headscope", "what layer %1 hands on").arg(layer.value - 1);
    if (isKey && scenario.model->config().site)
        return symbol + QCoreApplication::translate("headscope", "what the encoder hands on");
    if (isKey ? scenario.y : scenario.x)
        return symbol + QCoreApplication::translate("headscope", "your own matrix");
    TokenSequence one = isKey ? scenario.keyTokens() : scenario.query; // the parts are the same for every token
    one.tokens.resize(1);
    QStringList parts;
    for (const Embedding::Part& part : scenario.model->embedder().embed(one).parts)
        parts << QCoreApplication::translate("headscope", "%1 rows").arg(fromUtf8(part.name));
    if (parts.isEmpty())
        parts << QCoreApplication::translate("headscope", "token rows");
    return symbol + parts.join(QStringLiteral(" + "));
}

QString stageFormula(const Scenario& scenario, LayerIndex layer, Stage stage) {
    if (stage == Stage::Embedding || stage == Stage::EmbeddingKey)
        return richFormula(embeddingFormula(scenario, layer, stage));
    QString formula = fromUtf8(inScenario(stageInfo(stage).formula, scenario));
    if (stage == Stage::Scaled && scaleText(scenario).startsWith(QStringLiteral("×")))
        formula = QStringLiteral("S %1").arg(scaleText(scenario));
    formula.replace(QLatin1String("sqrt(d_k)"), QStringLiteral("√%1").arg(scenario.model->config().dK));
    if (stage == Stage::Weights && scenario.temperature != 1.0)
        formula += QStringLiteral(" / T, T = %1").arg(scenario.temperature, 0, 'g', 4);
    return richFormula(formula);
}

QString stageWords(const Scenario& scenario, Stage stage) {
    if (stage == Stage::EmbeddingKey && scenario.model->config().site)
        return richFormula(QCoreApplication::translate(
            "headscope", "What the encoder made of the source, one row a token. W_K and W_V multiply Y, so keys and "
                         "values come from the other text."));
    return richFormula(fromUtf8(stageInfo(stage).what).replace(QLatin1String("sqrt(d_k)"), QStringLiteral("√d_k")));
}

QString stageShortName(Stage stage) {
    switch (stage) {
    case Stage::ProjectionQ:
    case Stage::Q:
        return QStringLiteral("Q");
    case Stage::ProjectionK:
    case Stage::K:
        return QStringLiteral("K");
    case Stage::ProjectionV:
    case Stage::V:
        return QStringLiteral("V");
    case Stage::Contribution:
        return QCoreApplication::translate("headscope", "this head");
    case Stage::Output:
        return QCoreApplication::translate("headscope", "output");
    case Stage::Norms:
        return QCoreApplication::translate("headscope", "norms");
    default:
        return fromUtf8(stageInfo(stage).symbol);
    }
}

static QString size(int rows, int cols) {
    return QStringLiteral("%1 × %2").arg(rows).arg(cols);
}

static QString product(const QString& left, const QString& right, const QString& result) {
    return QStringLiteral("(%1)(%2) = %3").arg(left, right, result);
}

QString stageSizes(const Scenario& scenario, Stage stage) {
    const ModelConfig& c = scenario.model->config();
    const int n = scenario.queries();
    const int m = scenario.keys();
    switch (stage) {
    case Stage::ProjectionQ:
        return product(size(n, c.dModel), size(c.dModel, c.heads * c.dK), size(n, c.heads * c.dK));
    case Stage::ProjectionK:
        return product(size(m, c.dModelKey), size(c.dModelKey, c.kvHeads * c.dK), size(m, c.kvHeads * c.dK));
    case Stage::ProjectionV:
        return product(size(m, c.dModelKey), size(c.dModelKey, c.kvHeads * c.dV), size(m, c.kvHeads * c.dV));
    case Stage::Scores:
        return product(size(n, c.dK), size(c.dK, m), size(n, m));
    case Stage::HeadOutput:
        return product(size(n, m), size(m, c.dV), size(n, c.dV));
    case Stage::Contribution:
        return product(size(n, c.dV), size(c.dV, c.dOut), size(n, c.dOut));
    case Stage::Output:
        return product(size(n, c.heads * c.dV), size(c.heads * c.dV, c.dOut), size(n, c.dOut));
    default: {
        const StageShape shape = stageShape(c, stage, n, m);
        return size(shape.rows, shape.cols);
    }
    }
}

QString scaleText(const Scenario& scenario) {
    if (scenario.model->captured())
        return QCoreApplication::translate("headscope", "as captured");
    const int dK = scenario.model->config().dK;
    const double factor = scaleFactor(scenario);
    if (scenario.scale.kind == Scale::Kind::SqrtDk && std::abs(factor * std::sqrt(dK) - 1) < 1e-9)
        return QStringLiteral("÷ √%1").arg(dK);
    return QStringLiteral("× %1").arg(factor, 0, 'g', 3);
}

qsizetype cellsMaskedByHand(const Scenario& scenario) {
    return std::ranges::count(scenario.interventions, Intervention::Kind::MaskCell, &Intervention::kind);
}

QString stepSubtitle(const Scenario& scenario, int step) {
    const ModelConfig& c = scenario.model->config();
    const std::vector<Stage> stages = stagesOfStep(scenario, step);
    if (stages.empty()) // not in a file of captured attention
        return QStringLiteral("–");
    const StageShape shape = stageShape(c, stages.front(), scenario.queries(), scenario.keys());
    switch (stages.front()) {
    case Stage::Scaled:
        return scaleText(scenario);
    case Stage::Masked: {
        QString name = fromUtf8(maskName(scenario.mask));
        if (name == QLatin1String("model"))
            name = c.causal ? QStringLiteral("causal") : QStringLiteral("none");
        const qsizetype byHand = cellsMaskedByHand(scenario), most = byHand > 0 ? 6 : 10;
        if (name.size() > most)
            name = name.left(most - 1) + QStringLiteral("…");
        return byHand > 0 ? QStringLiteral("%1 + %2").arg(name).arg(byHand) : name;
    }
    default:
        return QStringLiteral("%1×%2").arg(shape.rows).arg(shape.cols);
    }
}

std::vector<Stage> stagesOfStep(const Scenario& scenario, int step) {
    std::vector<Stage> stages;
    for (const StageInfo& info : stageTable())
        if (info.step == step && stageAvailable(scenario, info.stage))
            stages.push_back(info.stage);
    return stages;
}

Stage stageOfStep(const Scenario& scenario, int step, Stage current) {
    const std::vector<Stage> stages = stagesOfStep(scenario, step);
    return stages.empty() || stageInfo(current).step == step ? current : stages.front();
}

QString headName(LayerIndex layer, HeadIndex head) {
    return QStringLiteral("L%1 H%2").arg(layer.value).arg(head.value);
}

QString headTitle(const ModelConfig& config, LayerIndex layer, HeadIndex head) {
    const QString name = headName(layer, head);
    const auto index = static_cast<std::size_t>(head.value);
    return index < config.headNames.size() ? name + QStringLiteral(" · ") + fromUtf8(config.headNames[index]) : name;
}

// True when the application's font, or one that Qt falls back to, has a glyph for it.
static bool hasGlyph(const QString& character) {
    QTextLayout layout(character, QGuiApplication::font());
    layout.beginLayout();
    layout.createLine();
    layout.endLayout();
    for (const QGlyphRun& run : layout.glyphRuns())
        if (run.glyphIndexes().contains(0))
            return false;
    return true;
}

QString tokenText(const Token& token) {
    return tokenText(token.text.empty() ? token.piece : token.text);
}

// Characters without a glyph of their own that shape their neighbours: joiners and variation selectors.
static bool shapesNeighbours(char32_t code) {
    return code == 0x200c || code == 0x200d || (code >= 0xfe00 && code <= 0xfe0f) ||
           (code >= 0xe0100 && code <= 0xe01ef);
}

QString isolated(const QString& token) {
    const bool turns = std::ranges::any_of(token.toStdU32String(), [](char32_t code) {
        const QChar::Direction direction = QChar::direction(code);
        return direction == QChar::DirR || direction == QChar::DirAL || direction == QChar::DirAN;
    });
    return turns ? QChar(0x2068) + token + QChar(0x2069) : token;
}

QString tokenText(const std::string& utf8) {
    const QString text = fromUtf8(utf8);
    const bool alone = text.toStdU32String().size() == 1;
    QString shown;
    for (const char32_t code : text.toStdU32String()) {
        const QString character = QString::fromUcs4(&code, 1);
        const bool plain = code >= 0x20 && code < 0x7f;
        shown += plain || (!alone && shapesNeighbours(code)) || (QChar::isPrint(code) && hasGlyph(character))
                     ? character
                     : QStringLiteral("U+%1").arg(QString::number(code, 16).toUpper(), 4, QLatin1Char('0'));
    }
    return shown.trimmed().isEmpty() ? QString(std::max<qsizetype>(1, shown.size()), QChar(0x2423)) : shown; // "␣"
}

QString distinctText(const TokenSequence& tokens, int index) {
    const Token& token = tokens.tokens[static_cast<std::size_t>(index)];
    QString text = tokenText(token);
    const auto same = [&](const Token& t) { return t.piece == token.piece && t.text == token.text; };
    if (std::ranges::count_if(tokens.tokens, same) > 1)
        for (const QChar digit : QString::number(index))
            text += QChar(0x2080 + digit.digitValue()); // a subscript
    return text;
}

QStringList tokenTexts(const TokenSequence& tokens) {
    QStringList texts;
    for (const Token& token : tokens.tokens)
        texts << tokenText(token);
    return texts;
}

} // namespace headscope
