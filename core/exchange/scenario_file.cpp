//  .headscope: JSON, two spaces, one cell or value a line
//
//    {"format": "headscope", "version": 1,
//     "model": {"name": "toy", "options": {...}}            or {"path": "module.npz", "sha256": "...", "heads": 4}
//     "text": "..." or "ids": [...] or "x": MATRIX           the queries
//     "pair": "..." or "pair_ids": [...]                     the second segment, or the keys in cross-attention;
//     "y": MATRIX                                            these also as a matrix
//     "mask": "causal+window:3" or a list of such and MATRIX
//     "scale": "sqrt_dk", "none" or a number                 "temperature": a number or "inf"
//     "rules": [names]                                       "interventions": [{"kind": "head_off", ...}]
//     "edits": [{"tensor": "layers.0.W_Q", "cells": [[row, column, new value], ...]} or {"tensor": ..., "whole":
//     MATRIX}] "view": {...}}
//
//    MATRIX: {"rows": n, "cols": m, "float32": base64 of little-endian floats, row-major}

#include "core/exchange/scenario_file.h"

#include "core/attention/head_stages.h"
#include "core/exchange/atomic_file.h"
#include "core/exchange/base64.h"
#include "core/model/checkpoint.h"
#include "core/model/mapped_file.h"
#include "core/model/tensor_file.h"
#include "core/tensor/number_text.h"
#include "core/tensor/sha256.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

namespace headscope {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view formatName = "headscope";
constexpr int formatVersion = 1;
constexpr std::array<std::string_view, 3> combineNames{"none", "mean", "max"};
constexpr std::array<std::string_view, 3> interventionNames{"head_off", "set_cell", "mask_cell"};

bool isBuiltin(const std::string& name) {
    return std::ranges::any_of(builtinModels(), [&](const BuiltinModel& m) { return m.name == name; });
}

// ---------------------------------------------------------------- writing

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
std::string sumOf(const ModelSource& source) {
    try {
        return source.sha256.empty() ? checkpointSha256(source.name) : source.sha256;
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

// The texts: what was typed, or ids, or the user's matrices.
void addTexts(Json& json, const Scenario& s) {
    if (s.model->captured()) // they are in its file
        return;
    const TokenSequence& query = s.query;
    const bool typed = !query.source.empty();
    if (s.x)
        json["x"] = matrixJson(*s.x);
    else if (typed)
        json["text"] = query.source;
    else
        json["ids"] = idsJson(idsOfSegment(query, 0));

    if (s.y)
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

std::string tensorName(TensorId id) {
    return "layers." + std::to_string(id.layer.value) + "." + std::string(weightName(id.kind));
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
        return {{"tensor", tensorName(id)}, {"cells", cells}};
    return {{"tensor", tensorName(id)}, {"whole", matrixJson(now)}};
}

Json viewJson(const View& v) {
    Json heads = Json::array();
    for (const HeadIndex h : v.heads)
        heads.push_back(h.value);
    Json json{{"figure", figureKindName(v.figure)},
              {"layer", v.layer.value},
              {"heads", heads},
              {"stage", stageInfo(v.stage).id}};
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

// ---------------------------------------------------------------- reading

// One value of the document with its place in it, for messages. Every access checks what is there.
class Field {
public:
    Field(const Json& json, std::string place, const std::string& file)
        : m_json(&json), m_place(std::move(place)), m_file(&file) {}

    LoadError wrong(const std::string& expected) const {
        std::string found = m_json->dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 120);
        return {*m_file, m_place, expected, printable(found)};
    }
    LoadError wrong(const std::string& expected, const std::string& found) const {
        return {*m_file, m_place, expected, found};
    }
    const Json& json() const { return *m_json; }
    const std::string& file() const { return *m_file; }

    bool has(const char* key) const { return m_json->is_object() && m_json->contains(key); }
    Field at(const char* key) const {
        if (!m_json->is_object())
            throw wrong("an object");
        if (!m_json->contains(key))
            throw LoadError(*m_file, m_place, std::string("\"") + key + "\"", "none");
        return {(*m_json)[key], m_place.empty() ? key : m_place + "." + key, *m_file};
    }
    std::vector<Field> list() const {
        if (!m_json->is_array())
            throw wrong("a list");
        std::vector<Field> out;
        for (std::size_t i = 0; i < m_json->size(); ++i)
            out.emplace_back((*m_json)[i], m_place + "[" + std::to_string(i) + "]", *m_file);
        return out;
    }
    // A key that nobody reads is a misspelt one.
    void onlyKeys(std::initializer_list<std::string_view> known) const {
        if (!m_json->is_object())
            throw wrong("an object");
        for (const auto& [key, value] : m_json->items())
            if (std::ranges::find(known, key) == known.end())
                throw LoadError(*m_file, m_place, "the names that this version knows", "\"" + printable(key) + "\"");
    }
    std::string text() const {
        if (!m_json->is_string())
            throw wrong("a text");
        return m_json->get<std::string>();
    }
    bool flag() const {
        if (!m_json->is_boolean())
            throw wrong("true or false");
        return m_json->get<bool>();
    }
    std::int64_t whole(std::int64_t least, std::int64_t most) const {
        const std::string expected = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
        if (!m_json->is_number_integer())
            throw wrong(expected);
        if (m_json->is_number_unsigned() &&
            m_json->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            throw wrong(expected);
        const auto value = m_json->get<std::int64_t>();
        if (value < least || value > most)
            throw wrong(expected);
        return value;
    }
    int index(int count) const { return static_cast<int>(whole(0, std::max(0, count - 1))); }
    int integer(int least = 0) const { return static_cast<int>(whole(least, std::numeric_limits<int>::max())); }
    std::uint64_t seed() const {
        if (!m_json->is_number_unsigned())
            throw wrong("a whole number of 0 or more");
        return m_json->get<std::uint64_t>();
    }
    double number() const {
        if (!m_json->is_number() || !std::isfinite(m_json->get<double>()))
            throw wrong("a number");
        return m_json->get<double>();
    }
    float value() const { // what a float can hold
        const double v = number();
        if (std::abs(v) > std::numeric_limits<float>::max())
            throw wrong("a number within the range of float32");
        return static_cast<float>(v);
    }
    // One of a set of names, as what parse makes of it; parse gives an optional.
    auto named(auto parse, const std::string& expected) const {
        const auto value = parse(text());
        if (!value)
            throw wrong(expected);
        return *value;
    }
    // What parse throws becomes an error of this place.
    auto parsed(auto parse) const {
        try {
            return parse(text());
        } catch (const LoadError&) {
            throw;
        } catch (const InputError& error) {
            throw LoadError(*m_file, m_place, "", "", error.what());
        }
    }

    SharedMatrix matrix() const {
        onlyKeys({"rows", "cols", "float32"});
        const std::int64_t most = std::numeric_limits<int>::max();
        const std::int64_t rows = at("rows").whole(1, most), cols = at("cols").whole(1, most);
        const auto floats = floatsFromBase64(at("float32").text());
        if (!floats)
            throw at("float32").wrong("base64 of float32 values", "something else");
        if (static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(cols) != floats->size())
            throw at("float32").wrong(std::to_string(rows) + " x " + std::to_string(cols) + " values",
                                      std::to_string(floats->size()));
        Matrix out(static_cast<int>(rows), static_cast<int>(cols));
        std::ranges::copy(*floats, out.data());
        return share(std::move(out));
    }

private:
    const Json* m_json;
    std::string m_place; // "edits[0].cells[3]"
    const std::string* m_file;
};

ModelSource readModel(const Field& model, const std::string& baseFolder) {
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
            const std::string stored = model.at("sha256").text(), found = checkpointSha256(source.name);
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

TensorId readTensorName(const Field& field, const Model& model) {
    const std::string name = field.text();
    for (int l = 0; l < model.config().layers; ++l)
        for (const WeightKind kind : allWeightKinds)
            if (const TensorId id{LayerIndex{l}, kind}; model.tensor(id) && tensorName(id) == name)
                return id;
    throw field.wrong("a tensor of the model, such as layers.0.W_Q, or X or Y");
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

SharedModel readEdit(const Field& edit, const Model& model) {
    const TensorId id = readTensorName(edit.at("tensor"), model);
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

View readView(const Field& json, const Scenario& s) {
    json.onlyKeys({"figure", "layer", "heads", "stage", "cell", "range", "colors", "curve", "combine", "threshold",
                   "top", "values"});
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
    return view;
}

// The texts, on the opened model. A text typed over a module's own X is put there as the window does it.
Scenario readTexts(const Field& root, ModelSource source) {
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
    if (isFile && request.text && !request.x && !std::filesystem::is_directory(request.source.name)) {
        const auto file = openTensorFile(request.source.name);
        if (file->find("X") != nullptr || (file->find("Y") != nullptr && request.pair)) {
            const std::string text = *std::exchange(request.text, std::nullopt);
            const std::optional<std::string> pair = std::exchange(request.pair, std::nullopt);
            return withTexts(makeScenario(std::move(request)), text,
                             pair ? std::optional<std::string_view>(*pair) : std::nullopt);
        }
    }
    return makeScenario(std::move(request));
}

Document readDocument(const Field& root, const std::string& baseFolder) {
    if (!root.json().is_object() || !root.has("format") || root.json()["format"] != formatName)
        throw LoadError(root.file(), "", "a Headscope scenario (\"format\": \"headscope\")", "another JSON file");
    const std::int64_t version = root.at("version").whole(1, std::numeric_limits<int>::max());
    if (version != formatVersion)
        throw root.at("version").wrong(std::to_string(formatVersion),
                                       std::to_string(version) + ", which a newer Headscope wrote");
    root.onlyKeys({"format", "version", "model", "text", "ids", "x", "pair", "pair_ids", "y", "mask", "scale",
                   "temperature", "rules", "interventions", "edits", "view"});
    Document document;
    Scenario& s = document.scenario;
    s = readTexts(root, readModel(root.at("model"), baseFolder));
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
        for (const Field& intervention : root.at("interventions").list())
            s.interventions.push_back(readIntervention(intervention));
    if (root.has("edits"))
        for (const Field& edit : root.at("edits").list()) {
            edit.onlyKeys({"tensor", "cells", "whole"});
            if (const std::string name = edit.at("tensor").text(); name == "X" || name == "Y")
                readEmbeddingEdit(edit, s);
            else
                s.model = readEdit(edit, *s.model);
        }
    validate(s);
    if (root.has("view"))
        document.view = readView(root.at("view"), s);
    return document;
}

} // namespace

std::string writeScenario(const Document& document) {
    const Scenario& s = document.scenario;
    Json json;
    json["format"] = formatName;
    json["version"] = formatVersion;
    json["model"] = modelJson(s.source);
    addTexts(json, s);
    json["mask"] = maskJson(s.mask);
    json["scale"] = s.scale.kind == Scale::Kind::Number ? numberJson(s.scale.number) : Json(scaleName(s.scale));
    json["temperature"] = numberJson(s.temperature);
    json["rules"] = Json::array();
    for (const RuleInfo& rule : ruleTable())
        if (has(s.rules, rule.rule))
            json["rules"].push_back(rule.name);
    json["interventions"] = Json::array();
    for (const Intervention& i : s.interventions)
        json["interventions"].push_back(interventionJson(i));
    json["edits"] = Json::array();
    for (const TensorId id : editedTensors(s))
        json["edits"].push_back(editJson(s, id));
    json["view"] = viewJson(document.view);
    std::string text;
    print(text, json, 0);
    return text + "\n";
}

Document readScenario(std::string_view text, const std::string& name, const std::string& baseFolder) {
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
        return readDocument({json, "", name}, baseFolder);
    } catch (const LoadError&) {
        throw;
    } catch (const InputError& error) { // what does not fit together, found by the checks that everybody's input passes
        throw LoadError(name, "", "", "", error.what());
    }
}

void saveScenario(const Document& document, const std::string& path) {
    namespace fs = std::filesystem;
    Document portable = document;
    ModelSource& source = portable.scenario.source;
    if (!isBuiltin(source.name)) {
        // Below the scenario's folder: relative, so that the folder can move. Elsewhere: absolute, so that the scenario
        // can.
        const fs::path model = fs::absolute(source.name).lexically_normal();
        const fs::path folder = fs::absolute(path).lexically_normal().parent_path();
        const fs::path relative = model.lexically_relative(folder);
        source.sha256 = sumOf(source);
        source.name = (relative.empty() || *relative.begin() == ".." ? model : relative).generic_string();
    }
    const std::string text = writeScenario(portable);
    writeFileAtomically(path, [&](std::ostream& out) { out << text; });
}

Document openScenario(const std::string& path) {
    const FileBytes file = mapFile(path);
    if (file.size() == 0)
        throw LoadError(path, "", "a Headscope scenario", "an empty file");
    return readScenario(file.text(), path, std::filesystem::path(path).parent_path().string());
}

} // namespace headscope
