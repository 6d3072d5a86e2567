#include "core/backend/opencl/weight_cache.h"

#include <algorithm>

namespace headscope::opencl {

std::shared_ptr<const DeviceWeights> WeightCache::find(const Weights& w) {
    if (!isKept(w))
        return nullptr;
    const std::lock_guard lock(m_mutex);
    const auto found = m_entries.find(w.owner.get());
    if (found == m_entries.end() || found->second.owner.lock() != w.owner)
        return nullptr;
    found->second.lastUse = ++m_clock;
    return found->second.weights;
}

void WeightCache::keep(const Weights& w, std::shared_ptr<const DeviceWeights> onDevice) {
    if (!isKept(w) || onDevice->bytes > m_budget)
        return;
    const std::lock_guard lock(m_mutex);
    makeRoom(onDevice->bytes);
    Entry& entry = m_entries[w.owner.get()];
    if (entry.weights)
        m_bytes -= entry.weights->bytes;
    m_bytes += onDevice->bytes;
    entry = {w.owner, std::move(onDevice), ++m_clock};
}

void WeightCache::makeRoom(std::size_t bytes) {
    std::erase_if(m_entries, [&](const auto& e) {
        const bool dead = e.second.owner.expired();
        m_bytes -= dead ? e.second.weights->bytes : 0;
        return dead;
    });
    while (!m_entries.empty() && m_bytes + bytes > m_budget) {
        const auto oldest = std::ranges::min_element(m_entries, {}, [](const auto& e) { return e.second.lastUse; });
        m_bytes -= oldest->second.weights->bytes;
        m_entries.erase(oldest);
    }
}

void WeightCache::clear() {
    const std::lock_guard lock(m_mutex);
    m_entries.clear();
    m_bytes = 0;
}

} // namespace headscope::opencl
