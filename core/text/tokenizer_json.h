// tokenizer.json: the file in which the published `tokenizers` library keeps a whole tokenizer. Reads what occurs in
// the families that Headscope opens; a component that it does not know is refused by name. Truncation and padding are
// not applied: Headscope cuts nothing silently. Called by load_tokenizer.h and by the fuzzer.
#pragma once

#include "core/text/tokenizer.h"

namespace headscope {

// `file` is named in errors. Throws LoadError.
std::shared_ptr<const Tokenizer> parseTokenizerJson(std::string_view bytes, const std::string& file);

} // namespace headscope
