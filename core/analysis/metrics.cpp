#include "core/analysis/metrics.h"

#include "core/attention/head_problem.h"
#include "core/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <unordered_map>

namespace headscope {

namespace {

constexpr int rowsPerBlock = 64;

// One kind of key a head may look for: the share it gets, and what a head that spreads evenly over the open keys would
// give it.
struct Share {
    double given = 0, uniform = 0;
    int rows = 0;

    void addRow(double rowShare, double uniformShare) {
        given += rowShare;
        uniform += uniformShare;
        ++rows;
    }
    double meanGiven() const { return rows == 0 ? 0.0 : given / rows; }
    double meanUniform() const { return rows == 0 ? 0.0 : uniform / rows; }
    // How far the share is on the way from the even head (0) to all of it (1). Where an even head gets most of it
    // anyway, nothing can be told from it.
    double lift() const {
        const double u = meanUniform();
        return rows == 0 || u > 0.75 ? 0.0 : (meanGiven() - u) / (1.0 - u);
    }
};

struct Shares {
    Share self, previous, next, first, same, identical, separator, induction, even;
};

// The labels, in the order in which they are tried. Everything `heads --help` says about them comes from here.
struct LabelRule {
    const char* name;
    double threshold;                 // of `measure`
    bool acrossTexts;                 // also in cross-attention, where i and j count in different texts
    double (*measure)(const Shares&); // 0..1
    double (*strength)(const Shares&);
    const char* what;
};

double twiceTheOther(const Share& share, const Share& other) {
    return share.meanGiven() >= 2 * other.meanGiven() ? share.lift() : 0.0;
}

constexpr std::array labelRules{
    LabelRule{"previous", 0.4, false, [](const Shares& s) { return twiceTheOther(s.previous, s.next); },
              [](const Shares& s) { return s.previous.meanGiven(); },
              "lift of the token before, which gets at least twice the share of the token after"},
    LabelRule{"next", 0.4, false, [](const Shares& s) { return twiceTheOther(s.next, s.previous); },
              [](const Shares& s) { return s.next.meanGiven(); },
              "lift of the token after, which gets at least twice the share of the token before"},
    // A head that looks for the same word finds the token itself too: all its copies count, the others for a good part.
    LabelRule{
        "same word", 0.8, true, [](const Shares& s) { return s.same.meanGiven() >= 0.3 ? s.identical.lift() : 0.0; },
        [](const Shares& s) { return s.same.meanGiven(); },
        "where words repeat: lift of all tokens with the identical string, of which other places get at least 0.3"},
    LabelRule{"induction", 0.4, false, [](const Shares& s) { return s.induction.lift(); },
              [](const Shares& s) { return s.induction.meanGiven(); },
              "lift of the token after an earlier occurrence of the same token"},
    LabelRule{"self", 0.4, false, [](const Shares& s) { return s.self.lift(); },
              [](const Shares& s) { return s.self.meanGiven(); }, "lift of the token itself"},
    LabelRule{"first", 0.4, true, [](const Shares& s) { return s.first.lift(); },
              [](const Shares& s) { return s.first.meanGiven(); }, "lift of the first token"},
    LabelRule{"separator", 0.4, true, [](const Shares& s) { return s.separator.lift(); },
              [](const Shares& s) { return s.separator.meanGiven(); },
              "lift of the separators: special tokens, else the last punctuation mark"},
    LabelRule{"uniform", 0.9, true, [](const Shares& s) { return s.even.meanGiven(); },
              [](const Shares& s) { return s.even.meanGiven(); },
              "1 - half the sum of |weight - 1/open keys|, mean over the rows with several open keys"},
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
                share.addRow(weight(j), trace.mask.isOpen(i, j) ? even : 0.0);
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
                share.addRow(given, uniform);
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
            shares.even.addRow(1.0 - apart / 2, 0.0);
        }
    });
    if (rows > 0) {
        out.entropy /= rows;
        out.distance /= rows;
        out.concentration /= rows;
    }
    out.self = shares.self.meanGiven();
    out.previous = shares.previous.meanGiven();
    out.next = shares.next.meanGiven();
    out.first = shares.first.meanGiven();
    out.same = shares.same.meanGiven();
    out.separator = shares.separator.meanGiven();
    out.induction = shares.induction.meanGiven();
    out.evenness = shares.even.meanGiven();
    out.label = "none";
    for (const LabelRule& rule : labelRules) {
        if ((sets.cross && !rule.acrossTexts) || rule.measure(shares) < rule.threshold)
            continue;
        out.label = rule.name;
        out.strength = rule.strength(shares);
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
        "A head gets the first label whose measure reaches its threshold; else none. The lift of a share is\n"
        "(share - u) / (1 - u), where u is what a head spreading evenly over the open keys would give on this\n"
        "text; where u is above 0.75 it counts as 0.\n";
    for (const LabelRule& rule : labelRules) {
        char line[64];
        std::snprintf(line, sizeof line, "  %-10s %d.%d  ", rule.name, static_cast<int>(rule.threshold),
                      static_cast<int>(std::lround(rule.threshold * 10)) % 10);
        help += line + std::string(rule.what) + (rule.acrossTexts ? "" : " (not in cross-attention)") + "\n";
    }
    return help;
}

} // namespace headscope
