// Which edits in a row become one undo step: the ids that Workspace::edit takes. Panels count on from mergeFirstFree.
#pragma once

namespace headscope {

inline constexpr int mergeScale = 2;
inline constexpr int mergeTemperature = 3;
inline constexpr int mergeFirstFree = 100;         // the weights editor
inline constexpr int mergeFirstStroke = 1'000'000; // the mask brush
inline constexpr int mergeFirstText = 100'000'000; // what is typed into the sentence without a pause

} // namespace headscope
