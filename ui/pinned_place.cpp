#include "ui/pinned_place.h"

#include <algorithm>

namespace headscope {

namespace {

// Of a head in the columns of a stage: where its band begins and how wide it is; width 0: the columns are d_model's.
struct Band {
    int begin = 0, width = 0;
};

Band bandOf(Stage stage, HeadIndex head, const ModelConfig& config) {
    const int kv = config.kvHeadOf(head);
    switch (stage) {
    case Stage::ProjectionQ:
        return {head.value * config.dK, config.dK};
    case Stage::ProjectionK:
        return {kv * config.dK, config.dK};
    case Stage::ProjectionV:
        return {kv * config.dV, config.dV};
    case Stage::Concat:
        return {head.value * config.dV, config.dV};
    case Stage::Q:
    case Stage::K:
        return {0, config.dK};
    case Stage::V:
    case Stage::HeadOutput:
        return {0, config.dV};
    default:
        return {};
    }
}

} // namespace

void PinnedPlace::take(const View& view, const ModelConfig& config) {
    if (!view.cell || view.heads.empty())
        return;
    const StageInfo& info = stageInfo(view.stage);
    (info.rows == StageAxis::KeyTokens ? m_key : m_query) = view.cell->row;
    if (info.cols == StageAxis::KeyTokens) {
        m_key = view.cell->col;
        return;
    }
    const Band band = bandOf(view.stage, view.heads.front(), config);
    if (band.width == 0)
        m_inModel = view.cell->col;
    else if (view.cell->col >= band.begin && view.cell->col < band.begin + band.width)
        m_inHead = view.cell->col - band.begin; // else it is another head's
}

CellRef PinnedPlace::cellIn(Stage stage, HeadIndex head, const ModelConfig& config) const {
    const StageInfo& info = stageInfo(stage);
    CellRef cell{info.rows == StageAxis::KeyTokens ? m_key : m_query, m_key};
    if (info.cols != StageAxis::KeyTokens) {
        const Band band = bandOf(stage, head, config);
        cell.col = band.width == 0 ? m_inModel : band.begin + std::min(m_inHead, band.width - 1);
    }
    return cell;
}

} // namespace headscope
