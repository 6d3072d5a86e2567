// Vocabulary: pieces and their ids, both ways. Ids may have gaps: nothing is as large as the largest id. ByteTrie:
// which of many strings a text begins with. Called by the subword models and by added tokens.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace headscope {

// Looks std::string keys up by std::string_view.
struct StringHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
};
template<class Value>
using StringMap = std::unordered_map<std::string, Value, StringHash, std::equal_to<>>;

class Vocabulary {
public:
    // False, and nothing is added, where the id is there already. A piece that is there already gets the later id; the
    // earlier one still names it.
    bool add(std::string piece, std::int64_t id);
    std::optional<std::int64_t> idOf(std::string_view piece) const;
    const std::string* pieceOf(std::int64_t id) const; // null: no such id; lives as long as the vocabulary
    template<class Visit>
    void eachPiece(const Visit& visit) const { // visit(piece, id), in no order
        for (const auto& [id, piece] : m_pieces)
            visit(*piece, id);
    }
    std::size_t size() const { return m_pieces.size(); }
    std::size_t longestPiece() const { return m_longest; } // bytes

    Vocabulary() = default;
    Vocabulary(Vocabulary&&) = default; // the pieces stay where they are
    Vocabulary& operator=(Vocabulary&&) = default;

private:
    StringMap<std::int64_t> m_ids;
    std::unordered_map<std::int64_t, const std::string*> m_pieces;
    std::size_t m_longest = 0;
};

class ByteTrie {
public:
    ByteTrie() = default;
    // Strings (not empty) with a value each; of equal strings the last counts.
    explicit ByteTrie(std::vector<std::pair<std::string_view, std::int32_t>> entries);

    // Calls visit(length, value) for each string that `text` begins with, shortest first.
    template<class Visit>
    void eachPrefix(std::string_view text, const Visit& visit) const;

private:
    struct Node {
        std::uint32_t firstEdge = 0, edges = 0;
        std::int32_t value = -1;
    };
    std::int32_t child(std::int32_t node, unsigned char byte) const;

    std::vector<Node> m_nodes;
    std::vector<unsigned char> m_labels; // of all edges, sorted within a node
    std::vector<std::int32_t> m_targets;
    std::array<std::int32_t, 256> m_root{}; // the first step, which is taken most often; 0: none
};

inline std::int32_t ByteTrie::child(std::int32_t node, unsigned char byte) const {
    const Node& n = m_nodes[static_cast<std::size_t>(node)];
    std::size_t low = n.firstEdge, high = n.firstEdge + n.edges;
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (m_labels[middle] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n.firstEdge + n.edges && m_labels[low] == byte ? m_targets[low] : 0;
}

template<class Visit>
void ByteTrie::eachPrefix(std::string_view text, const Visit& visit) const {
    std::int32_t node = 0;
    for (std::size_t at = 0; at < text.size() && !m_nodes.empty(); ++at) {
        const auto byte = static_cast<unsigned char>(text[at]);
        node = at == 0 ? m_root[byte] : child(node, byte);
        if (node == 0)
            return;
        if (const std::int32_t value = m_nodes[static_cast<std::size_t>(node)].value; value >= 0)
            visit(at + 1, value);
    }
}

} // namespace headscope
