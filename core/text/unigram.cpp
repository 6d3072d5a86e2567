// Unigram: the most probable segmentation of a word, one pass from left to right.
#include "core/tensor/errors.h"
#include "core/text/subword_model.h"
#include "core/text/utf8.h"

#include <algorithm>
#include <cmath>

namespace headscope {

namespace {

constexpr double unknownPenalty = 10.0; // an unknown character scores so much less than the worst piece (SentencePiece)

class Unigram final : public SubwordModel {
public:
    Unigram(Vocabulary vocabulary, std::vector<std::string> pieces, std::vector<double> scores, UnigramOptions options)
        : SubwordModel(std::move(vocabulary)), m_pieces(std::move(pieces)), m_scores(std::move(scores)),
          m_options(options) {
        std::vector<std::pair<std::string_view, std::int32_t>> entries;
        for (std::size_t i = 0; i < m_pieces.size(); ++i)
            if (!m_pieces[i].empty())
                entries.emplace_back(m_pieces[i], static_cast<std::int32_t>(i));
        m_trie = ByteTrie(std::move(entries));
        m_worst = m_scores.empty() ? 0.0 : *std::min_element(m_scores.begin(), m_scores.end());
        for (unsigned byte = 0; byte < 256; ++byte)
            m_bytes[byte] = this->vocabulary().idOf(bytePiece(static_cast<unsigned char>(byte)));
    }

    void cut(std::string_view word, std::vector<Subword>& out) const override {
        // The best path to every byte: its score, and its last piece with where that begins.
        struct Best {
            double score = 0;
            std::int64_t id = 0;
            std::int64_t begin = -1; // -1: not reached
            bool unknown = false;
        };
        std::vector<Best> best(word.size() + 1);
        const auto offer = [&](std::size_t begin, std::size_t end, std::int64_t id, double score, bool unknown) {
            Best& target = best[end];
            if (target.begin < 0 || score > target.score)
                target = {score, id, static_cast<std::int64_t>(begin), unknown};
        };
        for (std::size_t at = 0; at < word.size();) {
            std::size_t next = at;
            nextCharacter(word, next);
            bool single = false;
            m_trie.eachPrefix(word.substr(at), [&](std::size_t length, std::int32_t id) {
                offer(at, at + length, id, best[at].score + m_scores[static_cast<std::size_t>(id)], false);
                single |= at + length == next;
            });
            if (!single)
                offer(at, next, m_options.unknown.value_or(-1), best[at].score + m_worst - unknownPenalty, true);
            at = next;
        }
        const std::size_t before = out.size();
        for (std::size_t end = word.size(); end > 0;) {
            const auto begin = static_cast<std::size_t>(best[end].begin);
            const bool unknown = best[end].unknown || best[end].id == m_options.unknown;
            // Neighbouring unknown characters are one token.
            if (unknown && out.size() > before && out.back().unknown && out.back().begin == end)
                out.back().begin = begin;
            else
                out.push_back({best[end].id, begin, end, unknown});
            end = begin;
        }
        std::reverse(out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
        replaceUnknown(word, before, out);
    }

private:
    // Unknown stretches: the piece that they are together after all, or their bytes, or nothing without an unknown id.
    void replaceUnknown(std::string_view word, std::size_t before, std::vector<Subword>& out) const {
        const auto isUnknown = [](const Subword& s) { return s.unknown; };
        if (std::none_of(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(), isUnknown))
            return;
        const std::vector<Subword> found(out.begin() + static_cast<std::ptrdiff_t>(before), out.end());
        out.resize(before);
        for (const Subword& s : found) {
            if (!s.unknown) {
                out.push_back(s);
                continue;
            }
            const std::string_view stretch = word.substr(s.begin, s.end - s.begin);
            const auto hasPiece = [&](char byte) { return m_bytes[static_cast<unsigned char>(byte)].has_value(); };
            if (const auto id = vocabulary().idOf(stretch))
                out.push_back({*id, s.begin, s.end});
            else if (m_options.byteFallback && std::all_of(stretch.begin(), stretch.end(), hasPiece))
                for (const char byte : stretch) // each stands for the whole stretch, as in the published library
                    out.push_back({*m_bytes[static_cast<unsigned char>(byte)], s.begin, s.end});
            else if (m_options.unknown)
                out.push_back(s);
        }
    }

    std::vector<std::string> m_pieces; // by id; the trie points into them
    std::vector<double> m_scores;
    UnigramOptions m_options;
    ByteTrie m_trie;
    double m_worst = 0;
    std::array<std::optional<std::int64_t>, 256> m_bytes{};
};

} // namespace

std::shared_ptr<const SubwordModel> makeUnigram(const std::vector<std::pair<std::string, double>>& pieces,
                                                UnigramOptions options, const std::string& file) {
    if (options.unknown && (*options.unknown < 0 || *options.unknown >= static_cast<std::int64_t>(pieces.size())))
        throw LoadError(file, "model.unk_id", "a place in the list of " + std::to_string(pieces.size()) + " pieces",
                        std::to_string(*options.unknown));
    Vocabulary vocabulary;
    std::vector<std::string> names;
    std::vector<double> scores;
    for (const auto& [piece, score] : pieces) {
        if (!std::isfinite(score))
            throw LoadError(file, "piece '" + piece + "'", "a finite score", std::to_string(score));
        vocabulary.add(piece, static_cast<std::int64_t>(names.size()));
        names.push_back(piece);
        scores.push_back(score);
    }
    return std::make_shared<const Unigram>(std::move(vocabulary), std::move(names), std::move(scores), options);
}

} // namespace headscope
