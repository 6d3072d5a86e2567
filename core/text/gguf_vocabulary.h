// The vocabulary that a GGUF file carries, as the arrays of its metadata. Not a GGUF reader: core/model reads the file
// and hands the arrays over. Called by the GGUF loader.
#pragma once

#include "core/text/tokenizer.h"

namespace headscope {

// Names of the metadata in comments; all begin with "tokenizer.ggml.".
struct GgufVocabulary {
    std::string model;               // "model": "llama" (SentencePiece BPE by scores), "gpt2" (byte-level BPE), "bert"
    std::string pre;                 // "pre": how a "gpt2" text is cut into words; empty: GPT-2's way
    std::vector<std::string> tokens; // "tokens"; the place is the id
    std::vector<float> scores;       // "scores"; as many, or none
    std::vector<std::int32_t> types; // "token_type": 1 normal, 2 unknown, 3 control, 4 user, 5 unused, 6 byte; or none
    std::vector<std::string> merges; // "merges", for "gpt2": "a b"
    std::optional<std::int64_t> bos{}, eos{}, unknown{}, sep{}, cls{}, pad{}, mask{}; // "bos_token_id", ...
    std::optional<bool> addBos{}, addEos{}, addSpacePrefix{}; // "add_bos_token", "add_eos_token", "add_space_prefix"
};

// Throws LoadError naming `file` and the array.
std::shared_ptr<const Tokenizer> makeGgufTokenizer(GgufVocabulary vocabulary, const std::string& file);

} // namespace headscope
