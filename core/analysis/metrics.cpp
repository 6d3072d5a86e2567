#include "core/analysis/metrics.h"

#include "core/attention/head_problem.h"
#include "core/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

namespace headscope {

namespace {

constexpr int rowsPerBlock = 64;

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

// Calls visit(row, weights of the row) for all rows, holding a block of them at a time.
template<class Visit>
void forEachRow(const AttentionTrace& trace, LayerIndex layer, HeadIndex head, const Visit& visit) {
    const int n = trace.scenario.queries();
    if (const SharedMatrix& mean = trace.layer(layer).meanWeights) { // rule average-heads
        for (int i = 0; i < n; ++i)
            visit(i, mean->row(i));
        return;
    }
    if (trace.scenario.model->captured()) {
        const SharedMatrix weights = stageMatrix(trace, layer, head, Stage::Weights);
        for (int i = 0; i < n; ++i)
            visit(i, weights->row(i));
        return;
    }
    const HeadInputs in = headInputs(trace.scenario, trace.mask, trace.layer(layer), layer, head);
    const int step = in.problem.softmaxOverQueries ? n : rowsPerBlock;
    for (int begin = 0; begin < n; begin += step) {
        const int end = std::min(n, begin + step);
        const HeadRows rows = trace.backend->attend(in.problem, begin, end, {.weights = true});
        for (int i = begin; i < end; ++i)
            visit(i, rows.weights.row(i - begin));
    }
}

HeadMetrics measure(const AttentionTrace& trace, const KeySets& sets, LayerIndex layer, HeadIndex head) {
    HeadMetrics out;
    out.layer = layer;
    out.head = head;
    const int m = trace.scenario.keys();
    const std::vector<bool>& empty = trace.layer(layer).emptyRows;
    Shares shares;
    int rows = 0;
    forEachRow(trace, layer, head, [&](int i, std::span<const float> a) {
        if (empty[static_cast<std::size_t>(i)])
            return;
        ++rows;
        int open = 0;
        double entropy = 0, distance = 0, largest = 0;
        for (int j = 0; j < m; ++j) {
            const double w = a[static_cast<std::size_t>(j)];
            open += trace.mask.isOpen(i, j) ? 1 : 0;
            entropy -= w > 0 ? w * std::log2(w) : 0.0;
            distance += w * std::abs(i - j);
            largest = std::max(largest, w);
        }
        out.entropy += entropy;
        out.distance += distance;
        out.concentration += largest;

        const double even = 1.0 / open;
        const auto weight = [&](int j) { return static_cast<double>(a[static_cast<std::size_t>(j)]); };
        const auto addKey = [&](Share& share, int j) {
            if (j >= 0 && j < m)
                share.addRow(weight(j), trace.mask.isOpen(i, j) ? even : 0.0, open > 1);
        };
        // Keys of a list, except one.
        const auto addKeys = [&](Share& share, const std::vector<int>& keys, int except = -1) {
            double given = 0, uniform = 0;
            int count = 0;
            for (const int j : keys) {
                if (j == except)
                    continue;
                ++count;
                given += weight(j);
                uniform += trace.mask.isOpen(i, j) ? even : 0.0;
            }
            if (count > 0)
                share.addRow(given, uniform, open > 1);
        };
        addKey(shares.self, i);
        addKey(shares.previous, i - 1);
        addKey(shares.next, i + 1);
        addKey(shares.first, 0);
        addKeys(shares.separator, sets.separators);
        addKeys(shares.induction, sets.induction[static_cast<std::size_t>(i)]);
        const std::vector<int>& identical = sets.identical[static_cast<std::size_t>(i)];
        if (sets.cross) {
            addKeys(shares.same, identical);
            addKeys(shares.identical, identical);
        } else if (identical.size() > 1) {
            addKeys(shares.same, identical, i);
            addKeys(shares.identical, identical);
        }
        if (open > 1) {
            double apart = 0;
            for (int j = 0; j < m; ++j)
                apart += std::abs(weight(j) - (trace.mask.isOpen(i, j) ? even : 0.0));
            shares.even.addRow(1.0 - apart / 2, 0.0, true);
        }
    });
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
        if ((sets.cross && !rule.acrossTexts) || !rule.isEarned(shares))
            continue;
        out.label = rule.name;
        out.strength = (shares.*rule.strength).mean();
        break;
    }
    return out;
}

} // namespace

HeadMetrics headMetrics(const AttentionTrace& trace, LayerIndex layer, HeadIndex head) {
    return measure(trace, KeySets(trace.scenario), layer, head);
}

std::vector<HeadMetrics> allHeadMetrics(const AttentionTrace& trace) {
    const KeySets sets(trace.scenario);
    std::vector<HeadMetrics> all;
    for (int l = 0; l < trace.config().layers; ++l)
        for (int h = 0; h < trace.config().heads; ++h)
            all.push_back(measure(trace, sets, LayerIndex{l}, HeadIndex{h}));
    return all;
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
