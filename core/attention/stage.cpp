#include "core/attention/stage.h"

#include <array>

namespace headscope {

namespace {

using enum StageScope;
using enum StageAxis;

constexpr std::array<StageInfo, stageCount> table{{
    {Stage::Embedding, 1, "Embed", "embedding", "X", "X = token rows + position rows", AllHeads, QueryTokens,
     Dimensions, true,
     "Every token becomes a row of numbers. This is exactly the matrix that W_Q multiplies in this layer."},
    {Stage::EmbeddingKey, 1, "Embed", "embedding_key", "Y", "Y = token rows + position rows of the key text", AllHeads,
     KeyTokens, Dimensions, true,
     "The key text is embedded in the same way. W_K and W_V multiply Y, so keys and values come from the other text."},
    {Stage::ProjectionQ, 2, "Project", "projection_q", "X W_Q + b_Q", "X W_Q + b_Q", AllHeads, QueryTokens, Dimensions,
     true, "One product makes the queries of all heads side by side. Each band of columns belongs to one head."},
    {Stage::ProjectionK, 2, "Project", "projection_k", "Y W_K + b_K", "Y W_K + b_K", AllHeads, KeyTokens, Dimensions,
     true, "One product makes the keys of all heads side by side. Y is X itself in self-attention."},
    {Stage::ProjectionV, 2, "Project", "projection_v", "Y W_V + b_V", "Y W_V + b_V", AllHeads, KeyTokens, Dimensions,
     true, "One product makes the values of all heads side by side. Values are what a head hands on when it attends."},
    {Stage::Q, 3, "Split", "q", "Q_h", "columns of head h of X W_Q + b_Q", QueryHead, QueryTokens, Dimensions, true,
     "The band of this head is cut out: the question that each token asks. Rotary positions, where the model has them, "
     "are "
     "applied here."},
    {Stage::K, 3, "Split", "k", "K_h", "columns of head h of Y W_K + b_K", KvHead, KeyTokens, Dimensions, true,
     "The band of this head is cut out: what each token offers to be found by. With grouped heads several query "
     "heads share it."},
    {Stage::V, 3, "Split", "v", "V_h", "columns of head h of Y W_V + b_V", KvHead, KeyTokens, Dimensions, true,
     "The band of this head is cut out: what each token hands on. With grouped heads several query heads share it."},
    {Stage::Scores, 4, "Scores", "scores", "Q_h K_h^T", "S = Q_h K_h^T", QueryHead, QueryTokens, KeyTokens, true,
     "Every query row meets every key row in a dot product. A large score means that both point the same way."},
    {Stage::Scaled, 5, "Scale", "scaled", "S / sqrt(d_k)", "S / sqrt(d_k)", QueryHead, QueryTokens, KeyTokens, true,
     "Scores grow with the number of summed products, so they are divided by sqrt(d_k). A position bias is added here "
     "where the "
     "model has one."},
    {Stage::Masked, 6, "Mask", "masked", "+ M", "scaled scores + M", QueryHead, QueryTokens, KeyTokens, true,
     "Keys that a query may not see are set to minus infinity. After the softmax they weigh exactly 0."},
    {Stage::Weights, 7, "Softmax", "weights", "A_h", "A = softmax over keys of the masked scores", QueryHead,
     QueryTokens, KeyTokens, false,
     "Each row becomes shares that sum to 1. A row is the attention of one token over all tokens; its brightest cell "
     "is where it "
     "looks."},
    {Stage::HeadOutput, 8, "Attend", "head_output", "O_h = A_h V_h", "O = A_h V_h", QueryHead, QueryTokens, Dimensions,
     true,
     "Each token collects the values of the tokens it attends to, weighted by its row of A. This is what the head "
     "found."},
    {Stage::Concat, 9, "Concat", "concat", "[O_1 ... O_h]", "[O_1 ... O_h]", AllHeads, QueryTokens, Dimensions, true,
     "The outputs of all heads are set side by side again. Each band of columns is one head; a head that is switched "
     "off is 0."},
    {Stage::Contribution, 10, "W^O", "contribution", "O_h W_O[h]", "O_h W_O[h]", QueryHead, QueryTokens, Dimensions,
     true,
     "The head's own part of the output: its band times its rows of W_O. The parts of all heads and b_O add up to the "
     "output."},
    {Stage::Output, 10, "W^O", "output", "concat W_O + b_O", "concat W_O + b_O", AllHeads, QueryTokens, Dimensions,
     true,
     "W_O mixes what the heads found into one vector per token. This is the attention layer's result, before residual "
     "and norm."},
    {Stage::Norms, 10, "W^O", "norms", "||a v W_O||", "||a_ij v_j W_O[h]||", QueryHead, QueryTokens, KeyTokens, false,
     "How far each cell really moves the output: a large weight on a short value moves little. (Kobayashi et al. "
     "2020)"},
}};

} // namespace

std::span<const StageInfo> stageTable() {
    return table;
}

const StageInfo& stageInfo(Stage s) {
    return table[static_cast<std::size_t>(s)];
}

std::optional<Stage> stageFromId(std::string_view id) {
    for (const StageInfo& info : table)
        if (info.id == id)
            return info.stage;
    return std::nullopt;
}

std::string stageIds() {
    std::string ids;
    for (const StageInfo& info : table)
        ids += (ids.empty() ? "" : ", ") + std::string(info.id);
    return ids;
}

bool isTokenByToken(Stage s) {
    return stageInfo(s).rows == QueryTokens && stageInfo(s).cols == KeyTokens;
}

StageShape stageShape(const ModelConfig& c, Stage s, int n, int m) {
    switch (s) {
    case Stage::Embedding:
        return {1, n, c.dModel};
    case Stage::EmbeddingKey:
        return {1, m, c.dModelKey};
    case Stage::ProjectionQ:
        return {1, n, c.heads * c.dK};
    case Stage::ProjectionK:
        return {1, m, c.kvHeads * c.dK};
    case Stage::ProjectionV:
        return {1, m, c.kvHeads * c.dV};
    case Stage::Q:
        return {c.heads, n, c.dK};
    case Stage::K:
        return {c.kvHeads, m, c.dK};
    case Stage::V:
        return {c.kvHeads, m, c.dV};
    case Stage::Scores:
    case Stage::Scaled:
    case Stage::Masked:
    case Stage::Weights:
    case Stage::Norms:
        return {c.heads, n, m};
    case Stage::HeadOutput:
        return {c.heads, n, c.dV};
    case Stage::Concat:
        return {1, n, c.heads * c.dV};
    case Stage::Contribution:
        return {c.heads, n, c.dOut};
    case Stage::Output:
        return {1, n, c.dOut};
    }
    return {};
}

} // namespace headscope
