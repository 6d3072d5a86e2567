#include "core/attention/tensor_edit.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace headscope {

Matrix bandOf(const Matrix& tensor, TensorBand band) {
    return copy(MatrixView(tensor).rowRange(band.rowBegin, band.rowEnd).colRange(band.colBegin, band.colEnd));
}

// Bit by bit: -0.0 is an edit of 0.
static bool sameBits(const Matrix& a, const Matrix& b) {
    return std::ranges::equal(a.values(), b.values(), [](float x, float y) {
        return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
    });
}

Scenario withTensor(const Scenario& scenario, TensorId id, Matrix value) {
    const SharedMatrix& opened = scenario.original->tensor(id);
    Scenario next = scenario;
    next.model = scenario.model->withTensor(id, opened && sameBits(value, *opened) ? opened : share(std::move(value)));
    // Identity says "unchanged": without a differing tensor the model is the opened one.
    bool same = true;
    for (int l = 0; l < next.model->config().layers && same; ++l)
        same = next.model->layer(LayerIndex{l}) == next.original->layer(LayerIndex{l});
    if (same)
        next.model = next.original;
    return next;
}

Scenario withBlock(const Scenario& scenario, TensorId id, TensorBand band, int row, int col, const Matrix& values) {
    Matrix tensor = *scenario.model->tensor(id);
    for (int r = 0; r < values.rows(); ++r)
        std::copy_n(values.row(r).data(), values.cols(), &tensor(band.rowBegin + row + r, band.colBegin + col));
    return withTensor(scenario, id, std::move(tensor));
}

static bool isCellOf(const Intervention& i, Stage stage) {
    return i.kind == Intervention::Kind::SetCell && i.stage == stage;
}

Scenario withEmbeddingBlock(const Scenario& scenario, Stage stage, int row, int col, const Matrix& values,
                            const Matrix& opened) {
    Scenario next = scenario;
    std::erase_if(next.interventions, [&](const Intervention& i) {
        return isCellOf(i, stage) && i.row >= row && i.row < row + values.rows() && i.col >= col &&
               i.col < col + values.cols();
    });
    for (int r = 0; r < values.rows(); ++r)
        for (int c = 0; c < values.cols(); ++c)
            if (std::bit_cast<std::uint32_t>(values(r, c)) != std::bit_cast<std::uint32_t>(opened(row + r, col + c)))
                next.interventions.push_back(
                    {Intervention::Kind::SetCell, LayerIndex{0}, HeadIndex{0}, stage, row + r, col + c, values(r, c)});
    return next;
}

Matrix embeddingOf(const Scenario& scenario, Stage stage, const Matrix& opened) {
    Matrix matrix = opened;
    for (const Intervention& i : scenario.interventions)
        if (isCellOf(i, stage) && i.row < matrix.rows() && i.col < matrix.cols())
            matrix(i.row, i.col) = i.value;
    return matrix;
}

std::string cellName(TensorId id, HeadIndex head, int row, int col) {
    const bool isBias = id.kind == WeightKind::BQ || id.kind == WeightKind::BK || id.kind == WeightKind::BV ||
                        id.kind == WeightKind::BO;
    std::string name(weightName(id.kind));
    name += isBias ? "[" + std::to_string(col) + "]" : "[" + std::to_string(row) + ", " + std::to_string(col) + "]";
    name += " of L" + std::to_string(id.layer.value);
    if (id.kind != WeightKind::BO)
        name += " H" + std::to_string(head.value);
    return name;
}

} // namespace headscope
