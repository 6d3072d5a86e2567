// Tokenizer: text -> TokenSequence, a pure function. Word tokenizers are made here, subword tokenizers by
// load_tokenizer.h. Called by: opening a scenario, the sentence bar, `headscope tokens`.
#pragma once

#include "core/text/token.h"

#include <memory>
#include <string_view>

namespace headscope {

// What to tokenize: one text or two, with or without the special tokens that the model's own template adds.
struct TokenizerInput {
    std::string_view text;
    std::optional<std::string_view> pair{}; // a second segment
    bool addSpecial = true;
};

class Tokenizer {
public:
    virtual ~Tokenizer() = default;
    virtual std::string name() const = 0;
    // Accepts any valid UTF-8, the empty text too. Throws InputError with the byte offset on invalid UTF-8.
    virtual TokenSequence tokenize(std::string_view text) const = 0;
    // The token of an id as it is. Word models without a vocabulary name it by its number. Throws InputError when
    // unknown.
    virtual Token tokenOf(std::int64_t id) const = 0;

    // As tokenize, with the choices of `input`. Ranges count the bytes of the token's own text. Word tokenizers take
    // one text and throw InputError on a pair.
    virtual TokenSequence encode(const TokenizerInput& input) const;
    // Empty: no such piece, or no vocabulary.
    virtual std::optional<std::int64_t> idOf(std::string_view piece) const;
    virtual std::size_t vocabularySize() const; // pieces; 0: any word is one
    // The text that ids stand for, special tokens left out: what a decoder wrote. Throws InputError on an unknown id.
    virtual std::string textOf(const std::vector<std::int64_t>& ids) const;
};

// Words and single punctuation marks (ICU word boundaries, spaces dropped), case kept, nothing added; id = order of
// first appearance. With a vocabulary, id = place in it, and a word outside it is an InputError that lists the words.
std::shared_ptr<const Tokenizer> makeWordTokenizer(std::vector<std::string> vocabulary = {});

// Throws InputError naming the byte offset of the first byte that is not valid UTF-8.
void requireUtf8(std::string_view text, std::string_view what);
// True when the text has at least one character that is neither white space nor a control or format character.
bool hasVisibleCharacter(std::string_view text);
// True when the token is one punctuation mark or symbol (ICU general category P or S).
bool isPunctuation(std::string_view utf8);

} // namespace headscope
