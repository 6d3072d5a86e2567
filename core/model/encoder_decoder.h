// Opening an encoder-decoder: three attention stacks of one file, joined into one model with a site for each.
// Called by opening a folder; computing is in core/attention.
#pragma once

#include "core/model/checkpoint.h"
#include "core/model/families.h"

namespace headscope {

bool isEncoderDecoder(const CheckpointConfig& config);

// source, target: the tokenizers of the two texts, often the same one. Throws LoadError naming the tensor or the
// config's entry.
SharedModel buildEncoderDecoder(const CheckpointConfig& config, const TensorFile& tensors,
                                std::shared_ptr<const Tokenizer> source, std::shared_ptr<const Tokenizer> target,
                                const std::string& name);
// The same with the names given.
SharedModel buildEncoderDecoder(const CheckpointConfig& config, const EncoderDecoderNames& names,
                                const TensorFile& tensors, std::shared_ptr<const Tokenizer> source,
                                std::shared_ptr<const Tokenizer> target, const std::string& name);

} // namespace headscope
