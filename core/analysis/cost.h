// What a head count costs: multiply-adds, parameters and stored maps, by part. Pure arithmetic, free n and d.
// Not here: measuring (that is `bench`), and anything outside attention (MLP, norms, embeddings).
// Called by `headscope info` and the cost panel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headscope {

struct CostPart {
    std::string name;              // "projections Q K V", "Q K^T", "softmax", "A V", "W_O"
    std::int64_t multiplyAdds = 0; // softmax: its exponentials, counted as one each
    std::int64_t parameters = 0;   // weights and, with bias, biases
    double share = 0;              // of all multiply-adds, 0..1; 0 for softmax, whose exponentials are no multiply-adds
};
struct AttentionCost {
    std::vector<CostPart> parts;                   // in the order above
    std::int64_t multiplyAdds = 0, parameters = 0; // multiplyAdds: without the exponentials of the softmax
    std::int64_t mapEntries = 0;                   // h * n * m numbers in `weights`
};

// n queries, m keys, width d = d_model; h heads of d_k and d_v, h_kv KV heads. Throws InputError when a size is below 1
// or the counts do not fit in 63 bits.
AttentionCost attentionCost(std::int64_t n, std::int64_t m, std::int64_t dModel, int heads, int kvHeads,
                            std::int64_t dK, std::int64_t dV, bool bias);
// h heads of d/h against one head of d, n tokens of self-attention. Throws InputError, naming both numbers, when h does
// not divide d.
struct HeadCountComparison {
    AttentionCost one, many;
};
HeadCountComparison compareHeadCounts(std::int64_t n, std::int64_t dModel, int heads, bool bias);

} // namespace headscope
