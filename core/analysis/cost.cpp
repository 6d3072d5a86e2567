#include "core/analysis/cost.h"

#include "core/tensor/errors.h"

namespace headscope {

namespace {

// A product of counts that says when it no longer fits, instead of wrapping to a small number.
std::int64_t times(std::initializer_list<std::int64_t> factors) {
    std::int64_t product = 1;
    for (const std::int64_t factor : factors) {
        // A quarter of the range, so that the few sums below cannot overflow either.
        if (__builtin_mul_overflow(product, factor, &product) || product > (std::int64_t{1} << 60)) {
            throw InputError("the cost of attention at these sizes has more than 2^60 operations in one part; "
                             "use a smaller text or width");
        }
    }
    return product;
}

} // namespace

// Vaswani et al. 2017, "Attention Is All You Need", section 3.2: each product (a, b)(b, c) takes a*b*c multiply-adds.
//   projections   n*d*(h*d_k) for Q, m*d*(h_kv*d_k) for K, m*d*(h_kv*d_v) for V
//   Q K^T         (n, d_k)(d_k, m) in each of h heads
//   softmax       one exponential per cell of h maps of n x m
//   A V           (n, m)(m, d_v) in each of h heads
//   W_O           (n, h*d_v)(h*d_v, d)
// With n = m and h*d_k = h*d_v = d that is 3 n d^2, n^2 d, (h n^2), n^2 d and n d^2: the two quadratic parts are
// 2 n^2 d against 4 n d^2, so they overtake the rest exactly above n = 2d, whatever the number of heads is.
AttentionCost attentionCost(std::int64_t n, std::int64_t m, std::int64_t dModel, int heads, int kvHeads,
                            std::int64_t dK, std::int64_t dV, bool bias) {
    if (n < 1 || m < 1 || dModel < 1 || heads < 1 || kvHeads < 1 || dK < 1 || dV < 1) {
        throw InputError("the cost of attention needs sizes of at least 1, found n = " + std::to_string(n) +
                         ", m = " + std::to_string(m) + ", d_model = " + std::to_string(dModel) +
                         ", heads = " + std::to_string(heads) + ", kv-heads = " + std::to_string(kvHeads) +
                         ", d_k = " + std::to_string(dK) + ", d_v = " + std::to_string(dV));
    }
    const std::int64_t widthQ = times({heads, dK});
    const std::int64_t widthK = times({kvHeads, dK});
    const std::int64_t widthV = times({kvHeads, dV});
    const std::int64_t widthO = times({heads, dV});

    AttentionCost cost;
    cost.parts = {
        {"projections Q K V", times({n, dModel, widthQ}) + times({m, dModel, widthK}) + times({m, dModel, widthV}),
         times({dModel, widthQ + widthK + widthV}) + (bias ? widthQ + widthK + widthV : 0)},
        {"Q K^T", times({heads, n, m, dK})},
        {"softmax", times({heads, n, m})},
        {"A V", times({heads, n, m, dV})},
        {"W_O", times({n, widthO, dModel}), times({widthO, dModel}) + (bias ? dModel : 0)},
    };
    cost.mapEntries = times({heads, n, m});
    for (const CostPart& part : cost.parts) {
        cost.parameters += part.parameters;
        if (part.name != "softmax") {
            cost.multiplyAdds += part.multiplyAdds;
        }
    }
    for (CostPart& part : cost.parts) {
        if (part.name != "softmax") {
            part.share = static_cast<double>(part.multiplyAdds) / static_cast<double>(cost.multiplyAdds);
        }
    }
    return cost;
}

HeadCountComparison compareHeadCounts(std::int64_t n, std::int64_t dModel, int heads, bool bias) {
    if (heads < 1 || dModel % heads != 0) {
        throw InputError("d_model = " + std::to_string(dModel) + " is not divisible by " + std::to_string(heads) +
                         " heads; use a number of heads that divides " + std::to_string(dModel));
    }
    const std::int64_t dHead = dModel / heads;
    return {attentionCost(n, n, dModel, 1, 1, dModel, dModel, bias),
            attentionCost(n, n, dModel, heads, heads, dHead, dHead, bias)};
}

} // namespace headscope
