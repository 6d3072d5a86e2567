// Byte-level BPE around a vocabulary and merges, however they were kept: in vocab.json + merges.txt, or in a GGUF.
#pragma once

#include "core/text/subword_tokenizer.h"

namespace headscope {

struct ByteLevelPattern {
    std::vector<std::string> cuts; // regular expressions, one after the other; every match is a word
    bool ignoreMerges = false;     // see BpeOptions
    bool nfc = false;              // the text is composed first
    bool addBos = false;           // what the family does when nothing is said
};
// By the name that GGUF gives it ("gpt-2", "llama-bpe", "qwen2", "smollm", ...); empty: GPT-2's. Null: unknown.
const ByteLevelPattern* byteLevelPattern(std::string_view name);
std::string byteLevelPatternNames(); // for errors

// The parts of a byte-level tokenizer without special tokens. Throws LoadError.
SubwordTokenizerParts byteLevelParts(Vocabulary vocabulary, const std::vector<Merge>& merges,
                                     const ByteLevelPattern& pattern, bool addPrefixSpace, const std::string& file);
// "a b"; throws LoadError naming the entry.
Merge parseMerge(std::string_view line, const std::string& file, const std::string& entry);

} // namespace headscope
