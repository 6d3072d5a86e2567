// CharsMap: SentencePiece's precompiled character map: which characters a vocabulary was trained without, and what
// stands for them. Read from the normalizer of a tokenizer.json; also checks the map inside a .model before
// libsentencepiece, which trusts it, follows its offsets.
//
//   u32 size of the trie, little endian | trie: u32 units, a double array | the replacements, each ending in NUL
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headscope {

class CharsMap {
public:
    // Checks the whole map: every unit that can be reached, and every replacement. Throws LoadError.
    CharsMap(std::string_view bytes, const std::string& file, const std::string& entry);

    // What replaces the shortest entry that `text` begins with; empty text: it is removed.
    std::optional<std::string_view> replacement(std::string_view text) const;

private:
    std::vector<std::uint32_t> m_units;
    std::string m_replacements;
};

} // namespace headscope
