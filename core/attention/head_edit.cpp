#include "core/attention/head_edit.h"

#include "core/attention/head_problem.h"

namespace headscope {

namespace {

// One column of a projection after the edit, into `out`: the same chain of sums as in the whole product.
void editedColumn(const AttentionTrace& t, const Matrix& x, const Matrix& w, const Matrix* bias, TensorId id, int row,
                  int col, float value, int heads, MatrixWindow out) {
    const bool isBias = id.kind == WeightKind::BQ || id.kind == WeightKind::BK || id.kind == WeightKind::BV;
    Matrix column(w.rows(), 1);
    for (int r = 0; r < w.rows(); ++r)
        column(r, 0) = w(r, col);
    if (!isBias)
        column(row, 0) = value;
    if (has(t.scenario.rules, Rule::SplitInput)) { // each head multiplies its own slice of x
        const int slice = w.rows() / heads, head = col / (w.cols() / heads);
        for (int r = 0; r < w.rows(); ++r)
            if (r / slice != head)
                column(r, 0) = 0.0F;
    }
    if (!bias)
        return t.backend->linearInto(x, column, nullptr, out);
    const Matrix shift(1, 1, isBias ? value : (*bias)(0, col));
    t.backend->linearInto(x, column, &shift, out);
}

HeadStages byANewTrace(const AttentionTrace& t, TensorId id, int row, int col, float value, HeadIndex head,
                       HeadWanted wanted) {
    Scenario s = t.scenario;
    Matrix changed = *s.model->tensor(id);
    changed(row, col) = value;
    s.model = s.model->withTensor(id, share(std::move(changed)));
    return headStages(*trace(s, *t.backend, &t), id.layer, head, wanted);
}

} // namespace

HeadStages headAfterEdit(const AttentionTrace& t, TensorId id, int row, int col, float value, HeadIndex head,
                         HeadWanted wanted) {
    const ModelConfig& c = t.config();
    const LayerTrace& l = t.layer(id.layer);
    if (l.meanWeights || !t.backend->columnsStandAlone()) // every head shows in every other
        return byANewTrace(t, id, row, col, value, head, wanted);
    const LayerWeights& w = t.scenario.model->layer(id.layer);
    HeadInputs in = headInputs(t.scenario, t.mask, l, id.layer, head);
    Matrix band; // of the changed projection
    const auto change = [&](const Matrix& input, const SharedMatrix& weights, const SharedMatrix& bias,
                            const SharedMatrix& projection, int bandHead, int heads, int width, bool turns,
                            MatrixView& view) {
        const int inBand = col - bandHead * width;
        if (inBand < 0 || inBand >= width)
            return; // of another head
        band = copy(headBand(*projection, bandHead, width));
        editedColumn(t, input, *weights, bias.get(), id, row, col, value, heads,
                     MatrixWindow(band).colRange(inBand, inBand + 1));
        if (turns && c.position == Position::Rope)
            band = rotated(band, c);
        view = band;
    };
    switch (id.kind) {
    case WeightKind::WQ:
    case WeightKind::BQ:
        change(*l.x, w.wQ, w.bQ, l.projectionQ, head.value, c.heads, c.dK, true, in.problem.q);
        break;
    case WeightKind::WK:
    case WeightKind::BK:
        change(*l.y, w.wK, w.bK, l.projectionK, c.kvHeadOf(head), c.kvHeads, c.dK, true, in.problem.k);
        break;
    case WeightKind::WV:
    case WeightKind::BV:
        change(*l.y, w.wV, w.bV, l.projectionV, c.kvHeadOf(head), c.kvHeads, c.dV, false, in.problem.v);
        break;
    case WeightKind::WO:
    case WeightKind::BO:
        break; // behind the head
    }
    in.problem.scoreEdits = in.edits;
    return runHead(*t.backend, in.problem, wanted, {});
}

} // namespace headscope
