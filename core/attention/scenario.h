// Scenario: the document. Everything that decides a trace, as one value; saved, undone and given on the command line.
#pragma once

#include "core/attention/mask.h"
#include "core/attention/rules.h"
#include "core/attention/stage.h"
#include "core/model/builtin.h"
#include "core/text/text_parts.h"

namespace headscope {

// A number multiplies the scores.
struct Scale {
    enum class Kind { SqrtDk, None, Number };
    Kind kind = Kind::SqrtDk;
    double number = 1.0;
    bool operator==(const Scale&) const = default;
};
Scale parseScale(std::string_view text);        // "sqrt_dk", "none", a finite number; throws InputError
std::string scaleName(const Scale& scale);      // the inverse
double parseTemperature(std::string_view text); // a number >= 0 or "inf"; throws InputError

// The other kind of change beside a new weight: a stage output or a head, replaced where it is produced.
struct Intervention {
    enum class Kind {
        HeadOff, // layer, head: its output is 0 before W_O
        SetCell, // layer, stage, row, col, value; Scores: of `head`; Embedding, EmbeddingKey: layer 0 only, head unused
        MaskCell, // row, col: value is added to the scaled scores of every layer and head; -inf closes, 0 opens
    };
    Kind kind = Kind::HeadOff;
    LayerIndex layer;
    HeadIndex head;
    Stage stage = Stage::Scores;
    int row = 0, col = 0;
    float value = 0;
    bool operator==(const Intervention&) const = default;
};

// The two texts of an encoder-decoder.
struct SiteTexts {
    TokenSequence source;
    TokenSequence target; // what the decoder reads: the text shifted right, behind its start token
    // Who the target is from: the user; the model, greedily; the model, when it is traced (target is the start token).
    enum class Author { User, Model, ModelLater };
    Author author = Author::User;
    bool operator==(const SiteTexts&) const = default;
};

// What a user has changed at one site of an encoder-decoder.
struct SiteChanges {
    Mask mask;
    std::vector<Intervention> interventions;
    bool operator==(const SiteChanges&) const = default;
};

// Of an encoder-decoder a scenario is looked at from one site (model->config().site): model, query, key, mask and
// interventions are that site's. atSite() turns it to another one and loses nothing.
struct Scenario {
    ModelSource source;   // how to make the model again
    SharedModel original; // as opened
    SharedModel model;    // with the user's edits; the same object as `original` when there are none
    TokenSequence query;
    std::optional<TokenSequence> key; // cross-attention
    SharedMatrix x, y;                // the user's own matrices instead of embedded text (attention modules); else null
    Mask mask;
    Scale scale;
    double temperature = 1.0;
    RuleSet rules;
    std::vector<Intervention> interventions;
    std::optional<SiteTexts> texts;        // encoder-decoders
    std::array<SiteChanges, 3> otherSites; // encoder-decoders: of the sites that are not looked at

    int queries() const { return query.size(); }
    int keys() const { return key ? key->size() : query.size(); }
    const TokenSequence& keyTokens() const { return key ? *key : query; }
    // The first text as typed, and the second one: the target, the key text, or the second segment of the same
    // sequence.
    const std::string& firstText() const { return texts ? texts->source.source : query.source; }
    std::optional<std::string> secondText() const {
        if (texts)
            return texts->target.source;
        if (key)
            return key->source;
        return query.pairSource.empty() ? std::nullopt : std::optional(query.pairSource);
    }
    bool headIsOff(LayerIndex l, HeadIndex h) const;
    bool edited() const { return model != original; }
    bool operator==(const Scenario&) const = default; // models by identity
};

// What a user asks for, before it is checked: the command line's options and the window's controls both become this.
struct ScenarioRequest {
    ModelSource source;
    std::optional<std::string> text, pair;  // UTF-8
    std::optional<std::string> defaultText; // where the file has no X or tokens of its own, and no text is given
    bool firstPart = false;                 // of a text that is too long for the model take the first of textParts
    std::optional<std::vector<std::int64_t>> ids, pairIds;
    std::optional<std::string> target;                  // encoder-decoders; without it the model writes one
    std::optional<std::vector<std::int64_t>> targetIds; // as the decoder reads them, nothing added
    SharedMatrix x, y;                                  // from --x, --y
    Mask mask;
    std::optional<Scale> scale; // without it the model's own
    double temperature = 1.0;
    RuleSet rules;
    std::vector<Intervention> interventions;
};
// Opens the model, tokenizes, and checks everything that can be checked before computing. Throws InputError /
// LoadError.
Scenario makeScenario(ScenarioRequest request, const OpenHooks& hooks = {});
// The same encoder-decoder looked at from another site.
Scenario atSite(const Scenario& scenario, Site site);
// The same model with other texts (pair: absent = self-attention; of an encoder-decoder the target, absent = the model
// writes it). Keeps edits where the tensors' shapes stay.
Scenario withTexts(const Scenario& scenario, std::string_view text, std::optional<std::string_view> pair);
// Throws InputError on anything that does not fit the model: mask size, interventions out of range, rules that exclude
// each other, too many tokens, sizes that do not fit in memory.
void validate(const Scenario& scenario);

// A text that is too long for the model, in parts that are not; of an encoder-decoder the source.
std::vector<TextPart> textParts(const Model& model, std::string_view text);

// What the decoder reads for a text that the user typed: its tokens shifted right.
TokenSequence targetTokens(const Model& model, std::string_view text);

Scale ownScale(const ModelConfig& config);
// The number that multiplies the scores, rules included.
double scaleFactor(const Scenario& scenario);
KeyMask maskOf(const Scenario& scenario); // parts and painted cells, for this scenario's texts

// Which tensors differ from the original, in layer order.
std::vector<TensorId> editedTensors(const Scenario& scenario);

} // namespace headscope
