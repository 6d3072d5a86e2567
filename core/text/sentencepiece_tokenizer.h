// SentencePiece models (tokenizer.model, spiece.model, .spm), by libsentencepiece. The library trusts the model, so the
// bytes are walked and the character maps inside are checked first. Called by load_tokenizer.h and by the fuzzer.
#pragma once

#include "core/text/tokenizer_files.h"

namespace headscope {

// What stands around a text follows from the configuration's class and flags; without them a model with a begin token
// puts it in front (Llama), one with an end token alone puts that behind (T5). Throws LoadError.
std::shared_ptr<const Tokenizer> parseSentencePiece(std::string_view bytes, const std::string& file,
                                                    const TokenizerConfig& config = {});

// Marian: pieces by the model, ids by vocab.json; "</s>" behind the text.
std::shared_ptr<const Tokenizer> parseMarian(std::string_view model, const std::string& modelFile,
                                             std::string_view vocabularyJson, const std::string& vocabularyFile);

} // namespace headscope
