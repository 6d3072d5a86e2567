// bench_soak: random sentences, sizes, masks, rules, edits and interventions, one after the other, as a long afternoon
// in class. The fast backend must agree with the reference, an incremental trace with a fresh one, and the memory must
// not grow. `bench_soak MINUTES [SEED]`; `--smoke` takes seconds.
#include "core/attention/head_stages.h"
#include "core/backend/backend.h"
#include "core/tensor/errors.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <string_view>

using namespace headscope;

namespace {

class Afternoon {
public:
    explicit Afternoon(unsigned seed) : m_random(seed) {}

    Scenario begin() {
        ScenarioRequest r;
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
        r.text = sentence();
        if (below(4) == 0) {
            r.source.cross = true;
            r.pair = sentence();
        }
        return makeScenario(std::move(r));
    }

    Scenario change(Scenario s) {
        switch (below(6)) {
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
        case 2: {
            s.rules = {};
            if (below(3) == 0)
                s.rules = with(s.rules, ruleTable()[static_cast<std::size_t>(below(ruleCount))].rule);
            break;
        }
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
            const TensorId id{LayerIndex{below(s.model->config().layers)},
                              allWeightKinds[static_cast<std::size_t>(below(static_cast<int>(allWeightKinds.size())))]};
            if (const SharedMatrix& old = s.model->tensor(id)) {
                Matrix m = *old;
                m(below(m.rows()), below(m.cols())) = 0.1F * static_cast<float>(below(21) - 10);
                s.model = s.model->withTensor(id, share(std::move(m)));
            }
        }
        }
        return s;
    }

    int below(int n) { return static_cast<int>(m_random() % static_cast<unsigned>(n)); }

private:
    std::string sentence() {
        std::string text = "w";
        for (int words = 1 + below(below(10) == 0 ? 300 : 40); words > 0; --words)
            text += " w" + std::to_string(below(60));
        return text;
    }
    std::mt19937 m_random;
};

double distance(const Matrix& a, const Matrix& b) {
    double largest = 0, size = 1;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double x = a.values()[i], y = b.values()[i];
        if (x == y)
            continue;
        largest = std::max(largest, std::isfinite(x - y) ? std::abs(x - y) : INFINITY);
        size = std::max(size, std::abs(y));
    }
    return largest / size;
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

} // namespace

int main(int argc, char** argv) {
    const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
    const double minutes = smoke ? 0.05 : argc > 1 ? std::atof(argv[1]) : 30;
    Afternoon afternoon(argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1U);
    const auto start = std::chrono::steady_clock::now();
    const auto elapsed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 60;
    };
    const Backend &fast = backendByName("cpu"), &reference = referenceBackend();
    long sessions = 0, steps = 0, refused = 0, failures = 0, warm = 0;
    double worst = 0;
    while (elapsed() < minutes) {
        Scenario s = afternoon.begin();
        SharedTrace last;
        ++sessions;
        for (int step = 0; step < 12 && elapsed() < minutes; ++step) {
            const Scenario next = step == 0 ? s : afternoon.change(s);
            try {
                last = trace(next, fast, last.get());
            } catch (const InputError&) { // a mask that does not fit, rules that exclude each other
                ++refused;
                continue;
            }
            s = next;
            ++steps;
            const SharedTrace fresh = trace(s, fast);
            if (*fresh->hidden != *last->hidden) {
                ++failures;
                std::printf("session %ld step %d: the incremental trace is not the fresh one\n", sessions, step);
            }
            // A winner that takes all may be another one after rounding: compared where it is not so.
            if (s.temperature >= 1) {
                const SharedTrace slow = trace(s, reference);
                const LayerIndex layer{afternoon.below(s.model->config().layers)};
                const HeadIndex head{afternoon.below(s.model->config().heads)};
                const double d = std::max(distance(headStages(*last, layer, head, {.weights = true}).weights,
                                                   headStages(*slow, layer, head, {.weights = true}).weights),
                                          distance(*last->hidden, *slow->hidden));
                worst = std::max(worst, d);
                if (!(d < 2e-5)) {
                    ++failures;
                    std::printf("session %ld step %d: %g from the reference\n", sessions, step, d);
                }
            }
        }
        if (sessions == 50)
            warm = residentKib();
    }
    const long now = residentKib();
    std::printf("%ld sessions, %ld steps (%ld refused) in %.1f minutes; largest difference from the reference %.2g; "
                "memory %ld KiB after 50 sessions, %ld KiB now; %ld failures\n",
                sessions, steps, refused, elapsed(), worst, warm, now, failures);
    return failures > 0 || (warm > 0 && now > warm + 64 * 1024) ? 1 : 0;
}
