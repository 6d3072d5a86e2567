#include "core/model/table_embedding.h"

#include "core/tensor/arithmetic.h"
#include "core/tensor/errors.h"

#include <algorithm>

namespace headscope {

namespace {

class TableEmbedder final : public Embedder {
public:
    explicit TableEmbedder(TableEmbedding tables) : m_tables(std::move(tables)) {}

    headscope::Embedding embed(const TokenSequence& tokens) const override {
        const auto& all = tokens.tokens;
        headscope::Embedding out;
        add(out, "token", *m_tables.token, tokens.size(), [&](int i) { return all[static_cast<std::size_t>(i)].id; });
        if (m_tables.tokenScale != 1.0F)
            out.parts[0].values = share(scaled(*out.parts[0].values, m_tables.tokenScale));
        if (m_tables.position) {
            const std::vector<int> rows = positions(tokens);
            add(out, "position", *m_tables.position, tokens.size(),
                [&](int i) { return rows[static_cast<std::size_t>(i)]; });
        }
        if (m_tables.segment) // RoBERTa keeps one row, for both texts of a pair
            add(out, "segment", *m_tables.segment, tokens.size(),
                [&](int i) { return m_tables.segment->rows() == 1 ? 0 : all[static_cast<std::size_t>(i)].segment; });
        out.sum = out.parts[0].values;
        for (std::size_t p = 1; p < out.parts.size(); ++p)
            out.sum = share(headscope::sum(*out.sum, *out.parts[p].values));
        const NormWeights& norm = m_tables.norm;
        out.x = norm.gain ? share(layerNorm(*out.sum, *norm.gain, norm.bias.get(), m_tables.normEpsilon)) : out.sum;
        if (m_tables.projection.w)
            out.x = share(linear(*out.x, *m_tables.projection.w, m_tables.projection.b.get()));
        return out;
    }

    std::vector<Embedding::Part> tensors() const override {
        const TableEmbedding& t = m_tables;
        std::vector<Embedding::Part> out;
        for (const auto& [name, values] : {std::pair{"token", t.token},
                                           {"position", t.positionIsComputed ? nullptr : t.position},
                                           {"segment", t.segment},
                                           {"norm gain", t.norm.gain},
                                           {"norm bias", t.norm.bias},
                                           {"projection", t.projection.w},
                                           {"projection bias", t.projection.b}})
            if (values)
                out.push_back({name, values});
        return out;
    }

private:
    template<class RowOf>
    static void add(headscope::Embedding& out, const char* name, const Matrix& table, int n, const RowOf& rowOf) {
        Matrix rows(n, table.cols());
        for (int i = 0; i < n; ++i) {
            const std::int64_t row = rowOf(i);
            if (row < 0 || row >= table.rows())
                throw InputError(std::string("the ") + name + " " + std::to_string(row) +
                                 " is not in the model's table: expected 0 to " + std::to_string(table.rows() - 1));
            std::ranges::copy(table.row(static_cast<int>(row)), rows.row(i).begin());
        }
        out.parts.push_back({name, share(std::move(rows))});
    }

    std::vector<int> positions(const TokenSequence& tokens) const {
        std::vector<int> rows;
        int next = m_tables.positionOffset;
        for (const Token& t : tokens.tokens)
            rows.push_back(m_tables.padId == t.id ? m_tables.positionOffset - 1 : next++);
        return rows;
    }

    TableEmbedding m_tables;
};

} // namespace

std::shared_ptr<const Embedder> makeTableEmbedder(TableEmbedding tables) {
    return std::make_shared<const TableEmbedder>(std::move(tables));
}

} // namespace headscope
