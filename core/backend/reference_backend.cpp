// The reference: written to be read. Products are summed in double and rounded to float once per stage, so that every
// number on screen follows from the numbers on the stage before it.
#include "core/backend/backend.h"
#include "core/backend/softmax.h"
#include "core/tensor/arithmetic.h"
#include "core/tensor/eigen.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headscope {

namespace {

class ReferenceBackend final : public Backend {
public:
    std::string name() const override { return "reference"; }
    std::string description() const override { return "CPU reference (Eigen, sums in double, one thread)"; }
    std::string place() const override { return "CPU, sums in double"; }

    void linearInto(MatrixView x, const Weights& w, const Matrix* bias, MatrixWindow out) const override {
        copyInto(headscope::linear(x, w.view, bias), out);
    }

    HeadRows attend(const HeadProblem& p, int begin, int end, HeadWanted wanted) const override {
        const int m = p.k.rows;
        assert(p.q.cols == p.k.cols && p.v.rows == m && p.mask && static_cast<int>(p.mask->open.size()) == p.q.rows);
        assert(!p.softmaxOverQueries || (begin == 0 && end == p.q.rows));
        HeadRows out;

        DoubleMatrix product;
        product.noalias() = toDouble(p.q.rowRange(begin, end)) * toDouble(p.k).transpose();
        Matrix scores = toFloat(product); // (rows, m)
        for (const ScoreEdit& edit : p.scoreEdits)
            if (edit.row >= begin && edit.row < end)
                scores(edit.row - begin, edit.col) = edit.value;
        if (!(wanted.scaled || wanted.masked || wanted.weights || wanted.output)) {
            out.scores = std::move(scores);
            return out;
        }

        Matrix scaled(end - begin, m);
        for (int i = begin; i < end; ++i)
            for (int j = 0; j < m; ++j) {
                float s = scores(i - begin, j) * p.scale;
                if (p.alibiSlope != 0.0F)
                    s -= p.alibiSlope * static_cast<float>(std::abs(i - j));
                if (!p.relativeBias.empty())
                    s += p.relativeBias[static_cast<std::size_t>(j - i + p.q.rows - 1)];
                scaled(i - begin, j) = s;
            }

        Matrix masked(end - begin, m);
        for (int i = begin; i < end; ++i)
            for (int j = 0; j < m; ++j)
                masked(i - begin, j) = maskedScore(p, i, j, scaled(i - begin, j));

        if (wanted.weights || wanted.output) {
            const Matrix weights = softmaxOf(p, begin, end, scaled, masked);
            if (wanted.output) {
                DoubleMatrix o;
                o.noalias() = toDouble(weights) * toDouble(p.v);
                out.output = toFloat(o);
            }
            if (wanted.weights)
                out.weights = weights;
        }
        if (wanted.scores)
            out.scores = std::move(scores);
        if (wanted.scaled)
            out.scaled = std::move(scaled);
        if (wanted.masked)
            out.masked = std::move(masked);
        return out;
    }

private:
    static float maskedScore(const HeadProblem& p, int i, int j, float scaled) {
        if (!p.mask->isOpen(i, j))
            return KeyMask::minusInfinity;
        const float added = p.mask->additive ? scaled + (*p.mask->additive)(i, j) : scaled;
        return p.softcap > 0.0F ? p.softcap * std::tanh(added / p.softcap) : added;
    }

    static Matrix softmaxOf(const HeadProblem& p, int begin, int end, const Matrix& scaled, const Matrix& masked) {
        const int rows = end - begin, m = scaled.cols();
        Matrix a(rows, m);
        if (p.softmaxOverQueries) {
            for (int j = 0; j < m; ++j)
                softmax(
                    rows, [&](int i) { return masked(i, j); }, [&](int i) { return p.mask->isOpen(begin + i, j); },
                    [&](int i, double w) { a(i, j) = static_cast<float>(w); }, p.temperature);
            return a;
        }
        for (int i = 0; i < rows; ++i) {
            if (p.maskAfterSoftmax) {
                softmax(
                    m, [&](int j) { return scaled(i, j); }, [](int) { return true; },
                    [&](int j, double w) { a(i, j) = p.mask->isOpen(begin + i, j) ? static_cast<float>(w) : 0.0F; },
                    p.temperature);
                continue;
            }
            softmax(
                m, [&](int j) { return masked(i, j); }, [&](int j) { return p.mask->isOpen(begin + i, j); },
                [&](int j, double w) { a(i, j) = static_cast<float>(w); }, p.temperature);
        }
        return a;
    }
};

} // namespace

const Backend& referenceBackend() {
    static const ReferenceBackend backend;
    return backend;
}

} // namespace headscope
