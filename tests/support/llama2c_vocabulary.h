// The vocabulary of a llama2.c program (tokenizer.bin): not a format of the product, but its tokens are published.
//   i32 longest piece | for each token: f32 score, i32 length, so many bytes
// Spaces stand where SentencePiece has U+2581; ids 0 to 2 are <unk>, <s>, </s>, 3 to 258 the bytes.
#pragma once

#include "core/text/gguf_vocabulary.h"
#include "tests/support/token_lists.h"

#include <cstring>

namespace headscope::testing {

inline GgufVocabulary readLlama2cVocabulary(const std::string& path) {
    const std::string bytes = bytesOfFile(path);
    GgufVocabulary out;
    out.model = "llama";
    for (std::size_t at = 4; at + 8 <= bytes.size();) {
        float score = 0;
        std::int32_t length = 0;
        std::memcpy(&score, bytes.data() + at, 4);
        std::memcpy(&length, bytes.data() + at + 4, 4);
        std::string piece = bytes.substr(at + 8, static_cast<std::size_t>(length));
        at += 8 + piece.size();
        for (std::size_t space = piece.find(' '); space != std::string::npos; space = piece.find(' ', space))
            piece.replace(space, 1, "\u2581");
        const auto id = out.tokens.size();
        // The program never finds <s> and </s> in a text: they are kept out of it as <unk> is.
        constexpr std::int32_t normal = 1, unknown = 2, byte = 6;
        out.types.push_back(id < 3 ? unknown : id < 259 ? byte : normal);
        out.tokens.push_back(std::move(piece));
        out.scores.push_back(score);
    }
    out.unknown = 0;
    out.bos = 1;
    out.eos = 2;
    return out;
}

} // namespace headscope::testing
