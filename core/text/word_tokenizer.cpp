// Words and single punctuation marks, by ICU's word boundaries.
#include "core/tensor/errors.h"
#include "core/text/tokenizer.h"

#include <unicode/brkiter.h>
#include <unicode/uchar.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <unordered_map>

namespace headscope {

namespace {

// The character at byte i, which moves behind it; negative where the bytes are no UTF-8.
UChar32 nextCharacter(std::string_view text, std::int64_t& i) {
    UChar32 c = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion" // ICU's macro
    U8_NEXT(text.data(), i, static_cast<std::int64_t>(text.size()), c);
#pragma GCC diagnostic pop
    return c;
}

// Calls visit(code point) for each character; the text must be valid UTF-8. Stops when visit returns false.
template<class Visit>
void forEachCharacter(std::string_view text, const Visit& visit) {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(text.size());)
        if (!visit(nextCharacter(text, i)))
            return;
}

bool isVisible(UChar32 c) {
    if (c < 0 || u_isUWhiteSpace(c))
        return false;
    const auto type = u_charType(c);
    return type != U_CONTROL_CHAR && type != U_FORMAT_CHAR;
}

class WordTokenizer final : public Tokenizer {
public:
    explicit WordTokenizer(std::vector<std::string> vocabulary) : m_vocabulary(std::move(vocabulary)) {}

    std::string name() const override { return "words and punctuation marks (ICU)"; }

    TokenSequence tokenize(std::string_view text) const override {
        requireUtf8(text, "the text");
        TokenSequence out;
        out.source = text;
        std::unordered_map<std::string, std::int64_t> ids;
        for (std::size_t i = 0; i < m_vocabulary.size(); ++i)
            ids.emplace(m_vocabulary[i], static_cast<std::int64_t>(i));
        for (const ByteRange range : words(text)) {
            std::string word(text.substr(range.start, range.end - range.start));
            if (!m_vocabulary.empty() && !ids.contains(word))
                throw InputError("the word '" + word + "' is not in this model's vocabulary: expected only " + list());
            const std::int64_t id = ids.emplace(word, static_cast<std::int64_t>(ids.size())).first->second;
            out.tokens.push_back({.id = id, .piece = word, .text = word, .range = range});
        }
        return out;
    }

    Token tokenOf(std::int64_t id) const override {
        const auto known = static_cast<std::int64_t>(m_vocabulary.size());
        if (id < 0 || (known > 0 && id >= known))
            throw InputError("the id " + std::to_string(id) + " is not in this model's vocabulary: expected " +
                             (known > 0 ? "0 to " + std::to_string(known - 1) : "0 or more"));
        const std::string word = known > 0 ? m_vocabulary[static_cast<std::size_t>(id)] : std::to_string(id);
        return {.id = id, .piece = word, .text = word};
    }

private:
    static std::vector<ByteRange> words(std::string_view text) {
        std::vector<ByteRange> out;
        UErrorCode status = U_ZERO_ERROR;
        UText utext = UTEXT_INITIALIZER;
        utext_openUTF8(&utext, text.data(), static_cast<std::int64_t>(text.size()), &status);
        const std::unique_ptr<icu::BreakIterator> breaks(
            icu::BreakIterator::createWordInstance(icu::Locale::getRoot(), status));
        if (U_FAILURE(status))
            throw std::runtime_error(std::string("ICU cannot find word boundaries: ") + u_errorName(status));
        breaks->setText(&utext, status); // native indices are UTF-8 bytes
        for (std::int32_t start = breaks->first(), end = breaks->next(); end != icu::BreakIterator::DONE;
             start = end, end = breaks->next()) {
            const ByteRange range{static_cast<std::size_t>(start), static_cast<std::size_t>(end)};
            if (hasVisibleCharacter(text.substr(range.start, range.end - range.start)))
                out.push_back(range);
        }
        utext_close(&utext);
        return out;
    }

    std::string list() const {
        std::string all;
        for (const std::string& word : m_vocabulary)
            all += (all.empty() ? "'" : ", '") + word + "'";
        return all;
    }

    std::vector<std::string> m_vocabulary;
};

} // namespace

TokenSequence Tokenizer::encode(const TokenizerInput& input) const {
    if (input.pair)
        throw InputError("this model's tokenizer takes one text, not a pair: leave the second text out");
    return tokenize(input.text);
}

std::optional<std::int64_t> Tokenizer::idOf(std::string_view) const {
    return std::nullopt;
}

std::size_t Tokenizer::vocabularySize() const {
    return 0;
}

std::string Tokenizer::textOf(const std::vector<std::int64_t>& ids) const {
    std::string out;
    for (const std::int64_t id : ids)
        if (const Token token = tokenOf(id); !token.special)
            out += (out.empty() ? "" : " ") + token.text;
    return out;
}

std::shared_ptr<const Tokenizer> makeWordTokenizer(std::vector<std::string> vocabulary) {
    return std::make_shared<const WordTokenizer>(std::move(vocabulary));
}

void requireUtf8(std::string_view text, std::string_view what) {
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(text.size());) {
        const std::int64_t start = i;
        if (nextCharacter(text, i) < 0)
            throw InputError(std::string(what) + " is not valid UTF-8: unexpected byte at offset " +
                             std::to_string(start) + "; save it as UTF-8");
    }
}

bool hasVisibleCharacter(std::string_view text) {
    bool found = false;
    forEachCharacter(text, [&](UChar32 c) { return !(found = isVisible(c)); });
    return found;
}

bool isPunctuation(std::string_view utf8) {
    int characters = 0;
    bool all = true;
    forEachCharacter(utf8, [&](UChar32 c) {
        ++characters;
        const std::uint32_t mask = U_GET_GC_MASK(c);
        return all = (mask & (U_GC_P_MASK | U_GC_S_MASK)) != 0;
    });
    return characters == 1 && all;
}

} // namespace headscope
