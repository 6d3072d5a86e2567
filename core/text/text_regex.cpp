#include "core/text/text_regex.h"

#include "core/tensor/errors.h"

#include <unicode/regex.h>
#include <unicode/unistr.h>

namespace headscope {

struct TextRegex::Pattern {
    std::unique_ptr<const icu::RegexPattern> compiled;
    std::string text;
};

TextRegex::TextRegex(std::string_view pattern, const std::string& file, const std::string& entry) {
    UErrorCode status = U_ZERO_ERROR;
    UParseError where;
    const auto text = icu::UnicodeString::fromUTF8({pattern.data(), static_cast<std::int32_t>(pattern.size())});
    std::unique_ptr<const icu::RegexPattern> compiled(icu::RegexPattern::compile(text, 0, where, status));
    if (U_FAILURE(status))
        throw LoadError(file, entry, "a regular expression that ICU understands",
                        "'" + std::string(pattern) + "' (" + u_errorName(status) + " at character " +
                            std::to_string(where.offset) + ")");
    m_pattern = std::make_shared<const Pattern>(Pattern{std::move(compiled), std::string(pattern)});
}

struct TextRegex::Matcher::State {
    std::shared_ptr<const Pattern> pattern;
    std::unique_ptr<icu::RegexMatcher> matcher;
    std::u16string utf16;
    std::vector<std::uint32_t> byteOf; // of each UTF-16 unit, and one past the last

    void setText(std::string_view text) {
        utf16.clear();
        byteOf.clear();
        for (std::size_t at = 0; at < text.size();) {
            const auto start = static_cast<std::uint32_t>(at);
            const char32_t c = nextCharacter(text, at);
            if (c < 0x10000) {
                utf16 += static_cast<char16_t>(c);
            } else {
                utf16 += static_cast<char16_t>(U16_LEAD(c));
                utf16 += static_cast<char16_t>(U16_TRAIL(c));
            }
            byteOf.resize(utf16.size(), start);
        }
        byteOf.push_back(static_cast<std::uint32_t>(text.size()));
    }
};

TextRegex::Matcher::Matcher(const TextRegex& regex) : m_state(std::make_unique<State>()) {
    m_state->pattern = regex.m_pattern;
    UErrorCode status = U_ZERO_ERROR;
    m_state->matcher.reset(regex.m_pattern->compiled->matcher(status));
    // A file's pattern may need exponential time; ICU counts its steps, about a millisecond each. Its stack holds a
    // frame for every character of a run: a megabyte of spaces needs more than the 8 MB that it has by itself.
    m_state->matcher->setTimeLimit(5000, status);
    m_state->matcher->setStackLimit(256 << 20, status);
    if (U_FAILURE(status))
        throw std::runtime_error(std::string("ICU cannot match regular expressions: ") + u_errorName(status));
}

TextRegex::Matcher::~Matcher() = default;

void TextRegex::Matcher::find(std::string_view text, std::vector<Segment>& out) {
    State& s = *m_state;
    s.setText(text);
    const icu::UnicodeString alias(false, s.utf16.data(), static_cast<std::int32_t>(s.utf16.size())); // no copy
    s.matcher->reset(alias);
    UErrorCode status = U_ZERO_ERROR;
    std::size_t last = 0;
    while (s.matcher->find(status)) {
        const std::size_t begin = s.byteOf[static_cast<std::size_t>(s.matcher->start(status))];
        const std::size_t end = s.byteOf[static_cast<std::size_t>(s.matcher->end(status))];
        if (begin >= end)
            continue;
        if (last < begin)
            out.push_back({last, begin, false});
        out.push_back({begin, end, true});
        last = end;
    }
    if (U_FAILURE(status))
        throw InputError("this text cannot be cut by the tokenizer's pattern '" + s.pattern->text + "': ICU says " +
                         u_errorName(status) + "; try a shorter text");
    if (last < text.size())
        out.push_back({last, text.size(), false});
}

} // namespace headscope
