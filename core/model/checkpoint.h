// Opening a trained model: a folder in the hub's layout, or one GGUF file. The names of tensors come from the family
// table (families.h), sizes from config.json or GGUF's metadata; both are checked against the tensors' real shapes.
#pragma once

#include "core/model/builtin.h"
#include "core/model/gguf.h"
#include "core/model/rope_scaling.h"
#include "core/model/tensor_file.h"

#include <map>

namespace headscope {

// What a config says, in one vocabulary for all families. Absent numbers stay empty: required ones are refused by name.
struct CheckpointConfig {
    std::string file;   // for messages: "…/config.json", or the GGUF file
    std::string family; // model_type, general.architecture
    bool gguf = false;
    std::map<std::string, double> numbers;      // "layers", "d_model", "heads", "kv_heads", "head_dim", ...
    std::map<std::string, std::string> strings; // "activation"
    std::vector<std::int64_t> neverWritten;     // ids that a decoder does not write
    RopeScaling ropeScaling;                    // of config.json, or GGUF's metadata or rope_freqs tensor
};
CheckpointConfig parseConfigJson(std::string_view json, const std::string& file); // throws LoadError

// What config.json left out of how a target begins and ends, from generation_config.json; one that is no JSON says
// nothing.
void readGenerationJson(std::string_view json, CheckpointConfig& config);

// The model from its tensors. Throws LoadError naming the tensor, expected and found shape, or the family that is
// unknown.
SharedModel buildModel(const CheckpointConfig& config, const TensorFile& tensors,
                       std::shared_ptr<const Tokenizer> tokenizer, const std::string& name);

CheckpointConfig configOfGguf(const GgufFile& file); // from the metadata; throws LoadError

CheckpointConfig openFolderConfig(const std::string& folder); // config.json

// The folder that has the files: of a hub cache folder (snapshots/, refs/main) the snapshot that it points to, else
// `folder` itself. Throws LoadError where it is not clear which.
std::string hubSnapshot(const std::string& folder);

// All tensors of a folder: model.safetensors, or the shards of model.safetensors.index.json, as one.
std::shared_ptr<const TensorFile> openFolderTensors(const std::string& folder);

// The tokenizer inside a GGUF file. Throws LoadError.
std::shared_ptr<const Tokenizer> tokenizerOfGguf(const GgufFile& file);

// What a scenario file knows a checkpoint by: sha256 of the file; of a folder's model.safetensors; of its shards' sums,
// in the order of their names. Kept as long as the files' sizes and times stay. Throws LoadError, or Cancelled.
std::string checkpointSha256(const std::string& path, const OpenHooks& hooks = {});

// source.name: a folder with config.json, or a GGUF file that `gguf` has read. Throws LoadError.
OpenedModel openFolder(ModelSource source, const OpenHooks& hooks = {});
OpenedModel openGguf(ModelSource source, const GgufFile& gguf, const OpenHooks& hooks = {});

} // namespace headscope
