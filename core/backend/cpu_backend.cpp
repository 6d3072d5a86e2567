#include "core/backend/cpu_backend.h"

#include "core/backend/kernels/kernels.h"
#include "core/backend/packed_weights.h"
#include "core/backend/softmax.h"
#include "core/tensor/errors.h"
#include "core/tensor/parallel.h"

#include <array>
#include <cstdint>

namespace headscope {

namespace {

// Work below this many multiply-adds stays on one thread (some 50 microseconds).
constexpr double worthSharing = 2e6;

int blocksOf(int count, int perBlock) {
    return (count + perBlock - 1) / perBlock;
}
int panelsOf(int cols) {
    return blocksOf(cols, panelWidth);
}

bool isLeftToReference(const HeadProblem& p) {
    return p.softmaxOverQueries;
}

void carefulSoftmax(float* row, int begin, int end, const float* additive, double temperature) {
    const auto at = [&](int j) -> float& { return row[begin + j]; };
    const auto isOpen = [&](int j) { return !additive || additive[begin + j] != KeyMask::minusInfinity; };
    std::vector<float> logits(row + begin, row + end);
    softmax(
        end - begin, [&](int j) { return logits[static_cast<std::size_t>(j)]; }, isOpen,
        [&](int j, double w) { at(j) = static_cast<float>(w); }, temperature);
}

// Writing n x m past the cache pays when the maps do not fit into it.
bool canStream(const MatrixWindow& w) {
    return !w || (reinterpret_cast<std::uintptr_t>(w.data) % 64 == 0 && w.stride % 16 == 0 && w.cols % 16 == 0);
}
bool shouldStream(std::span<const HeadTarget> targets) {
    constexpr double worthIt = 6e6; // bytes: what a core has to itself, some times over
    double bytes = 0;
    for (const HeadTarget& t : targets) {
        if (!canStream(t.scaled) || !canStream(t.weights))
            return false;
        for (const MatrixWindow& w : {t.scaled, t.weights})
            bytes += w ? 4.0 * w.rows * w.cols : 0.0;
    }
    return bytes > worthIt;
}

// K^T and V of one KV head in panels, in memory that the caller keeps.
struct PackedKeys {
    MatrixView k, v;
    float *keys = nullptr, *values = nullptr;

    static std::size_t floats(MatrixView k, MatrixView v) {
        return static_cast<std::size_t>(panelWidth) *
               (static_cast<std::size_t>(panelsOf(k.rows)) * static_cast<std::size_t>(k.cols) +
                static_cast<std::size_t>(panelsOf(v.cols)) * static_cast<std::size_t>(v.rows));
    }
    bool isOf(const HeadProblem& p) const { return p.k.data == k.data && p.v.data == v.data; }
    int pieces(bool withValues) const { return panelsOf(k.rows) + (withValues ? panelsOf(v.cols) : 0); }
    void pack(int piece) const {
        const int keyPanels = panelsOf(k.rows);
        if (piece < keyPanels)
            kernels().packTransposed(k.data, k.stride, k.cols, k.rows, piece,
                                     keys + static_cast<std::size_t>(piece) * panelWidth *
                                                static_cast<std::size_t>(k.cols));
        else
            kernels().packPanel(v.data, v.stride, v.rows, v.cols, piece - keyPanels,
                                values + static_cast<std::size_t>(piece - keyPanels) * panelWidth *
                                             static_cast<std::size_t>(v.rows));
    }
};

// Rows [begin, end) of a head, at most rowsPerTile of them. Row `begin` goes to the first row of each window.
void computeRows(const HeadProblem& p, const PackedKeys& packed, int begin, int end, const HeadTarget& to,
                 bool stream) {
    AttendRows block;
    block.rows = end - begin;
    block.firstRow = begin;
    block.n = p.q.rows;
    block.m = p.k.rows;
    block.dK = p.k.cols;
    block.dV = p.v.cols;
    block.q = p.q.row(begin).data();
    block.qStride = p.q.stride;
    block.keys = packed.keys;
    block.values = packed.values;
    block.scale = p.scale;
    block.alibiSlope = p.alibiSlope;
    block.softcap = p.softcap;
    block.temperature = p.temperature;
    block.relativeBias = p.relativeBias.empty() ? nullptr : p.relativeBias.data();
    block.open = p.mask->open.data() + begin;
    if (p.mask->additive) {
        block.additive = p.mask->additive->row(begin).data();
        block.additiveStride = p.mask->additive->cols();
    }
    block.maskAfterSoftmax = p.maskAfterSoftmax;
    block.edits = p.scoreEdits.data();
    block.editCount = static_cast<int>(p.scoreEdits.size());
    const auto give = [](const MatrixWindow& w, float*& data, std::ptrdiff_t& stride) {
        data = w.data;
        stride = w.stride;
    };
    give(to.scores, block.scores, block.scoresStride);
    give(to.scaled, block.scaled, block.scaledStride);
    give(to.masked, block.masked, block.maskedStride);
    give(to.weights, block.weights, block.weightsStride);
    give(to.output, block.output, block.outputStride);
    block.stream = stream;
    // 16 more than a whole number of panels: with a power of two all rows would meet in the same lines of the cache.
    block.tileStride = static_cast<std::ptrdiff_t>(panelsOf(block.m)) * panelWidth + 16;
    block.tile = scratch(ScratchSlot::RowBlock, static_cast<std::size_t>(block.tileStride) * rowsPerTile);
    block.carefulSoftmax = carefulSoftmax;
    kernels().attendRows(block);
}

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
        // A panel meets as many rows as stay in the second cache together: the weights come from memory once for all
        // of them.
        constexpr int cachedFloats = 160 * 1024;
        const int k = x.cols, panels = panelsOf(w.view.cols);
        int rowsPerPiece = std::max(1, cachedFloats / k / rowsPerLinear) * rowsPerLinear;
        if (panels * blocksOf(x.rows, rowsPerPiece) < 4 * threadCount())
            rowsPerPiece = rowsPerLinear;
        const std::size_t panelSize = static_cast<std::size_t>(k) * panelWidth;
        const PackedWeights::Panels packed = m_packed.of(w, x.rows);
        parallelFor(
            panels * blocksOf(x.rows, rowsPerPiece),
            [&](int piece) {
                const int p = piece % panels, begin = piece / panels * rowsPerPiece, col = p * panelWidth;
                const int end = std::min(begin + rowsPerPiece, x.rows);
                const float* panel = packed ? packed->data() + static_cast<std::size_t>(p) * panelSize : nullptr;
                if (!panel) {
                    float* own = scratch(ScratchSlot::PackedWeights, panelSize);
                    kernels().packPanel(w.view.data, w.view.stride, k, w.view.cols, p, own);
                    panel = own;
                }
                for (int row = begin; row < end; row += rowsPerLinear)
                    kernels().linearPanel(x.data + row * x.stride, x.stride, std::min(rowsPerLinear, end - row), k,
                                          panel, bias ? bias->data() + col : nullptr, out.data + row * out.stride + col,
                                          out.stride, std::min(panelWidth, out.cols - col));
            },
            static_cast<double>(x.rows) * k * out.cols > worthSharing);
    }

    HeadRows attend(const HeadProblem& p, int begin, int end, HeadWanted wanted) const override {
        if (isLeftToReference(p))
            return referenceBackend().attend(p, begin, end, wanted);
        HeadRows out;
        const HeadTarget to = allocate(out, p, end - begin, wanted);
        run({&p, 1}, {&to, 1}, {}, {}, begin, end);
        return out;
    }

    void attendAll(std::span<const HeadProblem> heads, std::span<const HeadTarget> targets, const VisitWeights& visit,
                   const std::stop_token& stop) const override {
        assert(heads.size() == targets.size());
        // As many heads at a time as their packed keys and values leave room for.
        constexpr std::size_t mostFloats = std::size_t{2} << 20U; // 8 MB
        for (std::size_t first = 0, last = 0; first < heads.size(); first = last) {
            std::size_t floats = 0;
            do
                floats += PackedKeys::floats(heads[last].k, heads[last].v);
            while (++last < heads.size() && floats < mostFloats);
            const auto visitHere = [&](int head, int begin, MatrixView weights) {
                visit(static_cast<int>(first) + head, begin, weights);
            };
            run(heads.subspan(first, last - first), targets.subspan(first, last - first),
                visit ? VisitWeights(visitHere) : VisitWeights(), stop, 0, -1);
        }
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

    // Rows [begin, end) of each head; end -1: all its rows. Windows begin with row `begin`.
    void run(std::span<const HeadProblem> heads, std::span<const HeadTarget> targets, const VisitWeights& visit,
             const std::stop_token& stop, int begin, int end) const {
        // Query heads that share a KV head share its packed keys.
        std::vector<PackedKeys> packed;
        std::vector<std::size_t> packedOf;
        std::size_t floats = 0;
        double work = 0;
        for (const HeadProblem& p : heads) {
            assert(p.q.cols == p.k.cols && p.v.rows == p.k.rows && p.mask &&
                   static_cast<int>(p.mask->open.size()) == p.q.rows);
            const auto same = std::ranges::find_if(packed, [&](const PackedKeys& k) { return k.isOf(p); });
            packedOf.push_back(static_cast<std::size_t>(same - packed.begin()));
            if (same == packed.end()) {
                packed.push_back({p.k, p.v, nullptr, nullptr});
                floats += PackedKeys::floats(p.k, p.v);
            }
            const int rows = end < 0 ? p.q.rows : end - begin;
            work += static_cast<double>(rows) * p.k.rows * (p.k.cols + p.v.cols + 8);
        }
        float* place = scratch(ScratchSlot::PackedKeys, floats);
        for (PackedKeys& k : packed) {
            k.keys = place;
            k.values =
                place + static_cast<std::size_t>(panelsOf(k.k.rows)) * panelWidth * static_cast<std::size_t>(k.k.cols);
            place += PackedKeys::floats(k.k, k.v);
        }
        const bool needsValues = std::ranges::any_of(targets, [](const HeadTarget& t) { return bool(t.output); });
        struct Piece {
            std::size_t of = 0; // keys, or a head
            int index = 0;      // panel, or block of rows
        };
        const auto rowsOf = [&](const HeadProblem& p) { return end < 0 ? p.q.rows : end - begin; };
        const auto blocksOfHead = [&](const HeadProblem& p) {
            return isLeftToReference(p) ? 1 : blocksOf(rowsOf(p), p.k.rows > 8192 ? rowsPerTile / 2 : rowsPerTile);
        };
        const bool stream = shouldStream(targets);
        const auto computeBlock = [&](const Piece& piece) {
            if (stop.stop_requested())
                throw Cancelled();
            const std::size_t h = piece.of;
            const HeadProblem& p = heads[h];
            if (isLeftToReference(p)) {
                const auto visitHead = [&](int, int row, MatrixView weights) {
                    visit(static_cast<int>(h), row, weights);
                };
                referenceBackend().attendAll({&p, 1}, {&targets[h], 1},
                                             visit ? VisitWeights(visitHead) : VisitWeights(), stop);
                return;
            }
            const std::int64_t rows = rowsOf(p), b = piece.index;
            const int first = static_cast<int>(rows * b / blocksOfHead(p));
            const int last = static_cast<int>(rows * (b + 1) / blocksOfHead(p));
            HeadTarget to = targets[h].rowRange(first, last);
            if (visit && !to.weights) {
                const int m = p.k.rows;
                to.weights = {scratch(ScratchSlot::Visitor, static_cast<std::size_t>(m) * rowsPerTile), last - first, m,
                              m};
            }
            computeRows(p, packed[packedOf[h]], begin + first, begin + last, to, stream && !visit);
            if (visit)
                visit(static_cast<int>(h), begin + first, to.weights);
        };

        // Whoever packs the keys computes all that looks at them, unless the shares would be too unequal.
        const bool shared = work > worthSharing;
        const double perKeys = work / static_cast<double>(packed.size());
        constexpr double smallPiece = 2e6; // multiply-adds: some 25 microseconds
        if (perKeys < smallPiece || (perKeys < 20 * smallPiece && std::ssize(packed) >= 4 * threadCount())) {
            parallelFor(
                static_cast<int>(packed.size()),
                [&](int i) {
                    const std::size_t k = static_cast<std::size_t>(i);
                    for (int piece = 0; piece < packed[k].pieces(needsValues); ++piece)
                        packed[k].pack(piece);
                    for (std::size_t h = 0; h < heads.size(); ++h)
                        for (int b = 0; packedOf[h] == k && b < blocksOfHead(heads[h]); ++b)
                            computeBlock({h, b});
                },
                shared);
            return;
        }
        std::vector<Piece> packing, blocks;
        for (std::size_t i = 0; i < packed.size(); ++i)
            for (int piece = 0; piece < packed[i].pieces(needsValues); ++piece)
                packing.push_back({i, piece});
        for (std::size_t h = 0; h < heads.size(); ++h)
            for (int b = 0; b < blocksOfHead(heads[h]); ++b)
                blocks.push_back({h, b});
        const auto at = [](const std::vector<Piece>& pieces, int i) { return pieces[static_cast<std::size_t>(i)]; };
        parallelFor(
            static_cast<int>(packing.size()), [&](int i) { packed[at(packing, i).of].pack(at(packing, i).index); },
            shared);
        parallelFor(
            static_cast<int>(blocks.size()), [&](int i) { computeBlock(at(blocks, i)); }, shared);
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
