// A shown stage (core/analysis) as figures and the window draw it: its labels, its cells, its range, and the sentence
// that says what was left out. Not here: layout.
#pragma once

#include "core/analysis/shown.h"
#include "ui/render/color_scale.h"
#include "ui/render/matrix_painter.h"

#include <QStringList>
#include <span>

namespace headscope {

ValueKind kindOf(Stage stage);
QStringList axisLabels(const ShownAxis& axis, const QFont& font);
// The numbers with their colours, closed cells hatched.
SharedPicture shownPicture(const ShownStage& shown, const ColorScale& scale);
// The range of the shown matrices; all: every head's, for `shared`. Special tokens have no say where the view says so.
ResolvedRange shownRange(const View& view, Stage stage, std::span<const ShownStage> shown,
                         std::span<const ShownStage> all);
// All heads of the view's layer, for the range `shared`. Of a long text, whose maps would not fit in memory together,
// each head stands for itself with its smallest and largest number alone, where the range asks for no more.
std::vector<ShownStage> rangedHeads(const AttentionTrace& trace, const View& view);
// What was left out, merged or renormalised, over all shown matrices; often empty.
QString shownRemark(std::span<const ShownStage> shown, Stage stage, const View& view);

} // namespace headscope
