//  .headscope: JSON, two spaces, one cell or value a line
//
//    {"format": "headscope", "version": 1,
//     "model": {"name": "toy", "options": {...}}            or {"path": "module.npz", "sha256": "...", "heads": 4}
//     "text": "..." or "ids": [...] or "x": MATRIX           the queries
//     "pair": "..." or "pair_ids": [...]                     the second segment, or the keys in cross-attention;
//     "y": MATRIX                                            these also as a matrix
//     "target": "..." or "target_ids": [...]                 encoder-decoders; without it the model writes one
//     "target_written": true                                 the model has written this one
//     "mask": "causal+window:3" or a list of such and MATRIX
//     "scale": "sqrt_dk", "none" or a number                 "temperature": a number or "inf"
//     "rules": [names]                                       "interventions": [{"kind": "head_off", ...}]
//     "other_sites": {"encoder.self": {"mask": ..., "interventions": [...]}}   mask and interventions above are of
//                                                            the view's site, these of the others
//     "edits": [{"tensor": "layers.0.W_Q" or "decoder.layers.0.cross.W_Q", "cells": [[row, column, new value], ...]} or
//     {"tensor": ..., "whole": MATRIX}] "view": {...}}
//
//    MATRIX: {"rows": n, "cols": m, "float32": base64 of little-endian floats, row-major}

#include "core/exchange/scenario_file.h"

#include "core/attention/head_stages.h"
#include "core/exchange/json_field.h"
#include "core/exchange/scenario_names.h"
#include "core/model/checkpoint.h"
#include "core/model/tensor_file.h"
#include "core/tensor/number_text.h"

#include <filesystem>

namespace headscope {

namespace {

using Json = Field::Json;

ModelSource readModel(const Field& model, const std::string& baseFolder, const OpenHooks& hooks) {
    ModelSource source;
    model.onlyKeys({"name", "path", "sha256", "heads", "cross", "options"});
    if (model.has("cross"))
        source.cross = model.at("cross").flag();
    if (model.has("path")) {
        const std::filesystem::path path = model.at("path").text();
        source.name =
            (path.is_absolute() || baseFolder.empty() ? path : std::filesystem::path(baseFolder) / path).string();
        if (isBuiltin(source.name)) // a file that happens to have such a name
            source.name = "./" + source.name;
        if (model.has("heads"))
            source.heads = model.at("heads").integer(1);
        if (model.has("sha256")) {
            const std::string stored = model.at("sha256").text(), found = checkpointSha256(source.name, hooks);
            if (stored != found)
                throw LoadError(source.name, "",
                                "the model that the scenario was made with, sha256 " + printable(stored),
                                "sha256 " + found, "it has changed since");
        }
        return source;
    }
    source.name = model.at("name").text();
    if (!isBuiltin(source.name)) {
        std::string names;
        for (const BuiltinModel& m : builtinModels())
            names += (names.empty() ? "" : ", ") + m.name;
        throw model.at("name").wrong("one of " + names);
    }
    if (model.has("options") && source.name != "toy")
        throw model.at("options").wrong("no options: " + source.name + " has its own sizes and weights");
    if (model.has("options")) {
        const Field options = model.at("options");
        options.onlyKeys(
            {"d_model", "heads", "kv_heads", "d_k", "d_v", "layers", "seed", "bias", "position", "residual"});
        ToyOptions& o = source.toy;
        for (const auto& [key, to] : {std::pair{"d_model", &o.dModel}, {"heads", &o.heads}, {"layers", &o.layers}})
            if (options.has(key))
                *to = options.at(key).integer(1);
        for (const auto& [key, to] : {std::pair{"kv_heads", &o.kvHeads}, {"d_k", &o.dK}, {"d_v", &o.dV}})
            if (options.has(key))
                *to = options.at(key).integer(1);
        for (const auto& [key, to] : {std::pair{"bias", &o.bias}, {"residual", &o.residual}})
            if (options.has(key))
                *to = options.at(key).flag();
        if (options.has("seed"))
            o.seed = options.at("seed").seed();
        if (options.has("position"))
            o.position = options.at("position").named(positionFromName, "none, sinusoidal, learned, rope or alibi");
    }
    return source;
}

std::vector<std::int64_t> readIds(const Field& ids) {
    std::vector<std::int64_t> out;
    for (const Field& id : ids.list())
        out.push_back(id.whole(0, std::numeric_limits<std::int64_t>::max()));
    return out;
}

Mask readMask(const Field& mask) {
    if (!mask.json().is_array())
        return mask.parsed([](const std::string& text) { return parseMask(text); });
    Mask out{{}};
    for (const Field& part : mask.list()) {
        if (part.json().is_object()) {
            const SharedMatrix additive = part.matrix();
            for (const float v : additive->values())
                if (!std::isfinite(v) && v != KeyMask::minusInfinity)
                    throw part.at("float32").wrong("finite numbers or -inf", shortest(v));
            out.parts.push_back({MaskPart::Kind::Matrix, 0, additive});
        } else {
            for (MaskPart& p : part.parsed([](const std::string& text) { return parseMask(text); }).parts)
                out.parts.push_back(std::move(p));
        }
    }
    return out;
}

Intervention readIntervention(const Field& json) {
    using enum Intervention::Kind;
    json.onlyKeys({"kind", "layer", "head", "stage", "row", "col", "value"});
    Intervention out;
    out.kind = json.at("kind").named(
        [](const std::string& text) -> std::optional<Intervention::Kind> {
            const auto it = std::ranges::find(interventionNames, text);
            if (it == interventionNames.end())
                return std::nullopt;
            return static_cast<Intervention::Kind>(it - interventionNames.begin());
        },
        "head_off, set_cell or mask_cell");
    if (out.kind != MaskCell)
        out.layer = LayerIndex{json.at("layer").integer()};
    if (out.kind == SetCell)
        out.stage = json.at("stage").named(stageFromId, "one of " + stageIds());
    if (out.kind == HeadOff || (out.kind == SetCell && out.stage == Stage::Scores))
        out.head = HeadIndex{json.at("head").integer()};
    if (out.kind != HeadOff) {
        out.row = json.at("row").integer();
        out.col = json.at("col").integer();
        const Field value = json.at("value");
        const bool closes = value.json().is_string() && value.text() == "-inf";
        out.value = closes ? KeyMask::minusInfinity : value.value();
    }
    return out;
}

// The tensor, and the model seen from the site that it belongs to.
std::pair<SharedModel, TensorId> readTensorName(const Field& field, const SharedModel& model) {
    const std::string name = field.text();
    std::vector<SharedModel> sites{model};
    if (model->config().site) {
        sites.clear();
        for (const Site site : allSites)
            sites.push_back(model->atSite(site));
    }
    for (const SharedModel& site : sites)
        for (int l = 0; l < site->config().layers; ++l)
            for (const WeightKind kind : allWeightKinds)
                if (const TensorId id{LayerIndex{l}, kind}; site->tensor(id) && tensorName(site->config(), id) == name)
                    return {site, id};
    throw field.wrong("a tensor of the model, such as " + tensorName(model->config(), {}) + ", or X or Y");
}

// Cells of X, or of Y in cross-attention, are set in layer 0.
void readEmbeddingEdit(const Field& edit, Scenario& s) {
    const bool isKey = edit.at("tensor").text() == "Y";
    if (isKey && !s.key)
        throw edit.at("tensor").wrong("a tensor of the model or X: Y exists in cross-attention only");
    const int rows = isKey ? s.keys() : s.queries();
    const int cols = isKey ? s.model->config().dModelKey : s.model->config().dModel;
    for (const Field& cell : edit.at("cells").list()) {
        const std::vector<Field> parts = cell.list();
        if (parts.size() != 3)
            throw cell.wrong("[row, column, new value]");
        Intervention set;
        set.kind = Intervention::Kind::SetCell;
        set.stage = isKey ? Stage::EmbeddingKey : Stage::Embedding;
        set.row = parts[0].index(rows), set.col = parts[1].index(cols);
        set.value = parts[2].value();
        s.interventions.push_back(set);
    }
}

// The edited model, seen from the site that the edit belongs to.
SharedModel readEdit(const Field& edit, const SharedModel& edited) {
    const auto [site, id] = readTensorName(edit.at("tensor"), edited);
    const Model& model = *site;
    const Matrix& before = *model.tensor(id);
    if (edit.has("whole") == edit.has("cells"))
        throw edit.wrong("either \"cells\" or \"whole\"", edit.has("whole") ? "both" : "none");
    if (edit.has("whole")) {
        SharedMatrix whole = edit.at("whole").matrix();
        if (whole->rows() != before.rows() || whole->cols() != before.cols())
            throw edit.at("whole").wrong(std::to_string(before.rows()) + " x " + std::to_string(before.cols()),
                                         std::to_string(whole->rows()) + " x " + std::to_string(whole->cols()));
        for (const float v : whole->values())
            if (!std::isfinite(v))
                throw edit.at("whole").wrong("finite numbers", shortest(v));
        return model.withTensor(id, std::move(whole));
    }
    Matrix changed = before;
    for (const Field& cell : edit.at("cells").list()) {
        const std::vector<Field> parts = cell.list();
        if (parts.size() != 3)
            throw cell.wrong("[row, column, new value]");
        changed(parts[0].index(before.rows()), parts[1].index(before.cols())) = parts[2].value();
    }
    return model.withTensor(id, share(std::move(changed)));
}

SharedModel seenFrom(std::optional<Site> site, const SharedModel& model) {
    return site ? model->atSite(*site) : model;
}

std::vector<Intervention> readInterventions(const Field& json) {
    std::vector<Intervention> out;
    out.reserve(json.json().size());
    for (const Field& intervention : json.list())
        out.push_back(readIntervention(intervention));
    return out;
}

// The changes of the sites that are not looked at.
void readOtherSites(const Field& json, Scenario& s) {
    const auto here = s.model->config().site;
    if (!here)
        throw json.wrong("no such entry for a model with one site");
    json.onlyKeys({siteName(Site::EncoderSelf), siteName(Site::DecoderSelf), siteName(Site::DecoderCross)});
    for (const Site site : allSites) {
        const std::string name(siteName(site));
        if (!json.has(name.c_str()))
            continue;
        const Field changes = json.at(name.c_str());
        if (site == *here)
            throw changes.wrong("the sites that the view does not show", "the one that it shows");
        changes.onlyKeys({"mask", "interventions"});
        SiteChanges& to = s.otherSites[static_cast<std::size_t>(site)];
        if (changes.has("mask"))
            to.mask = readMask(changes.at("mask"));
        if (changes.has("interventions"))
            to.interventions = readInterventions(changes.at("interventions"));
    }
}

// The site that the view shows; nothing where the model has only one.
std::optional<Site> readSite(const Field& root, const Scenario& s) {
    if (!root.has("view") || !root.at("view").has("site"))
        return s.model->config().site;
    const Field site = root.at("view").at("site");
    if (!s.model->config().site)
        throw site.wrong("no site: the model has only one");
    return site.named(siteFromName, "encoder.self, decoder.self or decoder.cross");
}

View readView(const Field& json, const Scenario& s) {
    json.onlyKeys({"figure", "site", "layer", "heads", "stage", "cell", "range", "colors", "curve", "combine",
                   "threshold", "top", "values", "special", "words", "predicted"});
    const ModelConfig& c = s.model->config();
    View view;
    if (json.has("figure"))
        view.figure = json.at("figure").named(figureKindFromName, "heatmap, grid, links, stages or walk");
    if (json.has("layer"))
        view.layer = LayerIndex{json.at("layer").index(c.layers)};
    if (json.has("heads")) {
        view.heads.clear();
        for (const Field& head : json.at("heads").list())
            view.heads.emplace_back(head.index(c.heads));
        if (view.heads.empty())
            throw json.at("heads").wrong("at least one head", "none");
    }
    if (json.has("stage")) {
        view.stage = json.at("stage").named(stageFromId, "one of " + stageIds());
        if (!stageAvailable(s, view.stage))
            throw json.at("stage").wrong("a stage that this scenario has");
    }
    if (json.has("cell")) {
        const std::vector<Field> cell = json.at("cell").list();
        if (cell.size() != 2)
            throw json.at("cell").wrong("[row, column]");
        const StageShape shape = stageShape(c, view.stage, s.queries(), s.keys());
        view.cell = CellRef{cell[0].index(shape.rows), cell[1].index(shape.cols)};
    }
    if (json.has("range"))
        view.range = json.at("range").parsed([](const std::string& text) { return parseRange(text); });
    if (json.has("colors"))
        view.colors = json.at("colors").named(colorMapFromName, "viridis, cividis, magma, inferno or gray");
    if (json.has("curve"))
        view.curve = json.at("curve").parsed([](const std::string& text) { return parseCurve(text); });
    if (json.has("combine"))
        view.combine = json.at("combine").named(
            [](const std::string& text) -> std::optional<Combine> {
                const auto it = std::ranges::find(combineNames, text);
                if (it == combineNames.end())
                    return std::nullopt;
                return static_cast<Combine>(it - combineNames.begin());
            },
            "none, mean or max");
    if (json.has("threshold"))
        view.threshold = json.at("threshold").number();
    if (json.has("top"))
        view.topK = json.at("top").integer(1);
    if (json.has("values"))
        view.values = json.at("values").flag();
    if (json.has("special"))
        view.special = json.at("special").named(specialFromName, "show, hide, unranged or drop");
    if (json.has("words"))
        view.words = json.at("words").flag();
    if (json.has("predicted"))
        view.predicted = json.at("predicted").flag();
    return view;
}

// The texts, on the opened model. A text typed over a module's own X is put there as the window does it.
Scenario readTexts(const Field& root, ModelSource source, const OpenHooks& hooks) {
    ScenarioRequest request;
    const bool isFile = !isBuiltin(source.name);
    request.source = std::move(source);
    if (root.has("x"))
        request.x = root.at("x").matrix();
    if (root.has("y"))
        request.y = root.at("y").matrix();
    if (root.has("text"))
        request.text = root.at("text").text();
    if (root.has("ids"))
        request.ids = readIds(root.at("ids"));
    if (root.has("pair"))
        request.pair = root.at("pair").text();
    if (root.has("pair_ids"))
        request.pairIds = readIds(root.at("pair_ids"));
    if (root.has("target"))
        request.target = root.at("target").text();
    if (root.has("target_ids"))
        request.targetIds = readIds(root.at("target_ids"));
    if (isFile && request.text && !request.x && !std::filesystem::is_directory(request.source.name)) {
        const auto file = openTensorFile(request.source.name);
        if (file->find("X") != nullptr || (file->find("Y") != nullptr && request.pair)) {
            const std::string text = *std::exchange(request.text, std::nullopt);
            const std::optional<std::string> pair = std::exchange(request.pair, std::nullopt);
            return withTexts(makeScenario(std::move(request), hooks), text,
                             pair ? std::optional<std::string_view>(*pair) : std::nullopt);
        }
    }
    Scenario s = makeScenario(std::move(request), hooks);
    if (root.has("target_written") && root.at("target_written").flag() && s.texts &&
        s.texts->author == SiteTexts::Author::User) {
        s.texts->author = SiteTexts::Author::Model;
        if (s.texts->target.source.empty())
            s.texts->target.source = s.model->tokenizer().textOf(idsOfSegment(s.texts->target, 0));
        s = atSite(s, *s.model->config().site);
    }
    return s;
}

Document readDocument(const Field& root, const std::string& baseFolder, const OpenHooks& hooks) {
    if (!root.json().is_object() || !root.has("format") || root.json()["format"] != scenarioFormat)
        throw LoadError(root.file(), "", "a Headscope scenario (\"format\": \"headscope\")", "another JSON file");
    const std::int64_t version = root.at("version").whole(1, std::numeric_limits<int>::max());
    if (version != scenarioVersion)
        throw root.at("version").wrong(std::to_string(scenarioVersion),
                                       std::to_string(version) + ", which a newer Headscope wrote");
    root.onlyKeys({"format",     "version",        "model",       "text",  "ids",
                   "x",          "pair",           "pair_ids",    "y",     "target",
                   "target_ids", "target_written", "mask",        "scale", "temperature",
                   "rules",      "interventions",  "other_sites", "edits", "view"});
    Document document;
    Scenario& s = document.scenario;
    // The checkpoint is summed first, then read.
    ModelSource source = readModel(root.at("model"), baseFolder, partOf(hooks, 0, 0.5));
    s = readTexts(root, std::move(source), partOf(hooks, 0.5, 0.5));
    if (const auto site = readSite(root, s))
        s = atSite(s, *site);
    if (root.has("mask"))
        s.mask = readMask(root.at("mask"));
    if (root.has("scale")) {
        const Field scale = root.at("scale");
        s.scale = scale.json().is_number() ? Scale{Scale::Kind::Number, static_cast<double>(scale.value())}
                                           : scale.parsed([](const std::string& text) { return parseScale(text); });
        if (s.scale.kind == Scale::Kind::Number && scale.json().is_number())
            s.scale.number = scale.number();
    }
    if (root.has("temperature")) {
        const Field temperature = root.at("temperature");
        s.temperature = temperature.json().is_number()
                            ? temperature.number()
                            : temperature.parsed([](const std::string& text) { return parseTemperature(text); });
    }
    if (root.has("rules"))
        for (const Field& rule : root.at("rules").list())
            s.rules = with(s.rules, rule.named(ruleFromName, "one of " + ruleNames()));
    if (root.has("interventions"))
        s.interventions = readInterventions(root.at("interventions"));
    if (root.has("other_sites"))
        readOtherSites(root.at("other_sites"), s);
    if (root.has("edits"))
        for (const Field& edit : root.at("edits").list()) {
            edit.onlyKeys({"tensor", "cells", "whole"});
            if (const std::string name = edit.at("tensor").text(); name == "X" || name == "Y")
                readEmbeddingEdit(edit, s);
            else
                s.model = seenFrom(s.model->config().site, readEdit(edit, s.model));
        }
    validate(s);
    if (root.has("view"))
        document.view = readView(root.at("view"), s);
    return document;
}

} // namespace

Document readScenario(std::string_view text, const std::string& name, const std::string& baseFolder,
                      const OpenHooks& hooks) {
    if (text.starts_with("\xEF\xBB\xBF")) // a byte order mark that some editor left
        text.remove_prefix(3);
    Json json;
    const auto requireShallow = [&](int depth, Json::parse_event_t, const Json&) { // printing a value recurses
        if (depth > 32)
            throw LoadError(name, "", "a Headscope scenario", "JSON nested deeper than 32 levels");
        return true;
    };
    try {
        json = Json::parse(text, requireShallow);
    } catch (const Json::parse_error& error) {
        throw LoadError(name, "", "a scenario in JSON", "no JSON at byte " + std::to_string(error.byte));
    } catch (const Json::exception&) { // a number that no double holds
        throw LoadError(name, "", "a scenario in JSON", "a number that is too large");
    }
    try {
        return readDocument({json, "", name}, baseFolder, hooks);
    } catch (const LoadError&) {
        throw;
    } catch (const InputError& error) { // what does not fit together, found by the checks that everybody's input passes
        throw LoadError(name, "", "", "", error.what());
    }
}

Document openScenario(const std::string& path, const OpenHooks& hooks) {
    const FileBytes file = mapFile(path);
    if (file.size() == 0)
        throw LoadError(path, "", "a Headscope scenario", "an empty file");
    return readScenario(file.text(), path, std::filesystem::path(path).parent_path().string(), hooks);
}

} // namespace headscope
