// The writer of .headscope files; their form is drawn in scenario_file.cpp.
#include "core/exchange/scenario_file.h"

#include "core/exchange/atomic_file.h"
#include "core/exchange/base64.h"
#include "core/exchange/scenario_names.h"
#include "core/model/checkpoint.h"
#include "core/tensor/number_text.h"

#include <bit>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

namespace headscope {

namespace {

using Json = nlohmann::ordered_json;

// A float as the double that prints as the float's own shortest text; infinities as text.
Json numberJson(float v) {
    if (!std::isfinite(v))
        return shortest(v);
    return *parseFinite(shortest(v));
}
Json numberJson(double v) {
    if (!std::isfinite(v))
        return shortest(v);
    return v;
}

Json matrixJson(const Matrix& m) {
    return {{"rows", m.rows()}, {"cols", m.cols()}, {"float32", floatsToBase64(m.values())}};
}

// Nothing where the file is no longer there.
std::string sumOf(const ModelSource& source, const OpenHooks& hooks = {}) {
    try {
        return source.sha256.empty() ? checkpointSha256(source.name, hooks) : source.sha256;
    } catch (const LoadError&) {
        return {};
    }
}

Json modelJson(const ModelSource& source) {
    Json model;
    if (!isBuiltin(source.name)) {
        model["path"] = source.name;
        if (const std::string sum = sumOf(source); !sum.empty())
            model["sha256"] = sum;
        if (source.heads)
            model["heads"] = *source.heads;
    } else {
        model["name"] = source.name;
    }
    if (source.cross)
        model["cross"] = true;
    if (source.name == "toy") {
        const ToyOptions& o = source.toy;
        Json options{{"d_model", o.dModel}, {"heads", o.heads}};
        for (const auto& [name, value] : {std::pair{"kv_heads", o.kvHeads}, {"d_k", o.dK}, {"d_v", o.dV}})
            if (value)
                options[name] = *value;
        options["layers"] = o.layers;
        options["seed"] = o.seed;
        options["bias"] = o.bias;
        options["position"] = positionName(o.position);
        options["residual"] = o.residual;
        model["options"] = options;
    }
    return model;
}

Json idsJson(const std::vector<std::int64_t>& ids) {
    Json list = Json::array();
    for (const std::int64_t id : ids)
        list.push_back(id);
    return list;
}

// The target as text where the text leads to the same tokens again, else as ids.
void addTarget(Json& json, const Scenario& s) {
    const TokenSequence& target = s.texts->target;
    if (s.texts->author == SiteTexts::Author::ModelLater)
        return;
    if (!target.source.empty() && targetTokens(*s.model, target.source) == target)
        json["target"] = target.source;
    else
        json["target_ids"] = idsJson(idsOfSegment(target, 0));
    if (s.texts->author == SiteTexts::Author::Model)
        json["target_written"] = true;
}

// The texts: what was typed, or ids, or the user's matrices.
void addTexts(Json& json, const Scenario& s) {
    if (s.model->captured()) // they are in its file
        return;
    const TokenSequence& query = s.texts ? s.texts->source : s.query;
    const bool typed = !query.source.empty();
    if (s.x)
        json["x"] = matrixJson(*s.x);
    else if (typed)
        json["text"] = query.source;
    else
        json["ids"] = idsJson(idsOfSegment(query, 0));

    if (s.texts)
        addTarget(json, s);
    else if (s.y)
        json["y"] = matrixJson(*s.y);
    else if (const auto second = s.secondText(); second && !second->empty())
        json["pair"] = *second;
    else if (s.key)
        json["pair_ids"] = idsJson(idsOfSegment(*s.key, 0));
    else if (const auto ids = idsOfSegment(query, 1); !typed && !ids.empty())
        json["pair_ids"] = idsJson(ids);
}

Json maskJson(const Mask& mask) {
    const auto isMatrix = [](const MaskPart& p) { return p.kind == MaskPart::Kind::Matrix; };
    if (std::ranges::none_of(mask.parts, isMatrix))
        return maskName(mask);
    Json list = Json::array();
    for (const MaskPart& part : mask.parts)
        list.push_back(isMatrix(part) ? matrixJson(*part.additive) : Json(maskName(Mask{{part}})));
    return list;
}

Json interventionJson(const Intervention& i) {
    using enum Intervention::Kind;
    Json json{{"kind", interventionNames[static_cast<std::size_t>(i.kind)]}};
    if (i.kind != MaskCell)
        json["layer"] = i.layer.value;
    if (i.kind == HeadOff || (i.kind == SetCell && i.stage == Stage::Scores))
        json["head"] = i.head.value;
    if (i.kind == SetCell)
        json["stage"] = stageInfo(i.stage).id;
    if (i.kind != HeadOff) {
        json["row"] = i.row;
        json["col"] = i.col;
        json["value"] = numberJson(i.value);
    }
    return json;
}

Json interventionsJson(const std::vector<Intervention>& interventions) {
    Json list = Json::array();
    for (const Intervention& i : interventions)
        list.push_back(interventionJson(i));
    return list;
}

// What has been changed at the sites that are not looked at.
Json otherSitesJson(const Scenario& s) {
    Json sites = Json::object();
    for (const Site site : allSites)
        if (const SiteChanges& changes = s.otherSites[static_cast<std::size_t>(site)]; changes != SiteChanges())
            sites[std::string(siteName(site))] = {{"mask", maskJson(changes.mask)},
                                                  {"interventions", interventionsJson(changes.interventions)}};
    return sites;
}

// The scenario as seen from every site that it has.
std::vector<Scenario> everySite(const Scenario& s) {
    if (!s.model->config().site)
        return {s};
    std::vector<Scenario> all;
    all.reserve(allSites.size());
    for (const Site site : allSites)
        all.push_back(atSite(s, site));
    return all;
}

Json editJson(const Scenario& s, TensorId id) {
    const Matrix &now = *s.model->tensor(id), &before = *s.original->tensor(id);
    Json cells = Json::array();
    std::size_t length = 0;
    for (int r = 0; r < now.rows(); ++r)
        for (int c = 0; c < now.cols(); ++c)
            // Not by ==: a zero that lost its sign is a change too.
            if (std::bit_cast<std::uint32_t>(now(r, c)) != std::bit_cast<std::uint32_t>(before(r, c)) &&
                length <= now.size() * 16 / 3) {
                cells.push_back({r, c, numberJson(now(r, c))});
                length += std::to_string(r).size() + std::to_string(c).size() + shortest(now(r, c)).size() + 8;
            }
    if (length <= now.size() * 16 / 3) // base64 takes 16 characters for 3 floats
        return {{"tensor", tensorName(s.model->config(), id)}, {"cells", cells}};
    return {{"tensor", tensorName(s.model->config(), id)}, {"whole", matrixJson(now)}};
}

Json viewJson(const View& v, const Scenario& s) {
    Json heads = Json::array();
    for (const HeadIndex h : v.heads)
        heads.push_back(h.value);
    Json json{{"figure", figureKindName(v.figure)}};
    if (const auto site = s.model->config().site)
        json["site"] = siteName(*site);
    json["layer"] = v.layer.value;
    json["heads"] = heads;
    json["stage"] = stageInfo(v.stage).id;
    if (v.cell)
        json["cell"] = {v.cell->row, v.cell->col};
    json["range"] = rangeName(v.range);
    json["colors"] = colorMapName(v.colors);
    json["curve"] = curveName(v.curve);
    json["combine"] = combineNames[static_cast<std::size_t>(v.combine)];
    json["threshold"] = numberJson(v.threshold);
    if (v.topK)
        json["top"] = *v.topK;
    json["values"] = v.values;
    json["special"] = specialName(v.special);
    json["words"] = v.words;
    if (v.predicted)
        json["predicted"] = true;
    return json;
}

// Objects and lists of lists are broken into lines, lists of plain values are not: a changed cell is one changed line.
void print(std::string& out, const Json& json, int depth) {
    const bool isFlat = json.is_array() && std::ranges::none_of(json, [](const Json& v) { return v.is_structured(); });
    if (!json.is_structured() || json.empty() || isFlat) {
        std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
        if (isFlat)
            for (std::size_t at = 0; (at = text.find(',', at)) != std::string::npos && json[0].is_number(); at += 2)
                text.replace(at, 1, ", ");
        out += text;
        return;
    }
    const std::string indent(static_cast<std::size_t>(2 * depth + 2), ' ');
    out += json.is_object() ? '{' : '[';
    const char* separator = "\n";
    for (const auto& [key, value] : json.items()) {
        out += separator + indent;
        if (json.is_object())
            out += Json(key).dump() + ": ";
        print(out, value, depth + 1);
        separator = ",\n";
    }
    out += "\n" + indent.substr(2) + (json.is_object() ? '}' : ']');
}

} // namespace

std::string writeScenario(const Document& document) {
    const Scenario& s = document.scenario;
    Json json;
    json["format"] = scenarioFormat;
    json["version"] = scenarioVersion;
    json["model"] = modelJson(s.source);
    addTexts(json, s);
    json["mask"] = maskJson(s.mask);
    json["scale"] = s.scale.kind == Scale::Kind::Number ? numberJson(s.scale.number) : Json(scaleName(s.scale));
    json["temperature"] = numberJson(s.temperature);
    json["rules"] = Json::array();
    for (const RuleInfo& rule : ruleTable())
        if (has(s.rules, rule.rule))
            json["rules"].push_back(rule.name);
    json["interventions"] = interventionsJson(s.interventions);
    if (Json others = otherSitesJson(s); !others.empty())
        json["other_sites"] = std::move(others);
    json["edits"] = Json::array();
    for (const Scenario& site : everySite(s))
        for (const TensorId id : editedTensors(site))
            json["edits"].push_back(editJson(site, id));
    json["view"] = viewJson(document.view, s);
    std::string text;
    print(text, json, 0);
    return text + "\n";
}

void saveScenario(const Document& document, const std::string& path, const OpenHooks& hooks) {
    namespace fs = std::filesystem;
    Document portable = document;
    ModelSource& source = portable.scenario.source;
    if (!isBuiltin(source.name)) {
        // Below the scenario's folder: relative, so that the folder can move. Elsewhere: absolute, so that the scenario
        // can.
        const fs::path model = fs::absolute(source.name).lexically_normal();
        const fs::path folder = fs::absolute(path).lexically_normal().parent_path();
        const fs::path relative = model.lexically_relative(folder);
        source.sha256 = sumOf(source, hooks);
        source.name = (relative.empty() || *relative.begin() == ".." ? model : relative).generic_string();
    }
    const std::string text = writeScenario(portable);
    writeFileAtomically(path, [&](std::ostream& out) { out << text; });
}

} // namespace headscope
