#include "core/text/split_text.h"

#include "core/tensor/errors.h"

#include <algorithm>

namespace headscope {

char32_t Rewriter::peek() const {
    std::size_t at = m_at;
    return nextCharacter(std::string_view(m_in.bytes).substr(0, m_end), at);
}

void Rewriter::write(std::string_view text, SourceRange range) {
    m_out.bytes += text;
    m_out.source.resize(m_out.bytes.size(), range);
}

void Rewriter::keep(std::size_t bytes) {
    m_out.bytes.append(m_in.bytes, m_at, bytes);
    const auto first = m_in.source.begin() + static_cast<std::ptrdiff_t>(m_at);
    m_out.source.insert(m_out.source.end(), first, first + static_cast<std::ptrdiff_t>(bytes));
    m_at += bytes;
}

void Rewriter::remove() {
    nextCharacter(std::string_view(m_in.bytes).substr(0, m_end), m_at);
}

void Rewriter::replace(std::string_view with) {
    if (with.empty())
        return remove();
    std::size_t first = 0;
    nextCharacter(with, first);
    const SourceRange range = m_in.source[m_at];
    remove();
    write(with.substr(0, first), range);
    insert(with.substr(first));
}

void Rewriter::insert(std::string_view text) {
    if (m_at > m_begin) {
        write(text, m_in.source[m_at - 1]);
    } else { // nothing before: the empty range where the split begins
        const std::uint32_t start = m_begin < m_end ? m_in.source[m_begin].start : 0;
        write(text, {start, start});
    }
}

void Rewriter::replaceStretch(std::size_t bytes, std::string_view with) {
    m_at += bytes;
    insert(with);
}

void Rewriter::prepend(std::string_view prefix) {
    if (!done())
        write(prefix, m_in.source[m_at]);
}

void Rewriter::transform(const std::vector<std::pair<char32_t, int>>& characters) {
    transformStretch(m_end - m_at, characters);
}

void Rewriter::transformStretch(std::size_t bytes, const std::vector<std::pair<char32_t, int>>& characters) {
    const std::size_t end = m_at + bytes;
    std::string text;
    for (const auto& [c, change] : characters) {
        text.clear();
        appendCharacter(text, c);
        if (change > 0 || m_at >= end) {
            insert(text);
            continue;
        }
        const SourceRange range = m_in.source[m_at];
        for (int gone = 0; gone <= -change && m_at < end; ++gone)
            remove();
        write(text, range);
    }
    m_at = end;
}

SplitText::SplitText(std::string_view text) {
    constexpr std::size_t longest = std::size_t{1} << 30; // ICU counts in 32 bits
    if (text.size() > longest)
        throw InputError("the text is too long to be tokenized: expected at most 1 GiB, found " +
                         std::to_string(text.size()) + " bytes");
    m_text.bytes = text;
    m_text.source.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const auto start = static_cast<std::uint32_t>(at);
        nextCharacter(text, at);
        m_text.source.resize(at, {start, static_cast<std::uint32_t>(at)});
    }
    if (!text.empty())
        m_splits.push_back({.begin = 0, .end = text.size()});
}

void SplitText::rewrite(const std::function<void(Rewriter&)>& rule) {
    AlignedBytes out;
    out.bytes.reserve(m_text.bytes.size());
    out.source.reserve(m_text.bytes.size());
    std::vector<Split> splits;
    splits.reserve(m_splits.size());
    for (const Split& split : m_splits) {
        const std::size_t begin = out.bytes.size();
        Rewriter rewriter(m_text, split.begin, split.end, out);
        if (split.addedToken == none)
            rule(rewriter);
        else
            rewriter.keepAll();
        if (out.bytes.size() > begin)
            splits.push_back({begin, out.bytes.size(), split.addedToken});
    }
    m_text = std::move(out);
    m_splits = std::move(splits);
}

namespace {

// Joins matches with their neighbours; what Removed removes keeps its mark.
void merge(Delimiter delimiter, std::vector<Segment>& segments) {
    std::vector<Segment> out;
    bool previous = false;
    const auto fold = [&](Segment segment, auto join) {
        if (join(segment.match) && !out.empty()) {
            out.back().begin = std::min(out.back().begin, segment.begin);
            out.back().end = std::max(out.back().end, segment.end);
        } else {
            out.push_back(segment);
        }
        previous = segment.match;
    };
    const auto besideOther = [&](bool match) { return match && !previous; };
    switch (delimiter) {
    case Delimiter::Removed:
    case Delimiter::Isolated:
        return;
    case Delimiter::Contiguous:
        for (const Segment& s : segments)
            fold(s, [&](bool match) { return match == previous; });
        break;
    case Delimiter::MergedWithPrevious:
        for (const Segment& s : segments)
            fold(s, besideOther);
        break;
    case Delimiter::MergedWithNext:
        for (auto s = segments.rbegin(); s != segments.rend(); ++s)
            fold(*s, besideOther);
        out = {out.rbegin(), out.rend()};
        break;
    }
    segments = std::move(out);
}

} // namespace

void SplitText::cut(Delimiter delimiter, const std::function<void(std::string_view, std::vector<Segment>&)>& find) {
    std::vector<Split> splits;
    splits.reserve(m_splits.size() * 2);
    std::vector<Segment> segments;
    for (const Split& split : m_splits) {
        if (split.addedToken != none) {
            splits.push_back(split);
            continue;
        }
        segments.clear();
        find(bytesOf(split), segments);
        merge(delimiter, segments);
        for (const Segment& s : segments)
            if (s.begin < s.end && !(delimiter == Delimiter::Removed && s.match))
                splits.push_back({split.begin + s.begin, split.begin + s.end, none});
    }
    m_splits = std::move(splits);
}

void SplitText::extract(const std::function<void(std::string_view, std::vector<Split>&)>& find) {
    std::vector<Split> splits, found;
    for (const Split& split : m_splits) {
        if (split.addedToken != none) {
            splits.push_back(split);
            continue;
        }
        found.clear();
        find(bytesOf(split), found);
        for (const Split& f : found)
            if (f.begin < f.end)
                splits.push_back({split.begin + f.begin, split.begin + f.end, f.addedToken});
    }
    m_splits = std::move(splits);
}

} // namespace headscope
