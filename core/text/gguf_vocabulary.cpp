#include "core/text/gguf_vocabulary.h"

#include "core/tensor/errors.h"
#include "core/text/byte_level_bpe.h"
#include "core/text/pre_tokenizers.h"
#include "core/text/tokenizer_files.h"

#include <cmath>

namespace headscope {

namespace {

constexpr std::string_view mark = "\u2581";

enum class Type : std::int32_t { Normal = 1, Unknown = 2, Control = 3, User = 4, Unused = 5, Byte = 6 };

class Builder {
public:
    Builder(GgufVocabulary source, const std::string& file) : m_source(std::move(source)), m_file(file) {
        const auto count = m_source.tokens.size();
        require(count > 0, "tokens", "at least one", "none");
        require(m_source.scores.empty() || m_source.scores.size() == count, "scores", std::to_string(count),
                std::to_string(m_source.scores.size()));
        require(m_source.types.empty() || m_source.types.size() == count, "token_type", std::to_string(count),
                std::to_string(m_source.types.size()));
        for (const auto& [name, id] : {std::pair{"bos_token_id", m_source.bos},
                                       {"eos_token_id", m_source.eos},
                                       {"unknown_token_id", m_source.unknown},
                                       {"seperator_token_id", m_source.sep}, // spelled so in the format
                                       {"cls_token_id", m_source.cls},
                                       {"padding_token_id", m_source.pad},
                                       {"mask_token_id", m_source.mask}})
            require(!id || (*id >= 0 && static_cast<std::size_t>(*id) < count), name,
                    "an id below " + std::to_string(count), id ? std::to_string(*id) : "");
    }

    std::shared_ptr<const Tokenizer> llama() {
        Vocabulary vocabulary;
        std::unordered_map<std::int64_t, float> scores; // of what can be found in text
        require(!m_source.scores.empty(), "scores", std::to_string(m_source.tokens.size()), "none");
        eachToken([&](std::int64_t id, std::string piece, Type type) {
            const float score = m_source.scores[static_cast<std::size_t>(id)];
            require(std::isfinite(score), "scores", "finite numbers", std::to_string(score));
            vocabulary.add(std::move(piece), id);
            if (type == Type::Normal || type == Type::User)
                scores.emplace(id, score);
        });
        SubwordTokenizerParts parts;
        parts.name = "SentencePiece BPE, " + std::to_string(vocabulary.size()) + " pieces";
        parts.prefixSpace = m_source.addSpacePrefix.value_or(true);
        if (parts.prefixSpace)
            parts.normalizers.push_back(normalizePrepend(" "));
        parts.normalizers.push_back(normalizeReplace(" ", std::string(mark)));
        parts.unknown = m_source.unknown;
        parts.style = PieceStyle::Metaspace;
        parts.model = makeScoreBpe(std::move(vocabulary), std::move(scores), m_source.unknown);
        return finish(std::move(parts), true);
    }

    std::shared_ptr<const Tokenizer> gpt2() {
        const ByteLevelPattern* pattern = byteLevelPattern(m_source.pre);
        require(pattern != nullptr, "pre", "one of " + byteLevelPatternNames(), "'" + m_source.pre + "'");
        Vocabulary vocabulary;
        eachToken([&](std::int64_t id, std::string piece, Type) { vocabulary.add(std::move(piece), id); });
        std::vector<Merge> merges;
        for (std::size_t i = 0; i < m_source.merges.size(); ++i)
            merges.push_back(parseMerge(m_source.merges[i], m_file, entry("merges") + " " + std::to_string(i)));
        SubwordTokenizerParts parts =
            byteLevelParts(std::move(vocabulary), merges, *pattern, m_source.addSpacePrefix.value_or(false), m_file);
        return finish(std::move(parts), pattern->addBos);
    }

    // GGUF turns WordPiece round: a word's first piece carries U+2581, the others carry nothing.
    std::shared_ptr<const Tokenizer> bert() {
        BertVocabulary vocabulary;
        eachToken([&](std::int64_t id, std::string piece, Type type) {
            const bool bracketed = piece.starts_with('[') && piece.ends_with(']');
            if (piece.starts_with(mark))
                piece.erase(0, mark.size());
            else if (type == Type::Normal && !bracketed)
                piece.insert(0, "##");
            vocabulary.pieces.emplace_back(std::move(piece), id);
        });
        const auto name = [&](std::optional<std::int64_t> id, std::string& out) {
            if (id)
                out = vocabulary.pieces[static_cast<std::size_t>(*id)].first;
        };
        name(m_source.unknown, vocabulary.unknown);
        name(m_source.pad, vocabulary.pad);
        name(m_source.mask, vocabulary.mask);
        // Older files have no cls_token_id: the begin token is it.
        name(m_source.cls ? m_source.cls : m_source.bos, vocabulary.cls);
        name(m_source.sep ? m_source.sep : m_source.eos, vocabulary.sep);
        vocabulary.added = addedTokens();
        return makeBertTokenizer(std::move(vocabulary), {}, m_file);
    }

private:
    static std::string entry(const std::string& name) { return "tokenizer.ggml." + name; }

    void require(bool condition, const std::string& name, const std::string& expected, const std::string& found) const {
        if (!condition)
            throw LoadError(m_file, entry(name), expected, found);
    }

    Type typeOf(std::int64_t id) const {
        return m_source.types.empty() ? Type::Normal : static_cast<Type>(m_source.types[static_cast<std::size_t>(id)]);
    }

    template<class Visit>
    void eachToken(const Visit& visit) {
        for (std::size_t i = 0; i < m_source.tokens.size(); ++i) {
            const auto id = static_cast<std::int64_t>(i);
            visit(id, m_source.tokens[i], typeOf(id));
        }
    }

    // Control and user tokens count where they are typed.
    std::vector<AddedToken> addedTokens() const {
        std::vector<AddedToken> out;
        for (std::size_t i = 0; i < m_source.tokens.size(); ++i) {
            const auto id = static_cast<std::int64_t>(i);
            const Type type = typeOf(id);
            const bool named = id == m_source.bos || id == m_source.eos;
            if (type == Type::Control || type == Type::User || (named && type != Type::Unknown))
                out.push_back({.id = id, .content = m_source.tokens[i], .special = type != Type::User});
        }
        return out;
    }

    std::shared_ptr<const Tokenizer> finish(SubwordTokenizerParts parts, bool addBos) const {
        parts.added = addedTokens();
        for (auto* side : {&parts.single, &parts.pair}) {
            if (m_source.bos && m_source.addBos.value_or(addBos))
                side->insert(side->begin(), TemplatePart{.text = {}, .ids = {*m_source.bos}});
            if (m_source.eos && m_source.addEos.value_or(false))
                side->push_back({.text = {}, .ids = {*m_source.eos}, .segment = side == &parts.pair ? 1 : 0});
        }
        return makeSubwordTokenizer(std::move(parts));
    }

    GgufVocabulary m_source;
    const std::string& m_file;
};

} // namespace

std::shared_ptr<const Tokenizer> makeGgufTokenizer(GgufVocabulary vocabulary, const std::string& file) {
    const std::string model = vocabulary.model;
    for (const std::string& token : vocabulary.tokens)
        try {
            requireUtf8(token, "a token");
        } catch (const InputError& error) {
            throw LoadError(file, "tokenizer.ggml.tokens", "text in UTF-8", error.what());
        }
    Builder builder(std::move(vocabulary), file);
    if (model == "llama")
        return builder.llama();
    if (model == "gpt2")
        return builder.gpt2();
    if (model == "bert")
        return builder.bert();
    throw LoadError(file, "tokenizer.ggml.model", "llama, gpt2 or bert", "'" + model + "'");
}

} // namespace headscope
