#include "core/backend/opencl/head_run.h"

#include "core/backend/opencl/packing.h"

#include <algorithm>
#include <cmath>

namespace headscope::opencl {

namespace {

// The bits of `steps` in kernels.cl.
enum Step { scaleStep = 1, maskStep = 2, softmaxStep = 4, afterStep = 8 };

bool isSame(MatrixView a, MatrixView b) {
    return a.data == b.data && a.rows == b.rows && a.cols == b.cols && a.stride == b.stride;
}

} // namespace

// What the kernels are told about the rows at hand.
struct HeadRun::Block {
    int begin = 0, end = 0;
    int rows = 0;           // padded
    int width = 0;          // keys, padded
    bool everyCell = false; // closed cells of the scores are read too
    cl_mem left = nullptr, right = nullptr, open = nullptr, additive = nullptr, relative = nullptr, cells = nullptr;
};

bool HeadRun::canRun(const HeadProblem& p) {
    if (p.softmaxOverQueries || p.q.rows == 0 || p.k.rows == 0 || p.q.cols == 0 || p.v.cols == 0)
        return false;
    constexpr double safe = 1e37;
    const double terms = double{largestOf(p.q)} * largestOf(p.k) * p.q.cols;
    return terms < safe && terms * std::abs(p.scale) < safe && largestOf(p.v) < safe;
}

int HeadRun::rowsPerBlock(const HeadProblem& p) const {
    const Shape& s = m_lane.device().shape();
    const int width = padded(std::max(p.k.rows, p.v.cols), s.panel);
    return std::max(padded(s.blockCells / width, s.rows), s.rows);
}

void HeadRun::writeRight(Lane::Slot slot, MatrixView matrix, bool transposed) {
    const int panel = m_lane.device().shape().panel;
    const std::size_t size = transposed ? static_cast<std::size_t>(padded(matrix.rows, panel)) * matrix.cols
                                        : static_cast<std::size_t>(padded(matrix.cols, panel)) * matrix.rows;
    std::vector<float>& packed = m_lane.staging(size);
    (transposed ? packTransposed : packRight)(matrix, panel, packed.data());
    m_lane.write(m_lane.scratch(slot, size * sizeof(float)), packed.data(), size * sizeof(float));
}

void HeadRun::begin(const HeadProblem& p) {
    m_problem = &p;
    if (!isSame(m_k, p.k)) {
        writeRight(Lane::Right, p.k, true);
        m_k = p.k;
    }
    if (!isSame(m_v, p.v)) {
        writeRight(Lane::Values, p.v, false);
        m_v = p.v;
    }
    if (!p.relativeBias.empty()) { // the kernel reads whole vectors
        const int width = padded(p.k.rows, m_lane.device().shape().panel);
        std::vector<float>& bias = m_lane.staging(static_cast<std::size_t>(p.q.rows) + width);
        std::fill(std::ranges::copy(p.relativeBias, bias.begin()).out, bias.end(), 0.0F);
        const std::size_t bytes = bias.size() * sizeof(float);
        m_lane.write(m_lane.scratch(Lane::Relative, bytes), bias.data(), bytes);
    }
}

void HeadRun::scores(const Block& b) {
    const HeadProblem& p = *m_problem;
    m_lane.setProduct(b.left, p.q.cols, b.right, p.q.cols, b.cells, b.rows, b.width, cl_mem{}, 0, b.open,
                      b.everyCell ? 0 : 1);
    m_lane.runProduct(b.rows, b.width);
    for (const ScoreEdit& edit : p.scoreEdits)
        if (edit.row >= b.begin && edit.row < b.end) {
            const std::size_t cell = static_cast<std::size_t>(edit.row - b.begin) * b.width + edit.col;
            m_lane.write(b.cells, &edit.value, sizeof(float), cell * sizeof(float));
        }
}

void HeadRun::finish(const Block& b, int steps) {
    const HeadProblem& p = *m_problem;
    const int temperature = p.temperature == 0.0 ? 0 : std::isinf(p.temperature) ? 2 : 1;
    const float inverse = temperature == 1 ? static_cast<float>(1.0 / p.temperature) : 1.0F;
    m_lane.setFinish(b.cells, b.width, p.k.rows, b.begin, p.q.rows, steps, p.scale, p.alibiSlope, b.relative,
                     b.relative ? 1 : 0, b.open, b.additive, b.additive ? 1 : 0, p.softcap, temperature, inverse);
    m_lane.runFinish(b.end - b.begin);
}

void HeadRun::rows(int begin, int end, const HeadTarget& to) {
    const HeadProblem& p = *m_problem;
    const Shape& shape = m_lane.device().shape();
    const int panel = shape.panel;
    Block b;
    b.begin = begin;
    b.end = end;
    b.rows = padded(end - begin, shape.rows);
    b.width = padded(p.k.rows, panel);
    b.everyCell = to.scores || to.scaled || p.maskAfterSoftmax;

    const auto bytesOf = [](int rows, int cols) { return std::size_t{sizeof(float)} * rows * cols; };
    std::vector<float>& left = m_lane.staging(static_cast<std::size_t>(b.rows) * p.q.cols);
    packLeft(p.q.rowRange(begin, end), b.rows, left.data());
    b.left = m_lane.scratch(Lane::Left, left.size() * sizeof(float));
    m_lane.write(b.left, left.data(), left.size() * sizeof(float));

    std::vector<cl_int2> ranges(static_cast<std::size_t>(b.rows)); // padding is closed
    for (int i = begin; i < end; ++i) {
        const KeyMask::Range r = p.mask->open[static_cast<std::size_t>(i)];
        ranges[static_cast<std::size_t>(i - begin)] = {{r.begin, r.end}};
    }
    b.open = m_lane.scratch(Lane::Open, ranges.size() * sizeof(cl_int2));
    m_lane.write(b.open, ranges.data(), ranges.size() * sizeof(cl_int2));

    if (p.mask->additive) {
        std::vector<float>& added = m_lane.staging(static_cast<std::size_t>(end - begin) * b.width);
        const MatrixWindow padding(added.data(), end - begin, b.width, b.width);
        for (int i = begin; i < end; ++i) {
            const std::span<float> row = padding.row(i - begin);
            std::fill(std::ranges::copy(p.mask->additive->row(i), row.begin()).out, row.end(), KeyMask::minusInfinity);
        }
        b.additive = m_lane.scratch(Lane::Additive, bytesOf(end - begin, b.width));
        m_lane.write(b.additive, added.data(), bytesOf(end - begin, b.width));
    }
    b.relative = p.relativeBias.empty() ? nullptr : m_lane.scratch(Lane::Relative, 0);
    b.right = m_lane.scratch(Lane::Right, 0);
    b.cells = m_lane.scratch(Lane::Cells, bytesOf(b.rows, b.width));

    // One block of cells becomes scores, scaled, masked and weights in turn, and each is read where it is wanted.
    scores(b);
    if (to.scores)
        m_lane.read(b.cells, b.width, to.scores);
    int next = scaleStep;
    if (to.scaled) {
        finish(b, next);
        m_lane.read(b.cells, b.width, to.scaled);
        next = 0;
    }
    if (to.masked) {
        finish(b, next | maskStep);
        m_lane.read(b.cells, b.width, to.masked);
        next = 0;
    }
    if (!to.weights && !to.output)
        return;
    if (p.maskAfterSoftmax) {
        if (to.masked) { // the scores are gone
            scores(b);
            next = scaleStep;
        }
        finish(b, next | softmaxStep | afterStep);
    } else {
        finish(b, next | (to.masked ? 0 : maskStep) | softmaxStep);
    }
    if (to.weights)
        m_lane.read(b.cells, b.width, to.weights);
    if (to.output) {
        const int width = padded(p.v.cols, panel);
        cl_mem out = m_lane.scratch(Lane::Out, bytesOf(b.rows, width));
        m_lane.setProduct(b.cells, b.width, m_lane.scratch(Lane::Values, 0), p.k.rows, out, b.rows, width, cl_mem{}, 0,
                          b.open, 2);
        m_lane.runProduct(b.rows, width);
        m_lane.read(out, width, to.output);
    }
}

} // namespace headscope::opencl
