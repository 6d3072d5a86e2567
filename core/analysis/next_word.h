// What a decoder writes next, and who says so: the softmax of one row of logits, and the parts that one logit is the
// sum of (direct logit attribution; Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits").
// Called by the window's next-word panel. Not here: logits of all rows (logitsOf), writing whole texts.
#pragma once

#include "core/attention/trace.h"

#include <string>
#include <vector>

namespace headscope {

struct NextWord {
    std::int64_t id = 0;
    std::string text; // UTF-8, as people read it
    double logit = 0, probability = 0;
};

struct NextWords {
    std::vector<NextWord> words; // likeliest first; ties by id
    double others = 0;           // the probability of everything else
};

// True for a model that reads from left to right and has an output layer; of an encoder-decoder at the decoder's sites.
bool predictsNextWord(const Model& model);
// The likeliest words after query `row`: softmax over the vocabulary of logits / temperature. Temperature 0: the
// largest logit alone (ties shared).
NextWords nextWords(const AttentionTrace& trace, int row, int count, double temperature);

// A part of one logit. The stream that reaches the final norm is a sum: the embedding, and of every layer its heads,
// b_O and the MLP. With the norm's scale held at what it is for this row, the logit is linear in that stream, so that
// the parts add up to it:  part = (its vector, minus its mean under LayerNorm) / scale * gain . output row of the word.
struct LogitPart {
    enum class Kind { Embedding, Head, OutputBias, Mlp, NormBias }; // OutputBias: b_O of a layer
    Kind kind = Kind::Embedding;
    LayerIndex layer; // of a head, b_O or MLP
    HeadIndex head;
    double value = 0;
};

// False where norms stand between the layers (BERT) or behind the final one: there the logit is no such sum. Of an
// encoder-decoder it is one that has parts of two sites, and is not taken apart.
bool logitIsASum(const Model& model);
// The parts of the logit of `id` after query `row`, in the order of the layers; they add up to the logit. The model
// must be one whose logit is a sum.
std::vector<LogitPart> logitParts(const AttentionTrace& trace, int row, std::int64_t id);

} // namespace headscope
