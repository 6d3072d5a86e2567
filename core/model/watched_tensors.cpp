#include "core/model/watched_tensors.h"

namespace headscope {

OpenHooks partOf(const OpenHooks& hooks, double begin, double share) {
    OpenHooks part;
    part.stop = hooks.stop;
    if (hooks.progress)
        part.progress = [&hooks, begin, share](double fraction) { hooks.progress(begin + share * fraction); };
    return part;
}

WatchedTensors::WatchedTensors(const TensorFile& file, const OpenHooks& hooks) : m_file(file), m_hooks(hooks) {
    for (const TensorEntry& e : file.entries())
        m_all += static_cast<double>(e.count);
}

Floats WatchedTensors::read(const TensorEntry& entry) const {
    if (m_hooks.stop.stop_requested())
        throw Cancelled();
    Floats values = m_file.read(entry);
    if (m_read.insert(entry.name).second)
        m_done += static_cast<double>(entry.count);
    if (m_hooks.progress && m_all > 0)
        m_hooks.progress(m_done / m_all);
    return values;
}

std::vector<std::string> WatchedTensors::unread() const {
    std::vector<std::string> names;
    for (const TensorEntry& e : entries())
        if (!m_read.contains(e.name))
            names.push_back(e.name);
    return names;
}

} // namespace headscope
