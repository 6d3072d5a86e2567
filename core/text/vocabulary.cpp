#include "core/text/vocabulary.h"

#include <algorithm>

namespace headscope {

bool Vocabulary::add(std::string piece, std::int64_t id) {
    if (m_pieces.contains(id))
        return false;
    const auto place = m_ids.insert_or_assign(std::move(piece), id).first;
    m_pieces.emplace(id, &place->first); // an unordered_map never moves its keys
    m_longest = std::max(m_longest, place->first.size());
    return true;
}

std::optional<std::int64_t> Vocabulary::idOf(std::string_view piece) const {
    const auto found = m_ids.find(piece);
    return found == m_ids.end() ? std::nullopt : std::optional(found->second);
}

const std::string* Vocabulary::pieceOf(std::int64_t id) const {
    const auto found = m_pieces.find(id);
    return found == m_pieces.end() ? nullptr : found->second;
}

ByteTrie::ByteTrie(std::vector<std::pair<std::string_view, std::int32_t>> entries) {
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    // Breadth first over ranges of the sorted strings, so that the edges of a node lie together.
    struct Range {
        std::size_t first, last, depth;
    };
    std::vector<Range> ranges{{0, entries.size(), 0}};
    m_nodes.resize(1);
    for (std::size_t node = 0; node < ranges.size(); ++node) {
        auto [first, last, depth] = ranges[node];
        for (; first < last && entries[first].first.size() == depth; ++first)
            m_nodes[node].value = entries[first].second;
        m_nodes[node].firstEdge = static_cast<std::uint32_t>(m_labels.size());
        while (first < last) {
            const auto label = static_cast<unsigned char>(entries[first].first[depth]);
            const std::size_t begin = first;
            while (first < last && static_cast<unsigned char>(entries[first].first[depth]) == label)
                ++first;
            m_labels.push_back(label);
            m_targets.push_back(static_cast<std::int32_t>(ranges.size()));
            ranges.push_back({begin, first, depth + 1});
            m_nodes.emplace_back();
            ++m_nodes[node].edges;
        }
    }
    for (std::size_t i = 0; i < m_nodes[0].edges; ++i)
        m_root[m_labels[i]] = m_targets[i];
}

} // namespace headscope
