// The file sets that are older than tokenizer.json: vocab.txt (BERT), vocab.json + merges.txt (GPT-2, RoBERTa), with
// what their tokenizer_config.json says. Reading bytes, not opening files: load_tokenizer.h does that. Called by it and
// by the fuzzers.
#pragma once

#include "core/text/added_tokens.h"
#include "core/text/tokenizer.h"

namespace headscope {

// What tokenizer_config.json says, or another file in its stead; what is absent is up to the reader.
struct TokenizerConfig {
    std::string tokenizerClass; // without "Fast" at the end; empty: not said
    std::optional<bool> lowercase{}, stripAccents{}, chineseCharacters{};
    std::optional<bool> addPrefixSpace{}, addBos{}, addEos{};
    std::optional<std::string> bos{}, eos{}, unknown{}, pad{}, mask{}, cls{}, sep{};
    std::vector<AddedToken> added{}; // added_tokens_decoder
    std::string file{};              // where it was read, for errors
};
TokenizerConfig parseTokenizerConfig(std::string_view bytes, const std::string& file);

// One piece a line; the line number is the id. Lines end in LF or CRLF, no other character ends one.
// Without a configuration letters are made small unless the vocabulary has pieces with capitals.
std::shared_ptr<const Tokenizer> parseWordPieceVocabulary(std::string_view bytes, const std::string& file,
                                                          const TokenizerConfig& config = {});
// Pieces and merges of byte-level BPE. Without a class in the configuration it is RoBERTa's where the vocabulary has
// "<s>" and "</s>", else GPT-2's.
std::shared_ptr<const Tokenizer> parseByteLevelBpe(std::string_view vocabularyJson, const std::string& vocabularyFile,
                                                   std::string_view merges, const std::string& mergesFile,
                                                   const TokenizerConfig& config = {});

// BERT's tokenizer around a vocabulary, however it was kept. `added`: its special tokens.
struct BertVocabulary {
    std::vector<std::pair<std::string, std::int64_t>> pieces;
    std::string unknown = "[UNK]", cls = "[CLS]", sep = "[SEP]", pad = "[PAD]", mask = "[MASK]";
    std::vector<AddedToken> added{}; // beside those five
};
std::shared_ptr<const Tokenizer> makeBertTokenizer(BertVocabulary vocabulary, const TokenizerConfig& config,
                                                   const std::string& file);

} // namespace headscope
