// A container of arrays with names, types and shapes that nobody promised, taken for captured attention: what opens is
// traced and measured. The arrays are made of the input, since no mutation keeps the check sums of an archive.
#include "core/analysis/metrics.h"
#include "core/attention/captured.h"

#include <array>
#include <limits>

using namespace headscope;

namespace {

class MadeUp final : public TensorFile {
public:
    MadeUp(const std::uint8_t* data, std::size_t size) : m_data(data), m_size(size) {
        static constexpr std::array names{"weights",
                                          "weights.0",
                                          "weights.1",
                                          "weights.x",
                                          "tokens",
                                          "tokens_key",
                                          "heads",
                                          "tokens.query",
                                          "tokens.key",
                                          "ids.query",
                                          "layers.0.self.weights",
                                          "layers.1.self.weights",
                                          "layers.0.cross.weights",
                                          "decoder.layers.0.cross.weights",
                                          "encoder.layers.0.self.weights",
                                          "layers.0.self.q",
                                          "layers.0.self.k",
                                          "layers.0.self.embedding",
                                          "layers.0.self.scores",
                                          "layers.0.self.masked",
                                          "layers.0.self.contribution"};
        static constexpr std::array types{"<f4", "<f2", "<f8", "<i8", "<U3"};
        const int count = next() % 6;
        for (int i = 0; i < count; ++i) {
            TensorEntry e;
            e.name = names[next() % names.size()];
            e.type = types[next() % types.size()];
            e.count = 1;
            for (int dimensions = next() % 6; dimensions > 0; --dimensions)
                e.shape.push_back(next() % 5);
            for (const std::int64_t n : e.shape)
                e.count *= n;
            if (find(e.name) == nullptr)
                m_entries.push_back(std::move(e));
        }
    }
    std::string format() const override { return m_entries.size() == 1 && m_size % 2 == 0 ? "npy" : "npz"; }
    const std::string& path() const override { return m_path; }
    const std::vector<TensorEntry>& entries() const override { return m_entries; }
    Floats read(const TensorEntry& e) const override {
        Floats out;
        for (std::int64_t i = 0; i < e.count; ++i) {
            const std::uint8_t b = next();
            out.push_back(b == 255   ? std::numeric_limits<float>::quiet_NaN()
                          : b == 254 ? -std::numeric_limits<float>::infinity()
                                     : static_cast<float>(b % 16) / 4 - 1);
        }
        return out;
    }
    std::int64_t countNonFinite(const TensorEntry&) const override { return 0; }
    std::vector<std::string> readStrings(const TensorEntry& e) const override {
        return std::vector<std::string>(static_cast<std::size_t>(e.count), next() % 2 == 0 ? "\u0120a" : "[b]");
    }

private:
    std::uint8_t next() const { return m_at < m_size ? m_data[m_at++] : 0; }

    const std::uint8_t* m_data;
    std::size_t m_size;
    mutable std::size_t m_at = 0;
    std::string m_path = "fuzzed.npz";
    std::vector<TensorEntry> m_entries;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const MadeUp file(data, size);
    if (file.entries().empty() || !holdsCapturedAttention(file))
        return 0;
    try {
        const Scenario s = capturedScenario(openCapturedAttention({}, file), {});
        const SharedTrace t = trace(s, referenceBackend());
        allHeadMetrics(*t);
        for (const StageInfo& info : stageTable())
            for (int l = 0; l < t->config().layers; ++l)
                for (int h = 0; h < t->config().heads; ++h)
                    if (stageAvailable(*t, info.stage))
                        stageMatrix(*t, LayerIndex{l}, HeadIndex{h}, info.stage)->row(0);
    } catch (const LoadError&) {
    }
    return 0;
}
