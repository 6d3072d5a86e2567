// A text that has more tokens than a model takes, in parts that fit: what a window onto a long text shows. Not here:
// the model's limit, and which part is looked at.
#pragma once

#include "core/text/tokenizer.h"

#include <string_view>
#include <vector>

namespace headscope {

// One part: its bytes in the whole text, without white space at its ends, and which tokens of the whole these are.
struct TextPart {
    ByteRange bytes;
    int firstToken = 0, tokens = 0; // special tokens are not counted
    bool operator==(const TextPart&) const = default;
};
inline std::string_view textOf(const TextPart& part, std::string_view text) {
    return text.substr(part.bytes.start, part.bytes.end - part.bytes.start);
}

// Consecutive parts that hold all of the text's tokens; each alone has at most `most` tokens, special ones included. A
// part ends between words where there is one to end at. A text that fits is one part; none fit where `most` leaves no
// room for a token. Throws InputError on invalid UTF-8.
std::vector<TextPart> partsOf(std::string_view text, const Tokenizer& tokenizer, int most);

} // namespace headscope
