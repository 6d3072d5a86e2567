// What the figures share: reading a trace as pictures with names, headings, and one function per figure. Only
// figure.cpp and the figures' own files include this.
#pragma once

#include "ui/render/figure.h"
#include "ui/render/panel.h"
#include "ui/render/shown_picture.h"

namespace headscope {

inline constexpr double figurePad = 8; // units around everything

// Throws InputError: layer, head, cell out of range, a stage that the scenario lacks, an impossible size.
void checkFigure(const FigureSource& source, const FigureSpec& spec);

QString headTitle(LayerIndex layer, HeadIndex head); // "L0 H3"
// "L5 mean of heads 3, 7", of the view's layer and heads.
QString combinedHeads(const ModelConfig& config, const View& view);
// What stands before it in a heading: "decoder, cross-attention, " of an encoder-decoder, else nothing.
QString sitePrefix(const AttentionTrace& trace);
// "previous token", where the model names its heads; and whether it is switched off. Often empty.
QString headName(const AttentionTrace& trace, LayerIndex layer, HeadIndex head);
// Names of the rows or columns of a stage, and the title of that axis. Token texts, or dimension numbers.
// For figures whose products need every token: says so when the view leaves some out or merges them; else empty.
QString everyTokenRemark(const View& view);
QStringList stageLabels(const AttentionTrace& trace, Stage stage, bool rows, int count, const QFont& font);
QString stageAxisTitle(const AttentionTrace& trace, Stage stage, HeadIndex head, bool rows);
QString shapeText(const Matrix& matrix); // "8 × 32"
// True where several query heads share a key/value head (grouped-query attention).
bool sharesKeys(const ModelConfig& config);
QString kvHeadTitle(const ModelConfig& config, int kvHead); // "head 3", or "KV head 0 (heads 0–3)"
std::vector<BandHead> bandHeads(const ModelConfig& config, Stage stage, std::size_t count); // of the first count bands
std::vector<int> stageBands(const AttentionTrace& trace, Stage stage, const Matrix& matrix);

// A stage as a panel with its own range ("this matrix"), for figures that show several stages.
Panel stagePanel(const AttentionTrace& trace, const View& view, Stage stage, const QFont& font);

// Title of the user, a bold heading, a formula and a muted remark; wrapped to width. Returns the height, gap included.
double drawHeading(Sheet& sheet, QPointF topLeft, double width, const FigureSpec& spec, const QString& bold,
                   const QString& formula, const QString& muted);

// Each lays out and paints (or only measures) a figure of this width and returns its height; height: what the user
// asked for.
double drawHeatmapFigure(Sheet& sheet, const FigureSource& source, const FigureSpec& spec, double width,
                         std::optional<double> height);
double drawGridFigure(Sheet& sheet, const FigureSource& source, const FigureSpec& spec, double width,
                      std::optional<double> height);
double drawLinksFigure(Sheet& sheet, const FigureSource& source, const FigureSpec& spec, double width,
                       std::optional<double> height);
double drawStagesFigure(Sheet& sheet, const FigureSource& source, const FigureSpec& spec, double width,
                        std::optional<double> height);
double drawWalkFigure(Sheet& sheet, const FigureSource& source, const FigureSpec& spec, double width,
                      std::optional<double> height);
double drawFigure(Sheet& sheet, const FigureSource& source, const FigureSpec& spec, double width,
                  std::optional<double> height);

// "the figure is 60 x 20 mm, and its labels leave no room ..."
[[noreturn]] void refuseSize(const FigureSpec& spec);

} // namespace headscope
