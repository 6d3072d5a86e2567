#include "core/attention/scenario.h"

#include "core/attention/captured.h"
#include "core/tensor/errors.h"
#include "core/tensor/memory.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace headscope {

namespace {

std::optional<double> numberFrom(std::string_view text) {
    double value = 0;
    if (text.starts_with('+'))
        text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

std::string shortest(double value) {
    char buffer[32];
    return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

// The user's own matrix has rows instead of words: they are labelled by their number.
TokenSequence numberedRows(const Matrix& x) {
    TokenSequence out;
    for (int i = 0; i < x.rows(); ++i)
        out.tokens.push_back({.id = i, .piece = std::to_string(i), .text = std::to_string(i)});
    return out;
}

void requireVisible(std::string_view text, const char* option) {
    requireUtf8(text, std::string("the text of --") + option);
    if (!hasVisibleCharacter(text))
        throw InputError(std::string("the text of --") + option + " has no visible character: type at least one word");
}

// second: the other text of the same sequence, for models that join two segments.
TokenSequence tokensOf(const Model& model, std::string_view text, const char* option,
                       std::optional<std::string_view> second = {}) {
    requireVisible(text, option);
    if (second)
        requireVisible(*second, "pair");
    return second ? model.tokenizer().encode({.text = text, .pair = second}) : model.tokenizer().tokenize(text);
}

TokenSequence tokensOf(const Model& model, const std::vector<std::int64_t>& ids, int segment) {
    TokenSequence tokens;
    for (const std::int64_t id : ids) {
        tokens.tokens.push_back(model.tokenizer().tokenOf(id));
        tokens.tokens.back().segment = segment;
    }
    return tokens;
}

std::string firstPartOf(const std::string& text, const Model& model) {
    const std::vector<TextPart> parts = textParts(model, text);
    return parts.empty() ? text : std::string(textOf(parts.front(), text));
}

// The queries, from a text or from ids; with them the second segment where the model takes one.
TokenSequence queryTokens(const Model& model, const ScenarioRequest& r) {
    const bool segments = model.config().pair == PairUse::SecondSegment;
    if (r.text && r.ids)
        throw InputError("both a text and ids are given: expected one of --text and --ids");
    if (r.text && segments && r.pairIds)
        throw InputError("a text and --pair-ids cannot be joined: give --pair, or --ids and --pair-ids");
    if (r.text)
        return tokensOf(model, *r.text, "text",
                        segments && r.pair ? std::optional<std::string_view>(*r.pair) : std::nullopt);
    if (r.ids->empty())
        throw InputError("the list of ids is empty: give at least one");
    TokenSequence tokens = tokensOf(model, *r.ids, 0);
    if (segments && r.pair)
        throw InputError("ids and a second text cannot be joined: give --pair-ids, or --text and --pair");
    if (segments && r.pairIds)
        std::ranges::copy(tokensOf(model, *r.pairIds, 1).tokens, std::back_inserter(tokens.tokens));
    return tokens;
}

// The key text of cross-attention.
TokenSequence keyTokens(const Model& model, const ScenarioRequest& r) {
    if (r.pair && r.pairIds)
        throw InputError("both a text and ids are given for the keys: expected one of --pair and --pair-ids");
    if (r.pair)
        return tokensOf(model, *r.pair, "pair");
    if (r.pairIds->empty())
        throw InputError("the list of --pair-ids is empty: give at least one");
    return tokensOf(model, *r.pairIds, 0);
}

void requireMatrix(const SharedMatrix& x, int width, const char* name, const char* factor) {
    if (x->rows() < 1 || x->cols() != width)
        throw InputError(std::string(name) + " is " + std::to_string(x->rows()) + " x " + std::to_string(x->cols()) +
                         ": expected at least one row and " + std::to_string(width) + " columns, the rows of " +
                         factor);
    for (int r = 0; r < x->rows(); ++r)
        for (int c = 0; c < width; ++c)
            if (!std::isfinite((*x)(r, c)))
                throw InputError(std::string(name) + "[" + std::to_string(r) + ", " + std::to_string(c) + "] is " +
                                 (std::isnan((*x)(r, c)) ? "nan" : "infinite") + ": expected finite numbers");
}

[[noreturn]] void unusedOption(const ModelSource& source, const char* option, const char* why) {
    throw InputError(std::string(option) + " is not used by " + source.name + ": " + why);
}

// Why a model that has no use for a second text has none.
const char* whyNoPair(const ModelConfig& c) {
    return c.site     ? "an encoder-decoder takes its second text as --target"
           : c.causal ? "a decoder takes one text"
                      : "it attends within one text";
}

// Source and target of an encoder-decoder.
SiteTexts siteTexts(const Model& model, const ScenarioRequest& r) {
    const Model& decoder = *model.atSite(Site::DecoderSelf);
    SiteTexts texts;
    texts.source = queryTokens(*model.atSite(Site::EncoderSelf), r);
    if (r.target && r.targetIds)
        throw InputError("both a text and ids are given for the target: expected one of --target and --target-ids");
    if (r.target) {
        requireVisible(*r.target, "target");
        texts.target = targetTokens(decoder, *r.target);
    } else if (r.targetIds) {
        if (r.targetIds->empty())
            throw InputError("the list of --target-ids is empty: give at least one");
        texts.target = tokensOf(decoder, *r.targetIds, 0);
    } else {
        texts.target = tokensOf(decoder, {decoder.targetRules().start}, 0);
        texts.author = SiteTexts::Author::ModelLater;
    }
    return texts;
}

// The texts of the site that is looked at.
void placeTexts(Scenario& s) {
    const Site site = *s.model->config().site;
    s.query = site == Site::EncoderSelf ? s.texts->source : s.texts->target;
    s.key.reset();
    if (site == Site::DecoderCross)
        s.key = s.texts->source;
}

// Takes away what has been changed at places that the texts do not have.
void dropMisplaced(Scenario& s) {
    const bool cross = s.model->config().cross;
    std::erase_if(s.interventions, [&](const Intervention& i) {
        const bool cell = i.kind != Intervention::Kind::HeadOff;
        const bool keyRow = i.stage == Stage::EmbeddingKey, embedding = keyRow || i.stage == Stage::Embedding;
        return cell &&
               (i.row >= (keyRow ? s.keys() : s.queries()) || (!embedding && i.col >= s.keys()) || (keyRow && !cross));
    });
}

void checkRange(const char* what, int value, int count) {
    if (value < 0 || value >= count)
        throw InputError(std::string(what) + " " + std::to_string(value) + " does not exist: expected 0 to " +
                         std::to_string(count - 1));
}

void checkTokens(const Scenario& s, int tokens, const char* what) {
    const int most = s.model->config().maxTokens;
    if (tokens > most)
        throw TextTooLong(std::string(what) + " has " + std::to_string(tokens) + " tokens: expected at most " +
                          std::to_string(most) + " for " + s.model->config().name + "; shorten it");
}

void checkRules(const Scenario& s) {
    const ModelConfig& c = s.model->config();
    const int scaleRules = has(s.rules, Rule::ScaleDModel) + has(s.rules, Rule::ScaleDk) + has(s.rules, Rule::NoScale);
    if (scaleRules > 1 || (scaleRules == 1 && s.scale != ownScale(c)))
        throw InputError(
            "more than one scale is asked for: expected one of scale-dmodel, scale-dk, no-scale, or --scale");
    if (has(s.rules, Rule::SplitInput) && (c.dModel % c.heads != 0 || c.dModelKey % c.kvHeads != 0))
        throw InputError(
            "the rule split-input cuts X into one slice per head: expected d_model divisible by heads, found d_model " +
            std::to_string(c.dModel) + " and " + std::to_string(c.heads) + " heads (" + std::to_string(c.kvHeads) +
            " KV heads)");
    if (has(s.rules, Rule::NoOutputProjection) && c.heads * c.dV != c.dOut)
        throw InputError("the rule no-output-projection takes concat for the output: expected heads * d_v = " +
                         std::to_string(c.dOut) + ", found " + std::to_string(c.heads * c.dV));
    if (has(s.rules, Rule::NoOutputProjection) && !s.model->layer(LayerIndex{0}).wO)
        throw InputError("the rule no-output-projection changes nothing: " + c.name + " has no W_O");
}

void checkInterventions(const Scenario& s) {
    const ModelConfig& c = s.model->config();
    const int n = s.queries(), m = s.keys();
    for (const Intervention& i : s.interventions) {
        using enum Intervention::Kind;
        if (i.kind != MaskCell)
            checkRange("layer", i.layer.value, c.layers);
        if (i.kind == HeadOff || (i.kind == SetCell && i.stage == Stage::Scores))
            checkRange("head", i.head.value, c.heads);
        if (i.kind == HeadOff)
            continue;
        const bool embedding = i.kind == SetCell && (i.stage == Stage::Embedding || i.stage == Stage::EmbeddingKey);
        if (i.kind == SetCell && !embedding && i.stage != Stage::Scores)
            throw InputError("a cell of " + std::string(stageInfo(i.stage).id) +
                             " cannot be set: expected scores, embedding or embedding_key");
        if (embedding && i.layer.value != 0)
            throw InputError("an embedding can be set in layer 0 only, found layer " + std::to_string(i.layer.value));
        if (embedding && c.site == Site::DecoderCross)
            throw InputError("the X and Y of " + std::string(siteName(*c.site)) +
                             " come from other layers: an embedding can be set at encoder.self and decoder.self");
        if (embedding && i.stage == Stage::EmbeddingKey && !c.cross)
            throw InputError("embedding_key exists in cross-attention only");
        checkRange("row", i.row, i.stage == Stage::EmbeddingKey ? m : n);
        checkRange("column", i.col, embedding ? (i.stage == Stage::Embedding ? c.dModel : c.dModelKey) : m);
        const bool closes = i.kind == MaskCell && i.value == KeyMask::minusInfinity;
        if (!closes && !std::isfinite(i.value))
            throw InputError("the value of a set cell must be finite (a mask cell may also be -inf)");
    }
}

} // namespace

Scale parseScale(std::string_view text) {
    if (text == "sqrt_dk")
        return {Scale::Kind::SqrtDk, 1.0};
    if (text == "none")
        return {Scale::Kind::None, 1.0};
    const auto number = numberFrom(text);
    if (!number || !std::isfinite(*number) || std::abs(*number) > std::numeric_limits<float>::max())
        throw InputError("the scale '" + std::string(text) +
                         "' cannot be used: expected sqrt_dk, none or a finite number");
    return {Scale::Kind::Number, *number};
}

std::string scaleName(const Scale& scale) {
    switch (scale.kind) {
    case Scale::Kind::SqrtDk:
        return "sqrt_dk";
    case Scale::Kind::None:
        return "none";
    case Scale::Kind::Number:
        break;
    }
    return shortest(scale.number);
}

double parseTemperature(std::string_view text) {
    const auto number = numberFrom(text);
    if (!number || !(*number >= 0.0))
        throw InputError("the temperature '" + std::string(text) +
                         "' cannot be used: expected a number from 0 (argmax) to inf (uniform)");
    return *number;
}

bool Scenario::headIsOff(LayerIndex l, HeadIndex h) const {
    return std::ranges::any_of(interventions, [&](const Intervention& i) {
        return i.kind == Intervention::Kind::HeadOff && i.layer == l && i.head == h;
    });
}

Scenario makeScenario(ScenarioRequest r, const OpenHooks& hooks) {
    const bool pairGiven = r.pair || r.pairIds;
    r.source.cross = r.source.cross || pairGiven || r.y;
    OpenedModel opened = openModel(r.source, hooks);
    if (opened.model->captured())
        return capturedScenario(std::move(opened), r);

    Scenario s;
    s.source = opened.source;
    s.original = s.model = opened.model;
    s.source.cross = s.model->config().cross && !s.model->config().site;
    const bool isModule = s.model->config().family == attentionModuleFamily;
    if (pairGiven && s.model->config().pair == PairUse::None)
        unusedOption(s.source, r.pair ? "--pair" : "--pair-ids", whyNoPair(s.model->config()));
    if ((r.target || r.targetIds) && !s.model->config().site)
        throw InputError((r.target ? "--target" : "--target-ids") +
                         (" is for encoder-decoder models; " + s.source.name) + " is none");
    if (!isModule && (r.x || r.y))
        unusedOption(s.source, r.x ? "--x" : "--y", "only attention modules take a matrix");
    s.x = r.x ? r.x : opened.x;
    s.y = r.y ? r.y : opened.y;
    if (s.x && (r.text || r.ids))
        unusedOption(s.source, r.text ? "--text" : "--ids", r.x ? "--x gives the queries" : "the file has its own X");
    if (s.y && pairGiven)
        unusedOption(s.source, r.pair ? "--pair" : "--pair-ids", r.y ? "--y gives the keys" : "the file has its own Y");
    if (!r.text && !r.ids && s.source.name == "worked-example")
        r.text = std::string(workedExampleText());
    if (!s.x && !r.text && !r.ids)
        r.text = std::move(r.defaultText);
    if (r.firstPart && r.text && !pairGiven && !r.target)
        r.text = firstPartOf(*r.text, *s.model);
    if (!s.x && !r.text && !r.ids)
        throw InputError(isModule ? "no text is given and the file has no X: give --text, --ids or --x"
                                  : "no text is given: use --text, --text-file or --ids");
    if (s.model->config().site) {
        s.texts = siteTexts(*s.model, r);
        placeTexts(s);
    } else {
        s.query = s.x ? numberedRows(*s.x) : queryTokens(*s.model, r);
    }
    if (s.y)
        s.key = numberedRows(*s.y);
    else if (pairGiven && s.model->config().pair == PairUse::KeyText)
        s.key = keyTokens(*s.model, r);
    s.mask = std::move(r.mask);
    s.scale = r.scale.value_or(ownScale(s.model->config()));
    s.temperature = r.temperature;
    s.rules = r.rules;
    s.interventions = std::move(r.interventions);
    validate(s);
    return s;
}

Scenario atSite(const Scenario& scenario, Site site) {
    Scenario s = scenario;
    SiteChanges& left = s.otherSites[static_cast<std::size_t>(*s.model->config().site)];
    left = {std::move(s.mask), std::move(s.interventions)};
    SiteChanges entered = std::exchange(s.otherSites[static_cast<std::size_t>(site)], {});
    s.mask = std::move(entered.mask);
    s.interventions = std::move(entered.interventions);
    s.original = scenario.original->atSite(site);
    s.model = scenario.model->atSite(site);
    placeTexts(s);
    return s;
}

std::vector<TextPart> textParts(const Model& model, std::string_view text) {
    const SharedModel encoder = model.config().site ? model.atSite(Site::EncoderSelf) : nullptr;
    const Model& reader = encoder ? *encoder : model;
    return partsOf(text, reader.tokenizer(), reader.config().maxTokens);
}

TokenSequence targetTokens(const Model& model, std::string_view text) {
    const SharedModel decoder = model.atSite(Site::DecoderSelf);
    const TargetRules& rules = decoder->targetRules();
    TokenSequence tokens = decoder->tokenizer().tokenize(text);
    if (!tokens.tokens.empty() && tokens.tokens.back().id == rules.end && !tokens.tokens.back().range)
        tokens.tokens.pop_back(); // what the last row is to write, never read
    tokens.tokens.insert(tokens.tokens.begin(), decoder->tokenizer().tokenOf(rules.start));
    return tokens;
}

Scenario withTexts(const Scenario& scenario, std::string_view text, std::optional<std::string_view> pair) {
    if (scenario.model->captured())
        scenario.model->tokenizer().tokenize(text); // throws: it has its own text
    Scenario s = scenario;
    const PairUse use = s.model->config().pair;
    if (pair && use == PairUse::None && !s.texts)
        unusedOption(s.source, "a second text", whyNoPair(s.model->config()));
    s.x = nullptr;
    if (const auto site = s.model->config().site) {
        ScenarioRequest r;
        r.text = text;
        r.target = pair;
        s.texts = siteTexts(*s.model, r);
        for (const Site other : allSites) {
            s = atSite(s, other);
            dropMisplaced(s);
        }
        s = atSite(s, *site);
    } else if (use == PairUse::SecondSegment) {
        s.query = tokensOf(*s.model, text, "text", pair);
    } else {
        const bool cross = pair.has_value() || (s.y && s.model->config().cross);
        if (s.model->config().cross != cross) {
            const bool wasEdited = s.edited();
            s.original = s.original->withCross(cross);
            s.model = wasEdited ? s.model->withCross(cross) : s.original;
            s.source.cross = cross;
        }
        s.query = tokensOf(*s.model, text, "text");
        if (pair) {
            s.y = nullptr;
            s.key = tokensOf(*s.model, *pair, "pair");
        } else if (!s.y) {
            s.key.reset();
        }
    }
    dropMisplaced(s);
    validate(s);
    return s;
}

static void validateSite(const Scenario& s) {
    const ModelConfig& c = s.model->config();
    checkTokens(s, s.queries(), "the text");
    if (!c.site) // an encoder's own site has its limit
        checkTokens(s, s.keys(), "the key text");
    if (c.cross && !s.key)
        throw InputError(c.name + " takes its keys from another text: give --pair (or --y)");
    if (!c.cross && s.key)
        throw InputError("--pair is not used by " + c.name + ": it attends within one text");
    if (!c.cross && c.dModelKey != c.dModel)
        throw InputError(c.name + " multiplies keys of width " + std::to_string(c.dModelKey) +
                         " and queries of width " + std::to_string(c.dModel) + ": give --pair or --y");
    if (s.x)
        requireMatrix(s.x, c.dModel, "X", "W_Q");
    if (s.y)
        requireMatrix(s.y, c.dModelKey, "Y", "W_K");
    if (!(s.temperature >= 0.0))
        throw InputError("the temperature must be a number from 0 to inf");
    checkRules(s);
    checkInterventions(s);
    resolveMask(s.mask, {c.causal, c.slidingWindow}, s.queries(), s.keys());
    const std::int64_t n = s.queries(), m = s.keys();
    const std::int64_t perLayer =
        n * (2 * std::int64_t{c.heads} * c.dK + 3 * std::int64_t{c.dModel} + std::int64_t{c.heads} * c.dV) +
        m * std::int64_t{c.kvHeads} * (2 * std::int64_t{c.dK} + c.dV);
    requireMemory(4 * perLayer * c.layers, "a trace of " + std::to_string(n) + " tokens through " + c.name,
                  "shorten the text or choose a smaller model");
}

void validate(const Scenario& s) {
    if (s.model->captured())
        return validateCaptured(s);
    validateSite(s);
    if (const auto here = s.model->config().site)
        for (const Site site : allSites)
            if (site != *here)
                validateSite(atSite(s, site));
}

Scale ownScale(const ModelConfig& config) {
    return {config.scaledByDk ? Scale::Kind::SqrtDk : Scale::Kind::None, 1.0};
}

double scaleFactor(const Scenario& s) {
    const ModelConfig& c = s.model->config();
    if (has(s.rules, Rule::ScaleDModel))
        return 1.0 / std::sqrt(static_cast<double>(c.dModel));
    if (has(s.rules, Rule::ScaleDk))
        return 1.0 / c.dK;
    if (has(s.rules, Rule::NoScale) || s.scale.kind == Scale::Kind::None)
        return 1.0;
    return s.scale.kind == Scale::Kind::Number ? s.scale.number : 1.0 / std::sqrt(static_cast<double>(c.dK));
}

KeyMask maskOf(const Scenario& s) {
    const int n = s.queries(), m = s.keys();
    const ModelConfig& c = s.model->config();
    KeyMask mask = resolveMask(s.mask, {c.causal, c.slidingWindow}, n, m);
    const auto painted = [](const Intervention& i) { return i.kind == Intervention::Kind::MaskCell; };
    if (std::ranges::none_of(s.interventions, painted))
        return mask;
    // A painted cell may open what a range closes, so the ranges become numbers.
    Matrix additive(n, m);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < m; ++j)
            additive(i, j) = !mask.isOpen(i, j) ? KeyMask::minusInfinity
                             : mask.additive    ? (*mask.additive)(i, j)
                                                : 0.0F;
    for (const Intervention& i : s.interventions)
        if (painted(i))
            additive(i.row, i.col) = i.value;
    mask.open.assign(static_cast<std::size_t>(n), {0, m});
    mask.additive = share(std::move(additive));
    return mask;
}

std::vector<TensorId> editedTensors(const Scenario& s) {
    std::vector<TensorId> out;
    for (int l = 0; l < s.model->config().layers; ++l)
        for (const WeightKind kind : allWeightKinds) {
            const TensorId id{LayerIndex{l}, kind};
            const SharedMatrix &now = s.model->tensor(id), &before = s.original->tensor(id);
            if (now != before && *now != *before)
                out.push_back(id);
        }
    return out;
}

} // namespace headscope
