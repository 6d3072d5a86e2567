// The pre-tokenizers of tokenizer.json, each a step that cuts a SplitText into words. Named and defined as the
// published `tokenizers` library has them. Called by the readers of tokenizer files.
#pragma once

#include "core/text/normalizers.h"

namespace headscope {

enum class PrependScheme { Always, Never, First };

TextStep cutWhiteSpace();      // WhitespaceSplit: white space goes
TextStep cutWordsAndSymbols(); // Whitespace: runs of \w, runs of what is neither \w nor white space
TextStep cutBertWords();       // BertPreTokenizer: white space goes, punctuation marks stand alone
TextStep cutPunctuation(Delimiter delimiter);
TextStep cutDigits(bool individual);
TextStep cutAtCharacter(char32_t delimiter); // CharDelimiterSplit
TextStep cutRegex(TextRegex pattern, Delimiter delimiter, bool invert);
TextStep cutLiteral(std::string pattern, Delimiter delimiter, bool invert);
// Spaces become `replacement`; one is put in front by the scheme; with `split` each begins a word.
TextStep metaspace(std::string replacement, PrependScheme scheme, bool split);
TextStep prefixSpace(); // a space in front where there is none
// ByteLevel: an optional space in front, words by GPT-2's pattern where `words`, then bytes as letters
// (byte_alphabet.h).
TextStep byteLevel(bool addPrefixSpace, bool words);

// GPT-2's own pattern, which ByteLevel uses.
std::string_view gpt2Pattern();

} // namespace headscope
