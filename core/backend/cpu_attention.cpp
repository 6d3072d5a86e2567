#include "core/backend/cpu_attention.h"

#include "core/backend/kernels/kernels.h"
#include "core/backend/softmax.h"
#include "core/tensor/errors.h"
#include "core/tensor/parallel.h"

#include <cstdint>

namespace headscope {

namespace {

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

// Some heads at a time, as many as their packed keys and values leave room for.
class CpuAttention {
public:
    CpuAttention(std::span<const HeadProblem> heads, std::span<const HeadTarget> targets,
                 const Backend::VisitWeights& visit, const std::stop_token& stop, int begin, int end)
        : m_heads(heads), m_targets(targets), m_visit(visit), m_stop(stop), m_begin(begin), m_end(end),
          m_stream(!visit && shouldStream(targets)),
          m_needsValues(std::ranges::any_of(targets, [](const HeadTarget& t) { return bool(t.output); })) {
        placeKeys();
    }

    void run() {
        double work = 0;
        for (const HeadProblem& p : m_heads)
            work += static_cast<double>(rowsOf(p)) * p.k.rows * (p.k.cols + p.v.cols + 8);
        const bool shared = work > worthSharing;
        // Whoever packs the keys computes all that looks at them, unless the shares would be too unequal.
        const double perKeys = work / static_cast<double>(m_keys.size());
        constexpr double smallPiece = 2e6; // multiply-adds: some 25 microseconds
        if (perKeys < smallPiece || (perKeys < 20 * smallPiece && std::ssize(m_keys) >= 4 * threadCount()))
            parallelFor(
                static_cast<int>(m_keys.size()), [&](int i) { packAndCompute(static_cast<std::size_t>(i)); }, shared);
        else
            packThenCompute(shared);
    }

private:
    struct Piece {
        std::size_t of = 0; // keys, or a head
        int index = 0;      // panel, or block of rows
    };

    // Query heads that share a KV head share its packed keys.
    void placeKeys() {
        std::size_t floats = 0;
        for (const HeadProblem& p : m_heads) {
            assert(p.q.cols == p.k.cols && p.v.rows == p.k.rows && p.mask &&
                   static_cast<int>(p.mask->open.size()) == p.q.rows);
            const auto same = std::ranges::find_if(m_keys, [&](const PackedKeys& k) { return k.isOf(p); });
            m_keysOf.push_back(static_cast<std::size_t>(same - m_keys.begin()));
            if (same != m_keys.end())
                continue;
            m_keys.push_back({p.k, p.v, nullptr, nullptr});
            floats += PackedKeys::floats(p.k, p.v);
        }
        float* place = scratch(ScratchSlot::PackedKeys, floats);
        for (PackedKeys& k : m_keys) {
            k.keys = place;
            k.values =
                place + static_cast<std::size_t>(panelsOf(k.k.rows)) * panelWidth * static_cast<std::size_t>(k.k.cols);
            place += PackedKeys::floats(k.k, k.v);
        }
    }

    int rowsOf(const HeadProblem& p) const { return m_end < 0 ? p.q.rows : m_end - m_begin; }
    int blocksOfHead(std::size_t head) const {
        const HeadProblem& p = m_heads[head];
        return p.softmaxOverQueries ? 1 : blocksOf(rowsOf(p), p.k.rows > 8192 ? rowsPerTile / 2 : rowsPerTile);
    }

    void packAndCompute(std::size_t keys) const {
        for (int panel = 0; panel < m_keys[keys].pieces(m_needsValues); ++panel)
            m_keys[keys].pack(panel);
        for (std::size_t h = 0; h < m_heads.size(); ++h)
            for (int b = 0; m_keysOf[h] == keys && b < blocksOfHead(h); ++b)
                compute({h, b});
    }

    void packThenCompute(bool shared) const {
        std::vector<Piece> panels, blocks;
        for (std::size_t i = 0; i < m_keys.size(); ++i)
            for (int panel = 0; panel < m_keys[i].pieces(m_needsValues); ++panel)
                panels.push_back({i, panel});
        for (std::size_t h = 0; h < m_heads.size(); ++h)
            for (int b = 0; b < blocksOfHead(h); ++b)
                blocks.push_back({h, b});
        const auto at = [](const std::vector<Piece>& pieces, int i) { return pieces[static_cast<std::size_t>(i)]; };
        parallelFor(
            static_cast<int>(panels.size()), [&](int i) { m_keys[at(panels, i).of].pack(at(panels, i).index); },
            shared);
        parallelFor(
            static_cast<int>(blocks.size()), [&](int i) { compute(at(blocks, i)); }, shared);
    }

    void compute(const Piece& block) const {
        if (m_stop.stop_requested())
            throw Cancelled();
        const std::size_t h = block.of;
        const HeadProblem& p = m_heads[h];
        if (p.softmaxOverQueries)
            return computeOverQueries(h);
        const std::int64_t rows = rowsOf(p), blocks = blocksOfHead(h);
        const int first = static_cast<int>(rows * block.index / blocks);
        const int last = static_cast<int>(rows * (block.index + 1) / blocks);
        HeadTarget to = m_targets[h].rowRange(first, last);
        if (m_visit && !to.weights) {
            const int m = p.k.rows;
            to.weights = {scratch(ScratchSlot::Visitor, static_cast<std::size_t>(m) * rowsPerTile), last - first, m, m};
        }
        computeRows(p, m_keys[m_keysOf[h]], m_begin + first, m_begin + last, to, m_stream);
        if (m_visit)
            m_visit(static_cast<int>(h), m_begin + first, to.weights);
    }

    // Of the class rule: what comes before the softmax has the bits of any head, or a comparison of both would show
    // the difference between two roundings. The softmax of columns is the reference's.
    void computeOverQueries(std::size_t h) const {
        const HeadProblem& p = m_heads[h];
        HeadTarget before = m_targets[h], after;
        std::swap(before.weights, after.weights);
        std::swap(before.output, after.output);
        if (before.scores || before.scaled || before.masked)
            for (int first = 0; first < p.q.rows; first += rowsPerTile) {
                const int last = std::min(first + rowsPerTile, p.q.rows);
                computeRows(p, m_keys[m_keysOf[h]], first, last, before.rowRange(first, last), false);
            }
        const Backend::VisitWeights visitHead = [&](int, int row, MatrixView weights) {
            m_visit(static_cast<int>(h), row, weights);
        };
        if (after.weights || after.output || m_visit)
            referenceBackend().attendAll({&p, 1}, {&after, 1}, m_visit ? visitHead : Backend::VisitWeights(), m_stop);
    }

    std::span<const HeadProblem> m_heads;
    std::span<const HeadTarget> m_targets;
    const Backend::VisitWeights& m_visit;
    const std::stop_token& m_stop;
    int m_begin, m_end;
    bool m_stream, m_needsValues;
    std::vector<PackedKeys> m_keys;
    std::vector<std::size_t> m_keysOf; // per head
};

} // namespace

void attendOnCpu(std::span<const HeadProblem> heads, std::span<const HeadTarget> targets,
                 const Backend::VisitWeights& visit, const std::stop_token& stop, int begin, int end) {
    assert(heads.size() == targets.size());
    constexpr std::size_t mostFloats = std::size_t{2} << 20U; // of packed keys and values: 8 MB
    for (std::size_t first = 0, last = 0; first < heads.size(); first = last) {
        std::size_t floats = 0;
        do
            floats += PackedKeys::floats(heads[last].k, heads[last].v);
        while (++last < heads.size() && floats < mostFloats);
        const Backend::VisitWeights visitHere = [&](int head, int row, MatrixView weights) {
            visit(static_cast<int>(first) + head, row, weights);
        };
        CpuAttention(heads.subspan(first, last - first), targets.subspan(first, last - first),
                     visit ? visitHere : Backend::VisitWeights(), stop, begin, end)
            .run();
    }
}

} // namespace headscope
