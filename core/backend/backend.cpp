// What a backend does unless it knows better: everything by attend, head by head, and the pointwise functions in
// double.
#include "core/backend/backend.h"

#include "core/tensor/errors.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace headscope {

HeadTarget HeadTarget::rowRange(int begin, int end) const {
    const auto part = [&](const MatrixWindow& w) { return w ? w.rowRange(begin, end) : w; };
    return {part(scores), part(scaled), part(masked), part(weights), part(output)};
}

HeadTarget allocate(HeadRows& out, const HeadProblem& p, int rows, HeadWanted wanted) {
    const auto make = [rows](bool isWanted, int cols, Matrix& matrix) {
        matrix = isWanted ? Matrix::unset(rows, cols) : Matrix();
        return isWanted ? MatrixWindow(matrix) : MatrixWindow();
    };
    const int m = p.k.rows;
    return {make(wanted.scores, m, out.scores), make(wanted.scaled, m, out.scaled), make(wanted.masked, m, out.masked),
            make(wanted.weights, m, out.weights), make(wanted.output, p.v.cols, out.output)};
}

Matrix Backend::linear(MatrixView x, const Weights& w, const Matrix* bias) const {
    Matrix out = Matrix::unset(x.rows, w.view.cols);
    linearInto(x, w, bias, out);
    return out;
}

int Backend::rowsPerBlock(const HeadProblem& p) {
    constexpr int cellsPerBlock = 1 << 20;
    return p.softmaxOverQueries ? std::max(p.q.rows, 1) : std::clamp(cellsPerBlock / std::max(p.k.rows, 1), 16, 1024);
}

void Backend::attendAll(std::span<const HeadProblem> heads, std::span<const HeadTarget> targets,
                        const VisitWeights& visit, const std::stop_token& stop) const {
    assert(heads.size() == targets.size());
    for (std::size_t h = 0; h < heads.size(); ++h) {
        const HeadTarget& to = targets[h];
        const int n = heads[h].q.rows, step = rowsPerBlock(heads[h]);
        const HeadWanted wanted{bool(to.scores), bool(to.scaled), bool(to.masked), to.weights || visit,
                                bool(to.output)};
        for (int begin = 0; begin < n; begin += step) {
            if (stop.stop_requested())
                throw Cancelled();
            const int end = std::min(begin + step, n);
            const HeadRows rows = attend(heads[h], begin, end, wanted);
            const auto place = [&](const Matrix& block, MatrixWindow whole) {
                if (whole)
                    copyInto(block, whole.rowRange(begin, end));
            };
            place(rows.scores, to.scores);
            place(rows.scaled, to.scaled);
            place(rows.masked, to.masked);
            place(rows.weights, to.weights);
            place(rows.output, to.output);
            if (visit)
                visit(static_cast<int>(h), begin, rows.weights);
        }
    }
}

static double valueOf(Pointwise function, double x) {
    switch (function) {
    case Pointwise::Gelu:
        return 0.5 * x * (1.0 + std::erf(x * std::numbers::sqrt2 / 2.0));
    case Pointwise::GeluTanh: // Hendrycks and Gimpel 2016
        return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Pointwise::Relu:
        return x > 0 ? x : 0;
    case Pointwise::Silu:
        return x / (1.0 + std::exp(-x));
    }
    return x;
}

void Backend::apply(Pointwise function, std::span<float> values) const {
    for (float& v : values)
        v = static_cast<float>(valueOf(function, v));
}

} // namespace headscope
