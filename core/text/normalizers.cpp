#include "core/text/normalizers.h"

#include <unicode/brkiter.h>
#include <unicode/normalizer2.h>
#include <unicode/utext.h>

#include <algorithm>
#include <stdexcept>

namespace headscope {

namespace {

using Characters = std::vector<std::pair<char32_t, int>>; // see Rewriter::transform

TextStep rewriting(std::function<void(Rewriter&)> rule) {
    return [rule = std::move(rule)](SplitText& text) { text.rewrite(rule); };
}

// Keeps ASCII as it is, in stretches, and calls other(c) for each other character.
template<class Other>
void eachNonAscii(Rewriter& r, const Other& other) {
    while (!r.done()) {
        const std::string_view rest = r.rest();
        std::size_t plain = 0;
        while (plain < rest.size() && static_cast<unsigned char>(rest[plain]) < 0x80)
            ++plain;
        if (plain > 0)
            r.keep(plain);
        else
            other(r.peek());
    }
}

void keepOne(Rewriter& r) {
    r.keep(characterLength(r.peek()));
}

const icu::Normalizer2& normalizerOf(UnicodeForm form) {
    UErrorCode status = U_ZERO_ERROR;
    const icu::Normalizer2* found = nullptr;
    switch (form) {
    case UnicodeForm::Nfc:
        found = icu::Normalizer2::getNFCInstance(status);
        break;
    case UnicodeForm::Nfd:
        found = icu::Normalizer2::getNFDInstance(status);
        break;
    case UnicodeForm::Nfkc:
        found = icu::Normalizer2::getNFKCInstance(status);
        break;
    case UnicodeForm::Nfkd:
        found = icu::Normalizer2::getNFKDInstance(status);
        break;
    }
    if (U_FAILURE(status))
        throw std::runtime_error(std::string("ICU has no normalization data: ") + u_errorName(status));
    return *found;
}

// Full decomposition of each character, marks in canonical order; the first character of a decomposition replaces its
// source, the others are inserted.
Characters decompose(const icu::Normalizer2& icu, std::string_view text) {
    Characters out;
    for (std::size_t at = 0; at < text.size();) {
        const char32_t c = nextCharacter(text, at);
        icu::UnicodeString parts;
        if (!icu.getDecomposition(static_cast<UChar32>(c), parts)) {
            out.emplace_back(c, 0);
            continue;
        }
        for (std::int32_t i = 0; i < parts.length(); i = parts.moveIndex32(i, 1))
            out.emplace_back(static_cast<char32_t>(parts.char32At(i)), i == 0 ? 0 : 1);
    }
    const auto classOf = [&](const auto& c) { return icu.getCombiningClass(static_cast<UChar32>(c.first)); };
    for (auto first = out.begin(); first != out.end();) {
        first = std::find_if(first, out.end(), [&](const auto& c) { return classOf(c) != 0; });
        const auto last = std::find_if(first, out.end(), [&](const auto& c) { return classOf(c) == 0; });
        std::stable_sort(first, last, [&](const auto& a, const auto& b) { return classOf(a) < classOf(b); });
        first = last;
    }
    return out;
}

// Canonical composition (Unicode Standard, D117) that counts how many characters each one stands for.
Characters compose(const icu::Normalizer2& icu, const Characters& parts) {
    Characters out;
    std::optional<std::size_t> starter; // in out
    int lastClass = -1;                 // of what stands between starter and here; -1: nothing
    for (const auto& [c, change] : parts) {
        const int combining = icu.getCombiningClass(static_cast<UChar32>(c));
        if (starter && lastClass < combining) {
            const UChar32 both = icu.composePair(static_cast<UChar32>(out[*starter].first), static_cast<UChar32>(c));
            if (both >= 0) {
                out[*starter] = {static_cast<char32_t>(both), out[*starter].second + change - 1};
                continue;
            }
        }
        out.emplace_back(c, change);
        if (combining == 0) {
            starter = out.size() - 1;
            lastClass = -1;
        } else {
            lastClass = combining;
        }
    }
    return out;
}

void toForm(Rewriter& r, const icu::Normalizer2& icu, bool composing) {
    Characters characters;
    while (!r.done()) {
        // A stretch of ASCII stays; its last character may begin a composition with what follows.
        const std::string_view rest = r.rest();
        std::size_t plain = 0;
        while (plain < rest.size() && static_cast<unsigned char>(rest[plain]) < 0x80)
            ++plain;
        if (plain == rest.size() || plain > 1) {
            r.keep(plain == rest.size() ? plain : plain - 1);
            continue;
        }
        // Up to the next character that nothing before it can change.
        std::size_t end = 0;
        nextCharacter(rest, end);
        while (end < rest.size()) {
            std::size_t next = end;
            if (icu.hasBoundaryBefore(static_cast<UChar32>(nextCharacter(rest, next))))
                break;
            end = next;
        }
        characters = decompose(icu, rest.substr(0, end));
        if (composing)
            characters = compose(icu, characters);
        r.transformStretch(end, characters);
    }
}

void cleanText(Rewriter& r) {
    while (!r.done()) {
        const char32_t c = r.peek();
        const bool lineOrTab = c == '\t' || c == '\n' || c == '\r'; // control characters that count as spaces
        if (!lineOrTab && (c == 0xFFFD || (c < 0x80 ? c < 32 || c == 127 : isControlOrFormat(c))))
            r.remove();
        else if (lineOrTab || (c != ' ' && isWhiteSpace(c)))
            r.replace(" ");
        else
            keepOne(r);
    }
}

void lowercase(Rewriter& r) {
    while (!r.done()) {
        const char32_t c = r.peek();
        if (c < 0x80 && (c < 'A' || c > 'Z'))
            r.keep(1);
        else
            r.replace(lowerCase(c));
    }
}

// Grapheme clusters of texts, one text after the other.
class Graphemes {
public:
    Graphemes() {
        UErrorCode status = U_ZERO_ERROR;
        m_breaks.reset(icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), status));
        if (U_FAILURE(status))
            throw std::runtime_error(std::string("ICU cannot find characters: ") + u_errorName(status));
    }

    // Calls visit(cluster) in order; stretches of plain ASCII come one character at a time.
    template<class Visit>
    void each(std::string_view text, const Visit& visit) {
        UErrorCode status = U_ZERO_ERROR;
        UText utext = UTEXT_INITIALIZER;
        utext_openUTF8(&utext, text.data(), static_cast<std::int64_t>(text.size()), &status);
        m_breaks->setText(&utext, status);
        if (U_FAILURE(status))
            throw std::runtime_error(std::string("ICU cannot find characters: ") + u_errorName(status));
        const auto isPlain = [&](std::size_t i) { return text[i] >= ' ' && text[i] < 127; };
        for (std::size_t at = 0; at < text.size();) {
            std::size_t end = at + 1;
            // Between two printable ASCII characters there is always a boundary.
            if (!isPlain(at) || (end < text.size() && !isPlain(end)))
                end = static_cast<std::size_t>(m_breaks->following(static_cast<std::int32_t>(at)));
            visit(text.substr(at, end - at));
            at = end;
        }
        utext_close(&utext);
    }

private:
    std::unique_ptr<icu::BreakIterator> m_breaks;
};

// What stands for `old` in the list of Rewriter::transform.
void appendReplacement(Characters& out, std::string_view old, std::string_view with) {
    const int more = countCharacters(with) - countCharacters(old);
    for (std::size_t at = 0; at < with.size();)
        out.emplace_back(nextCharacter(with, at), 0);
    for (std::size_t i = 0; more > 0 && i < static_cast<std::size_t>(more); ++i)
        out[out.size() - 1 - i].second = 1;
    if (more < 0 && !out.empty())
        out.back().second += more;
}

void appendMapped(Characters& out, std::string_view grapheme, const CharsMap& map) {
    if (grapheme.size() < 6)
        if (const auto with = map.replacement(grapheme))
            return appendReplacement(out, grapheme, *with);
    for (std::size_t at = 0; at < grapheme.size();) {
        const std::size_t start = at;
        const char32_t c = nextCharacter(grapheme, at);
        const std::string_view character = grapheme.substr(start, at - start);
        if (const auto with = map.replacement(character))
            appendReplacement(out, character, *with);
        else
            out.emplace_back(c, 0);
    }
}

} // namespace

TextStep normalizeForm(UnicodeForm form) {
    const icu::Normalizer2* icu = &normalizerOf(form);
    const bool composing = form == UnicodeForm::Nfc || form == UnicodeForm::Nfkc;
    return rewriting([icu, composing](Rewriter& r) { toForm(r, *icu, composing); });
}

TextStep normalizeBert(const BertNormalizerOptions& options) {
    return [options, nfd = &normalizerOf(UnicodeForm::Nfd)](SplitText& text) {
        if (options.cleanText)
            text.rewrite(cleanText);
        if (options.handleChineseCharacters)
            text.rewrite([](Rewriter& r) {
                eachNonAscii(r, [&](char32_t c) {
                    if (!isChineseCharacter(c))
                        return keepOne(r);
                    std::string spaced = " ";
                    appendCharacter(spaced, c);
                    r.replace(spaced + ' ');
                });
            });
        if (options.stripAccents.value_or(options.lowercase)) {
            text.rewrite([nfd](Rewriter& r) { toForm(r, *nfd, false); });
            text.rewrite([](Rewriter& r) {
                eachNonAscii(r, [&](char32_t c) { isNonSpacingMark(c) ? r.remove() : keepOne(r); });
            });
        }
        if (options.lowercase)
            text.rewrite(lowercase);
    };
}

TextStep normalizeLowercase() {
    return rewriting(lowercase);
}

TextStep normalizeStripAccents() {
    return rewriting([](Rewriter& r) { eachNonAscii(r, [&](char32_t c) { isMark(c) ? r.remove() : keepOne(r); }); });
}

TextStep normalizeStrip(bool left, bool right) {
    return rewriting([left, right](Rewriter& r) {
        while (left && !r.done() && isWhiteSpace(r.peek()))
            r.remove();
        std::size_t kept = 0; // bytes up to the end of the last character to keep
        const std::string_view rest = r.rest();
        for (std::size_t at = 0; at < rest.size();)
            if (!isWhiteSpace(nextCharacter(rest, at)) || !right)
                kept = at;
        r.keep(kept);
    });
}

TextStep normalizeReplace(std::string pattern, std::string content) {
    return rewriting([pattern = std::move(pattern), content = std::move(content)](Rewriter& r) {
        while (!r.done()) {
            const std::size_t found = pattern.empty() ? std::string_view::npos : r.rest().find(pattern);
            if (found == std::string_view::npos)
                return r.keepAll();
            r.keep(found);
            r.replaceStretch(pattern.size(), content);
        }
    });
}

TextStep normalizeReplace(TextRegex pattern, std::string content) {
    return [pattern = std::move(pattern), content = std::move(content)](SplitText& text) {
        TextRegex::Matcher matcher(pattern);
        text.rewrite([&](Rewriter& r) {
            std::vector<Segment> segments;
            matcher.find(r.rest(), segments);
            for (const Segment& s : segments)
                s.match ? r.replaceStretch(s.end - s.begin, content) : r.keep(s.end - s.begin);
        });
    };
}

TextStep normalizePrepend(std::string prefix) {
    return rewriting([prefix = std::move(prefix)](Rewriter& r) {
        r.prepend(prefix);
        r.keepAll();
    });
}

// The published library looks at each grapheme cluster of at most five bytes as a whole, and takes the shortest entry
// that it begins with; longer clusters go character by character.
TextStep normalizePrecompiled(std::shared_ptr<const CharsMap> map) {
    return [map = std::move(map)](SplitText& text) {
        Graphemes graphemes;
        text.rewrite([&](Rewriter& r) {
            Characters out;
            graphemes.each(r.rest(), [&](std::string_view grapheme) { appendMapped(out, grapheme, *map); });
            r.transform(out);
        });
    };
}

} // namespace headscope
