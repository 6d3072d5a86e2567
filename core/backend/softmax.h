// The softmax in double, as it is written in books: the reference's own, and the fast backend's for the rows that its
// quick one does not do. Called inside core/backend alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace headscope {

// Softmax of `logits` at the open places, in place in `out`; closed places become 0. The maximum is subtracted before
// the division by the temperature, so neither large scores nor small temperatures overflow. Returns false when nothing
// is open (then all of out is 0).
template<class Get, class Open, class Set>
bool softmax(int count, const Get& logit, const Open& isOpen, const Set& set, double temperature) {
    constexpr double inf = std::numeric_limits<double>::infinity();
    double largest = -inf;
    int openCount = 0;
    for (int j = 0; j < count; ++j)
        if (isOpen(j)) {
            ++openCount;
            largest = std::max(largest, static_cast<double>(logit(j)));
        }
    if (openCount == 0) {
        for (int j = 0; j < count; ++j)
            set(j, 0.0);
        return false;
    }
    const auto unnormalised = [&](int j) {
        if (!isOpen(j))
            return 0.0;
        const double below = static_cast<double>(logit(j)) == largest ? 0.0 : logit(j) - largest; // never inf - inf
        if (temperature == 0.0)
            return below == 0.0 ? 1.0 : 0.0; // argmax, ties shared
        if (std::isinf(temperature))
            return 1.0; // uniform over the open keys
        return std::exp(below / temperature);
    };
    double sum = 0;
    for (int j = 0; j < count; ++j)
        sum += unnormalised(j);
    for (int j = 0; j < count; ++j)
        set(j, unnormalised(j) / sum);
    return true;
}

} // namespace headscope
