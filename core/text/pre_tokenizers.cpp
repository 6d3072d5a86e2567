#include "core/text/pre_tokenizers.h"

#include "core/text/byte_alphabet.h"

#include <algorithm>

namespace headscope {

namespace {

template<class Predicate>
TextStep cutCharacters(Delimiter delimiter, Predicate isMatch) {
    return [delimiter, isMatch](SplitText& text) {
        text.cut(delimiter,
                 [&](std::string_view split, std::vector<Segment>& out) { findCharacters(split, out, isMatch); });
    };
}

bool isPunctuationOrSymbol(char32_t c) {
    return isAsciiPunctuation(c) || (c >= 0x80 && isPunctuationCharacter(c));
}

void findWordsAndSymbols(std::string_view text, std::vector<Segment>& out) {
    enum class Kind { Space, Word, Symbol };
    const auto kindOf = [](char32_t c) {
        return isWordCharacter(c) ? Kind::Word : isWhiteSpace(c) ? Kind::Space : Kind::Symbol;
    };
    Kind previous = Kind::Space;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t start = at;
        const Kind kind = kindOf(nextCharacter(text, at));
        if (start > 0 && kind == previous)
            out.back().end = at;
        else
            out.push_back({start, at, kind == Kind::Space});
        previous = kind;
    }
}

void bytesToLetters(Rewriter& r) {
    while (!r.done()) {
        const std::string_view rest = r.rest();
        std::size_t plain = 0;
        while (plain < rest.size() && rest[plain] > ' ' && rest[plain] < 127)
            ++plain;
        if (plain > 0) {
            r.keep(plain);
            continue;
        }
        std::size_t length = 0;
        nextCharacter(rest, length);
        std::string letters;
        for (const char byte : rest.substr(0, length))
            letters += byteLetter(static_cast<unsigned char>(byte));
        r.replace(letters);
    }
}

void putSpaceInFront(SplitText& text) {
    text.rewrite([](Rewriter& r) {
        if (!r.rest().starts_with(' '))
            r.prepend(" ");
        r.keepAll();
    });
}

void cutByPattern(SplitText& text, const TextRegex& pattern, Delimiter delimiter, bool invert) {
    TextRegex::Matcher matcher(pattern);
    text.cut(delimiter, [&](std::string_view split, std::vector<Segment>& out) {
        matcher.find(split, out);
        for (Segment& s : out)
            s.match ^= invert;
    });
}

} // namespace

TextStep cutWhiteSpace() {
    return cutCharacters(Delimiter::Removed, isWhiteSpace);
}

TextStep cutWordsAndSymbols() {
    return [](SplitText& text) { text.cut(Delimiter::Removed, findWordsAndSymbols); };
}

TextStep cutBertWords() {
    return [](SplitText& text) {
        text.cut(Delimiter::Removed,
                 [](std::string_view split, std::vector<Segment>& out) { findCharacters(split, out, isWhiteSpace); });
        text.cut(Delimiter::Isolated, [](std::string_view split, std::vector<Segment>& out) {
            findCharacters(split, out, isPunctuationOrSymbol);
        });
    };
}

TextStep cutPunctuation(Delimiter delimiter) {
    return cutCharacters(delimiter, isPunctuationOrSymbol);
}

TextStep cutDigits(bool individual) {
    return cutCharacters(individual ? Delimiter::Isolated : Delimiter::Contiguous, isNumber);
}

TextStep cutAtCharacter(char32_t delimiter) {
    return cutCharacters(Delimiter::Removed, [delimiter](char32_t c) { return c == delimiter; });
}

TextStep cutRegex(TextRegex pattern, Delimiter delimiter, bool invert) {
    return [pattern = std::move(pattern), delimiter, invert](SplitText& text) {
        cutByPattern(text, pattern, delimiter, invert);
    };
}

TextStep cutLiteral(std::string pattern, Delimiter delimiter, bool invert) {
    return [pattern = std::move(pattern), delimiter, invert](SplitText& text) {
        text.cut(delimiter, [&](std::string_view split, std::vector<Segment>& out) {
            std::size_t last = 0;
            for (std::size_t at = split.find(pattern); !pattern.empty() && at != std::string_view::npos;
                 at = split.find(pattern, last)) {
                if (last < at)
                    out.push_back({last, at, invert});
                last = at + pattern.size();
                out.push_back({at, last, !invert});
            }
            if (last < split.size())
                out.push_back({last, split.size(), invert});
        });
    };
}

TextStep metaspace(std::string replacement, PrependScheme scheme, bool split) {
    return [replacement = std::move(replacement), scheme, split](SplitText& text) {
        text.rewrite([&](Rewriter& r) {
            const std::string_view whole = r.rest();
            const bool hasOne = whole.starts_with(' ') || whole.starts_with(replacement);
            if (!hasOne && (scheme == PrependScheme::Always || (scheme == PrependScheme::First && r.atSourceStart())))
                r.prepend(replacement);
            while (!r.done()) {
                const std::string_view rest = r.rest();
                const std::size_t plain = std::min(rest.find(' '), rest.size());
                r.keep(plain);
                if (plain < rest.size())
                    r.replace(replacement);
            }
        });
        if (!split)
            return;
        text.cut(Delimiter::MergedWithNext, [&](std::string_view s, std::vector<Segment>& out) {
            std::size_t at = 0;
            const char32_t mark = nextCharacter(replacement, at);
            findCharacters(s, out, [mark](char32_t c) { return c == mark; });
        });
    };
}

std::string_view gpt2Pattern() {
    return R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
}

TextStep prefixSpace() {
    return putSpaceInFront;
}

TextStep byteLevel(bool addPrefixSpace, bool words) {
    std::optional<TextRegex> pattern;
    if (words)
        pattern.emplace(gpt2Pattern(), "ByteLevel", "pattern");
    return [addPrefixSpace, pattern](SplitText& text) {
        if (addPrefixSpace)
            putSpaceInFront(text);
        if (pattern)
            cutByPattern(text, *pattern, Delimiter::Isolated, false);
        text.rewrite(bytesToLetters);
    };
}

} // namespace headscope
