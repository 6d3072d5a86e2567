// Scenario: the document. Everything that decides a trace, as one value; saved, undone and given on the command line.
#pragma once

#include "core/attention/mask.h"
#include "core/attention/rules.h"
#include "core/attention/stage.h"
#include "core/model/builtin.h"

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

    int queries() const { return query.size(); }
    int keys() const { return key ? key->size() : query.size(); }
    const TokenSequence& keyTokens() const { return key ? *key : query; }
    // The second text as typed: the key text, or the second segment of the same sequence.
    std::optional<std::string> secondText() const {
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
    std::optional<std::vector<std::int64_t>> ids, pairIds;
    SharedMatrix x, y; // from --x, --y
    Mask mask;
    Scale scale;
    double temperature = 1.0;
    RuleSet rules;
    std::vector<Intervention> interventions;
};
// Opens the model, tokenizes, and checks everything that can be checked before computing. Throws InputError /
// LoadError.
Scenario makeScenario(ScenarioRequest request);
// The same model with other texts (pair: absent = self-attention). Keeps edits where the tensors' shapes stay.
Scenario withTexts(const Scenario& scenario, std::string_view text, std::optional<std::string_view> pair);
// Throws InputError on anything that does not fit the model: mask size, interventions out of range, rules that exclude
// each other, too many tokens, sizes that do not fit in memory.
void validate(const Scenario& scenario);

// The number that multiplies the scores, rules included.
double scaleFactor(const Scenario& scenario);
KeyMask maskOf(const Scenario& scenario); // parts and painted cells, for this scenario's texts

// Which tensors differ from the original, in layer order.
std::vector<TensorId> editedTensors(const Scenario& scenario);

} // namespace headscope
