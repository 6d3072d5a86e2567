#include "core/attention/relative_bias.h"

#include <algorithm>
#include <cmath>

namespace headscope {

int relativeBucket(int distance, bool bothWays, int buckets, int farthest) {
    int first = 0;
    if (bothWays) {
        buckets /= 2;
        first = distance > 0 ? buckets : 0;
        distance = std::abs(distance);
    } else {
        distance = std::max(-distance, 0);
    }
    const int exact = buckets / 2;
    if (distance < exact || exact == 0)
        return first + std::min(distance, buckets - 1);
    // In float, as the published implementation: a distance on the edge of two buckets must fall on the same side.
    const float steps = std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                        static_cast<float>(std::log(static_cast<double>(farthest) / exact)) *
                        static_cast<float>(buckets - exact);
    return first + std::min(exact + static_cast<int>(steps), buckets - 1);
}

std::vector<float> relativeBias(const Matrix& table, HeadIndex head, const ModelConfig& config, int n, int m) {
    std::vector<float> bias;
    for (int distance = -(n - 1); distance < m; ++distance)
        bias.push_back(
            table(relativeBucket(distance, !config.causal, table.rows(), config.relativeDistance), head.value));
    return bias;
}

} // namespace headscope
