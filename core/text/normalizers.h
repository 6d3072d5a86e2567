// The normalizers of tokenizer.json, each a step that gives a SplitText a new form. Named and defined as the published
// `tokenizers` library has them. Unicode's tables come from ICU. Called by the readers of tokenizer files.
#pragma once

#include "core/text/chars_map.h"
#include "core/text/split_text.h"
#include "core/text/text_regex.h"

#include <optional>

namespace headscope {

// One normalizer or pre-tokenizer. Pure: the same text gives the same form.
using TextStep = std::function<void(SplitText&)>;

enum class UnicodeForm { Nfc, Nfd, Nfkc, Nfkd };

struct BertNormalizerOptions {
    bool cleanText = true;
    bool handleChineseCharacters = true;
    std::optional<bool> stripAccents{}; // absent: as lowercase
    bool lowercase = true;
};

TextStep normalizeForm(UnicodeForm form);
TextStep normalizeBert(const BertNormalizerOptions& options);
TextStep normalizeLowercase();
TextStep normalizeStripAccents(); // removes every mark
TextStep normalizeStrip(bool left, bool right);
TextStep normalizeReplace(std::string pattern, std::string content); // a literal pattern
TextStep normalizeReplace(TextRegex pattern, std::string content);
TextStep normalizePrepend(std::string text);
TextStep normalizePrecompiled(std::shared_ptr<const CharsMap> map);

} // namespace headscope
