// The stage table: the one list that the stepper, the command line, the files, the help and the tests all use.
#pragma once

#include "core/model/model.h"

#include <bitset>
#include <span>
#include <string>

namespace headscope {

enum class Stage {
    Embedding,
    EmbeddingKey,
    ProjectionQ,
    ProjectionK,
    ProjectionV,
    Q,
    K,
    V,
    Scores,
    Scaled,
    Masked,
    Weights,
    HeadOutput,
    Concat,
    Contribution,
    Output,
    Norms
};
inline constexpr int stageCount = 17;
using StageSet = std::bitset<stageCount>;
inline std::size_t bit(Stage s) {
    return static_cast<std::size_t>(s);
}

enum class StageScope { AllHeads, QueryHead, KvHead };       // one matrix, one per head, one per KV head
enum class StageAxis { QueryTokens, KeyTokens, Dimensions }; // what rows and columns are

struct StageInfo {
    Stage stage;
    int step;                  // 1..10, the stepper's place
    std::string_view stepName; // "Embed" ... "W^O"
    std::string_view id;       // "weights": command line, files
    std::string_view symbol;   // "A_h"
    std::string_view formula;  // "softmax over keys of (masked scores / T)"
    StageScope scope;
    StageAxis rows, cols;
    bool isSigned;         // diverging colours about 0; else sequential
    std::string_view what; // two plain sentences
};

std::span<const StageInfo> stageTable();
const StageInfo& stageInfo(Stage s);
std::optional<Stage> stageFromId(std::string_view id);
std::string stageIds();       // "embedding, embedding_key, ...": for messages
bool isTokenByToken(Stage s); // (n, m)

struct StageShape {
    int count; // 1, h or h_kv
    int rows, cols;
};
// n queries, m keys.
StageShape stageShape(const ModelConfig& config, Stage s, int n, int m);

} // namespace headscope
