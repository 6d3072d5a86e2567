#include "core/backend/cpu_backend.h"

#include "core/backend/cpu_attention.h"
#include "core/backend/kernels/kernels.h"
#include "core/backend/packed_weights.h"
#include "core/tensor/parallel.h"

namespace headscope {

namespace {

class CpuBackend final : public Backend {
public:
    std::string name() const override { return "cpu"; }
    std::string description() const override {
        return std::string("CPU, fused kernels for ") +
               (kernels().isa[0] == 'v' ? "x86-64-" + std::string(kernels().isa) : "any processor") + ", " + threads();
    }
    std::string place() const override { return "CPU, " + threads(); }

    void linearInto(MatrixView x, const Weights& w, const Matrix* bias, MatrixWindow out) const override {
        assert(x.cols == w.view.rows && out.rows == x.rows && out.cols == w.view.cols);
        if (w.view.cols == 1 && x.rows > 1)
            return columnInto(x, w.view, bias, out);
        const bool shared = static_cast<double>(x.rows) * x.cols * out.cols > worthSharing;
        const int panels = panelsOf(w.view.cols), blocks = blocksOf(x.rows, rowsPerLinear);
        const std::size_t panelSize = static_cast<std::size_t>(x.cols) * panelWidth;
        const PackedWeights::Panels kept = m_packed.of(w, x.rows);
        // What nobody keeps is packed for this product alone, as many panels at a time as stay in the third cache.
        constexpr int cachedFloats = 1 << 20;
        const int together = kept ? panels : std::max(1, cachedFloats / std::max(1, x.cols * panelWidth));
        for (int first = 0; first < panels; first += together) {
            const int count = std::min(together, panels - first);
            const float* packed = kept ? kept->data() : packSome(w.view, first, count, shared);
            parallelFor(
                count * blocks,
                [&](int piece) {
                    const int p = piece % count, row = piece / count * rowsPerLinear, col = (first + p) * panelWidth;
                    kernels().linearPanel(x.data + row * x.stride, x.stride, std::min(rowsPerLinear, x.rows - row),
                                          x.cols, packed + static_cast<std::size_t>(p) * panelSize,
                                          bias ? bias->data() + col : nullptr, out.data + row * out.stride + col,
                                          out.stride, std::min(panelWidth, out.cols - col));
                },
                shared);
        }
    }

    HeadRows attend(const HeadProblem& p, int begin, int end, HeadWanted wanted) const override {
        assert(!p.softmaxOverQueries || (begin == 0 && end == p.q.rows));
        HeadRows out;
        const HeadTarget to = allocate(out, p, end - begin, wanted);
        attendOnCpu({&p, 1}, {&to, 1}, {}, {}, begin, end);
        return out;
    }

    void attendAll(std::span<const HeadProblem> heads, std::span<const HeadTarget> targets, const VisitWeights& visit,
                   const std::stop_token& stop) const override {
        attendOnCpu(heads, targets, visit, stop);
    }

    void apply(Pointwise function, std::span<float> values) const override {
        constexpr std::size_t piece = 8192;
        const std::size_t pieces = (values.size() + piece - 1) / piece;
        parallelFor(
            static_cast<int>(pieces),
            [&](int i) {
                const std::size_t begin = static_cast<std::size_t>(i) * piece;
                kernels().apply(function, values.data() + begin, std::min(piece, values.size() - begin));
            },
            pieces > 4);
    }

private:
    static std::string threads() {
        const int count = threadCount();
        return std::to_string(count) + (count == 1 ? " thread" : " threads");
    }

    static const float* packSome(MatrixView w, int first, int count, bool shared) {
        const std::size_t panelSize = static_cast<std::size_t>(w.rows) * panelWidth;
        float* const packed = scratch(ScratchSlot::PackedWeights, panelSize * static_cast<std::size_t>(count));
        parallelFor(
            count,
            [&](int p) {
                kernels().packPanel(w.data, w.stride, w.rows, w.cols, first + p,
                                    packed + static_cast<std::size_t>(p) * panelSize);
            },
            shared);
        return packed;
    }

    // A single column, as one weight that was edited asks for.
    static void columnInto(MatrixView x, MatrixView column, const Matrix* bias, MatrixWindow out) {
        const std::size_t k = static_cast<std::size_t>(x.cols);
        float* const values = scratch(ScratchSlot::PackedWeights, k + static_cast<std::size_t>(x.rows));
        float* const sums = values + k;
        for (int i = 0; i < x.cols; ++i)
            values[i] = column(i, 0);
        kernels().linearColumn(x.data, x.stride, x.rows, x.cols, values, bias ? (*bias)(0, 0) : 0.0F, sums);
        for (int i = 0; i < x.rows; ++i)
            out.row(i)[0] = sums[i];
    }

    mutable PackedWeights m_packed;
};

} // namespace

const Backend& cpuBackend() {
    static const CpuBackend backend;
    static_cast<void>(kernels()); // says now what it cannot use
    return backend;
}

} // namespace headscope
