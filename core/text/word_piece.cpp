// WordPiece and whole words.
#include "core/text/subword_model.h"
#include "core/text/utf8.h"

#include <algorithm>

namespace headscope {

namespace {

class WordPiece final : public SubwordModel {
public:
    WordPiece(Vocabulary vocabulary, WordPieceOptions options)
        : SubwordModel(std::move(vocabulary)), m_options(std::move(options)),
          m_unknown(this->vocabulary().idOf(m_options.unknown)) {}

    void cut(std::string_view word, std::vector<Subword>& out) const override {
        const std::size_t before = out.size();
        std::string candidate;
        bool fits = countCharacters(word) <= m_options.maxCharacters;
        for (std::size_t start = 0; fits && start < word.size();) {
            candidate = start == 0 ? std::string() : m_options.prefix;
            const std::size_t prefix = candidate.size();
            // No piece is longer than the longest one, so nothing longer need be looked up.
            candidate += word.substr(start, vocabulary().longestPiece());
            std::optional<std::int64_t> id;
            while (candidate.size() > prefix && !(id = vocabulary().idOf(candidate))) {
                while ((static_cast<unsigned char>(candidate.back()) & 0xC0) == 0x80 && candidate.size() > prefix + 1)
                    candidate.pop_back();
                candidate.pop_back();
            }
            if ((fits = id.has_value())) {
                const std::size_t end = start + candidate.size() - prefix;
                out.push_back({*id, start, end});
                start = end;
            }
        }
        if (fits)
            return;
        out.resize(before);
        if (m_unknown)
            out.push_back({*m_unknown, 0, word.size()});
    }

private:
    WordPieceOptions m_options;
    std::optional<std::int64_t> m_unknown;
};

class WordLevel final : public SubwordModel {
public:
    WordLevel(Vocabulary vocabulary, const std::string& unknown)
        : SubwordModel(std::move(vocabulary)), m_unknown(this->vocabulary().idOf(unknown)) {}

    void cut(std::string_view word, std::vector<Subword>& out) const override {
        if (const auto id = vocabulary().idOf(word))
            out.push_back({*id, 0, word.size()});
        else if (m_unknown)
            out.push_back({*m_unknown, 0, word.size()});
    }

private:
    std::optional<std::int64_t> m_unknown;
};

} // namespace

std::shared_ptr<const SubwordModel> makeWordPiece(Vocabulary vocabulary, WordPieceOptions options) {
    return std::make_shared<const WordPiece>(std::move(vocabulary), std::move(options));
}

std::shared_ptr<const SubwordModel> makeWordLevel(Vocabulary vocabulary, const std::string& unknown) {
    return std::make_shared<const WordLevel>(std::move(vocabulary), unknown);
}

} // namespace headscope
