// SubwordModel: cuts one word (what the pre-tokenizer left) into pieces of a vocabulary. The algorithms: WordPiece,
// whole words, BPE by a list of merges, BPE by the scores of pieces, Unigram. Called by SubwordTokenizer.
#pragma once

#include "core/text/vocabulary.h"

#include <memory>

namespace headscope {

struct Subword {
    std::int64_t id = 0;
    std::size_t begin = 0, end = 0; // bytes of the word; equal for no piece
    // The vocabulary has no such piece, and the model reports the stretch itself where others report "<unk>".
    bool unknown = false;
};

class SubwordModel {
public:
    explicit SubwordModel(Vocabulary vocabulary) : m_vocabulary(std::move(vocabulary)) {}
    virtual ~SubwordModel() = default;
    SubwordModel(const SubwordModel&) = delete;
    SubwordModel& operator=(const SubwordModel&) = delete;

    // Appends the pieces of a word that is not empty. A stretch for which there is neither a piece nor an unknown token
    // is left out.
    virtual void cut(std::string_view word, std::vector<Subword>& out) const = 0;
    const Vocabulary& vocabulary() const { return m_vocabulary; }

private:
    Vocabulary m_vocabulary;
};

// The longest piece from the left, again and again (Schuster, Nakajima 2012; as in BERT). A word with a stretch that no
// piece fits, or with more characters than the maximum, is one unknown token.
struct WordPieceOptions {
    std::string unknown = "[UNK]";
    std::string prefix = "##"; // of every piece but the first
    std::int64_t maxCharacters = 100;
};
std::shared_ptr<const SubwordModel> makeWordPiece(Vocabulary vocabulary, WordPieceOptions options);

// Whole words only.
std::shared_ptr<const SubwordModel> makeWordLevel(Vocabulary vocabulary, const std::string& unknown);

// Byte pair encoding (Sennrich, Haddow, Birch 2016): neighbours are joined in the order of the list.
struct Merge {
    std::string left, right;
};
struct BpeOptions {
    std::optional<std::string> unknown{};
    std::string prefix{}, suffix{}; // of every symbol but the first; of the last one
    bool fuseUnknown = false;       // neighbouring unknown characters are one token
    bool byteFallback = false;      // unknown characters are written as "<0xE2>" pieces
    bool ignoreMerges = false;      // a word that is a piece is that piece
};
// Throws LoadError where a merge names a piece that the vocabulary lacks.
std::shared_ptr<const SubwordModel> makeBpe(Vocabulary vocabulary, const std::vector<Merge>& merges, BpeOptions options,
                                            const std::string& file);

// SentencePiece's BPE: the two neighbours that together are the piece of highest score are joined first. Characters
// that are no piece are written as "<0xE2>" pieces, or as the unknown one. Only a piece with a score is found in text.
std::shared_ptr<const SubwordModel> makeScoreBpe(Vocabulary vocabulary, std::unordered_map<std::int64_t, float> scores,
                                                 std::optional<std::int64_t> unknown);

// The most probable segmentation (Kudo 2018, arXiv:1804.10959), by Viterbi; ids are places in the list.
struct UnigramOptions {
    std::optional<std::int64_t> unknown{};
    bool byteFallback = false;
};
// Throws LoadError where the unknown id or a score is no number of the list.
std::shared_ptr<const SubwordModel> makeUnigram(const std::vector<std::pair<std::string, double>>& pieces,
                                                UnigramOptions options, const std::string& file);

// "<0xE2>", the piece that stands for a byte where a vocabulary has such pieces; and back.
std::string bytePiece(unsigned char byte);
std::optional<unsigned char> byteOfPiece(std::string_view piece);

} // namespace headscope
