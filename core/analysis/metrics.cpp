#include "core/analysis/metrics.h"

#include "core/backend/kernels/kernels.h"
#include "core/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

namespace headscope {

namespace {

// One kind of key a head may look for: the share it gets, and what a head that spreads evenly over the open keys would
// give it. Rows with a single open key have no choice: they count for the share, but say nothing about the head.
struct Share {
    double given = 0;
    int rows = 0;
    double chosen = 0, uniform = 0; // over the rows with a choice
    int choices = 0;

    void addRow(double rowShare, double uniformShare, bool hasChoice) {
        given += rowShare;
        ++rows;
        if (!hasChoice)
            return;
        chosen += rowShare;
        uniform += uniformShare;
        ++choices;
    }
    double mean() const { return rows == 0 ? 0.0 : given / rows; }
    // How far the share is on the way from the even head (0) to all of it (1). Where an even head gives most of it
    // anyway, nothing can be told from it.
    double lift() const {
        const double u = choices == 0 ? 1.0 : uniform / choices;
        return u > 0.75 ? 0.0 : (chosen / choices - u) / (1.0 - u);
    }
};

struct Shares {
    Share self, previous, next, first, same, identical, separator, induction, even;
};

// The labels, in the order in which they are tried. Everything `heads --help` says about them comes from here.
struct LabelRule {
    const char* name;
    double threshold;        // of the lift, for a long text
    bool acrossTexts;        // also in cross-attention, where i and j count in different texts
    Share Shares::*evidence; // whose lift
    Share Shares::*strength; // whose mean
    bool (*holds)(const Shares&);
    const char* what;

    // The fewer rows can show it, the more it takes: in one row anything is luck.
    double needed(const Shares& s) const { return threshold + (1.0 - threshold) / std::max(1, (s.*evidence).choices); }
    bool isEarned(const Shares& s) const { return (s.*evidence).lift() >= needed(s) && holds(s); }
};

bool always(const Shares&) {
    return true;
}

constexpr std::array labelRules{
    LabelRule{"previous", 0.4, false, &Shares::previous, &Shares::previous,
              [](const Shares& s) { return s.previous.mean() >= 2 * s.next.mean(); },
              "the token before, with at least twice the share of the token after"},
    LabelRule{"next", 0.4, false, &Shares::next, &Shares::next,
              [](const Shares& s) { return s.next.mean() >= 2 * s.previous.mean(); },
              "the token after, with at least twice the share of the token before"},
    LabelRule{"first", 0.4, true, &Shares::first, &Shares::first, always, "the first token"},
    LabelRule{"separator", 0.4, true, &Shares::separator, &Shares::separator, always,
              "special tokens, else the last punctuation mark"},
    // A head that looks for the same word finds the token itself too: all copies count, the others for a good part.
    LabelRule{"same word", 0.7, true, &Shares::identical, &Shares::same,
              [](const Shares& s) { return s.same.mean() >= 0.3; },
              "where words repeat: all tokens with the identical string, other places at least 0.3"},
    LabelRule{"induction", 0.4, false, &Shares::induction, &Shares::induction, always,
              "the token after an earlier occurrence of the same token"},
    LabelRule{"self", 0.4, false, &Shares::self, &Shares::self, always, "the token itself"},
    LabelRule{"uniform", 0.9, true, &Shares::even, &Shares::even, always,
              "all open keys: the share is 1 - half the sum of |weight - 1/open keys|"},
};

// Which keys each query could mean, found once per trace: positions in the key text, ascending.
struct KeySets {
    bool cross = false;
    std::vector<int> separators;
    std::vector<std::vector<int>> identical; // per query
    std::vector<std::vector<int>> induction;

    explicit KeySets(const Scenario& scenario) : cross(scenario.key.has_value()) {
        const std::vector<Token>& queries = scenario.query.tokens;
        const std::vector<Token>& keys = scenario.keyTokens().tokens;
        std::unordered_map<std::string_view, std::vector<int>> places;
        int lastMark = -1;
        for (int j = 0; j < static_cast<int>(keys.size()); ++j) {
            const Token& key = keys[static_cast<std::size_t>(j)];
            places[key.piece].push_back(j);
            if (key.special)
                separators.push_back(j);
            if (isPunctuation(key.text))
                lastMark = j;
        }
        if (separators.empty() && lastMark >= 0)
            separators.push_back(lastMark);

        identical.resize(queries.size());
        induction.resize(queries.size());
        for (std::size_t i = 0; i < queries.size(); ++i) {
            const auto found = places.find(queries[i].piece);
            if (found == places.end())
                continue;
            identical[i] = found->second;
            const int query = static_cast<int>(i);
            for (const int j : found->second)
                if (j + 1 < query) // after an earlier occurrence, and not the query itself
                    induction[i].push_back(j + 1);
        }
    }
};

// The kinds of key, in the order in which a row's shares are kept.
constexpr std::array kinds{&Shares::self,      &Shares::previous,  &Shares::next,      &Shares::first, &Shares::same,
                           &Shares::identical, &Shares::separator, &Shares::induction, &Shares::even};

} // namespace

// One row of one head: what it adds to each share.
struct HeadMeter::Row {
    struct Part {
        bool there = false;
        double given = 0, uniform = 0;
    };
    bool counts = false, hasChoice = false;
    RowSums sums;
    std::array<Part, kinds.size()> parts;

    Part& part(Share Shares::*kind) {
        return parts[static_cast<std::size_t>(std::ranges::find(kinds, kind) - kinds.begin())];
    }
};

struct HeadMeter::Keys : KeySets {
    using KeySets::KeySets;
};

std::shared_ptr<const HeadMeter::Keys> HeadMeter::keysOf(const AttentionTrace& trace) {
    return std::make_shared<const Keys>(trace.scenario);
}

HeadMeter::HeadMeter(const AttentionTrace& trace, LayerIndex layer, HeadIndex head, std::shared_ptr<const Keys> keys)
    : m_trace(trace), m_layer(layer), m_head(head), m_keys(std::move(keys)),
      m_rows(static_cast<std::size_t>(trace.scenario.queries())) {}
HeadMeter::HeadMeter(HeadMeter&&) noexcept = default;
HeadMeter::~HeadMeter() = default;

RowSums HeadMeter::add(int i, std::span<const float> a) {
    Row& row = m_rows[static_cast<std::size_t>(i)];
    const int m = static_cast<int>(a.size());
    const KeyMask& mask = m_trace.mask;
    const KeyMask::Range range = mask.open[static_cast<std::size_t>(i)];
    int open = std::max(0, std::min(range.end, m) - range.begin);
    if (mask.additive) {
        const auto added =
            mask.additive->row(i).subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(open));
        open -= static_cast<int>(std::ranges::count(added, KeyMask::minusInfinity));
    }
    const double even = open > 0 ? 1.0 / open : 0.0;
    kernels().rowSums(a.data(), m, i, range.begin, range.end, mask.additive ? mask.additive->row(i).data() : nullptr,
                      static_cast<float>(even), &row.sums);
    row.counts = !m_trace.layer(m_layer).emptyRows[static_cast<std::size_t>(i)];
    row.hasChoice = open > 1;
    if (!row.counts)
        return row.sums;

    const auto addTo = [&](Share Shares::*kind, int j) {
        Row::Part& part = row.part(kind);
        part.there = true;
        part.given += static_cast<double>(a[static_cast<std::size_t>(j)]);
        part.uniform += mask.isOpen(i, j) ? even : 0.0;
    };
    const auto addKey = [&](Share Shares::*kind, int j) {
        if (j >= 0 && j < m)
            addTo(kind, j);
    };
    // Keys of a list, except one.
    const auto addKeys = [&](Share Shares::*kind, const std::vector<int>& keys, int except = -1) {
        for (const int j : keys)
            if (j != except)
                addTo(kind, j);
    };
    addKey(&Shares::self, i);
    addKey(&Shares::previous, i - 1);
    addKey(&Shares::next, i + 1);
    addKey(&Shares::first, 0);
    addKeys(&Shares::separator, m_keys->separators);
    addKeys(&Shares::induction, m_keys->induction[static_cast<std::size_t>(i)]);
    const std::vector<int>& identical = m_keys->identical[static_cast<std::size_t>(i)];
    if (m_keys->cross) {
        addKeys(&Shares::same, identical);
        addKeys(&Shares::identical, identical);
    } else if (identical.size() > 1) {
        addKeys(&Shares::same, identical, i);
        addKeys(&Shares::identical, identical);
    }
    if (open > 1)
        row.part(&Shares::even) = {true, 1.0 - row.sums.apart / 2, 0.0};
    return row.sums;
}

HeadMetrics HeadMeter::result() const {
    HeadMetrics out;
    out.layer = m_layer;
    out.head = m_head;
    Shares shares;
    int rows = 0;
    for (const Row& row : m_rows) { // in order, so that it does not matter in which they came
        if (!row.counts)
            continue;
        ++rows;
        out.entropy += row.sums.entropy;
        out.distance += row.sums.distance;
        out.concentration += static_cast<double>(row.sums.largest);
        for (std::size_t k = 0; k < kinds.size(); ++k)
            if (row.parts[k].there)
                (shares.*kinds[k]).addRow(row.parts[k].given, row.parts[k].uniform, row.hasChoice);
    }
    if (rows > 0) {
        out.entropy /= rows;
        out.distance /= rows;
        out.concentration /= rows;
    }
    out.self = shares.self.mean();
    out.previous = shares.previous.mean();
    out.next = shares.next.mean();
    out.first = shares.first.mean();
    out.same = shares.same.mean();
    out.separator = shares.separator.mean();
    out.induction = shares.induction.mean();
    out.evenness = shares.even.mean();
    out.label = "none";
    for (const LabelRule& rule : labelRules) {
        if ((m_keys->cross && !rule.acrossTexts) || !rule.isEarned(shares))
            continue;
        out.label = rule.name;
        out.strength = (shares.*rule.strength).mean();
        break;
    }
    return out;
}

static std::vector<HeadMetrics> measured(const AttentionTrace& trace, LayerIndex layer,
                                         std::span<const HeadIndex> heads,
                                         const std::shared_ptr<const HeadMeter::Keys>& keys) {
    std::vector<HeadMeter> meters;
    for (const HeadIndex head : heads)
        meters.emplace_back(trace, layer, head, keys);
    visitWeights(trace, layer, heads, [&](int which, int begin, MatrixView weights) {
        for (int r = 0; r < weights.rows; ++r)
            meters[static_cast<std::size_t>(which)].add(begin + r, weights.row(r));
    });
    std::vector<HeadMetrics> all;
    all.reserve(meters.size());
    for (const HeadMeter& meter : meters)
        all.push_back(meter.result());
    return all;
}

HeadMetrics headMetrics(const AttentionTrace& trace, LayerIndex layer, HeadIndex head) {
    return measured(trace, layer, {&head, 1}, HeadMeter::keysOf(trace)).front();
}

std::vector<HeadMetrics> allHeadMetrics(const AttentionTrace& trace) {
    const auto keys = HeadMeter::keysOf(trace);
    std::vector<HeadMetrics> all;
    for (int l = 0; l < trace.config().layers; ++l)
        std::ranges::copy(measured(trace, LayerIndex{l}, allHeads(trace.config()), keys), std::back_inserter(all));
    return all;
}

std::vector<HeadIndex> allHeads(const ModelConfig& config) {
    std::vector<HeadIndex> heads;
    heads.reserve(static_cast<std::size_t>(config.heads));
    for (int h = 0; h < config.heads; ++h)
        heads.emplace_back(h);
    return heads;
}

std::string labelHelp() {
    std::string help =
        "A head gets the first label whose lift is at least t + (1 - t) / rows, else none. The lift of a share is\n"
        "(share - u) / (1 - u), where u is what a head spreading evenly over the open keys would give on this text\n"
        "(0 where u is above 0.75); rows are those that have such a key and a choice between several open ones.\n";
    for (const LabelRule& rule : labelRules) {
        std::string line = std::string("  ") + rule.name;
        line.resize(13, ' ');
        const int tenths = static_cast<int>(std::lround(rule.threshold * 10));
        help += line + "t = 0." + std::to_string(tenths) + "  " + rule.what +
                (rule.acrossTexts ? "" : " (not in cross-attention)") + "\n";
    }
    return help;
}

} // namespace headscope
