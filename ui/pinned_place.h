// PinnedPlace: what the pinned cell means, kept from stage to stage: a query, a key and a dimension. A column is a key
// in the scores and a dimension in Q; stepping from one to the other must not take the one for the other.
#pragma once

#include "core/attention/view.h"
#include "core/model/model.h"

namespace headscope {

class PinnedPlace {
public:
    // The cell of the view's stage, if there is one.
    void take(const View& view, const ModelConfig& config);
    // The cell of a stage that means the same; a head's own dimension in the matrices of all heads.
    CellRef cellIn(Stage stage, HeadIndex head, const ModelConfig& config) const;

    int query() const { return m_query; }

private:
    int m_query = 0, m_key = 0;
    int m_inHead = 0, m_inModel = 0; // a dimension of d_k or d_v, of d_model
};

} // namespace headscope
