#include "core/model/word_embedding.h"

#include "core/model/random.h"
#include "core/tensor/arithmetic.h"

#include <cmath>
#include <unordered_map>

namespace headscope {

namespace {

Matrix sinusoidalRows(int n, int d) {
    Matrix p(n, d);
    for (int i = 0; i < n; ++i)
        for (int c = 0; c < d; ++c) {
            const double angle = i / std::pow(10000.0, static_cast<double>(c - c % 2) / d);
            p(i, c) = static_cast<float>(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
        }
    return p;
}

Matrix learnedRows(int n, int d, std::uint64_t seed) {
    Random random(seed ^ hashText("position"));
    return normalMatrix(n, d, 0.5, random); // row by row, so a longer text keeps the rows of a shorter one
}

class WordEmbedder final : public Embedder {
public:
    WordEmbedder(int d, Position position, std::uint64_t seed) : m_d(d), m_position(position), m_seed(seed) {}

    headscope::Embedding embed(const TokenSequence& tokens) const override {
        Matrix rows(tokens.size(), m_d);
        std::unordered_map<std::string_view, int> drawn; // piece -> the row that has it already
        for (int i = 0; i < tokens.size(); ++i) {
            const std::string& piece = tokens.tokens[static_cast<std::size_t>(i)].piece;
            const auto [it, isNew] = drawn.emplace(piece, i);
            Random random(hashText(piece));
            for (int c = 0; c < m_d; ++c)
                rows(i, c) = isNew ? static_cast<float>(random.normal()) : rows(it->second, c);
        }
        headscope::Embedding out;
        out.parts.push_back({"token", share(std::move(rows))});
        out.sum = out.parts[0].values;
        if (m_position == Position::Sinusoidal)
            out.parts.push_back({"position", share(sinusoidalRows(tokens.size(), m_d))});
        if (m_position == Position::Learned)
            out.parts.push_back({"position", share(learnedRows(tokens.size(), m_d, m_seed))});
        if (out.parts.size() == 2)
            out.sum = share(headscope::sum(*out.parts[0].values, *out.parts[1].values));
        out.x = out.sum;
        return out;
    }

private:
    int m_d;
    Position m_position;
    std::uint64_t m_seed;
};

} // namespace

std::shared_ptr<const Embedder> makeWordEmbedder(int dModel, Position position, std::uint64_t seed) {
    return std::make_shared<const WordEmbedder>(dModel, position, seed);
}

} // namespace headscope
