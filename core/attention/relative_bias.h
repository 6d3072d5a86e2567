// The relative position bias of T5 (Raffel et al. 2020, section 2.1): a learned number per head for every bucket of
// distances, near ones a bucket each, far ones in logarithmic steps. Called where a head's scores are scaled.
#pragma once

#include "core/model/model.h"

#include <vector>

namespace headscope {

// distance: key minus query. bothWays: keys behind the query have buckets of their own (encoders).
int relativeBucket(int distance, bool bothWays, int buckets, int farthest);

// table: (buckets, h). One number per distance: entry j - i + n - 1 for query i of n and key j of m.
std::vector<float> relativeBias(const Matrix& table, HeadIndex head, const ModelConfig& config, int n, int m);

} // namespace headscope
