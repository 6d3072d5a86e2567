// SubwordTokenizer: the pipeline that every subword vocabulary goes through: added tokens, normalizers, pre-tokenizers,
// a subword model, a template of special tokens. Not here: reading files; the readers beside this header fill the parts
// in.
#pragma once

#include "core/text/added_tokens.h"
#include "core/text/normalizers.h"
#include "core/text/subword_model.h"
#include "core/text/tokenizer.h"

namespace headscope {

// How pieces are written, which is what must be undone to show them to people.
enum class PieceStyle { Plain, WordPiece, ByteLevel, Metaspace };

// A place in the template: the tokens of a text, or special tokens around them.
struct TemplatePart {
    std::optional<int> text; // 0 the text, 1 the pair; empty: these ids
    std::vector<std::int64_t> ids{};
    int segment = 0; // of special tokens; a text's own tokens have the number of their text
};

struct SubwordTokenizerParts {
    std::string name; // "WordPiece, 30522 pieces"
    std::vector<TextStep> normalizers, preTokenizers;
    std::shared_ptr<const SubwordModel> model;
    std::vector<AddedToken> added;
    std::vector<TemplatePart> single{{.text = 0}};
    std::vector<TemplatePart> pair{{.text = 0}, {.text = 1}};
    std::optional<std::int64_t> unknown{}; // shown as what was typed
    bool prefixSpace = false;              // a space (or its mark) is put in front of every text
    // Byte-level vocabularies: a token's range leaves out the spaces at its ends; trimKeepsPrefix: but not a single one
    // at the beginning of the text, which may have been put there.
    bool trimRanges = false, trimKeepsPrefix = false;
    PieceStyle style = PieceStyle::Plain;
    std::string continuation = "##"; // WordPiece style: in front of every piece that goes on with a word
    std::string wordEnd{};           // Plain style: at the end of a word's last piece ("</w>")
};

std::shared_ptr<const Tokenizer> makeSubwordTokenizer(SubwordTokenizerParts parts);

// What people read for a piece: no mark of a word's beginning, bytes that are no character as "<E2 82>".
std::string readablePiece(std::string_view piece, PieceStyle style, std::string_view continuation = "##");

} // namespace headscope
