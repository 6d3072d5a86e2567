// IdsTokenizer: of a model whose files have no tokenizer. It takes ids and no text; a token is read as its number.
// Called by opening a checkpoint.
#pragma once

#include "core/text/tokenizer.h"

namespace headscope {

// from: the file or folder that has none, for messages.
std::shared_ptr<const Tokenizer> makeIdsTokenizer(std::string from);

} // namespace headscope
