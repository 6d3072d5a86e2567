#include "core/attention/overflow.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headscope {

namespace {

std::int64_t countNonFinite(const SharedMatrix& m) {
    return m ? std::ranges::count_if(m->values(), [](float v) { return !std::isfinite(v); }) : 0;
}

// The longest row of a head's band.
double longestRow(const Matrix& all, int head, int width) {
    const MatrixView band = headBand(all, head, width);
    double longest = 0;
    for (int r = 0; r < band.rows; ++r) {
        double sum = 0;
        for (const float v : band.row(r))
            sum += static_cast<double>(v) * v;
        longest = std::max(longest, std::sqrt(sum));
    }
    return longest;
}

std::string sentence(const std::string& where, std::int64_t count, std::string_view stage) {
    return where + ": " + std::to_string(count) + (count == 1 ? " number" : " numbers") + " of " + std::string(stage) +
           " are beyond what a float32 holds (3.4e38) and are infinite or nan";
}

} // namespace

std::string overflowNote(const AttentionTrace& t) {
    if (t.scenario.model->captured())
        return {}; // as they are in the file
    const ModelConfig& c = t.config();
    for (int l = 0; l < c.layers; ++l) {
        const LayerTrace& layer = t.layer(LayerIndex{l});
        const std::string where = "L" + std::to_string(l);
        for (const auto& [matrix, stage] : {std::pair{layer.x, Stage::Embedding},
                                            {layer.projectionQ, Stage::ProjectionQ},
                                            {layer.projectionK, Stage::ProjectionK},
                                            {layer.projectionV, Stage::ProjectionV}})
            if (const std::int64_t count = countNonFinite(matrix); count > 0)
                return sentence(where, count, stageInfo(stage).id);
        for (int h = 0; h < c.heads; ++h) {
            // |q . k| <= |q| |k|: scores are looked at only where they could be too large.
            const double largest = longestRow(*layer.q, h, c.dK) *
                                   longestRow(*layer.k, c.kvHeadOf(HeadIndex{h}), c.dK) *
                                   std::max(1.0, std::abs(scaleFactor(t.scenario)));
            if (largest < std::numeric_limits<float>::max())
                continue;
            for (const Stage stage : {Stage::Scores, Stage::Scaled})
                if (const std::int64_t count = countNonFinite(stageMatrix(t, LayerIndex{l}, HeadIndex{h}, stage));
                    count > 0)
                    return sentence(where + " H" + std::to_string(h), count, stageInfo(stage).id);
        }
        for (const auto& [matrix, stage] : {std::pair{layer.concat, Stage::Concat}, {layer.output, Stage::Output}})
            if (const std::int64_t count = countNonFinite(matrix); count > 0)
                return sentence(where, count, stageInfo(stage).id);
    }
    return countNonFinite(t.hidden) > 0 ? sentence("the last layer", countNonFinite(t.hidden), "hidden") : "";
}

} // namespace headscope
