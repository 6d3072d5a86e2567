#include "app/cli/scenario_options.h"

#include "app/cli/numbers.h"
#include "core/exchange/mask_file.h"
#include "core/model/captured_attention.h"
#include "core/model/tensor_file.h"

#include <algorithm>
#include <tuple>

namespace headscope::cli {

namespace {

void refuseBoth(bool a, const std::string& nameA, bool b, const std::string& nameB) {
    if (a && b)
        throw InputError(nameA + " and " + nameB + " exclude each other: give one of them");
}

void refuseUnusedTextOptions(const TextOptions& o, const std::string& model) {
    if (isBuiltinModel(model)) {
        refuseIf(o.x.has_value(), "--x is for attention modules; " + model + " embeds its own text");
        refuseIf(o.y.has_value(), "--y is for attention modules; " + model + " embeds its own text");
    }
    refuseBoth(o.text.has_value(), "--text", o.textFile.has_value(), "--text-file");
    refuseBoth(o.text.has_value(), "--text", o.ids.has_value(), "--ids");
    refuseBoth(o.textFile.has_value(), "--text-file", o.ids.has_value(), "--ids");
    refuseBoth(o.pair.has_value(), "--pair", o.pairIds.has_value(), "--pair-ids");
    refuseBoth(o.target.has_value(), "--target", o.targetIds.has_value(), "--target-ids");
    refuseBoth(o.x.has_value(), "--x", o.text || o.textFile || o.ids, "a text");
    refuseBoth(o.y.has_value(), "--y", o.pair || o.pairIds, "a second text");
}

void refuseTokenOptions(const ComputeOptions& o, const Model& model) {
    const std::string& name = model.config().name;
    if (isWordModel(model)) {
        refuseIf(o.special.has_value(), "--special is for models that add special tokens; " + name + " adds none");
        refuseIf(o.words, "--words joins the pieces of subword models; the tokens of " + name + " are whole words");
    }
}

void applyTokenOptions(View& view, const ComputeOptions& o) {
    if (o.special) {
        const auto special = specialFromName(*o.special);
        if (!special)
            throw InputError("--special: expected show, hide, unranged or drop, found '" + *o.special + "'");
        view.special = *special;
    }
    view.words = view.words || o.words;
}

SharedMatrix readMatrixFile(const std::string& option, const std::string& path) {
    const auto file = openTensorFile(path);
    if (file->entries().size() != 1)
        throw LoadError(path, "", "one array for " + option, std::to_string(file->entries().size()) + " arrays",
                        "save the one that is meant as .npy");
    return share(file->matrix(file->entries().front(), true));
}

std::vector<Intervention> parseAblated(const std::string& text, const ModelConfig& config) {
    std::vector<Intervention> ablated;
    for (const std::string& part : split(text, ',')) {
        const auto numbers = split(part, ':');
        if (numbers.size() != 2)
            throw InputError("--ablate: expected LAYER:HEAD with commas between them, as in 0:3,1:2, found '" + text +
                             "'");
        Intervention off;
        off.kind = Intervention::Kind::HeadOff;
        const std::string where = "--ablate " + part;
        off.layer = LayerIndex(parseIndex(where + ": layer", numbers[0], config.layers, config.name, "layer"));
        off.head = HeadIndex(parseIndex(where + ": head", numbers[1], config.heads, config.name, "head"));
        if (std::find(ablated.begin(), ablated.end(), off) == ablated.end())
            ablated.push_back(off);
    }
    return ablated;
}

bool isNamedMask(std::string_view part) {
    return part == "none" || part == "causal" || part == "model" || part.starts_with("window:") ||
           part.starts_with("prefix:") || part.starts_with("padding:");
}

// Named masks and files, joined by "+"; a file of another size is refused with both shapes.
Mask parseMaskOption(const std::string& text, const Scenario& scenario) {
    const int n = scenario.queries(), m = scenario.keys();
    Mask mask{{}};
    // A file may have a + in its name.
    for (const std::string& part : fileExists(text) ? std::vector<std::string>{text} : split(text, '+')) {
        if (isNamedMask(part)) {
            mask.parts.push_back(parseMask(part).parts.at(0));
            continue;
        }
        if (!fileExists(part))
            throw InputError("--mask: expected none, causal, window:W, prefix:P, padding:K, model or a file, found '" +
                             part + "' (there is no file of that name)");
        const SharedMatrix numbers = readMaskFile(part);
        if (numbers->rows() != n || numbers->cols() != m)
            throw LoadError(part, "mask", shapeText(n, m) + " numbers (queries x keys)",
                            shapeText(numbers->rows(), numbers->cols()));
        mask.parts.push_back({MaskPart::Kind::Matrix, 0, numbers});
    }
    return mask;
}

RuleSet parseRules(const std::vector<std::string>& texts) {
    RuleSet rules;
    for (const std::string& text : texts)
        for (const std::string& name : split(text, ',')) {
            const auto rule = ruleFromName(name);
            if (!rule)
                throw InputError("--rule: there is no class rule '" + name + "'; the rules are " + ruleNames());
            rules = with(rules, *rule);
        }
    return rules;
}

// Model and texts of the options over those of the request. What was not given stays.
void applyModelAndTexts(ScenarioRequest& request, const ComputeOptions& o, const Streams& streams) {
    const TextOptions& t = o.text;
    const std::string& model = request.source.name;
    if (t.text || t.textFile || t.ids || t.x) {
        request.text.reset();
        request.ids.reset();
        request.x.reset();
    }
    if (t.pair || t.pairIds || t.y) {
        request.pair.reset();
        request.pairIds.reset();
        request.y.reset();
    }
    if (t.text) {
        requireUtf8(*t.text, "--text");
        request.text = *t.text;
    }
    if (t.textFile) {
        request.text = readTextFile(*t.textFile, streams.in);
        refuseIf(!hasVisibleCharacter(*request.text),
                 "--text-file " + *t.textFile + " has no visible character: expected at least one word");
    }
    if (t.ids)
        request.ids = parseIds("--ids", *t.ids);
    if (t.pair) {
        requireUtf8(*t.pair, "--pair");
        request.pair = *t.pair;
    }
    if (t.pairIds)
        request.pairIds = parseIds("--pair-ids", *t.pairIds);
    if (t.target) {
        requireUtf8(*t.target, "--target");
        request.target = *t.target;
        request.targetIds.reset();
    }
    if (t.targetIds) {
        request.targetIds = parseIds("--target-ids", *t.targetIds);
        request.target.reset();
    }
    if (t.x)
        request.x = readMatrixFile("--x", *t.x);
    if (t.y)
        request.y = readMatrixFile("--y", *t.y);
    if (request.pair || request.pairIds || request.y)
        request.source.cross = true;
    if (request.text || request.ids || request.x)
        return;
    // A file may carry its own X; the example knows its sentence; nobody else has a text.
    if (model == "worked-example")
        request.text = std::string(workedExampleText());
    else if (isBuiltinModel(model))
        throw InputError("there is no text: give one with --text, --text-file or --ids");
}

using TextOrIds = std::pair<std::optional<std::string>, std::optional<std::vector<std::int64_t>>>;
TextOrIds typedOrIds(const TokenSequence& tokens) {
    if (!tokens.source.empty())
        return {tokens.source, std::nullopt};
    return {std::nullopt, idsOfSegment(tokens, 0)};
}

// What has to be asked again to get this scenario's model and texts.
ScenarioRequest requestOf(const Scenario& s) {
    ScenarioRequest request;
    request.source = s.source;
    if (s.model->captured())
        return request;
    request.x = s.x;
    request.y = s.y;
    if (s.texts) {
        const auto [text, ids] = typedOrIds(s.texts->source);
        request.text = text, request.ids = ids;
        if (s.texts->author == SiteTexts::Author::User)
            std::tie(request.target, request.targetIds) = typedOrIds(s.texts->target);
        return request;
    }
    const bool typed = !s.query.source.empty();
    if (typed)
        request.text = s.query.source;
    else if (!s.x)
        request.ids = idsOfSegment(s.query, 0);

    if (const auto second = s.secondText(); second && !second->empty())
        request.pair = *second;
    else if (s.key && !s.y)
        request.pairIds = idsOfSegment(*s.key, 0);
    else if (auto ids = idsOfSegment(s.query, 1); !typed && !ids.empty())
        request.pairIds = std::move(ids);
    return request;
}

// The cells of one tensor that a scenario has edited, into the model that other options made, where it still has the
// shape.
void carryEdit(Scenario& to, const Scenario& from, TensorId id, const Streams& streams) {
    const Matrix& before = *from.original->tensor(id);
    const Matrix& after = *from.model->tensor(id);
    const SharedMatrix target = id.layer.value < to.model->config().layers ? to.model->tensor(id) : nullptr;
    if (to.source.name != from.source.name || !target || target->rows() != after.rows() ||
        target->cols() != after.cols()) {
        note(streams, "the scenario's edits of L" + std::to_string(id.layer.value) + " " +
                          std::string(weightName(id.kind)) + " do not fit " + to.model->config().name +
                          " and are left out");
        return;
    }
    Matrix edited = *target;
    for (std::size_t i = 0; i < edited.size(); ++i)
        if (before.values()[i] != after.values()[i])
            edited.values()[i] = after.values()[i];
    to.model = to.model->withTensor(id, share(std::move(edited)));
}

// Everything that a saved scenario has changed, at every site, into the one that other options made.
void carryChanges(Scenario& to, const Scenario& from, const Streams& streams) {
    const auto here = from.model->config().site;
    if (here && to.model->config().site)
        for (const Site site : allSites) {
            to = atSite(to, site);
            const Scenario there = atSite(from, site);
            for (const TensorId id : editedTensors(there))
                carryEdit(to, there, id, streams);
        }
    else
        for (const TensorId id : editedTensors(from))
            carryEdit(to, from, id, streams);
    if (here && to.model->config().site) {
        to = atSite(to, *here);
        to.otherSites = from.otherSites;
    }
    to.mask = from.mask;
    to.scale = from.scale;
    to.temperature = from.temperature;
    to.rules = from.rules;
    to.interventions = from.interventions;
}

// Of an encoder-decoder: the site that --site names, with a target.
void applySite(Scenario& scenario, const ComputeOptions& o) {
    if (!scenario.model->config().site) {
        refuseIf(o.site.has_value(),
                 "--site is for encoder-decoder models; " + scenario.model->config().name + " is none");
        return;
    }
    if (o.site) {
        const auto site = siteFromName(*o.site);
        if (!site)
            throw InputError("--site: expected encoder.self, decoder.self or decoder.cross, found '" + *o.site + "'");
        scenario = atSite(scenario, *site);
    }
    scenario = withTarget(scenario, chosenBackend(o));
}

// What the model's own mask closes and the new one does not.
void noteReplacedMask(const std::string& text, const Scenario& scenario, const Streams& streams) {
    const ModelConfig& c = scenario.model->config();
    const auto& parts = scenario.mask.parts;
    const auto has = [&](MaskPart::Kind kind) {
        return std::ranges::find(parts, kind, &MaskPart::kind) != parts.end();
    };
    if (has(MaskPart::Kind::Model))
        return;
    std::string replaced = c.causal && !has(MaskPart::Kind::Causal) ? "the causal mask" : "";
    if (c.slidingWindow > 0)
        replaced += (replaced.empty() ? "" : " and ") + std::string("the sliding window of ") +
                    std::to_string(c.slidingWindow) + " tokens";
    if (!replaced.empty())
        note(streams, "--mask " + text + " replaces " + replaced + " of " + c.name);
}

// Mask, scale, temperature, rules and switched-off heads: what was given replaces what the scenario has.
void applyAttentionOptions(Scenario& scenario, const ComputeOptions& o, const Streams& streams) {
    if (o.mask) {
        scenario.mask = parseMaskOption(*o.mask, scenario);
        noteReplacedMask(*o.mask, scenario, streams);
    }
    if (o.scale)
        scenario.scale = parseScale(*o.scale);
    if (o.temperature)
        scenario.temperature = parseTemperature(*o.temperature);
    if (!o.rules.empty())
        scenario.rules = parseRules(o.rules);
    if (o.ablate) {
        std::erase_if(scenario.interventions,
                      [](const Intervention& i) { return i.kind == Intervention::Kind::HeadOff; });
        for (const Intervention& off : parseAblated(*o.ablate, scenario.model->config()))
            scenario.interventions.push_back(off);
    }
}

} // namespace

Document openDocument(const ComputeOptions& o, const Streams& streams) {
    Document document;
    ScenarioRequest request;
    std::optional<Scenario> saved;
    if (o.scenario) {
        document = openScenario(*o.scenario);
        saved = document.scenario;
        request = requestOf(*saved);
    }
    request.source = modelSource(o.model, request.source);
    refuseUnusedTextOptions(o.text, request.source.name);

    Scenario& scenario = document.scenario;
    if (!saved || o.model.anyGiven() || o.text.anyGiven()) {
        applyModelAndTexts(request, o, streams);
        scenario = makeScenario(std::move(request));
        if (saved)
            carryChanges(scenario, *saved, streams);
    }
    refuseHeadsOption(o.model, *scenario.model);
    refuseTokenOptions(o, *scenario.model);
    applyTokenOptions(document.view, o);
    applySite(scenario, o);
    applyAttentionOptions(scenario, o, streams);
    validate(scenario);
    if (const CapturedAttention* captured = scenario.model->captured())
        for (const std::string& remark : captured->remarks)
            note(streams, remark);
    return document;
}

} // namespace headscope::cli
