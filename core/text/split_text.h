// SplitText: a text on its way through a tokenizer: normalized, cut into splits, and still knowing for every byte which
// bytes of the typed text it came from. Not a tokenizer: normalizers and pre-tokenizers are functions on it.
// The rules of what an inserted, replaced or removed character is aligned to are those of the published `tokenizers`
// library, because offsets must come out equal.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headscope {

// Byte range in the typed text; 32 bits, because there is one for every byte.
struct SourceRange {
    std::uint32_t start = 0, end = 0;
};

struct AlignedBytes {
    std::string bytes;
    std::vector<SourceRange> source; // one per byte, of whole characters
};

// A part of a split: a match of a pattern, or the stretch between two.
struct Segment {
    std::size_t begin = 0, end = 0; // bytes, relative to the split
    bool match = false;
};

// What becomes of the matches of a pattern.
enum class Delimiter { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

// Reads one split character by character and writes its new form.
class Rewriter {
public:
    Rewriter(const AlignedBytes& in, std::size_t begin, std::size_t end, AlignedBytes& out)
        : m_in(in), m_out(out), m_begin(begin), m_end(end), m_at(begin) {}

    std::string_view rest() const { return std::string_view(m_in.bytes).substr(m_at, m_end - m_at); }
    bool done() const { return m_at >= m_end; }
    bool atSourceStart() const { return m_begin < m_end && m_in.source[m_begin].start == 0; }
    char32_t peek() const;

    void keep(std::size_t bytes);          // copies so many bytes
    void keepAll() { keep(m_end - m_at); } // copies what is left
    void remove();                         // skips one character
    void replace(std::string_view with); // one character by these, the first aligned to it, the others to its last byte
    void insert(std::string_view text);  // aligned to the byte before
    // Replaces the next `bytes` bytes; every new byte is aligned to the last of them.
    void replaceStretch(std::size_t bytes, std::string_view with);
    void prepend(std::string_view prefix); // before the next character, and aligned to it; nothing where there is none
    // Any change as a list of characters, each with: 0 it replaces the next one, 1 it is inserted, -k it replaces the
    // next one and k more that go. What is left over at the end goes too.
    void transform(const std::vector<std::pair<char32_t, int>>& characters);
    // The same for the next `bytes` bytes alone.
    void transformStretch(std::size_t bytes, const std::vector<std::pair<char32_t, int>>& characters);

private:
    void write(std::string_view text, SourceRange range);

    const AlignedBytes& m_in;
    AlignedBytes& m_out;
    std::size_t m_begin, m_end, m_at;
};

class SplitText {
public:
    static constexpr std::int64_t none = -1;
    struct Split {
        std::size_t begin = 0, end = 0; // bytes of the current form
        std::int64_t addedToken = none; // id; such a split is done
    };

    // One split, the whole text. Throws InputError above 1 GiB.
    explicit SplitText(std::string_view text);

    const std::vector<Split>& splits() const { return m_splits; }
    std::string_view bytesOf(const Split& split) const {
        return std::string_view(m_text.bytes).substr(split.begin, split.end - split.begin);
    }
    // Where bytes [begin, end) of a split came from; begin < end.
    SourceRange sourceOf(const Split& split, std::size_t begin, std::size_t end) const {
        return {m_text.source[split.begin + begin].start, m_text.source[split.begin + end - 1].end};
    }

    // Gives every split that is no added token a new form; empty ones vanish.
    void rewrite(const std::function<void(Rewriter&)>& rule);
    // Cuts every split that is no added token; `find` appends segments that cover it in order.
    void cut(Delimiter delimiter, const std::function<void(std::string_view, std::vector<Segment>&)>& find);
    // The same for added tokens: `find` appends the new splits, relative to the split.
    void extract(const std::function<void(std::string_view, std::vector<Split>&)>& find);

private:
    AlignedBytes m_text;
    std::vector<Split> m_splits;
};

// Segments in which each character that `isMatch` accepts is a match of its own.
template<class Predicate>
void findCharacters(std::string_view text, std::vector<Segment>& out, const Predicate& isMatch);

} // namespace headscope

#include "core/text/utf8.h"

template<class Predicate>
void headscope::findCharacters(std::string_view text, std::vector<Segment>& out, const Predicate& isMatch) {
    std::size_t last = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t start = at;
        if (!isMatch(nextCharacter(text, at)))
            continue;
        if (last < start)
            out.push_back({last, start, false});
        out.push_back({start, at, true});
        last = at;
    }
    if (last < text.size())
        out.push_back({last, text.size(), false});
}
