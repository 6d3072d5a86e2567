#include "core/model/attention_module.h"

#include "core/model/mapped_file.h"
#include "core/model/word_embedding.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <filesystem>
#include <map>
#include <unordered_set>

namespace headscope {

namespace {

// How people name the projections of an attention module. Each name may carry a prefix ("encoder.0.attn."), and ends in
// ".weight", "_weight" or nothing; biases end in ".bias" or "_bias". One set per head stands behind "heads.N.".
struct NamingForm {
    std::string_view what;
    std::string_view q, k, v;             // three layers, or only q: one that holds all three, rows Q, K, V
    std::array<std::string_view, 4> outs; // the output projection, first found
    bool oneHeadWithoutOutput = false;    // then there is nothing that would join several
    bool isPacked() const { return k.empty(); }
};
constexpr std::array<NamingForm, 18> namingForms{{
    {"nn.MultiheadAttention", "in_proj", "", "", {"out_proj"}},
    {"nn.MultiheadAttention with kdim and vdim", "q_proj", "k_proj", "v_proj", {"out_proj", "o_proj"}},
    {"q_linear form", "q_linear", "k_linear", "v_linear", {"out_linear", "o_linear", "out", "out_proj"}, true},
    {"q, k, v form", "q", "k", "v", {"out", "o", "out_proj", "proj"}},
    {"W_q form", "W_q", "W_k", "W_v", {"W_o", "W_out", "out_proj", "out"}},
    {"W_Q form", "W_Q", "W_K", "W_V", {"W_O", "W_out", "out_proj", "out"}},
    {"w_q form", "w_q", "w_k", "w_v", {"w_o", "w_out", "out_proj", "out"}},
    {"Wq form", "Wq", "Wk", "Wv", {"Wo", "Wout", "out_proj", "out"}},
    {"WQ form", "WQ", "WK", "WV", {"WO", "Wout", "out_proj", "out"}},
    {"wq form", "wq", "wk", "wv", {"wo", "wout", "out_proj", "out"}},
    {"W_query form", "W_query", "W_key", "W_value", {"out_proj", "W_out", "W_o", "W_output"}},
    {"query, key, value form", "query", "key", "value", {"out", "out_proj", "output", "proj"}},
    {"queries, keys, values form", "queries", "keys", "values", {"fc_out", "out", "out_proj", "proj"}},
    {"to_q form", "to_q", "to_k", "to_v", {"to_out.0", "to_out"}},
    {"q_lin form", "q_lin", "k_lin", "v_lin", {"out_lin"}},
    {"linear_q form", "linear_q", "linear_k", "linear_v", {"linear_out", "linear_o"}},
    {"qkv form", "qkv", "", "", {"proj", "out_proj", "out"}},
    {"to_qkv form", "to_qkv", "", "", {"to_out.0", "to_out"}},
}};
constexpr std::array<std::string_view, 7> perHeadOuts{"proj", "out_proj", "out", "output", "W_o", "W_O", "fc_out"};
constexpr std::string_view lookedFor = "an attention module: in_proj_weight, q_proj_weight, q_linear, q, W_q, W_query, "
                                       "query or heads.0.query with its k and v";

// One layer as the file has it.
struct LinearLayer {
    const TensorEntry* weight = nullptr;
    const TensorEntry* bias = nullptr;
    bool isBare = false; // the name does not end in "weight": maybe no nn.Linear
};

struct Found {
    const NamingForm* form = nullptr;
    std::string prefix;
    bool perHead = false;
    std::vector<LinearLayer> q, k, v; // one, or one per head
    LinearLayer out;                  // weight null: none
};

class ModuleReader {
public:
    ModuleReader(const ModelSource& source, const TensorFile& file) : m_source(source), m_file(file) {
        for (const TensorEntry& entry : file.entries())
            m_byName.emplace(entry.name, &entry);
    }

    OpenedModel open() {
        refuseDump();
        m_found = findModule();
        refuseExtraKeys();
        OpenedModel out;
        out.x = texts("X");
        out.y = texts("Y");
        readWeights(out.x, out.y);
        ModelConfig config = makeConfig(out);
        for (const auto& [given, width, name] : {std::tuple{out.x, config.dModel, "X"}, {out.y, config.dModelKey, "Y"}})
            if (given && given->cols() != width)
                throw LoadError(m_file.path(), name, std::to_string(width) + " columns, the width of its projection",
                                std::to_string(given->cols()));
        out.source = m_source;
        out.source.cross = config.cross;
        out.source.heads = config.heads;
        auto embedder = makeWordEmbedder(config.dModel, Position::None, m_source.toy.seed);
        out.model = std::make_shared<const Model>(std::move(config), std::vector<LayerWeights>{m_weights},
                                                  makeWordTokenizer(), std::move(embedder));
        return out;
    }

private:
    const TensorEntry* entry(const std::string& name) const {
        const auto it = m_byName.find(name);
        return it == m_byName.end() ? nullptr : it->second;
    }

    // What Headscope itself wrote has W_Q as applied, and more than one reading: say what it is.
    void refuseDump() const {
        if (entry("scenario") != nullptr && entry("ids.query") != nullptr)
            throw LoadError(m_file.path(), "", "an attention module", "numbers dumped by Headscope",
                            "open the scenario they were made from");
    }

    LinearLayer layer(const std::string& base) const {
        LinearLayer found;
        for (const std::string_view suffix : {".weight", "_weight", ""})
            if (const TensorEntry* e = entry(base + std::string(suffix)); e != nullptr && found.weight == nullptr) {
                found.weight = e;
                found.isBare = suffix.empty();
            }
        for (const std::string_view suffix : {".bias", "_bias"})
            if (found.bias == nullptr)
                found.bias = entry(base + std::string(suffix));
        return found;
    }

    // The prefix of `name` when it is prefix + base + suffix, and the prefix ends where a name may end.
    static std::optional<std::string> prefixOf(std::string_view name, std::string_view base) {
        for (const std::string_view suffix : {".weight", "_weight", ""}) {
            const std::string tail = std::string(base) + std::string(suffix);
            if (!name.ends_with(tail))
                continue;
            const std::string_view prefix = name.substr(0, name.size() - tail.size());
            if (prefix.empty() || prefix.back() == '.' || prefix.back() == '/')
                return std::string(prefix);
        }
        return std::nullopt;
    }

    // "block.heads.3." -> ("block.", 3)
    static std::optional<std::pair<std::string, int>> headOfPrefix(std::string_view prefix) {
        constexpr std::string_view word = "heads.";
        if (prefix.empty())
            return std::nullopt;
        std::string_view digits = prefix.substr(0, prefix.size() - 1);
        const std::size_t start = digits.find_last_not_of("0123456789") + 1;
        const std::string_view before = digits.substr(0, start);
        digits.remove_prefix(start);
        const bool isOwnWord = before.size() == word.size() ||
                               (before.size() > word.size() && before[before.size() - word.size() - 1] == '.');
        if (digits.empty() || digits.size() > 4 || !before.ends_with(word) || !isOwnWord)
            return std::nullopt;
        return std::pair(std::string(before.substr(0, before.size() - word.size())), std::stoi(std::string(digits)));
    }

    Found findModule() const {
        std::map<std::pair<std::string, const NamingForm*>, std::map<int, std::string>>
            sets; // head (or -1) -> its prefix
        for (const NamingForm& form : namingForms)
            for (const TensorEntry& e : m_file.entries()) {
                if (e.shape.size() != 2)
                    continue;
                const auto prefix = prefixOf(e.name, form.q);
                if (!prefix)
                    continue;
                if (const auto head = headOfPrefix(*prefix))
                    sets[{head->first, &form}][head->second] = *prefix;
                else
                    sets[{*prefix, &form}][-1] = *prefix;
            }
        if (sets.empty())
            throw LoadError(m_file.path(), "", std::string(lookedFor), described());
        if (sets.size() > 1) {
            std::string names;
            int shown = 0;
            for (const auto& [key, heads] : sets)
                if (shown++ < 4)
                    names +=
                        (names.empty() ? "" : ", ") + printable(heads.begin()->second + std::string(key.second->q));
            throw LoadError(m_file.path(), "", "one attention module",
                            std::to_string(sets.size()) + " (" + names + (sets.size() > 4 ? ", ..." : "") + ")",
                            "save the state_dict of one of them");
        }
        const auto& [key, heads] = *sets.begin();
        Found found;
        found.prefix = key.first;
        found.form = key.second;
        found.perHead = heads.begin()->first >= 0;
        int next = 0;
        for (const auto& [head, prefix] : heads) {
            if (found.perHead && head != next++)
                throw LoadError(m_file.path(), printable(found.prefix) + "heads." + std::to_string(next - 1),
                                "the projections of every head", "none, but those of head " + std::to_string(head));
            for (const auto& [layers, name] :
                 {std::pair{&found.q, found.form->q}, {&found.k, found.form->k}, {&found.v, found.form->v}})
                if (!name.empty())
                    layers->push_back(required(prefix + std::string(name)));
        }
        for (const std::string_view name : found.form->outs)
            useOut(found, name);
        if (found.perHead)
            for (const std::string_view name : perHeadOuts)
                useOut(found, name);
        return found;
    }

    void useOut(Found& found, std::string_view name) const {
        if (found.out.weight == nullptr && !name.empty())
            found.out = layer(found.prefix + std::string(name));
        if (found.out.weight != nullptr && found.out.weight->shape.size() != 2)
            found.out = {};
    }

    LinearLayer required(const std::string& base) const {
        LinearLayer found = layer(base);
        if (found.weight == nullptr)
            throw LoadError(m_file.path(), printable(base) + ".weight", "a tensor of that name", "none");
        return found;
    }

    std::string described() const {
        std::string names;
        std::size_t shown = 0;
        for (const TensorEntry& e : m_file.entries())
            if (shown++ < 4)
                names += (names.empty() ? "" : ", ") + printable(e.name);
        return shown == 0 ? "no tensors at all" : names + (shown > 4 ? ", ..." : "");
    }

    void refuseExtraKeys() const {
        if (const TensorEntry* e = entry(m_found.prefix + "bias_k"))
            throw LoadError(m_file.path(), printable(e->name), "a module without extra keys (add_bias_kv=False)",
                            "a learned key and value that belong to no token");
    }

    // X or Y: (n, width), or (1, n, width).
    SharedMatrix texts(const std::string& name) {
        const TensorEntry* e = entry(name);
        if (e == nullptr)
            return nullptr;
        m_used.insert(e->name);
        TensorEntry flat = *e;
        if (flat.shape.size() == 3 && flat.shape[0] == 1)
            flat.shape.erase(flat.shape.begin()); // a batch of one
        if (flat.shape.size() != 2 || flat.count == 0)
            throw LoadError(m_file.path(), name, "tokens x width", "another shape");
        return share(m_file.matrix(flat, true));
    }

    Matrix weight(const LinearLayer& l) {
        m_used.insert(l.weight->name);
        if (l.weight->shape.size() != 2 || l.weight->count == 0)
            throw LoadError(m_file.path(), printable(l.weight->name), "a matrix", "another shape");
        return m_file.matrix(*l.weight, true);
    }

    // (1, width), or nothing.
    std::optional<Matrix> bias(const LinearLayer& l) {
        if (l.bias == nullptr)
            return std::nullopt;
        m_used.insert(l.bias->name);
        Matrix b = m_file.matrix(*l.bias, true);
        if (b.rows() != 1 && b.cols() == 1)
            b = transposed(b);
        return b;
    }

    // PyTorch keeps a layer as (out, in). A name without "weight" may also be a parameter that is applied as it stands,
    // x @ W; then whichever reading fits the other sizes counts, and PyTorch's where both do.
    void readWeights(const SharedMatrix& x, const SharedMatrix& y) {
        std::vector<Matrix> q, k, v;
        std::vector<std::optional<Matrix>> bq, bk, bv;
        for (std::size_t h = 0; h < m_found.q.size(); ++h) {
            if (m_found.form->isPacked()) {
                unpack(m_found.q[h], q, k, v, bq, bk, bv);
                continue;
            }
            for (const auto& [l, w, b] :
                 {std::tuple{&m_found.q[h], &q, &bq}, {&m_found.k[h], &k, &bk}, {&m_found.v[h], &v, &bv}}) {
                w->push_back(weight(*l));
                b->push_back(bias(*l));
            }
        }
        if (const TensorEntry* together = entry(m_found.prefix + "in_proj_bias");
            together != nullptr && !m_found.form->isPacked())
            splitBias(*together, q, k, v, bq, bk, bv);
        std::optional<Matrix> o, bo;
        if (m_found.out.weight != nullptr) {
            o = weight(m_found.out);
            bo = bias(m_found.out);
        }

        // Whether the sizes agree when W is (in, out), or (out, in).
        const auto fits = [&](bool isApplied) {
            const auto in = [&](const Matrix& w) { return isApplied ? w.rows() : w.cols(); };
            const auto out = [&](const Matrix& w) { return isApplied ? w.cols() : w.rows(); };
            int joined = 0;
            bool ok = true;
            for (std::size_t h = 0; h < q.size(); ++h) {
                ok = ok && in(q[h]) == in(q[0]) && in(k[h]) == in(k[0]) && in(v[h]) == in(k[0]);
                ok = ok && (!bq[h] || bq[h]->cols() == out(q[h])) && (!bk[h] || bk[h]->cols() == out(k[h])) &&
                     (!bv[h] || bv[h]->cols() == out(v[h]));
                joined += out(v[h]);
            }
            assert(joined > 0); // empty weights were refused when they were read
            ok = ok && (!x || x->cols() == in(q[0])) && (!y || y->cols() == in(k[0]));
            const int oIn = !o ? 0 : m_found.out.isBare ? in(*o) : o->cols();
            const int oOut = !o ? 0 : m_found.out.isBare ? out(*o) : o->rows();
            // With fewer KV heads than heads, W_O takes more than W_V gives.
            return ok && oIn % joined == 0 && (!bo || bo->cols() == oOut);
        };
        const bool isBare = m_found.q[0].isBare;
        const bool isApplied = isBare && !fits(false) && fits(true);
        if (isBare)
            m_notes.push_back(
                std::string("the names do not end in .weight: read as ") +
                (isApplied ? "(in, out), applied as they stand" : "(out, in), as PyTorch keeps a linear layer"));
        const auto applied = [&](const Matrix& w) { return isApplied ? w : transposed(w); };
        for (const auto& [all, to, name] :
             {std::tuple{&q, &m_weights.wQ, "W_Q"}, {&k, &m_weights.wK, "W_K"}, {&v, &m_weights.wV, "W_V"}})
            *to = share(sideBySide(*all, applied, name));
        for (const auto& [all, to, of] :
             {std::tuple{&bq, &m_weights.bQ, &q}, {&bk, &m_weights.bK, &k}, {&bv, &m_weights.bV, &v}})
            *to = biasesSideBySide(*all, *of, isApplied);
        if (o)
            m_weights.wO = share(m_found.out.isBare == isBare ? applied(*o) : transposed(*o));
        if (bo)
            m_weights.bO = share(std::move(*bo));
    }

    // in_proj_weight: rows of Q, then K, then V.
    void unpack(const LinearLayer& l, std::vector<Matrix>& q, std::vector<Matrix>& k, std::vector<Matrix>& v,
                std::vector<std::optional<Matrix>>& bq, std::vector<std::optional<Matrix>>& bk,
                std::vector<std::optional<Matrix>>& bv) {
        const Matrix all = weight(l);
        if (all.rows() % 3 != 0)
            throw LoadError(m_file.path(), printable(l.weight->name), "rows of Q, K and V, three equal parts",
                            std::to_string(all.rows()) + " rows");
        const int width = all.rows() / 3;
        const auto part = [&](int i) { return copy(MatrixView(all).rowRange(i * width, (i + 1) * width)); };
        q.push_back(part(0));
        k.push_back(part(1));
        v.push_back(part(2));
        for (auto* b : {&bq, &bk, &bv})
            b->push_back(std::nullopt);
        if (l.bias != nullptr)
            splitBias(*l.bias, q, k, v, bq, bk, bv);
    }

    void splitBias(const TensorEntry& together, const std::vector<Matrix>& q, const std::vector<Matrix>& k,
                   const std::vector<Matrix>& v, std::vector<std::optional<Matrix>>& bq,
                   std::vector<std::optional<Matrix>>& bk, std::vector<std::optional<Matrix>>& bv) {
        const Matrix all = *bias({nullptr, &together, false});
        const int a = q.back().rows(), b = a + k.back().rows(), c = b + v.back().rows();
        if (all.rows() != 1 || all.cols() != c)
            throw LoadError(m_file.path(), printable(together.name), std::to_string(c) + " values",
                            std::to_string(all.size()));
        const MatrixView view(all);
        bq.back() = copy(view.colRange(0, a));
        bk.back() = copy(view.colRange(a, b));
        bv.back() = copy(view.colRange(b, c));
    }

    Matrix sideBySide(const std::vector<Matrix>& heads, const auto& applied, const std::string& name) const {
        if (heads.size() == 1)
            return applied(heads[0]);
        const Matrix first = applied(heads[0]);
        Matrix out(first.rows(), first.cols() * static_cast<int>(heads.size()));
        for (std::size_t h = 0; h < heads.size(); ++h) {
            const Matrix w = applied(heads[h]);
            if (w.rows() != first.rows() || w.cols() != first.cols())
                throw LoadError(m_file.path(), name + " of head " + std::to_string(h), shape(first) + ", as head 0",
                                shape(w));
            for (int r = 0; r < w.rows(); ++r)
                std::ranges::copy(w.row(r), out.row(r).begin() + static_cast<std::ptrdiff_t>(h) * w.cols());
        }
        return out;
    }

    // Heads without a bias among heads with one have zeros.
    SharedMatrix biasesSideBySide(const std::vector<std::optional<Matrix>>& heads, const std::vector<Matrix>& weights,
                                  bool isApplied) const {
        if (std::ranges::none_of(heads, [](const auto& b) { return b.has_value(); }))
            return nullptr;
        std::vector<float> joined;
        for (std::size_t h = 0; h < heads.size(); ++h) {
            const int width = isApplied ? weights[h].cols() : weights[h].rows();
            if (heads[h] && (heads[h]->rows() != 1 || heads[h]->cols() != width))
                throw LoadError(m_file.path(), "a bias of a projection", std::to_string(width) + " values",
                                shape(*heads[h]));
            for (int c = 0; c < width; ++c)
                joined.push_back(heads[h] ? (*heads[h])(0, c) : 0.0F);
        }
        Matrix out(1, static_cast<int>(joined.size()));
        std::ranges::copy(joined, out.data());
        return share(std::move(out));
    }

    static std::string shape(const Matrix& m) { return std::to_string(m.rows()) + " x " + std::to_string(m.cols()); }

    // h heads split W_Q into bands of d_k; W_K must be whole bands of that width, and their number divide h.
    static bool headsFit(int h, int qWidth, int kWidth, int vWidth, int oWidth) {
        if (h < 1 || qWidth % h != 0)
            return false;
        const int dK = qWidth / h;
        if (kWidth % dK != 0 || kWidth / dK > h || h % (kWidth / dK) != 0 || vWidth % (kWidth / dK) != 0)
            return false;
        return oWidth == 0 || vWidth / (kWidth / dK) * h == oWidth;
    }

    int headCount() const {
        const int q = m_weights.wQ->cols(), k = m_weights.wK->cols(), v = m_weights.wV->cols();
        const int o = m_weights.wO ? m_weights.wO->rows() : 0;
        const std::string widths = "W_Q of width " + std::to_string(q) + ", W_K of width " + std::to_string(k) +
                                   ", W_V of width " + std::to_string(v) +
                                   (o > 0 ? " and an output projection of " + std::to_string(o) : "");
        std::string divisors;
        std::vector<int> possible;
        for (int h = 1; h <= q; ++h)
            if (headsFit(h, q, k, v, o)) {
                possible.push_back(h);
                divisors += (divisors.empty() ? "" : ", ") + std::to_string(h);
            }
        if (possible.empty())
            throw LoadError(m_file.path(), "", "projections that some number of heads divides", widths);
        std::optional<int> known;
        if (m_found.perHead)
            known = static_cast<int>(m_found.q.size());
        else if (!m_source.heads && m_found.form->oneHeadWithoutOutput && !m_weights.wO)
            known = 1;
        else if (possible.size() == 1)
            known = possible[0];
        if (m_found.perHead && m_source.heads && *m_source.heads != *known)
            throw InputError(m_file.path() + ": it has projections for " + std::to_string(*known) +
                             " heads: expected --heads " + std::to_string(*known) + " or none, found " +
                             std::to_string(*m_source.heads));
        const int heads = m_source.heads.value_or(known.value_or(0));
        if (heads == 0)
            throw InputError(m_file.path() + ": the file does not say how many heads it has (" + widths +
                             "): give --heads with one of " + divisors);
        if (std::ranges::find(possible, heads) == possible.end())
            throw InputError(m_file.path() + ": " + std::to_string(heads) + " heads do not fit " + widths +
                             ": expected one of " + divisors);
        return heads;
    }

    ModelConfig makeConfig(const OpenedModel& opened) {
        ModelConfig c;
        c.name = std::filesystem::path(m_file.path()).filename().string();
        c.family = attentionModuleFamily;
        c.dModel = m_weights.wQ->rows();
        c.dModelKey = m_weights.wK->rows();
        if (m_weights.wV->rows() != c.dModelKey)
            throw LoadError(m_file.path(), "W_V",
                            std::to_string(c.dModelKey) + " inputs, as W_K has: both multiply the same matrix",
                            std::to_string(m_weights.wV->rows()));
        c.heads = headCount();
        c.dK = m_weights.wQ->cols() / c.heads;
        c.kvHeads = m_weights.wK->cols() / c.dK;
        c.dV = m_weights.wV->cols() / c.kvHeads;
        c.dOut = m_weights.wO ? m_weights.wO->cols() : c.heads * c.dV;
        c.pair = PairUse::KeyText;
        c.cross = m_source.cross || opened.y || c.dModelKey != c.dModel;
        c.residual = false;
        c.notes.push_back(std::string(m_found.form->what) + (m_found.perHead ? ", one set per head" : "") +
                          (m_found.prefix.empty() ? "" : ", names behind " + printable(m_found.prefix)));
        if (!m_weights.wO)
            c.notes.emplace_back("no output projection: output = concat");
        c.notes.insert(c.notes.end(), m_notes.begin(), m_notes.end());
        std::string unused;
        int shown = 0;
        for (const TensorEntry& e : m_file.entries())
            if (!m_used.contains(e.name) && shown++ < 6)
                unused += (unused.empty() ? "" : ", ") + printable(e.name);
        if (shown > 0)
            c.notes.push_back("not used: " + unused + (shown > 6 ? " and " + std::to_string(shown - 6) + " more" : ""));
        return c;
    }

    const ModelSource& m_source;
    const TensorFile& m_file;
    std::map<std::string, const TensorEntry*> m_byName;
    Found m_found;
    LayerWeights m_weights;
    std::vector<std::string> m_notes;
    std::unordered_set<std::string> m_used;
};

} // namespace

OpenedModel openAttentionModule(const ModelSource& source, const TensorFile& file) {
    return ModuleReader(source, file).open();
}

} // namespace headscope
