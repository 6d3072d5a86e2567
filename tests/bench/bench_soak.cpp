// bench_soak: random sentences, sizes, masks, rules, edits and interventions, one after the other, as a long afternoon
// in class. After every step four laws are checked:
//   - the trace that reuses the one before equals a fresh one, bit for bit;
//   - one head after one edited weight (headAfterEdit) equals the head of the new trace, bit for bit;
//   - from the same inputs, the fast backend is within 1e-6 of the sum of the absolute terms of the reference: every
//     projection, every score; and what that moves a weight and an output by (a rounded score times exp's slope);
//   - whole traces agree to 2e-5 where no score is larger than 16: larger ones (the rule no-scale makes hundreds) are
//     rounded to as many times more, and each layer multiplies what the one before it was rounded by.
// At the end the memory must be what it was after the first minutes. `bench_soak MINUTES [SEED]`; `--smoke` takes
// seconds.
#include "core/attention/head_edit.h"
#include "core/attention/head_problem.h"
#include "core/backend/backend.h"
#include "core/tensor/errors.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>

using namespace headscope;

namespace {

struct Entry { // of a weight, that was edited
    TensorId id;
    int row = 0, col = 0;
    float value = 0;
};

class Afternoon {
public:
    explicit Afternoon(unsigned seed) : m_random(seed) {}

    // The trained models come first, so that their memory is not taken for growth.
    Scenario begin(long session) {
        ScenarioRequest r;
        if (session <= 2 || below(30) == 0) {
            r.source.name = session % 2 ? "mini" : "story";
            r.text = sentence(40);
            return makeScenario(std::move(r));
        }
        r.source.name = "toy";
        ToyOptions& toy = r.source.toy;
        toy.heads = 1 << below(4);
        toy.kvHeads = std::max(1, toy.heads >> below(3));
        toy.dModel = toy.heads * (2 + 2 * below(20));
        toy.layers = 1 + below(3);
        toy.seed = static_cast<std::uint64_t>(below(1000));
        toy.bias = below(2) == 0;
        toy.position = std::array{Position::None, Position::Learned, Position::Sinusoidal, Position::Rope,
                                  Position::Alibi}[static_cast<std::size_t>(below(5))];
        r.text = sentence(below(10) == 0 ? 300 : 40);
        if (below(4) == 0) {
            r.source.cross = true;
            r.pair = sentence(40);
        }
        return makeScenario(std::move(r));
    }

    // One step on; `edit` says which weight it was, where it was one.
    Scenario change(Scenario s, std::optional<Entry>& edit) {
        edit.reset();
        switch (below(7)) {
        case 0: {
            constexpr std::array masks{"none", "causal", "window:3", "prefix:2", "padding:1", "causal+window:9"};
            s.mask = parseMask(masks[static_cast<std::size_t>(below(static_cast<int>(masks.size())))]);
            break;
        }
        case 1: {
            constexpr std::array temperatures{0.0, 0.1, 1.0, 1.0, 3.0, 1e9};
            s.temperature = temperatures[static_cast<std::size_t>(below(static_cast<int>(temperatures.size())))];
            break;
        }
        case 2:
            s.rules = {};
            if (below(3) == 0)
                s.rules = with(s.rules, ruleTable()[static_cast<std::size_t>(below(ruleCount))].rule);
            break;
        case 3: {
            Intervention i;
            i.kind = below(2) ? Intervention::Kind::HeadOff : Intervention::Kind::MaskCell;
            i.layer = LayerIndex{below(s.model->config().layers)};
            i.head = HeadIndex{below(s.model->config().heads)};
            i.row = below(s.queries());
            i.col = below(s.keys());
            i.value = below(2) ? -1.0F : -INFINITY;
            s.interventions.push_back(i);
            if (s.interventions.size() > 6)
                s.interventions.clear();
            break;
        }
        default: {
            Entry e;
            e.id = {LayerIndex{below(s.model->config().layers)},
                    allWeightKinds[static_cast<std::size_t>(below(static_cast<int>(allWeightKinds.size())))]};
            if (const SharedMatrix& old = s.model->tensor(e.id)) {
                e.row = below(old->rows());
                e.col = below(old->cols());
                e.value = 0.1F * static_cast<float>(below(21) - 10);
                Matrix m = *old;
                m(e.row, e.col) = e.value;
                s.model = s.model->withTensor(e.id, share(std::move(m)));
                edit = e;
            }
        }
        }
        return s;
    }

    int below(int n) { return static_cast<int>(m_random() % static_cast<unsigned>(n)); }

private:
    std::string sentence(int most) {
        std::string text = "w";
        for (int words = 1 + below(most); words > 0; --words)
            text += " w" + std::to_string(below(60));
        return text;
    }
    std::mt19937 m_random;
};

Matrix magnitudes(MatrixView m) {
    Matrix out = copy(m);
    for (float& v : out.values())
        v = std::abs(v);
    return out;
}

double largestOf(MatrixView m) {
    double largest = 0;
    for (int r = 0; r < m.rows; ++r)
        for (const float v : m.row(r))
            largest = std::isfinite(v) ? std::max(largest, static_cast<double>(std::abs(v))) : largest;
    return largest;
}

double apart(float a, float b) {
    const double difference = static_cast<double>(a) - b;
    return a == b ? 0 : std::isfinite(difference) ? std::abs(difference) : INFINITY;
}

// The largest |actual - expected| over what each cell may differ by.
double excess(MatrixView actual, MatrixView expected, const std::function<double(int, int)>& allowed) {
    double worst = 0;
    for (int r = 0; r < actual.rows; ++r)
        for (int c = 0; c < actual.cols; ++c)
            if (const double d = apart(actual(r, c), expected(r, c)); d > 0)
                worst = std::max(worst, d / allowed(r, c));
    return worst;
}

constexpr double tolerance = 1e-6; // of the sum of the absolute terms

// x w + b as the trace has it, beside the reference's.
double projectionExcess(const Matrix& x, const Matrix& w, const Matrix* b, const Matrix& actual) {
    const Matrix shift = b ? magnitudes(*b) : Matrix(1, w.cols());
    const Matrix terms = referenceBackend().linear(magnitudes(x), magnitudes(w), &shift);
    return excess(actual, referenceBackend().linear(x, w, b),
                  [&](int r, int c) { return tolerance * terms(r, c) + 1e-30; });
}

// One head from its q, k and v, as both backends compute it.
double headExcess(const Backend& fast, const HeadProblem& p) {
    const bool sharp = p.temperature <= 0; // a winner that takes all may be another one after rounding
    const HeadWanted wanted{.scaled = true, .weights = !sharp, .output = !sharp};
    const HeadRows actual = fast.attend(p, 0, p.q.rows, wanted);
    const HeadRows expected = referenceBackend().attend(p, 0, p.q.rows, wanted);
    const Matrix products = referenceBackend().linear(magnitudes(p.q), transposed(magnitudes(p.k)), nullptr);
    const double most = std::max(std::abs(p.scale) * largestOf(products), largestOf(expected.scaled));
    double worst = excess(actual.scaled, expected.scaled, [&](int r, int c) {
        return tolerance * (std::abs(p.scale) * products(r, c) + std::abs(expected.scaled(r, c))) + 1e-30;
    });
    if (sharp)
        return worst;
    const double moved = 2 * tolerance * (1 + most / p.temperature); // a weight, relative to itself (at most 1)
    worst = std::max(worst, excess(actual.weights, expected.weights, [&](int, int) { return moved; }));
    const Matrix terms = referenceBackend().linear(expected.weights, magnitudes(p.v), nullptr);
    return std::max(worst, excess(actual.output, expected.output,
                                  [&](int r, int c) { return moved * (terms(r, c) + 1e-6 * largestOf(p.v)) + 1e-30; }));
}

// The third law, for one head of one layer.
double layerExcess(const AttentionTrace& t, LayerIndex layer, HeadIndex head) {
    const LayerTrace& l = t.layer(layer);
    const LayerWeights& w = t.scenario.model->layer(layer);
    const RuleSet& rules = t.scenario.rules;
    double worst = headExcess(*t.backend, headInputs(t.scenario, t.mask, l, layer, head).problem);
    if (!has(rules, Rule::SplitInput)) { // which multiplies other weights
        worst = std::max(worst, projectionExcess(*l.x, *w.wQ, w.bQ.get(), *l.projectionQ));
        worst = std::max(worst, projectionExcess(*l.y, *w.wK, w.bK.get(), *l.projectionK));
        worst = std::max(worst, projectionExcess(*l.y, *w.wV, w.bV.get(), *l.projectionV));
    }
    if (w.wO && !has(rules, Rule::NoOutputProjection))
        worst = std::max(worst, projectionExcess(*l.concat, *w.wO, w.bO.get(), *l.output));
    return worst;
}

// Whole traces, relative to the largest number; nothing where a score is too large to say.
std::optional<double> traceDifference(const AttentionTrace& fast) {
    const Scenario& s = fast.scenario;
    if (s.temperature < 1)
        return {};
    double score = 0;
    for (int l = 0; l < fast.config().layers; ++l)
        for (int h = 0; h < fast.config().heads; ++h)
            score = std::max(score, largestOf(headStages(fast, LayerIndex{l}, HeadIndex{h}, {.scaled = true}).scaled));
    if (score > 16)
        return {};
    const SharedTrace slow = trace(s, referenceBackend());
    const double size = std::max(1.0, largestOf(*slow->hidden));
    return excess(*fast.hidden, *slow->hidden, [&](int, int) { return size; });
}

bool sameHead(const HeadStages& a, const HeadStages& b) {
    return a.scaled == b.scaled && a.weights == b.weights && a.output == b.output;
}

long residentKib() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (word == "VmRSS:") {
            long kib = 0;
            status >> kib;
            return kib;
        }
    return 0;
}

struct Counts {
    long sessions = 0, steps = 0, refused = 0, edits = 0, compared = 0, failures = 0;
    double worstExcess = 0, worstTrace = 0;
};

void failure(Counts& n, int step, const Scenario& s, const char* what, double by) {
    ++n.failures;
    const ModelConfig& c = s.model->config();
    std::printf("session %ld step %d (%s, %d x %d, %d layers, %d heads of %d): %s (%g)\n", n.sessions, step,
                c.name.c_str(), s.queries(), s.keys(), c.layers, c.heads, c.dK, what, by);
}

void check(Counts& n, int step, Afternoon& afternoon, const AttentionTrace* before, const AttentionTrace& t,
           const std::optional<Entry>& edit) {
    const Scenario& s = t.scenario;
    if (*trace(s, *t.backend)->hidden != *t.hidden)
        failure(n, step, s, "the trace that reuses another is not the fresh one", 0);
    const LayerIndex layer{afternoon.below(t.config().layers)};
    const HeadIndex head{afternoon.below(t.config().heads)};
    if (edit && before) {
        ++n.edits;
        const HeadWanted wanted{.scaled = true, .weights = true, .output = true};
        // What lies before the layer is as before, so layer 0 is always comparable.
        if (edit->id.layer.value == 0 &&
            !sameHead(headAfterEdit(*before, edit->id, edit->row, edit->col, edit->value, head, wanted),
                      headStages(t, edit->id.layer, head, wanted)))
            failure(n, step, s, "the head after an edit is not that of the new trace", 0);
    }
    const double by = layerExcess(t, layer, head);
    n.worstExcess = std::max(n.worstExcess, by);
    if (!(by <= 1))
        failure(n, step, s, "a layer differs by this many times what it may", by);
    if (const auto difference = traceDifference(t)) {
        ++n.compared;
        n.worstTrace = std::max(n.worstTrace, *difference);
        if (!(*difference <= 2e-5))
            failure(n, step, s, "the trace differs from the reference's", *difference);
    }
}

} // namespace

int main(int argc, char** argv) {
    const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
    const double minutes = smoke ? 0.05 : argc > 1 ? std::atof(argv[1]) : 30;
    Afternoon afternoon(argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1U);
    const auto start = std::chrono::steady_clock::now();
    const auto elapsed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 60;
    };
    const Backend& fast = backendByName("cpu");
    Counts n;
    long warm = 0;
    while (elapsed() < minutes) {
        Scenario s = afternoon.begin(++n.sessions);
        SharedTrace last;
        for (int step = 0; step < 12 && elapsed() < minutes; ++step) {
            std::optional<Entry> edit;
            const Scenario next = step == 0 ? s : afternoon.change(s, edit);
            try {
                const SharedTrace before = last;
                last = trace(next, fast, before.get());
                ++n.steps;
                check(n, step, afternoon, before.get(), *last, edit);
                s = next;
            } catch (const InputError&) { // a mask that does not fit, rules that exclude each other
                ++n.refused;
            }
        }
        if (warm == 0 && elapsed() > std::min(3.0, minutes / 3))
            warm = residentKib();
    }
    const long now = residentKib();
    std::printf("%ld sessions, %ld steps (%ld refused, %ld edits) in %.1f minutes; at most %.2f of what a layer may "
                "differ by; %ld whole traces within %.2g of the reference; memory %ld KiB early, %ld KiB at the end; "
                "%ld failures\n",
                n.sessions, n.steps, n.refused, n.edits, elapsed(), n.worstExcess, n.compared, n.worstTrace, warm, now,
                n.failures);
    return n.failures > 0 || now > warm + 64 * 1024 ? 1 : 0;
}
