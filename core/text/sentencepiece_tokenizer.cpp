#include "core/text/sentencepiece_tokenizer.h"

#include "core/text/chars_map.h"
#include "core/text/json_view.h"
#include "core/text/subword_tokenizer.h"
#include "core/text/utf8.h"

#include <sentencepiece_processor.h>
#include <unicode/normalizer2.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

// Exported by the library, but in none of its installed headers; absent in builds that log otherwise.
namespace sentencepiece::logging {
__attribute__((weak)) void SetMinLogLevel(int level); // NOLINT(readability-identifier-naming): the library's
}

namespace headscope {

namespace {

using sentencepiece::SentencePieceProcessor;

// Protocol buffers' wire format, as far as it takes to see that a message is whole:
//   varint key = field number << 3 | type | type 0: varint, 1: 8 bytes, 2: varint length and so many bytes, 5: 4 bytes
class Message {
public:
    Message(std::string_view bytes, const std::string& file, std::string entry)
        : m_bytes(bytes), m_file(&file), m_entry(std::move(entry)) {}

    // Calls visit(field, bytes) for every field of type 2 and passes over the others.
    template<class Visit>
    void each(const Visit& visit) {
        while (m_at < m_bytes.size()) {
            const std::uint64_t key = varint();
            const std::uint64_t field = key >> 3;
            if (field == 0)
                fail("field numbers from 1", "0");
            switch (key & 7) {
            case 0:
                varint();
                break;
            case 1:
                take(8);
                break;
            case 2:
                visit(field, take(varint()));
                break;
            case 5:
                take(4);
                break;
            default:
                fail("wire types 0, 1, 2 and 5", std::to_string(key & 7));
            }
        }
    }

private:
    [[noreturn]] void fail(const std::string& expected, const std::string& found) const {
        throw LoadError(*m_file, m_entry, expected, found + " at byte " + std::to_string(m_at),
                        "this is no whole SentencePiece model");
    }

    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (m_at >= m_bytes.size())
                fail("more bytes", "the end");
            const auto byte = static_cast<unsigned char>(m_bytes[m_at++]);
            value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
            if (byte < 0x80)
                return value;
        }
        fail("a number of at most ten bytes", "a longer one");
    }

    std::string_view take(std::uint64_t size) {
        if (size > m_bytes.size() - m_at)
            fail(std::to_string(size) + " bytes", std::to_string(m_bytes.size() - m_at));
        const std::string_view out = m_bytes.substr(m_at, size);
        m_at += size;
        return out;
    }

    std::string_view m_bytes;
    const std::string* m_file;
    std::string m_entry;
    std::size_t m_at = 0;
};

// Fields of sentencepiece_model.proto.
enum : std::uint64_t { pieces = 1, trainerSpec = 2, normalizerSpec = 3, denormalizerSpec = 5 };
enum : std::uint64_t { pieceText = 1 };           // of a SentencePiece
enum : std::uint64_t { precompiledCharsMap = 2 }; // of a NormalizerSpec

// The library builds a trie of the pieces that knows neither an empty one nor a NUL inside one.
void checkPiece(std::string_view piece, const std::string& file, const std::string& entry) {
    if (piece.empty() || piece.find('\0') != std::string_view::npos)
        throw LoadError(file, entry, "a text without NUL", piece.empty() ? "an empty one" : "one with NUL");
    try {
        requireUtf8(piece, "the piece");
    } catch (const InputError& error) {
        throw LoadError(file, entry, "a text in UTF-8", error.what());
    }
}

void checkNormalizer(std::string_view bytes, const std::string& file, const std::string& entry) {
    Message(bytes, file, entry).each([&](std::uint64_t field, std::string_view map) {
        if (field == precompiledCharsMap && !map.empty())
            CharsMap(map, file, entry + ".precompiled_charsmap");
    });
}

void checkModel(std::string_view bytes, const std::string& file) {
    std::size_t count = 0;
    Message(bytes, file, "").each([&](std::uint64_t field, std::string_view inner) {
        if (field == pieces) {
            const std::string entry = "piece " + std::to_string(count++);
            Message(inner, file, entry).each([&](std::uint64_t part, std::string_view piece) {
                if (part == pieceText)
                    checkPiece(piece, file, entry);
            });
        } else if (field == trainerSpec) {
            Message(inner, file, "trainer_spec").each([](std::uint64_t, std::string_view) {});
        } else if (field == normalizerSpec) {
            checkNormalizer(inner, file, "normalizer_spec");
        } else if (field == denormalizerSpec) {
            checkNormalizer(inner, file, "denormalizer_spec");
        }
    });
    if (count == 0)
        throw LoadError(file, "", "a SentencePiece model with pieces", std::to_string(bytes.size()) + " bytes without");
}

struct SentencePieceParts {
    std::string name;
    std::unique_ptr<const SentencePieceProcessor> library;
    std::vector<AddedToken> added;
    std::optional<Vocabulary> vocabulary; // ids by piece, where they are not the library's
    std::int64_t unknown = 0;             // in that vocabulary
    std::vector<std::int64_t> before, after, afterPair;
};

class SentencePieceTokenizer final : public Tokenizer {
public:
    explicit SentencePieceTokenizer(SentencePieceParts parts)
        : m_parts(std::move(parts)),
          m_added(m_parts.added, [](std::string_view content) { return std::string(content); }) {
        UErrorCode status = U_ZERO_ERROR;
        m_inert = icu::Normalizer2::getNFKCCasefoldInstance(status);
        if (U_FAILURE(status))
            throw std::runtime_error(std::string("ICU has no normalization data: ") + u_errorName(status));
        const SentencePieceProcessor& library = *m_parts.library;
        m_joinsUnknown = !library.IsByte(library.PieceToId(bytePiece('A')));
        for (int id = 0; id < library.GetPieceSize(); ++id)
            for (std::size_t at = 0; at < library.IdToPiece(id).size();)
                m_characters.insert(nextCharacter(library.IdToPiece(id), at));
    }

    std::string name() const override { return m_parts.name; }

    TokenSequence tokenize(std::string_view text) const override { return encode({.text = text}); }

    TokenSequence encode(const TokenizerInput& input) const override {
        TokenSequence out;
        const auto add = [&](const std::vector<std::int64_t>& ids, int segment) {
            for (const std::int64_t id : input.addSpecial ? ids : std::vector<std::int64_t>()) {
                out.tokens.push_back(tokenOf(id));
                out.tokens.back().special = true;
                out.tokens.back().segment = segment;
            }
        };
        requireUtf8(input.text, "the text");
        out.source = input.text;
        add(m_parts.before, 0);
        appendTokens(input.text, 0, out.tokens);
        add(m_parts.after, 0);
        if (input.pair) {
            requireUtf8(*input.pair, "the second text");
            out.pairSource = *input.pair;
            appendTokens(*input.pair, 1, out.tokens);
            add(m_parts.afterPair, 1);
        }
        return out;
    }

    Token tokenOf(std::int64_t id) const override {
        if (const AddedToken* added = m_added.find(id))
            return {.id = id, .piece = added->content, .text = added->content, .special = added->special};
        const std::string* piece = nullptr;
        if (m_parts.vocabulary)
            piece = m_parts.vocabulary->pieceOf(id);
        else if (id >= 0 && id < m_parts.library->GetPieceSize())
            piece = &m_parts.library->IdToPiece(static_cast<int>(id));
        if (!piece)
            throw InputError("the id " + std::to_string(id) + " is not in this model's vocabulary of " +
                             std::to_string(vocabularySize()) + " pieces");
        Token token{.id = id, .piece = *piece, .text = readablePiece(*piece, PieceStyle::Metaspace)};
        token.special = !m_parts.vocabulary && m_parts.library->IsControl(static_cast<int>(id));
        return token;
    }

    std::optional<std::int64_t> idOf(std::string_view piece) const override {
        if (const AddedToken* added = m_added.find(piece))
            return added->id;
        if (m_parts.vocabulary)
            return m_parts.vocabulary->idOf(piece);
        const int id = m_parts.library->PieceToId(piece);
        return m_parts.library->IdToPiece(id) == piece ? std::optional<std::int64_t>(id) : std::nullopt;
    }

    std::size_t vocabularySize() const override {
        if (m_parts.vocabulary)
            return m_parts.vocabulary->size();
        const auto size = m_parts.library->GetPieceSize();
        const auto isNew = [&](const AddedToken& token) { return token.id >= size; };
        return static_cast<std::size_t>(size + std::count_if(m_parts.added.begin(), m_parts.added.end(), isNew));
    }

    std::string textOf(const std::vector<std::int64_t>& ids) const override {
        std::vector<std::string> pieces;
        for (const std::int64_t id : ids)
            if (Token token = tokenOf(id); !token.special)
                pieces.push_back(std::move(token.piece));
        std::string out;
        const auto status = m_parts.library->Decode(pieces, &out);
        if (!status.ok())
            throw InputError("these ids cannot be turned into text: " + status.ToString());
        return showBytes(out);
    }

private:
    void appendTokens(std::string_view source, int segment, std::vector<Token>& out) const {
        std::size_t first = out.size();
        SplitText text(source);
        m_added.extractFromSource(text);
        for (const SplitText::Split& split : text.splits()) {
            if (split.addedToken == SplitText::none) {
                appendStretch(source, split.begin, split.end, out);
            } else {
                out.push_back(tokenOf(split.addedToken));
                out.back().range = ByteRange{split.begin, split.end};
            }
        }
        for (; first < out.size(); ++first)
            out[first].segment = segment;
    }

    // Occurs in no piece, and no normalization changes it or joins it to its neighbours.
    bool isForeign(char32_t c) const {
        return c >= 0x80 && !m_characters.contains(c) && m_inert->isInert(static_cast<UChar32>(c)) && !isWhiteSpace(c);
    }

    // The library joins neighbouring unknown characters by copying what it has, which takes a minute for a megabyte of
    // them. Between two foreign characters every segmentation has a boundary, so in long runs it is cut there.
    void appendStretch(std::string_view source, std::size_t begin, std::size_t end, std::vector<Token>& out) const {
        constexpr std::size_t longRun = 4096; // bytes
        std::size_t encoded = begin, run = 0;
        for (std::size_t at = begin; at < end && m_joinsUnknown;) {
            const std::size_t start = at;
            run = isForeign(nextCharacter(source, at)) ? run + at - start : 0;
            if (run > longRun) {
                appendEncoded(source, encoded, start, encoded > begin, out);
                encoded = start;
                run = 0;
            }
        }
        appendEncoded(source, encoded, end, encoded > begin, out);
    }

    // continues: the stretch goes on with an unknown piece that is the last in `out`.
    void appendEncoded(std::string_view source, std::size_t begin, std::size_t end, bool continues,
                       std::vector<Token>& out) const {
        sentencepiece::ImmutableSentencePieceText encoded;
        const auto status = m_parts.library->Encode(source.substr(begin, end - begin), encoded.mutable_proto());
        if (!status.ok())
            throw InputError("the text cannot be cut into pieces: " + status.ToString());
        for (std::size_t i = 0; i < encoded.pieces_size(); ++i) {
            const auto piece = encoded.pieces(static_cast<int>(i));
            const ByteRange range{begin + piece.begin(), begin + piece.end()};
            if (continues && i == 0 && range.start == range.end)
                continue; // the mark that the library puts in front of every text
            Token token = tokenAt(piece.piece(), piece.id(), range, source);
            if (continues && range.start == begin && out.back().range && out.back().id == token.id) {
                if (token.piece.starts_with("\u2581")) // the same mark, where it is no piece
                    token.piece.erase(0, std::strlen("\u2581"));
                out.back().piece += token.piece;
                out.back().text += token.text;
                out.back().range->end = range.end;
            } else {
                out.push_back(std::move(token));
            }
        }
    }

    // The piece as the library reports it: for what the vocabulary lacks that is the stretch itself.
    Token tokenAt(const std::string& piece, std::uint32_t libraryId, ByteRange range, std::string_view source) const {
        const bool mapped = m_parts.vocabulary.has_value();
        const std::int64_t id = mapped ? m_parts.vocabulary->idOf(piece).value_or(m_parts.unknown) : libraryId;
        const bool unknown = mapped ? id == m_parts.unknown : m_parts.library->IsUnknown(static_cast<int>(libraryId));
        Token token{.id = id, .piece = piece, .text = readablePiece(piece, PieceStyle::Metaspace), .range = range};
        if (unknown)
            token.text = source.substr(range.start, range.end - range.start);
        return token;
    }

    SentencePieceParts m_parts;
    AddedTokens m_added;
    bool m_joinsUnknown = false;                 // neighbouring unknown characters are one piece
    std::unordered_set<char32_t> m_characters{}; // of all pieces
    const icu::Normalizer2* m_inert = nullptr;   // of the strongest form that models are trained with
};

std::unique_ptr<const SentencePieceProcessor> openLibrary(std::string_view bytes, const std::string& file) {
    checkModel(bytes, file);
    if (sentencepiece::logging::SetMinLogLevel) {
        constexpr int fatalOnly = 3; // what goes wrong comes back as a status; nothing is printed
        sentencepiece::logging::SetMinLogLevel(fatalOnly);
    }
    auto library = std::make_unique<SentencePieceProcessor>();
    std::string problem;
    try {
        if (const auto status = library->LoadFromSerializedProto(bytes); !status.ok())
            problem = status.ToString();
    } catch (const std::exception& error) { // of the trie that the library builds
        problem = error.what();
    }
    if (!problem.empty())
        throw LoadError(file, "", "a SentencePiece model", problem, "get the file again");
    return library;
}

} // namespace

std::shared_ptr<const Tokenizer> parseSentencePiece(std::string_view bytes, const std::string& file,
                                                    const TokenizerConfig& config) {
    SentencePieceParts parts;
    parts.library = openLibrary(bytes, file);
    const auto& library = *parts.library;
    parts.name = "SentencePiece, " + std::to_string(library.GetPieceSize()) + " pieces";
    parts.added = config.added;
    for (AddedToken& token : parts.added)
        token.normalized = false; // the library normalizes by itself

    const std::int64_t bos = library.bos_id(), eos = library.eos_id();
    const std::string& kind = config.tokenizerClass;
    const bool endsOnly = kind == "T5Tokenizer" || kind == "PegasusTokenizer";
    if (kind == "AlbertTokenizer") {
        const int cls = library.PieceToId("[CLS]"), sep = library.PieceToId("[SEP]");
        if (library.IsUnknown(cls) || library.IsUnknown(sep))
            throw LoadError(file, "", "pieces [CLS] and [SEP] for AlbertTokenizer", "a vocabulary without them");
        parts.before = {cls};
        parts.after = parts.afterPair = {sep};
    } else if (kind.empty() || endsOnly || kind == "LlamaTokenizer" || kind == "GemmaTokenizer" ||
               kind == "CodeLlamaTokenizer" || kind == "PreTrainedTokenizer") {
        if (bos >= 0 && !endsOnly && config.addBos.value_or(true))
            parts.before = {bos};
        if (eos >= 0 && config.addEos.value_or(endsOnly || bos < 0))
            parts.after = parts.afterPair = {eos};
    } else {
        throw LoadError(config.file, "tokenizer_class",
                        "one of the classes LlamaTokenizer, CodeLlamaTokenizer, GemmaTokenizer, T5Tokenizer, "
                        "PegasusTokenizer, AlbertTokenizer beside " +
                            file,
                        "'" + kind + "'", "save the tokenizer as tokenizer.json");
    }
    return std::make_shared<const SentencePieceTokenizer>(std::move(parts));
}

std::shared_ptr<const Tokenizer> parseMarian(std::string_view model, const std::string& modelFile,
                                             std::string_view vocabularyJson, const std::string& vocabularyFile) {
    SentencePieceParts parts;
    parts.library = openLibrary(model, modelFile);
    parts.vocabulary = parseVocabularyJson(vocabularyJson, vocabularyFile);
    const Vocabulary& vocabulary = *parts.vocabulary;
    parts.name = "SentencePiece (Marian), " + std::to_string(vocabulary.size()) + " pieces";
    const auto require = [&](const char* piece) {
        if (const auto id = vocabulary.idOf(piece))
            return *id;
        throw LoadError(vocabularyFile, "", std::string("the piece '") + piece + "'", "a vocabulary without it");
    };
    parts.unknown = require("<unk>");
    parts.after = parts.afterPair = {require("</s>")};
    for (const char* content : {"</s>", "<unk>", "<pad>"})
        if (const auto id = vocabulary.idOf(content))
            parts.added.push_back({.id = *id, .content = content, .special = true});
    // ">>fra<<" in front of a text chooses the language.
    vocabulary.eachPiece([&](const std::string& piece, std::int64_t id) {
        if (piece.size() > 4 && piece.starts_with(">>") && piece.ends_with("<<"))
            parts.added.push_back({.id = id, .content = piece});
    });
    return std::make_shared<const SentencePieceTokenizer>(std::move(parts));
}

} // namespace headscope
