#include "core/text/added_tokens.h"

#include "core/text/utf8.h"

#include <algorithm>

namespace headscope {

namespace {

bool beginsWithWord(std::string_view text) {
    std::size_t at = 0;
    return !text.empty() && isWordCharacter(nextCharacter(text, at));
}

// Where the last character of a text that is not empty begins.
std::size_t lastCharacter(std::string_view text) {
    std::size_t at = text.size() - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80)
        --at;
    return at;
}

bool endsWithWord(std::string_view text) {
    return !text.empty() && beginsWithWord(text.substr(lastCharacter(text)));
}

// Where the white space at the end of the text begins.
std::size_t trimmedEnd(std::string_view text) {
    while (!text.empty()) {
        const std::size_t last = lastCharacter(text);
        std::size_t at = last;
        if (!isWhiteSpace(nextCharacter(text, at)))
            break;
        text = text.substr(0, last);
    }
    return text.size();
}

std::size_t whiteSpaceAtStart(std::string_view text) {
    std::size_t end = 0;
    for (std::size_t at = 0; at < text.size() && isWhiteSpace(nextCharacter(text, at));)
        end = at;
    return end;
}

} // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const std::function<std::string(std::string_view)>& normalize)
    : m_tokens(std::move(tokens)) {
    for (std::size_t i = 0; i < m_tokens.size(); ++i) {
        const AddedToken& token = m_tokens[i];
        m_byId.emplace(token.id, i);
        Index& index = token.normalized ? m_inNormalized : m_inSource;
        std::string content = token.normalized ? normalize(token.content) : token.content;
        if (content.empty())
            continue;
        index.tokens.push_back(i);
        index.contents.push_back(std::move(content));
    }
    for (Index* index : {&m_inSource, &m_inNormalized}) {
        std::vector<std::pair<std::string_view, std::int32_t>> entries;
        for (std::size_t i = 0; i < index->contents.size(); ++i)
            entries.emplace_back(index->contents[i], static_cast<std::int32_t>(i));
        index->trie = ByteTrie(std::move(entries));
    }
}

const AddedToken* AddedTokens::find(std::int64_t id) const {
    const auto found = m_byId.find(id);
    return found == m_byId.end() ? nullptr : &m_tokens[found->second];
}

const AddedToken* AddedTokens::find(std::string_view content) const {
    const auto found = std::find_if(m_tokens.begin(), m_tokens.end(),
                                    [&](const AddedToken& token) { return token.content == content; });
    return found == m_tokens.end() ? nullptr : &*found;
}

// The first match from the left, of those that begin there the longest.
void AddedTokens::extract(SplitText& text, const Index& index) const {
    if (index.tokens.empty())
        return;
    text.extract([&](std::string_view split, std::vector<SplitText::Split>& out) {
        std::size_t done = 0;
        for (std::size_t at = 0; at < split.size();) {
            std::size_t length = 0;
            std::int32_t which = 0;
            index.trie.eachPrefix(split.substr(at), [&](std::size_t n, std::int32_t value) {
                length = n;
                which = value;
            });
            if (length == 0) {
                ++at;
                continue;
            }
            const AddedToken& token = m_tokens[index.tokens[static_cast<std::size_t>(which)]];
            std::size_t start = at, stop = at + length;
            at = stop;
            if (token.singleWord && (endsWithWord(split.substr(0, start)) || beginsWithWord(split.substr(stop))))
                continue;
            if (token.stripLeft)
                start = std::max(trimmedEnd(split.substr(0, start)), done);
            if (token.stripRight)
                stop += whiteSpaceAtStart(split.substr(stop));
            if (done < start)
                out.push_back({done, start, SplitText::none});
            out.push_back({start, stop, token.id});
            done = stop;
            at = std::max(at, stop);
        }
        if (done < split.size())
            out.push_back({done, split.size(), SplitText::none});
    });
}

} // namespace headscope
