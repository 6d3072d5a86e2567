#include "core/text/subword_tokenizer.h"

#include "core/tensor/errors.h"
#include "core/text/byte_alphabet.h"
#include "core/text/utf8.h"

#include <algorithm>

namespace headscope {

namespace {

constexpr std::string_view metaspaceMark = "\u2581";

std::string withSpaces(std::string_view piece) {
    std::string out(piece);
    for (std::size_t at = out.find(metaspaceMark); at != std::string::npos; at = out.find(metaspaceMark, at + 1))
        out.replace(at, metaspaceMark.size(), " ");
    return out;
}

// The bytes that a piece stands for.
std::string bytesOf(std::string_view piece, PieceStyle style) {
    if (style == PieceStyle::ByteLevel)
        return bytesOfLetters(piece);
    if (style == PieceStyle::Metaspace) {
        if (const auto byte = byteOfPiece(piece))
            return std::string(1, static_cast<char>(*byte));
        return withSpaces(piece);
    }
    return std::string(piece);
}

// How many characters of white space a piece of a byte-level vocabulary, or an added token, begins and ends with.
struct Spaces {
    int leading = 0, trailing = 0;
};
Spaces spacesAround(std::string_view piece) {
    const auto isSpace = [](char32_t c) { return c == U'\u0120' || isWhiteSpace(c); };
    Spaces out;
    bool atStart = true;
    for (std::size_t at = 0; at < piece.size();) {
        const bool space = isSpace(nextCharacter(piece, at));
        atStart = atStart && space;
        out.leading += atStart ? 1 : 0;
        out.trailing = space ? out.trailing + 1 : 0;
    }
    return out;
}

// Leaves out spaces at the ends of a range, as the published byte-level and RoBERTa post-processors do.
ByteRange withoutSpaces(ByteRange range, Spaces spaces, std::string_view source) {
    for (; spaces.leading > 0 && range.start < range.end; --spaces.leading)
        nextCharacter(source, range.start);
    for (; spaces.trailing > 0 && range.end > range.start; --spaces.trailing)
        while (--range.end > range.start && (static_cast<unsigned char>(source[range.end]) & 0xC0) == 0x80)
            ;
    return range;
}

class SubwordTokenizer final : public Tokenizer {
public:
    explicit SubwordTokenizer(SubwordTokenizerParts parts) : m_parts(std::move(parts)) {
        m_added = AddedTokens(m_parts.added, [&](std::string_view content) {
            SplitText text(content);
            for (const TextStep& step : m_parts.normalizers)
                step(text);
            return text.splits().empty() ? std::string() : std::string(text.bytesOf(text.splits().front()));
        });
    }

    std::string name() const override { return m_parts.name; }

    TokenSequence tokenize(std::string_view text) const override { return encode({.text = text}); }

    TokenSequence encode(const TokenizerInput& input) const override {
        requireUtf8(input.text, "the text");
        TokenSequence out;
        out.source = input.text;
        std::vector<Token> texts[2];
        texts[0] = tokensOf(input.text, 0);
        if (input.pair) {
            requireUtf8(*input.pair, "the second text");
            out.pairSource = *input.pair;
            texts[1] = tokensOf(*input.pair, 1);
        }
        for (const TemplatePart& part : input.pair ? m_parts.pair : m_parts.single) {
            if (part.text) {
                auto& tokens = texts[*part.text];
                std::move(tokens.begin(), tokens.end(), std::back_inserter(out.tokens));
                continue;
            }
            if (!input.addSpecial)
                continue;
            for (const std::int64_t id : part.ids) {
                out.tokens.push_back(tokenOf(id));
                out.tokens.back().special = true;
                out.tokens.back().segment = part.segment;
            }
        }
        return out;
    }

    Token tokenOf(std::int64_t id) const override {
        if (const AddedToken* added = m_added.find(id))
            return {.id = id, .piece = added->content, .text = added->content, .special = added->special};
        const std::string* piece = m_parts.model->vocabulary().pieceOf(id);
        if (!piece)
            throw InputError("the id " + std::to_string(id) + " is not in this model's vocabulary of " +
                             std::to_string(vocabularySize()) + " pieces");
        return {.id = id, .piece = *piece, .text = readable(*piece)};
    }

    std::optional<std::int64_t> idOf(std::string_view piece) const override {
        if (const AddedToken* added = m_added.find(piece))
            return added->id;
        return m_parts.model->vocabulary().idOf(piece);
    }

    std::size_t vocabularySize() const override {
        const Vocabulary& vocabulary = m_parts.model->vocabulary();
        const auto isNew = [&](const AddedToken& token) { return !vocabulary.pieceOf(token.id); };
        return vocabulary.size() +
               static_cast<std::size_t>(std::count_if(m_parts.added.begin(), m_parts.added.end(), isNew));
    }

    std::string textOf(const std::vector<std::int64_t>& ids) const override {
        std::string bytes;
        for (const std::int64_t id : ids) {
            const Token token = tokenOf(id);
            if (token.special)
                continue;
            if (m_parts.style == PieceStyle::WordPiece) {
                const bool goesOn = token.piece.starts_with(m_parts.continuation);
                bytes += bytes.empty() || goesOn ? "" : " ";
                bytes += goesOn ? token.piece.substr(m_parts.continuation.size()) : token.piece;
            } else if (m_parts.style == PieceStyle::Plain) {
                bytes += (bytes.empty() || !m_parts.wordEnd.empty() ? "" : " ") + withWordEnd(token.piece);
            } else {
                bytes += m_added.find(id) ? token.piece : bytesOf(token.piece, m_parts.style);
            }
        }
        // The space that the tokenizer itself puts in front.
        return showBytes(m_parts.prefixSpace && bytes.starts_with(' ') ? std::string_view(bytes).substr(1) : bytes);
    }

private:
    std::string withWordEnd(std::string_view piece) const {
        if (m_parts.wordEnd.empty() || !piece.ends_with(m_parts.wordEnd))
            return std::string(piece);
        return std::string(piece.substr(0, piece.size() - m_parts.wordEnd.size())) + ' ';
    }

    std::string readable(std::string_view piece) const {
        if (!m_parts.wordEnd.empty() && piece.size() > m_parts.wordEnd.size() && piece.ends_with(m_parts.wordEnd))
            piece.remove_suffix(m_parts.wordEnd.size());
        return readablePiece(piece, m_parts.style, m_parts.continuation);
    }

    std::vector<Token> tokensOf(std::string_view source, int segment) const {
        SplitText text(source);
        m_added.extractFromSource(text);
        for (const TextStep& step : m_parts.normalizers)
            step(text);
        m_added.extractFromNormalized(text);
        for (const TextStep& step : m_parts.preTokenizers)
            step(text);

        std::vector<Token> out;
        std::unordered_map<std::string_view, std::vector<Subword>> known; // a text repeats its words
        std::vector<Subword> scratch;
        for (const SplitText::Split& split : text.splits()) {
            const std::string_view word = text.bytesOf(split);
            if (split.addedToken != SplitText::none) {
                Token token = tokenOf(split.addedToken);
                token.range = trimmed(toRange(text.sourceOf(split, 0, word.size())), word, source, out.empty());
                token.segment = segment;
                out.push_back(std::move(token));
                continue;
            }
            const std::vector<Subword>* subwords = &scratch;
            if (constexpr std::size_t longestKept = 64; word.size() <= longestKept) {
                const auto [place, isNew] = known.try_emplace(word);
                if (isNew)
                    m_parts.model->cut(word, place->second);
                subwords = &place->second;
            } else {
                scratch.clear();
                m_parts.model->cut(word, scratch);
            }
            for (const Subword& s : *subwords) {
                out.push_back(tokenAt(s, word, toRange(text.sourceOf(split, s.begin, s.end)), source, segment));
                out.back().range = trimmed(*out.back().range, out.back().piece, source, out.size() == 1);
            }
        }
        return out;
    }

    static ByteRange toRange(SourceRange range) { return {range.start, range.end}; }

    Token tokenAt(const Subword& s, std::string_view word, ByteRange range, std::string_view source,
                  int segment) const {
        Token token = tokenOf(s.id);
        // What a SentencePiece vocabulary lacks is reported as it is in the text, as its library does.
        if (s.unknown)
            token.piece = word.substr(s.begin, s.end - s.begin);
        const bool unknown = s.unknown || m_parts.unknown == s.id;
        if (unknown)
            token.text = source.substr(range.start, range.end - range.start);
        token.special = false; // it came from ordinary text
        token.range = range;
        token.segment = segment;
        return token;
    }

    ByteRange trimmed(ByteRange range, std::string_view piece, std::string_view source, bool first) const {
        if (!m_parts.trimRanges)
            return range;
        Spaces spaces = spacesAround(piece);
        if (m_parts.trimKeepsPrefix && spaces.leading == 1 && (first || range.start == 0))
            spaces.leading = 0;
        return withoutSpaces(range, spaces, source);
    }

    SubwordTokenizerParts m_parts;
    AddedTokens m_added;
};

} // namespace

std::string readablePiece(std::string_view piece, PieceStyle style, std::string_view continuation) {
    if (style == PieceStyle::WordPiece)
        return std::string(piece.starts_with(continuation) && piece.size() > continuation.size()
                               ? piece.substr(continuation.size())
                               : piece);
    const std::string bytes = bytesOf(piece, style);
    const std::size_t visible = bytes.find_first_not_of(' ');
    return showBytes(visible == std::string::npos ? bytes : std::string_view(bytes).substr(visible));
}

std::shared_ptr<const Tokenizer> makeSubwordTokenizer(SubwordTokenizerParts parts) {
    return std::make_shared<const SubwordTokenizer>(std::move(parts));
}

} // namespace headscope
