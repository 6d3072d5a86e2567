// Opening a tokenizer: a tokenizer.json, a hub folder, or the older sets of files. GGUF keeps its vocabulary inside the
// model file: gguf_vocabulary.h. Called by opening a model and by `headscope tokens --tokenizer`.
#pragma once

#include "core/text/tokenizer.h"

namespace headscope {

struct TokenizerOptions {
    // Of an encoder-decoder with two vocabularies files (Marian: source.spm, target.spm): the one of the target.
    bool target = false;
};

// A folder is searched for, in this order: tokenizer.json; source.spm + target.spm + vocab.json; tokenizer.model,
// spiece.model; vocab.txt; vocab.json + merges.txt; each with tokenizer_config.json beside it where there is one. A
// file alone is taken for what its name or content says. Throws LoadError.
std::shared_ptr<const Tokenizer> loadTokenizer(const std::string& fileOrFolder, const TokenizerOptions& options = {});

// Any of those files is in the folder: a tokenizer is meant to be there.
bool hasTokenizer(const std::string& folder);

} // namespace headscope
