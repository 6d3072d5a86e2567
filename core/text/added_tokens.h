// AddedTokens: strings that are cut out of a text before anything else, whole, each with an id of its own: "[MASK]",
// "<|endoftext|>", also words that somebody added to a vocabulary. Called by SubwordTokenizer.
#pragma once

#include "core/text/split_text.h"
#include "core/text/vocabulary.h"

#include <memory>

namespace headscope {

struct AddedToken {
    std::int64_t id = 0;
    std::string content;
    bool special = false;
    bool singleWord = false;                    // only where no letter or digit stands beside it
    bool stripLeft = false, stripRight = false; // takes the white space on that side with it
    bool normalized = false;                    // looked for in the normalized text
};

class AddedTokens {
public:
    AddedTokens() = default;
    // `normalize` is applied to the content of normalized tokens. Tokens without content are passed over.
    AddedTokens(std::vector<AddedToken> tokens, const std::function<std::string(std::string_view)>& normalize);

    void extractFromSource(SplitText& text) const { extract(text, m_inSource); }
    void extractFromNormalized(SplitText& text) const { extract(text, m_inNormalized); }
    const AddedToken* find(std::int64_t id) const; // null: none
    const AddedToken* find(std::string_view content) const;

private:
    struct Index {
        std::vector<std::size_t> tokens; // in m_tokens
        std::vector<std::string> contents;
        ByteTrie trie;
    };
    void extract(SplitText& text, const Index& index) const;

    std::vector<AddedToken> m_tokens;
    Index m_inSource, m_inNormalized;
    std::unordered_map<std::int64_t, std::size_t> m_byId;
};

} // namespace headscope
