//  Arrays of captured attention, L layers, h heads, n queries, m keys; a batch axis of 1 may stand before h
//
//    weights       (L, h, n, m), (h, n, m) or (n, m); alone in a .npy, under any name
//    weights.{L}   one array per layer: (h, n, m) or (n, m)
//    tokens        n unicode strings; tokens_key: m of them, in cross-attention
//
//  and of Headscope's own dumps: [encoder.|decoder.]layers.{L}.{self|cross}.{stage}, tokens.query, tokens.key,
//  ids.query, ids.key, heads (which query heads the dump was cut to).

#include "core/model/captured_attention.h"

#include "core/model/mapped_file.h"
#include "core/tensor/number_text.h"
#include "core/text/subword_tokenizer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>

namespace headscope {

namespace {

using Place = CapturedLayout::Place;

constexpr std::string_view weightsId = "weights";
constexpr std::int64_t mostHeads = 1 << 16, mostTokens = 1 << 20;
constexpr double rowSumTolerance = 1e-3; // float16 rounds by half of this

std::string shapeText(const std::vector<std::int64_t>& shape) {
    std::string text;
    for (const std::int64_t size : shape)
        text += (text.empty() ? "" : " x ") + std::to_string(size);
    return shape.empty() ? "a single number" : text;
}

bool isFloatArray(const TensorEntry& e) {
    return e.type.ends_with("f2") || e.type.ends_with("f4") || e.type.ends_with("f8");
}

std::optional<int> numberOf(std::string_view digits) {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size() || value < 0)
        return std::nullopt;
    return value;
}

// "decoder.layers.3.cross.scores" -> site "decoder.cross", layer 3, stage "scores".
struct DumpName {
    std::string site, stage;
    int layer = 0;
};
std::optional<DumpName> dumpNameOf(std::string_view name) {
    DumpName out;
    for (const std::string_view prefix : {"encoder.", "decoder."})
        if (name.starts_with(prefix)) {
            out.site = prefix;
            name.remove_prefix(prefix.size());
        }
    constexpr std::string_view layers = "layers.";
    if (!name.starts_with(layers))
        return std::nullopt;
    name.remove_prefix(layers.size());
    const std::size_t dot = name.find('.'), last = name.find('.', dot + 1);
    const auto layer = numberOf(name.substr(0, dot));
    if (!layer || dot == std::string_view::npos || last == std::string_view::npos)
        return std::nullopt;
    const std::string_view kind = name.substr(dot + 1, last - dot - 1), stage = name.substr(last + 1);
    if ((kind != "self" && kind != "cross") || stage.empty())
        return std::nullopt;
    out.site += kind;
    out.stage = stage;
    out.layer = *layer;
    return out;
}

bool isWeightOf(std::string_view stage) { // W_Q, b_Q ...: there is nothing to multiply here
    return stage.starts_with("W_") || stage.starts_with("b_") || stage == "empty_rows";
}

class LayoutReader {
public:
    explicit LayoutReader(const TensorFile& file) : m_file(file) {}

    CapturedLayout read() {
        for (const TensorEntry& e : m_file.entries())
            if (const auto name = dumpNameOf(e.name); name && !isWeightOf(name->stage))
                m_sites[name->site][name->layer].emplace(name->stage, Place{&e, 0, e.shape});
        const bool isDump = !m_sites.empty();
        isDump ? takeSite() : takeWeights();
        readSizes();
        isDump ? takeDumpTokens() : takeTokens();
        return std::move(m_out);
    }

private:
    [[noreturn]] void fail(const std::string& entry, const std::string& expected, const std::string& found,
                           const std::string& hint = {}) const {
        throw LoadError(m_file.path(), printable(entry), expected, found, hint);
    }

    // One kind of attention is shown: of an encoder-decoder's dump the one that crosses.
    void takeSite() {
        m_site = m_sites.contains("decoder.cross") ? "decoder.cross" : m_sites.begin()->first;
        const auto& layers = m_sites.at(m_site);
        for (const auto& [stage, place] : layers.begin()->second) {
            std::vector<Place> places;
            for (const auto& [l, stages] : layers)
                if (const auto it = stages.find(stage); it != stages.end())
                    places.push_back(it->second);
            if (places.size() == layers.size())
                m_out.stages[stage] = std::move(places);
            else
                note(stage + " is not in every layer and is left out");
        }
        if (!m_out.stages.contains(weightsId))
            fail("", "weights in every layer of " + m_site + "-attention",
                 m_out.stages.empty() ? "none" : "other stages", "dump it with --stage weights among others");
        if (m_sites.size() > 1)
            note("shown is " + m_site + "; the file has " + std::to_string(m_sites.size() - 1) + " other kind" +
                 (m_sites.size() > 2 ? "s" : "") + " of attention");
        int next = 0;
        std::string numbers;
        bool renumbered = false;
        for (const auto& [l, stages] : layers) {
            renumbered = renumbered || l != next++;
            numbers += (numbers.empty() ? "" : ", ") + std::to_string(l);
        }
        if (renumbered)
            note("the layers are numbered from 0; in the model they were " + numbers);
        // Which KV head belongs to which of the chosen heads, and which columns, is not in the file.
        if (m_file.find("heads") != nullptr) {
            for (const char* all : {"k", "v", "projection_q", "projection_k", "projection_v", "concat"})
                m_out.stages.erase(all);
            note("cut to some heads: what all heads share is left out");
        }
    }

    void takeWeights() {
        std::map<int, const TensorEntry*> perLayer;
        const TensorEntry* whole = m_file.format() == "npy" ? &m_file.entries().front() : m_file.find(weightsId);
        for (const TensorEntry& e : m_file.entries())
            if (e.name.starts_with("weights."))
                if (const auto layer = numberOf(std::string_view(e.name).substr(8)))
                    perLayer[*layer] = &e;
        if (whole && !perLayer.empty())
            fail("weights", "one array of all layers, or one per layer", "both");
        std::vector<Place>& places = m_out.stages[std::string(weightsId)];
        if (whole) {
            std::vector<std::int64_t> shape = whole->shape;
            if (shape.size() == 5 && shape[1] == 1)
                shape.erase(shape.begin() + 1);
            if (shape.size() < 2 || shape.size() > 4 || whole->count == 0)
                fail(whole->name, "(layers, heads, queries, keys), (heads, queries, keys) or (queries, keys)",
                     shapeText(whole->shape));
            const std::int64_t layers = shape.size() == 4 ? shape[0] : 1;
            if (shape.size() == 4)
                shape.erase(shape.begin());
            if (layers > mostHeads)
                fail(whole->name, "at most " + std::to_string(mostHeads) + " layers", std::to_string(layers));
            for (std::int64_t l = 0; l < layers; ++l)
                places.push_back({whole, l * (whole->count / layers), shape});
            return;
        }
        for (const auto& [layer, e] : perLayer) {
            if (layer != static_cast<int>(places.size()))
                fail("weights." + std::to_string(places.size()), "the weights of every layer from 0 on",
                     "none, but " + e->name);
            places.push_back({e, 0, e->shape});
            if (e->shape.size() == 4 && e->shape[0] == 1)
                places.back().shape.erase(places.back().shape.begin());
        }
    }

    // The last size of a stage's arrays, which is what the model's sizes are known from.
    int widthOf(std::string_view stage, int otherwise) const {
        const auto it = m_out.stages.find(stage);
        return it == m_out.stages.end() ? otherwise : static_cast<int>(it->second.front().shape.back());
    }

    void readSizes() {
        std::int64_t n = 0, m = 0, heads = 0;
        for (auto& [stage, places] : m_out.stages)
            for (Place& p : places) {
                const bool isWeights = stage == weightsId;
                if (!isFloatArray(*p.entry))
                    fail(p.entry->name, "floating-point numbers (float16, float32 or float64)", p.entry->type);
                if (p.shape.size() == 2 && isWeights)
                    p.shape.insert(p.shape.begin(), 1);
                if (p.shape.size() < 2 || p.shape.size() > 3 || p.entry->count == 0)
                    fail(p.entry->name, isWeights ? "(heads, queries, keys) or (queries, keys)" : "2 or 3 dimensions",
                         shapeText(p.entry->shape));
                for (const std::int64_t size : p.shape)
                    if (size > mostTokens)
                        fail(p.entry->name, "sizes of at most " + std::to_string(mostTokens),
                             shapeText(p.entry->shape));
            }
        const auto weights = m_out.stages.find(weightsId);
        for (const Place& p : weights->second) {
            if (&p == &weights->second.front()) {
                heads = p.shape[0], n = p.shape[1], m = p.shape[2];
                m_first = &p;
            }
            if (p.shape != m_first->shape)
                fail(p.entry->name, shapeText(m_first->shape) + ", as " + m_first->entry->name, shapeText(p.shape));
        }
        ModelConfig& c = m_out.config;
        c.layers = static_cast<int>(weights->second.size());
        if (heads < 1)
            fail(m_first->entry->name, "at least one head", shapeText(m_first->shape));
        if (heads * c.layers > mostHeads)
            fail(m_first->entry->name, "at most " + std::to_string(mostHeads) + " heads",
                 std::to_string(heads * c.layers));
        m_out.queries = static_cast<int>(n), m_out.keys = static_cast<int>(m);
        c.name = std::filesystem::path(m_file.path()).filename().string();
        c.family = capturedFamily;
        c.heads = c.kvHeads = static_cast<int>(heads);
        for (const char* stage : {"k", "v"})
            if (const auto it = m_out.stages.find(stage); it != m_out.stages.end()) {
                const auto& shape = it->second.front().shape;
                const std::int64_t kvHeads = shape.size() == 3 ? shape.front() : 0;
                if (kvHeads < 1 || heads % kvHeads != 0)
                    fail(it->second.front().entry->name, "KV heads that divide the " + std::to_string(heads) + " heads",
                         shapeText(shape));
                c.kvHeads = static_cast<int>(kvHeads);
            }
        c.dModel = c.dModelKey = widthOf("embedding", 0);
        c.dModelKey = widthOf("embedding_key", c.dModel);
        c.dK = widthOf("q", widthOf("k", widthOf("projection_q", 0) / c.heads));
        c.dV = widthOf("head_output", widthOf("v", widthOf("concat", 0) / c.heads));
        c.dOut = widthOf("output", widthOf("contribution", c.dModel));
        c.cross = m_site.ends_with("cross") || n != m;
        c.residual = false;
        c.maxTokens = std::max(m_out.queries, m_out.keys);
        m_out.config.notes.push_back("nothing is computed: the numbers are those of the file");
    }

    const TensorEntry* texts(const char* name, int count, const char* of) const {
        const TensorEntry* e = m_file.find(name);
        if (!e)
            return nullptr;
        const bool isList = e->shape.size() == 1 || (e->shape.size() == 2 && e->shape[0] == 1);
        if (e->type.find('U') == std::string::npos)
            fail(name, "unicode strings (numpy.array(tokens, dtype=str))", e->type);
        if (!isList || e->count != count)
            fail(name, std::to_string(count) + " strings, one for each " + of, shapeText(e->shape));
        return e;
    }

    void takeTokens() {
        m_out.tokens = texts("tokens", m_out.queries, "query");
        m_out.tokensKey = texts("tokens_key", m_out.keys, "key");
        m_out.config.cross = m_out.config.cross || m_out.tokensKey != nullptr;
        if (m_out.tokens && !m_out.tokensKey && m_out.queries != m_out.keys)
            fail("tokens_key", std::to_string(m_out.keys) + " strings, one for each key", "none");
        if (!m_out.tokens)
            note("the file has no tokens: rows and columns are numbered");
    }

    // An encoder-decoder's dump has the decoder's tokens as queries and the encoder's as keys.
    void takeDumpTokens() {
        const bool encoder = m_site == "encoder.self", decoder = m_site == "decoder.self";
        const char* const query = encoder ? "tokens.key" : "tokens.query";
        const char* const key = decoder ? "tokens.query" : "tokens.key";
        m_out.tokens = texts(query, m_out.queries, "query");
        m_out.tokensKey = texts(key, m_out.keys, "key");
        const auto ids = [&](const char* name, int count) {
            const TensorEntry* e = m_file.find(name);
            return e && e->count == count && e->type.ends_with("i8") ? e : nullptr;
        };
        m_out.ids = ids(encoder ? "ids.key" : "ids.query", m_out.queries);
        m_out.idsKey = ids(decoder ? "ids.query" : "ids.key", m_out.keys);
        if (!m_out.config.cross) // the same tokens again
            m_out.tokensKey = m_out.idsKey = nullptr;
    }

    void note(std::string sentence) { m_out.config.notes.push_back(std::move(sentence)); }

    const TensorFile& m_file;
    CapturedLayout m_out;
    std::string m_site;
    std::map<std::string, std::map<int, std::map<std::string, Place>>> m_sites; // site, layer, stage
    const Place* m_first = nullptr;
};

// It has its own tokens and takes no other text.
class CapturedTokenizer final : public Tokenizer {
public:
    explicit CapturedTokenizer(std::string file) : m_file(std::move(file)) {}
    std::string name() const override { return "none: the tokens are those of the file"; }
    TokenSequence tokenize(std::string_view) const override {
        throw InputError(m_file + " holds attention that was captured from its own text: it takes no other; open a "
                                  "model to type one");
    }
    TokenSequence encode(const TokenizerInput& input) const override { return tokenize(input.text); }
    Token tokenOf(std::int64_t id) const override {
        return {.id = id, .piece = std::to_string(id), .text = std::to_string(id)};
    }

private:
    std::string m_file;
};

class NoEmbedder final : public Embedder {
public:
    Embedding embed(const TokenSequence& tokens) const override {
        const SharedMatrix none = share(Matrix(tokens.size(), 0));
        return {{}, none, none};
    }
};

// Strings of a file have no range in a text; special ones are known by how families write them.
bool looksSpecial(const std::string& piece) {
    const auto framed = [&](char open, char close) {
        return piece.size() > 2 && piece.front() == open && piece.back() == close;
    };
    return framed('[', ']') || framed('<', '>');
}

// A list of ids or head numbers, which a file may have as anything.
std::vector<std::int64_t> wholeNumbers(const TensorFile& file, const TensorEntry& entry) {
    constexpr double most = 9007199254740992; // every whole number below it is a double
    std::vector<std::int64_t> out;
    for (const double v : file.readDoubles(entry)) {
        if (!(v >= 0 && v < most && v == std::floor(v)))
            throw LoadError(file.path(), printable(entry.name), "whole numbers of 0 or more", shortest(v));
        out.push_back(static_cast<std::int64_t>(v));
    }
    return out;
}

TokenSequence tokenSequence(const TensorFile& file, const TensorEntry* tokens, const TensorEntry* ids, int count) {
    TokenSequence out;
    std::vector<std::string> pieces(static_cast<std::size_t>(count));
    if (tokens)
        pieces = file.readStrings(*tokens);
    std::vector<std::int64_t> numbers;
    if (ids)
        numbers = wholeNumbers(file, *ids);
    const auto any = [&](auto predicate) { return std::ranges::any_of(pieces, predicate); };
    const auto holds = [](std::string_view mark) {
        return [mark](const std::string& p) { return p.find(mark) != std::string::npos; };
    };
    const PieceStyle style = any(holds("\u0120"))                                            ? PieceStyle::ByteLevel
                             : any(holds("\u2581"))                                          ? PieceStyle::Metaspace
                             : any([](const std::string& p) { return p.starts_with("##"); }) ? PieceStyle::WordPiece
                                                                                             : PieceStyle::Plain;
    for (int i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (!tokens)
            pieces[at] = std::to_string(i);
        const bool special = looksSpecial(pieces[at]);
        out.tokens.push_back({.id = ids ? numbers[at] : i,
                              .piece = pieces[at],
                              .text = special ? pieces[at] : readablePiece(pieces[at], style),
                              .special = special});
    }
    return out;
}

std::string placeText(LayerIndex layer, std::size_t head, int row) {
    return "L" + std::to_string(layer.value) + " H" + std::to_string(head) + ", row " + std::to_string(row);
}

// What a reader of the weights has to know, and whether the keys after a query are never attended to.
void lookAtWeights(CapturedAttention& captured, ModelConfig& config, bool fileIsBare) {
    std::int64_t rows = 0, off = 0, negative = 0;
    std::string first;
    bool lower = !captured.key;
    const auto& layers = captured.stages.find(weightsId)->second;
    for (std::size_t l = 0; l < layers.size(); ++l)
        for (std::size_t h = 0; h < layers[l].matrices.size(); ++h) {
            const Matrix& a = *layers[l].matrices[h];
            for (int r = 0; r < a.rows(); ++r, ++rows) {
                double sum = 0;
                for (int c = 0; c < a.cols(); ++c) {
                    sum += a(r, c);
                    negative += a(r, c) < 0 ? 1 : 0;
                    lower = lower && (c <= r || a(r, c) == 0);
                }
                if (std::abs(sum - 1) <= rowSumTolerance)
                    continue;
                if (off++ == 0)
                    first = placeText(LayerIndex{static_cast<int>(l)}, h, r) + ", to " +
                            shortest(static_cast<float>(std::round(sum * 1e4) / 1e4));
            }
        }
    if (off > 0)
        captured.remarks.push_back(captured.file + ": " + std::to_string(off) + " of " + std::to_string(rows) +
                                   " rows do not sum to 1, the first " + first + "; they are shown as they are");
    if (negative > 0 && fileIsBare) // a lone array could be anything
        throw LoadError(captured.file, "", "attention weights of 0 or more",
                        std::to_string(negative) + " numbers below 0", "a matrix X belongs to --x");
    if (negative > 0)
        captured.remarks.push_back(captured.file + ": " + std::to_string(negative) +
                                   " weights are below 0, which no softmax gives");
    if (lower && captured.query.size() > 1) {
        config.causal = true;
        config.notes.emplace_back("every weight above the diagonal is 0: read as a causal mask");
    }
    config.notes.insert(config.notes.end(), captured.remarks.begin(), captured.remarks.end());
}

class ValueReader {
public:
    explicit ValueReader(const TensorFile& file) : m_file(file) {}

    CapturedArray read(const std::string& stage, const Place& p) {
        if (p.entry != m_entry) {
            m_entry = p.entry;
            m_doubles.reset();
            m_floats.clear();
            if (p.entry->type.ends_with("f8")) {
                m_doubles = std::make_shared<const std::vector<double>>(m_file.readDoubles(*p.entry));
                m_floats.resize(m_doubles->size());
                std::ranges::transform(*m_doubles, m_floats.begin(), [](double v) { return static_cast<float>(v); });
            } else {
                m_floats = m_file.read(*p.entry);
            }
        }
        CapturedArray out{p.entry->name, "<f" + p.entry->type.substr(p.entry->type.size() - 1), {}, m_doubles, p.first};
        const int rows = static_cast<int>(p.shape[p.shape.size() - 2]), cols = static_cast<int>(p.shape.back());
        const std::int64_t count = p.shape.size() == 3 ? p.shape[0] : 1;
        std::size_t at = static_cast<std::size_t>(p.first);
        for (std::int64_t h = 0; h < count; ++h) {
            Matrix m(rows, cols);
            for (std::size_t i = 0; i < m.size(); ++i, ++at) {
                const float v = m_floats[at];
                const bool closed = stage == "masked" && v == -std::numeric_limits<float>::infinity();
                if (!std::isfinite(v) && !closed)
                    throw LoadError(m_file.path(), printable(p.entry->name), "finite numbers",
                                    shortest(v) + " in head " + std::to_string(h) + ", row " +
                                        std::to_string(i / m.row(0).size()) + ", column " +
                                        std::to_string(i % m.row(0).size()));
                m.values()[i] = v;
            }
            out.matrices.push_back(share(std::move(m)));
        }
        return out;
    }

private:
    const TensorFile& m_file;
    const TensorEntry* m_entry = nullptr; // the one that was read last: layers may share it
    Floats m_floats;
    std::shared_ptr<const std::vector<double>> m_doubles;
};

} // namespace

const CapturedArray* CapturedAttention::find(std::string_view stage, LayerIndex layer) const {
    const auto it = stages.find(stage);
    return it == stages.end() ? nullptr : &it->second[static_cast<std::size_t>(layer.value)];
}

std::string CapturedAttention::stageList() const {
    std::string list;
    for (const auto& [id, arrays] : stages)
        list += (list.empty() ? "" : ", ") + id;
    return list + (stages.size() == 1 ? " only" : "");
}

bool holdsCapturedAttention(const TensorFile& file) {
    if (file.format() == "npy")
        return file.entries().front().shape.size() >= 2 && isFloatArray(file.entries().front());
    return file.format() == "npz" && std::ranges::any_of(file.entries(), [](const TensorEntry& e) {
               const std::string_view name = e.name;
               return name == weightsId || (name.starts_with("weights.") && numberOf(name.substr(8))) ||
                      dumpNameOf(name).has_value();
           });
}

CapturedLayout capturedLayout(const TensorFile& file) {
    return LayoutReader(file).read();
}

OpenedModel openCapturedAttention(ModelSource source, const TensorFile& file) {
    CapturedLayout layout = capturedLayout(file);
    std::uint64_t bytes = 0;
    for (const auto& [stage, places] : layout.stages)
        for (const Place& p : places) {
            std::uint64_t count = 1;
            for (const std::int64_t size : p.shape)
                count *= static_cast<std::uint64_t>(size);
            bytes += count * (p.entry->type.ends_with("f8") ? 16 : 8) + 128 * static_cast<std::uint64_t>(p.shape[0]);
        }
    requireFreeMemory(bytes, file.path(), "");

    auto captured = std::make_shared<CapturedAttention>();
    captured->file = layout.config.name;
    captured->query = tokenSequence(file, layout.tokens, layout.ids, layout.queries);
    if (layout.config.cross)
        captured->key = tokenSequence(file, layout.tokensKey, layout.idsKey, layout.keys);
    ValueReader reader(file);
    for (const auto& [stage, places] : layout.stages)
        for (const Place& p : places)
            captured->stages[stage].push_back(reader.read(stage, p));
    if (const TensorEntry* chosen = file.find("heads"); chosen && chosen->count == layout.config.heads)
        for (const std::int64_t h : wholeNumbers(file, *chosen))
            layout.config.headNames.push_back("(H" + std::to_string(h) + " of the model)");
    lookAtWeights(*captured, layout.config, file.format() == "npy");

    std::vector<LayerWeights> none(static_cast<std::size_t>(layout.config.layers));
    auto tokenizer = std::make_shared<CapturedTokenizer>(captured->file);
    return {std::move(source),
            std::make_shared<const Model>(std::move(layout.config), std::move(none), std::move(tokenizer),
                                          std::make_shared<NoEmbedder>(), nullptr, std::move(captured)),
            nullptr,
            nullptr,
            {}};
}

} // namespace headscope
