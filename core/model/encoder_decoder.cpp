#include "core/model/encoder_decoder.h"

#include "core/model/checkpoint_builder.h"

#include <cmath>

namespace headscope {

namespace {

// What the config says of one side, under the names that every stack has.
CheckpointConfig sideOf(const CheckpointConfig& from, const std::string& side) {
    CheckpointConfig c = from;
    for (const char* what : {"layers", "heads"})
        if (const auto it = c.numbers.find(side + "_" + what); it != c.numbers.end())
            c.numbers[what] = it->second;
    if (from.family != "t5" && from.family != "mt5") // their configs do not say it
        c.numbers.try_emplace("norm_epsilon", 1e-5);
    return c;
}

std::int64_t idOf(const CheckpointConfig& from, const char* meaning, int vocabulary) {
    const auto it = from.numbers.find(meaning);
    const std::string expected = "the id of a token, from 0 to " + std::to_string(vocabulary - 1);
    if (it == from.numbers.end())
        throw LoadError(from.file, meaning, expected, "nothing");
    if (it->second != std::floor(it->second) || it->second < 0 || it->second >= vocabulary)
        throw LoadError(from.file, meaning, expected, std::to_string(it->second));
    return static_cast<std::int64_t>(it->second);
}

TargetRules targetRules(const CheckpointConfig& from, int vocabulary) {
    TargetRules rules;
    rules.start = idOf(from, "target_start", vocabulary);
    rules.end = idOf(from, "target_end", vocabulary);
    if (from.numbers.contains("target_first"))
        rules.first = idOf(from, "target_first", vocabulary);
    rules.never = from.neverWritten;
    return rules;
}

// The attention layers of one stack as a model of its own.
Model siteModel(const CheckpointBuilder& builder, ModelConfig c, Transformer transformer, const TableEmbedding& table,
                std::shared_ptr<const Tokenizer> tokenizer) {
    std::vector<LayerWeights> layers;
    layers.reserve(static_cast<std::size_t>(c.layers));
    for (int l = 0; l < c.layers; ++l)
        layers.push_back(builder.attention(c, l));
    return {std::move(c), std::move(layers), std::move(tokenizer), makeTableEmbedder(table),
            std::make_shared<const Transformer>(std::move(transformer))};
}

} // namespace

bool isEncoderDecoder(const CheckpointConfig& config) {
    return !config.gguf && encoderDecoderNames(config.family, false);
}

SharedModel buildEncoderDecoder(const CheckpointConfig& from, const TensorFile& tensors,
                                std::shared_ptr<const Tokenizer> source, std::shared_ptr<const Tokenizer> target,
                                const std::string& name) {
    const bool gated = tensors.find("encoder.block.0.layer.1.DenseReluDense.wi_0.weight") != nullptr;
    return buildEncoderDecoder(from, *encoderDecoderNames(from.family, gated), tensors, std::move(source),
                               std::move(target), name);
}

SharedModel buildEncoderDecoder(const CheckpointConfig& from, const EncoderDecoderNames& names,
                                const TensorFile& tensors, std::shared_ptr<const Tokenizer> source,
                                std::shared_ptr<const Tokenizer> target, const std::string& name) {
    const CheckpointConfig encoderSide = sideOf(from, "encoder"), decoderSide = sideOf(from, "decoder");
    const CheckpointBuilder encoder(encoderSide, names.encoder, tensors);
    const CheckpointBuilder decoder(decoderSide, names.decoder, tensors);
    const CheckpointBuilder cross(decoderSide, names.cross, tensors);

    ModelConfig encoderConfig = encoder.config(name), decoderConfig = decoder.config(name),
                crossConfig = cross.config(name);
    encoderConfig.site = Site::EncoderSelf;
    decoderConfig.site = Site::DecoderSelf;
    crossConfig.site = Site::DecoderCross;
    crossConfig.cross = true;
    crossConfig.position = Position::None; // its X already knows where it stands
    crossConfig.maxTokens = decoderConfig.maxTokens;
    Transformer encoderBlocks = encoder.transformer(encoderConfig);
    Transformer decoderBlocks = decoder.transformer(decoderConfig);
    Transformer crossBlocks = cross.transformer(crossConfig);

    const TableEmbedding sourceTable = encoder.embedding(encoderConfig);
    const bool oneTable = encoder.tokenTable() == decoder.tokenTable();
    const TableEmbedding targetTable = decoder.embedding(decoderConfig, oneTable ? sourceTable.token : nullptr);
    crossBlocks.output = decoder.output(decoderConfig, targetTable.token);
    encoderConfig.vocabulary = sourceTable.token->rows();
    decoderConfig.vocabulary = crossConfig.vocabulary = targetTable.token->rows();
    const int written = crossBlocks.output ? crossBlocks.output->vocabulary->rows() : decoderConfig.vocabulary;

    return Model::joined(
        {siteModel(encoder, std::move(encoderConfig), std::move(encoderBlocks), sourceTable, std::move(source)),
         siteModel(decoder, std::move(decoderConfig), std::move(decoderBlocks), targetTable, target),
         siteModel(cross, std::move(crossConfig), std::move(crossBlocks), targetTable, std::move(target))},
        targetRules(from, written));
}

} // namespace headscope
