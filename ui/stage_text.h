// What the window says about a stage: formulas with sub- and superscripts, this model's sizes, names of heads and
// cells. Everything is derived from the stage table and the scenario. Not here: numbers.
#pragma once

#include "core/attention/head_stages.h"
#include "core/attention/view.h"

#include <QString>
#include <QStringList>

namespace headscope {

QString fromUtf8(std::string_view text);
std::string toUtf8(const QString& text);

// "Q_h K_h^T" as rich text with sub- and superscripts.
QString richFormula(const QString& formula);
// The stage's formula with this model's numbers in it, as rich text: "S / √32".
// X is said to be what this model makes it of.
QString stageFormula(const Scenario& scenario, LayerIndex layer, Stage stage);
// What a stage is, in two sentences: rich text.
QString stageWords(const Scenario& scenario, Stage stage);
// The name of a stage on a button: "Q", "A", "‖a v W_O‖".
QString stageShortName(Stage stage);
// "(8 × 64) (64 × 8) → 8 × 8": what is multiplied in this model. Plain text, empty where nothing is multiplied.
QString stageSizes(const Scenario& scenario, Stage stage);
// Cells that were closed or opened one by one, beside the mask.
qsizetype cellsMaskedByHand(const Scenario& scenario);
// What stands under a step in the stepper: "8×8", "÷ √64", "causal", "none + 3" with three cells masked by hand.
QString stepSubtitle(const Scenario& scenario, int step);
// The stages of a step that this scenario has, in table order.
std::vector<Stage> stagesOfStep(const Scenario& scenario, int step);
// The step's shown stage: `current` when it belongs to it, else the first.
Stage stageOfStep(const Scenario& scenario, int step, Stage current);

QString headName(LayerIndex layer, HeadIndex head); // "L0 H3"
// "L0 H3 · next token" where the model names its heads.
QString headTitle(const ModelConfig& config, LayerIndex layer, HeadIndex head);
// A token as people read it; a character that no font draws as its code point.
QString tokenText(const Token& token);
QString tokenText(const std::string& text); // UTF-8
// A token inside a sentence: one that reads from right to left must not turn the words around it.
QString isolated(const QString& token);
QStringList tokenTexts(const TokenSequence& tokens);
// The same of one token, with its place where the text has it more than once: "the₅".
QString distinctText(const TokenSequence& tokens, int index);
QString scaleText(const Scenario& scenario); // "÷ √64", "× 1", "× 0.3"

} // namespace headscope
