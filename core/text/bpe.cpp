// Byte pair encoding, by a list of merges or by scores. Both join neighbours, best first; they differ in what makes two
// neighbours one piece and how good that is.
#include "core/tensor/errors.h"
#include "core/text/subword_model.h"
#include "core/text/utf8.h"

#include <queue>
#include <utility>

namespace headscope {

namespace {

constexpr std::int64_t noPiece = -1;

struct Symbol {
    std::int64_t id = noPiece;
    std::uint32_t begin = 0, end = 0; // bytes of the word
    std::int32_t previous = -1, next = -1;
};

struct Joined {
    double rank = 0; // lower is better
    std::int64_t id = 0;
};

// find(left, right): what two neighbours become, if they become anything. Of equal ranks the left one is first.
template<class Find>
void joinAll(std::vector<Symbol>& symbols, const Find& find) {
    struct Candidate {
        double rank;
        std::int32_t left;
        std::int64_t id;
        std::uint32_t begin, end; // bytes of both: an older candidate no longer fits
        bool operator<(const Candidate& o) const { return rank != o.rank ? rank > o.rank : left > o.left; }
    };
    std::vector<Candidate> storage;
    storage.reserve(symbols.size());
    std::priority_queue<Candidate> queue(std::less<Candidate>{}, std::move(storage));
    const auto at = [&](std::int32_t i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };
    const auto consider = [&](std::int32_t left) {
        if (left < 0 || at(left).next < 0)
            return;
        const Symbol& a = at(left);
        const Symbol& b = at(a.next);
        if (const std::optional<Joined> joined = find(a, b))
            queue.push({joined->rank, left, joined->id, a.begin, b.end});
    };
    const auto count = static_cast<std::int32_t>(symbols.size());
    for (std::int32_t i = 0; i < count; ++i) {
        at(i).previous = i - 1;
        at(i).next = i + 1 < count ? i + 1 : -1;
    }
    for (std::int32_t i = 0; i < count; ++i)
        consider(i);
    while (!queue.empty()) {
        const Candidate best = queue.top();
        queue.pop();
        Symbol& a = at(best.left);
        if (a.begin == a.end || a.begin != best.begin || a.next < 0 || at(a.next).end != best.end)
            continue;
        Symbol& b = at(a.next);
        a.end = b.end;
        a.id = best.id;
        b.begin = b.end; // gone
        a.next = b.next;
        if (a.next >= 0)
            at(a.next).previous = best.left;
        consider(a.previous);
        consider(best.left);
    }
    std::erase_if(symbols, [](const Symbol& s) { return s.begin == s.end; });
}

template<class Visit>
void eachCharacter(std::string_view word, const Visit& visit) {
    for (std::size_t at = 0; at < word.size();) {
        const std::size_t begin = at;
        nextCharacter(word, at);
        visit(begin, at);
    }
}

Symbol symbol(std::int64_t id, std::size_t begin, std::size_t end) {
    return {.id = id, .begin = static_cast<std::uint32_t>(begin), .end = static_cast<std::uint32_t>(end)};
}

std::array<std::int64_t, 256> bytePieces(const Vocabulary& vocabulary) {
    std::array<std::int64_t, 256> ids{};
    for (unsigned byte = 0; byte < 256; ++byte)
        ids[byte] = vocabulary.idOf(bytePiece(static_cast<unsigned char>(byte))).value_or(noPiece);
    return ids;
}

class MergeBpe final : public SubwordModel {
public:
    MergeBpe(Vocabulary vocabulary, const std::vector<Merge>& merges, BpeOptions options, const std::string& file)
        : SubwordModel(std::move(vocabulary)), m_options(std::move(options)) {
        const auto idOf = [&](std::size_t i, const std::string& piece) {
            if (const auto id = this->vocabulary().idOf(piece))
                return *id;
            throw LoadError(file, "merge " + std::to_string(i), "pieces of the vocabulary",
                            "'" + piece + "', which it lacks");
        };
        if (m_options.unknown)
            m_unknown = this->vocabulary().idOf(*m_options.unknown);
        m_merges.reserve(merges.size());
        for (std::size_t i = 0; i < merges.size(); ++i) {
            const auto& [left, right] = merges[i];
            if (!right.starts_with(m_options.prefix))
                throw LoadError(file, "merge " + std::to_string(i),
                                "a second piece beginning '" + m_options.prefix + "'", "'" + right + "'");
            const std::int64_t both = idOf(i, left + right.substr(m_options.prefix.size()));
            // The last line that names a pair counts, as in the published library.
            m_merges[{idOf(i, left), idOf(i, right)}] = {static_cast<double>(i), both};
        }
        m_bytes = bytePieces(this->vocabulary());
    }

    void cut(std::string_view word, std::vector<Subword>& out) const override {
        if (m_options.ignoreMerges)
            if (const auto id = vocabulary().idOf(word))
                return out.push_back({*id, 0, word.size()});
        std::vector<Symbol> symbols = characters(word);
        joinAll(symbols, [&](const Symbol& a, const Symbol& b) -> std::optional<Joined> {
            const auto found = m_merges.find({a.id, b.id});
            return found == m_merges.end() ? std::nullopt : std::optional(found->second);
        });
        for (const Symbol& s : symbols)
            out.push_back({s.id, s.begin, s.end});
    }

private:
    struct Pair {
        std::int64_t left, right;
        bool operator==(const Pair&) const = default;
    };
    struct PairHash {
        std::size_t operator()(const Pair& p) const {
            // Ids are small and dense: a product by an odd constant spreads them (Fibonacci hashing).
            const auto mixed = (static_cast<std::uint64_t>(p.left) << 32 ^ static_cast<std::uint64_t>(p.right)) *
                               0x9E3779B97F4A7C15ULL;
            return static_cast<std::size_t>(mixed ^ mixed >> 29);
        }
    };

    std::vector<Symbol> characters(std::string_view word) const {
        std::vector<Symbol> symbols;
        std::string decorated;
        bool lastUnknown = false;
        eachCharacter(word, [&](std::size_t begin, std::size_t end) {
            std::string_view piece = word.substr(begin, end - begin);
            if ((begin > 0 && !m_options.prefix.empty()) || (end == word.size() && !m_options.suffix.empty())) {
                decorated = (begin > 0 ? m_options.prefix : "") + std::string(piece);
                decorated += end == word.size() ? m_options.suffix : "";
                piece = decorated;
            }
            const bool wasUnknown = std::exchange(lastUnknown, false);
            if (const auto id = vocabulary().idOf(piece))
                return symbols.push_back(symbol(*id, begin, end));
            if (m_options.byteFallback && appendBytes(word, begin, end, symbols))
                return;
            if (!m_unknown)
                return;
            lastUnknown = true;
            if (m_options.fuseUnknown && wasUnknown)
                symbols.back().end = static_cast<std::uint32_t>(end);
            else
                symbols.push_back(symbol(*m_unknown, begin, end));
        });
        return symbols;
    }

    bool appendBytes(std::string_view word, std::size_t begin, std::size_t end, std::vector<Symbol>& symbols) const {
        for (std::size_t i = begin; i < end; ++i)
            if (m_bytes[static_cast<unsigned char>(word[i])] == noPiece)
                return false;
        for (std::size_t i = begin; i < end; ++i)
            symbols.push_back(symbol(m_bytes[static_cast<unsigned char>(word[i])], i, i + 1));
        return true;
    }

    BpeOptions m_options;
    std::optional<std::int64_t> m_unknown;
    std::unordered_map<Pair, Joined, PairHash> m_merges;
    std::array<std::int64_t, 256> m_bytes{};
};

class ScoreBpe final : public SubwordModel {
public:
    ScoreBpe(Vocabulary vocabulary, std::unordered_map<std::int64_t, float> scores, std::optional<std::int64_t> unknown)
        : SubwordModel(std::move(vocabulary)), m_scores(std::move(scores)), m_unknown(unknown) {
        m_bytes = bytePieces(this->vocabulary());
    }

    void cut(std::string_view word, std::vector<Subword>& out) const override {
        std::vector<Symbol> symbols;
        eachCharacter(word, [&](std::size_t begin, std::size_t end) {
            const auto joined = pieceAt(word, begin, end);
            symbols.push_back(symbol(joined ? joined->id : noPiece, begin, end));
        });
        joinAll(symbols, [&](const Symbol& a, const Symbol& b) -> std::optional<Joined> {
            return pieceAt(word, a.begin, b.end);
        });
        for (const Symbol& s : symbols)
            s.id == noPiece ? appendUnknown(word, s, out) : out.push_back({s.id, s.begin, s.end});
    }

private:
    std::optional<Joined> pieceAt(std::string_view word, std::size_t begin, std::size_t end) const {
        if (end - begin > vocabulary().longestPiece())
            return std::nullopt;
        const auto id = vocabulary().idOf(word.substr(begin, end - begin));
        const auto score = id ? m_scores.find(*id) : m_scores.end();
        return score == m_scores.end() ? std::nullopt : std::optional(Joined{-static_cast<double>(score->second), *id});
    }

    void appendUnknown(std::string_view word, const Symbol& s, std::vector<Subword>& out) const {
        for (std::size_t i = s.begin; i < s.end; ++i) {
            const std::int64_t byte = m_bytes[static_cast<unsigned char>(word[i])];
            if (byte != noPiece) {
                out.push_back({byte, i, i + 1});
            } else if (m_unknown) {
                out.push_back({*m_unknown, s.begin, s.end, true});
                return;
            }
        }
    }

    std::unordered_map<std::int64_t, float> m_scores;
    std::optional<std::int64_t> m_unknown;
    std::array<std::int64_t, 256> m_bytes{};
};

} // namespace

std::shared_ptr<const SubwordModel> makeBpe(Vocabulary vocabulary, const std::vector<Merge>& merges, BpeOptions options,
                                            const std::string& file) {
    return std::make_shared<const MergeBpe>(std::move(vocabulary), merges, std::move(options), file);
}

std::shared_ptr<const SubwordModel> makeScoreBpe(Vocabulary vocabulary, std::unordered_map<std::int64_t, float> scores,
                                                 std::optional<std::int64_t> unknown) {
    return std::make_shared<const ScoreBpe>(std::move(vocabulary), std::move(scores), unknown);
}

} // namespace headscope
