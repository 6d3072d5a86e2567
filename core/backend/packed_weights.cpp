#include "core/backend/packed_weights.h"

#include "core/backend/kernels/kernels.h"
#include "core/tensor/parallel.h"

#include <algorithm>

namespace headscope {

PackedWeights::Panels PackedWeights::of(const Weights& w, int rows) {
    const int panels = panelsOf(w.view.cols);
    const std::size_t panelSize = static_cast<std::size_t>(w.view.rows) * panelWidth;
    const std::size_t size = panelSize * static_cast<std::size_t>(panels);
    if (!w.owner || size > mostFloats / 4)
        return nullptr;
    std::shared_ptr<AlignedFloats> made;
    {
        const std::lock_guard lock(m_lock);
        std::size_t kept = size;
        auto oldest = m_entries.end();
        for (auto e = m_entries.begin(); e != m_entries.end();) {
            if (e->address == w.owner.get() && !e->owner.expired()) {
                e->lastUse = ++m_uses;
                return e->panels;
            }
            if (e->owner.expired()) {
                // An edit replaces a matrix by one of equal size: its memory is warm.
                if (!made && e->panels.use_count() == 1 && e->panels->size() >= size && e->panels->size() <= 2 * size)
                    made = std::move(e->panels);
                e = m_entries.erase(e);
                oldest = m_entries.end();
                continue;
            }
            ++e;
        }
        if (rows >= manyRows)
            return nullptr;
        for (const Entry& e : m_entries)
            kept += e.panels->size();
        while (kept > mostFloats) {
            oldest = std::ranges::min_element(m_entries, {}, &Entry::lastUse);
            kept -= oldest->panels->size();
            m_entries.erase(oldest);
        }
    }
    if (!made)
        made = std::make_shared<AlignedFloats>(size);
    parallelFor(
        panels,
        [&](int p) {
            kernels().packPanel(w.view.data, w.view.stride, w.view.rows, w.view.cols, p,
                                made->data() + static_cast<std::size_t>(p) * panelSize);
        },
        size > std::size_t{1} << 18U);
    const std::lock_guard lock(m_lock);
    m_entries.push_back({w.owner, w.owner.get(), made, ++m_uses}); // twice, if two threads packed it: both go with it
    return made;
}

} // namespace headscope
