// `patterns`: seven heads built by formula, each doing exactly what its name says for any text of up to 512 tokens.
//
// X of token i is made of zeros and ones:
//   clock A   one-hot of i mod 31   \  two clocks that agree only every 31*35 = 1085 tokens: together they name a
//   position clock B   one-hot of i mod 35   /  (in a text of 512 tokens no two positions show the same pair) word
//   one-hots of its number mod 7, mod 8, mod 11 (numbered by first appearance): they name it (7*8*11 = 616 > 512)
//   first, last                     1 on the first and on the last token
//   separator                       (i + 1) / 512 on a punctuation mark, else 0; the first token counts as one
//
// Turning a clock by one hour is a permutation of its columns, so W_Q can ask "who shows the hour before mine?":
//   previous token      Q shows both clocks one hour back: two matches at i-1, at most one anywhere else
//   next token          Q shows both clocks one hour ahead
//   nearest neighbours  the sum of the two: two matches at i-1 and at i+1. That no other place shows "one back on A,
//   one
//                       ahead on B" needs clocks of 31 and 35: the first such place is 512 tokens away or more
//   first token         b_Q is constant, K shows `first`
//   same word           Q and K show the word: three matches on the identical word (itself too), at most two elsewhere
//   uniform             W_Q is 0: all scores are equal
//   last separator      b_Q is constant, K shows `separator`, which grows with the position: the last one wins
// The first token has no previous and the last no next token: there `first` (`last`) meets itself, so that they look at
// themselves. One match is worth 12 before the softmax, so a place with one match less gets e^-12 of the weight. W_Q
// carries the factor 12 sqrt(d_k), which the scaling takes out again. V carries the word, and W_O puts it back into its
// place.
#include "core/model/builtin.h"

#include <cmath>
#include <unordered_map>

namespace headscope {

namespace {

constexpr int hoursA = 31, hoursB = 35, mostTokens = 512;
constexpr int wordHours[] = {7, 8, 11};
constexpr int wordWidth = 7 + 8 + 11;
constexpr int heads = 7;
constexpr double match = 12.0;

// Columns of X.
constexpr int atA = 0, atB = hoursA, atWord = hoursA + hoursB, atFirst = atWord + wordWidth, atLast = atFirst + 1,
              atSeparator = atFirst + 2, dModel = atFirst + 3;
// Columns of a head's Q and K: both clocks, then `first` and `last`; V has the word.
constexpr int atEnds = hoursA + hoursB, dK = atEnds + 2, dV = wordWidth;

enum Head { Previous, Next, First, SameWord, Uniform, Neighbours, Separator };
const std::vector<std::string> names{"previous token", "next token",         "first token",   "same word",
                                     "uniform",        "nearest neighbours", "last separator"};

class PatternsEmbedder final : public Embedder {
public:
    headscope::Embedding embed(const TokenSequence& tokens) const override {
        const int n = tokens.size();
        Matrix token(n, dModel), position(n, dModel), sum(n, dModel);
        std::unordered_map<std::string_view, int> numbers; // the words, in order of first appearance
        for (int i = 0; i < n; ++i) {
            const Token& t = tokens.tokens[static_cast<std::size_t>(i)];
            const int number = numbers.emplace(t.piece, static_cast<int>(numbers.size())).first->second;
            int at = atWord;
            for (const int hours : wordHours) {
                token(i, at + number % hours) = 1.0F;
                at += hours;
            }
            position(i, atA + i % hoursA) = 1.0F;
            position(i, atB + i % hoursB) = 1.0F;
            position(i, atFirst) = i == 0 ? 1.0F : 0.0F;
            position(i, atLast) = i == n - 1 ? 1.0F : 0.0F;
            if (i == 0 || isPunctuation(t.piece))
                position(i, atSeparator) = static_cast<float>(i + 1) / mostTokens;
            for (int c = 0; c < dModel; ++c)
                sum(i, c) = token(i, c) + position(i, c);
        }
        const SharedMatrix x = share(std::move(sum));
        return {{{"token", share(std::move(token))}, {"position", share(std::move(position))}}, x, x};
    }
};

// Adds `gain` where a clock of X, turned by `shift` hours, shows in the head's columns.
void turnClocks(Matrix& w, int head, int shift, float gain) {
    for (const auto& [at, hours] : {std::pair{atA, hoursA}, std::pair{atB, hoursB}})
        for (int hour = 0; hour < hours; ++hour)
            w(at + hour, head * dK + at + (hour + shift + hours) % hours) += gain;
}

LayerWeights weights() {
    const auto gain = static_cast<float>(match * std::sqrt(static_cast<double>(dK)));
    Matrix wQ(dModel, heads * dK), wK(dModel, heads * dK), wV(dModel, heads * dV), wO(heads * dV, dModel);
    Matrix bQ(1, heads * dK);

    turnClocks(wQ, Previous, -1, gain);
    turnClocks(wQ, Next, +1, gain);
    turnClocks(wQ, Neighbours, -1, gain);
    turnClocks(wQ, Neighbours, +1, gain);
    for (const Head h : {Previous, Next, Neighbours})
        turnClocks(wK, h, 0, 1.0F);
    wQ(atFirst, Previous * dK + atEnds) = 3 * gain; // more than the two matches that a stray place could show
    wK(atFirst, Previous * dK + atEnds) = 1.0F;
    wQ(atLast, Next * dK + atEnds) = 3 * gain;
    wK(atLast, Next * dK + atEnds) = 1.0F;

    bQ(0, First * dK) = gain;
    wK(atFirst, First * dK) = 1.0F;

    for (int c = 0; c < wordWidth; ++c) {
        wQ(atWord + c, SameWord * dK + c) = gain;
        wK(atWord + c, SameWord * dK + c) = 1.0F;
    }

    bQ(0, Separator * dK) = gain * mostTokens;
    wK(atSeparator, Separator * dK) = 1.0F;

    for (int h = 0; h < heads; ++h)
        for (int c = 0; c < wordWidth; ++c) {
            wV(atWord + c, h * dV + c) = 1.0F;
            wO(h * dV + c, atWord + c) = 1.0F;
        }
    LayerWeights w;
    w.wQ = share(std::move(wQ));
    w.wK = share(std::move(wK));
    w.wV = share(std::move(wV));
    w.wO = share(std::move(wO));
    w.bQ = share(std::move(bQ));
    w.bK = share(Matrix(1, heads * dK));
    w.bV = share(Matrix(1, heads * dV));
    w.bO = share(Matrix(1, dModel));
    return w;
}

} // namespace

SharedModel makePatterns() {
    ModelConfig c;
    c.name = c.family = "patterns";
    c.dModel = c.dModelKey = c.dOut = dModel;
    c.heads = c.kvHeads = heads;
    c.dK = dK;
    c.dV = dV;
    c.maxTokens = mostTokens;
    c.headNames = names;
    c.notes = {"heads are built by formula, not trained"};
    return std::make_shared<const Model>(c, std::vector{weights()}, makeWordTokenizer(),
                                         std::make_shared<PatternsEmbedder>());
}

} // namespace headscope
