// `worked-example`: small enough for paper. An article works it out by hand, and misprints it.
#include "core/model/builtin.h"
#include "core/tensor/errors.h"

#include <algorithm>

namespace headscope {

namespace {

// The article's words and their rows of X; "to" and "the" share one vector.
const std::vector<std::string> words{"karina", "is", "to", "the", "store"};
constexpr float rows[5][2] = {{1.0F, 0.0F}, {0.0F, 1.0F}, {1.0F, 1.0F}, {1.0F, 1.0F}, {0.5F, 1.0F}};

class TableEmbedder final : public Embedder {
public:
    headscope::Embedding embed(const TokenSequence& tokens) const override {
        Matrix x(tokens.size(), 2);
        for (int i = 0; i < tokens.size(); ++i)
            std::ranges::copy(rows[tokens.tokens[static_cast<std::size_t>(i)].id], x.row(i).begin());
        SharedMatrix shared = share(std::move(x));
        return {{{"token", shared}}, shared, shared};
    }
};

Matrix matrix(int cols, std::initializer_list<float> values) {
    Matrix m(static_cast<int>(values.size()) / cols, cols);
    std::ranges::copy(values, m.values().begin());
    return m;
}

} // namespace

SharedModel makeWorkedExample() {
    ModelConfig c;
    c.name = c.family = "worked-example";
    c.dModel = c.dModelKey = c.dOut = c.dK = c.dV = 2;
    c.heads = c.kvHeads = 1;
    c.residual = false;
    c.maxTokens = 512;
    c.notes = {"knows only the words karina, is, to, the, store", std::string(workedExampleNote())};
    const SharedMatrix one = share(identity(2, 2));
    const LayerWeights w{one, one, one, one, nullptr, nullptr, nullptr, nullptr};
    return std::make_shared<const Model>(c, std::vector{w}, makeWordTokenizer(words),
                                         std::make_shared<TableEmbedder>());
}

std::string_view workedExampleText() {
    return "karina is to the store";
}

std::string_view workedExampleNote() {
    return "The article that prints this example drops the word 'going' of its own sentence, and its softmax and "
           "outputs do not "
           "follow from its scores. Printed, computed and difference stand side by side here.";
}

// As printed, to two decimals.
const std::vector<PrintedStage>& workedExamplePrinted() {
    static const std::vector<PrintedStage> printed{
        {"scores", matrix(5, {1.0F, 0.0F, 1.0F, 1.0F, 0.5F, 0.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F, 2.0F,
                              2.0F, 1.5F, 1.0F, 1.0F, 2.0F, 2.0F, 1.5F, 0.5F, 1.0F, 1.5F, 1.5F, 1.25F}),
         2},
        {"scaled", matrix(5, {0.71F, 0.0F,  0.71F, 0.71F, 0.35F, 0.0F,  0.71F, 0.71F, 0.71F, 0.71F, 0.71F, 0.71F, 1.42F,
                              1.42F, 1.06F, 0.71F, 0.71F, 1.42F, 1.42F, 1.06F, 0.35F, 0.71F, 1.06F, 1.06F, 0.89F}),
         2},
        {"weights", matrix(5, {0.25F, 0.15F, 0.25F, 0.25F, 0.1F, 0.17F, 0.23F, 0.23F, 0.23F, 0.23F, 0.15F, 0.15F, 0.3F,
                               0.3F,  0.1F,  0.15F, 0.15F, 0.3F, 0.3F,  0.1F,  0.14F, 0.23F, 0.28F, 0.28F, 0.07F}),
         2},
        {"head_output", matrix(2, {0.73F, 0.68F, 0.57F, 0.87F, 0.68F, 0.81F, 0.68F, 0.81F, 0.63F, 0.84F}), 2},
    };
    return printed;
}

} // namespace headscope
