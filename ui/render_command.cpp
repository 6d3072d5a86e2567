#include "ui/render_command.h"

#include "core/tensor/errors.h"
#include "ui/stage_text.h"

#include <QRegularExpression>

namespace headscope {

QString shellQuoted(const QString& text) {
    static const QRegularExpression plain(QStringLiteral("^[A-Za-z0-9_@%+=:,./-]+$"));
    if (plain.match(text).hasMatch())
        return text;
    return u'\'' + QString(text).replace(QLatin1String("'"), QLatin1String("'\\''")) + u'\'';
}

// Edits of weights, cells and masks from files have no option of their own.
static bool needsFile(const Scenario& scenario) {
    const auto isFile = [](const MaskPart& part) { return part.kind == MaskPart::Kind::Matrix; };
    const auto isCell = [](const Intervention& i) { return i.kind != Intervention::Kind::HeadOff; };
    return scenario.edited() || scenario.x || scenario.y || scenario.firstText().empty() ||
           std::ranges::any_of(scenario.mask.parts, isFile) || std::ranges::any_of(scenario.interventions, isCell);
}

static void addToyOptions(QStringList& words, const ToyOptions& toy) {
    const ToyOptions usual;
    const auto number = [&](const char* name, auto value, auto usually) {
        if (value != usually)
            words << QLatin1String(name) << QString::number(value);
    };
    number("--d-model", toy.dModel, usual.dModel);
    number("--heads", toy.heads, usual.heads);
    if (toy.kvHeads)
        words << QStringLiteral("--kv-heads") << QString::number(*toy.kvHeads);
    if (toy.dK)
        words << QStringLiteral("--d-k") << QString::number(*toy.dK);
    if (toy.dV)
        words << QStringLiteral("--d-v") << QString::number(*toy.dV);
    number("--layers", toy.layers, usual.layers);
    number("--seed", static_cast<qulonglong>(toy.seed), static_cast<qulonglong>(usual.seed));
    if (toy.position != usual.position)
        words << QStringLiteral("--position") << fromUtf8(positionName(toy.position));
    if (!toy.bias)
        words << QStringLiteral("--no-bias");
    if (!toy.residual)
        words << QStringLiteral("--no-residual");
}

static void addScenario(QStringList& words, const Scenario& scenario) {
    words << QStringLiteral("--model") << shellQuoted(fromUtf8(scenario.source.name));
    if (scenario.source.name == "toy")
        addToyOptions(words, scenario.source.toy);
    else if (scenario.source.heads)
        words << QStringLiteral("--heads") << QString::number(*scenario.source.heads);
    words << QStringLiteral("--text") << shellQuoted(fromUtf8(scenario.firstText()));
    if (scenario.texts) {
        words << QStringLiteral("--site") << fromUtf8(siteName(*scenario.model->config().site));
        if (scenario.texts->author == SiteTexts::Author::User)
            words << QStringLiteral("--target") << shellQuoted(fromUtf8(scenario.texts->target.source));
    } else if (const auto second = scenario.secondText())
        words << QStringLiteral("--pair") << shellQuoted(fromUtf8(*second));
    const Scenario usual;
    if (scenario.mask != usual.mask)
        words << QStringLiteral("--mask") << fromUtf8(maskName(scenario.mask));
    if (scenario.scale != usual.scale)
        words << QStringLiteral("--scale") << fromUtf8(scaleName(scenario.scale));
    if (scenario.temperature != usual.temperature)
        words << QStringLiteral("--temperature") << QString::number(scenario.temperature, 'g', 17);
    QStringList off;
    for (const Intervention& i : scenario.interventions)
        off << QStringLiteral("%1:%2").arg(i.layer.value).arg(i.head.value);
    if (!off.isEmpty())
        words << QStringLiteral("--ablate") << off.join(u',');
    for (const RuleInfo& rule : ruleTable())
        if (has(scenario.rules, rule.rule))
            words << QStringLiteral("--rule") << fromUtf8(rule.name);
}

static void addView(QStringList& words, const View& view) {
    const View usual;
    words << QStringLiteral("--view") << fromUtf8(figureKindName(view.figure));
    words << QStringLiteral("--stage") << fromUtf8(stageInfo(view.stage).id);
    words << QStringLiteral("--layer") << QString::number(view.layer.value);
    QStringList heads;
    for (const HeadIndex head : view.heads)
        heads << QString::number(head.value);
    words << QStringLiteral("--head") << heads.join(u',');
    if (view.range != usual.range)
        words << QStringLiteral("--range") << fromUtf8(rangeName(view.range));
    if (view.colors != usual.colors)
        words << QStringLiteral("--colors") << fromUtf8(colorMapName(view.colors));
    if (view.curve != usual.curve)
        words << QStringLiteral("--curve") << fromUtf8(curveName(view.curve));
    if (view.threshold != usual.threshold)
        words << QStringLiteral("--threshold") << QString::number(view.threshold);
    if (view.topK)
        words << QStringLiteral("--top") << QString::number(*view.topK);
    if (view.combine != usual.combine)
        words << QStringLiteral("--combine")
              << (view.combine == Combine::Mean ? QStringLiteral("mean") : QStringLiteral("max"));
    if (view.special != usual.special)
        words << QStringLiteral("--special") << fromUtf8(specialName(view.special));
    if (view.words)
        words << QStringLiteral("--words");
    if (view.cell && isTokenByToken(view.stage))
        words << QStringLiteral("--cell") << QStringLiteral("%1,%2").arg(view.cell->row).arg(view.cell->col);
    if (view.values)
        words << QStringLiteral("--values");
}

QString renderCommand(const Document& document, const QString& savedPath) {
    QStringList words{QStringLiteral("headscope"), QStringLiteral("render")};
    if (!savedPath.isEmpty())
        words << QStringLiteral("--scenario") << shellQuoted(savedPath);
    else if (needsFile(document.scenario))
        throw InputError(
            "This scenario has edits that no option can say: save it first, then the command names the file.");
    else
        addScenario(words, document.scenario);
    addView(words, document.view);
    words << QStringLiteral("--out") << QStringLiteral("figure.pdf");
    return words.join(u' ');
}

} // namespace headscope
