#include "core/model/families.h"

#include <algorithm>

namespace headscope {

namespace {

// BERT's layout, which RoBERTa, ELECTRA and MiniLM share; they differ in the prefix and the head.
FamilyNames bertLike(std::string_view family, std::string_view prefix) {
    FamilyNames n{};
    n.family = family;
    n.prefixes = {"", prefix};
    n.token = "embeddings.word_embeddings";
    n.position = "embeddings.position_embeddings";
    n.segment = "embeddings.token_type_embeddings";
    n.embeddingNorm = "embeddings.LayerNorm";
    n.q = "encoder.layer.{L}.attention.self.query";
    n.k = "encoder.layer.{L}.attention.self.key";
    n.v = "encoder.layer.{L}.attention.self.value";
    n.o = "encoder.layer.{L}.attention.output.dense";
    n.norm1 = "encoder.layer.{L}.attention.output.LayerNorm";
    n.up = "encoder.layer.{L}.intermediate.dense";
    n.down = "encoder.layer.{L}.output.dense";
    n.norm2 = "encoder.layer.{L}.output.LayerNorm";
    n.block = BlockForm::PostNorm;
    n.norm = Norm::Layer;
    return n;
}

FamilyNames bert() {
    FamilyNames n = bertLike("bert", "bert.");
    n.output = {"cls.predictions.decoder"};
    n.outputDense = "cls.predictions.transform.dense";
    n.outputNorm = "cls.predictions.transform.LayerNorm";
    n.outputBias = "cls.predictions.bias";
    return n;
}

FamilyNames roberta(std::string_view family) {
    FamilyNames n = bertLike(family, "roberta.");
    n.output = {"lm_head.decoder"};
    n.outputDense = "lm_head.dense";
    n.outputNorm = "lm_head.layer_norm";
    n.outputBias = "lm_head.bias";
    n.outputIsGelu = true;
    n.positionOffset = 2;
    n.paddingHasNoPosition = true;
    return n;
}

FamilyNames electra() {
    FamilyNames n = bertLike("electra", "electra.");
    n.embeddingProjection = "embeddings_project";
    n.output = {"generator_lm_head"};
    n.outputDense = "generator_predictions.dense";
    n.outputNorm = "generator_predictions.LayerNorm";
    n.outputBias = "generator_lm_head.bias";
    n.outputIsGelu = true;
    return n;
}

FamilyNames distilbert() {
    FamilyNames n{};
    n.family = "distilbert";
    n.prefixes = {"", "distilbert."};
    n.token = "embeddings.word_embeddings";
    n.position = "embeddings.position_embeddings";
    n.embeddingNorm = "embeddings.LayerNorm";
    n.q = "transformer.layer.{L}.attention.q_lin";
    n.k = "transformer.layer.{L}.attention.k_lin";
    n.v = "transformer.layer.{L}.attention.v_lin";
    n.o = "transformer.layer.{L}.attention.out_lin";
    n.norm1 = "transformer.layer.{L}.sa_layer_norm";
    n.up = "transformer.layer.{L}.ffn.lin1";
    n.down = "transformer.layer.{L}.ffn.lin2";
    n.norm2 = "transformer.layer.{L}.output_layer_norm";
    n.output = {"vocab_projector"};
    n.outputDense = "vocab_transform";
    n.outputNorm = "vocab_layer_norm";
    n.outputBias = "vocab_projector.bias";
    n.block = BlockForm::PostNorm;
    n.norm = Norm::Layer;
    return n;
}

FamilyNames gpt2() {
    FamilyNames n{};
    n.family = "gpt2";
    n.prefixes = {"", "transformer."};
    n.token = "wte";
    n.position = "wpe";
    n.packing = QkvPacking::SideBySide;
    n.q = "h.{L}.attn.c_attn";
    n.o = "h.{L}.attn.c_proj";
    n.norm1 = "h.{L}.ln_1";
    n.norm2 = "h.{L}.ln_2";
    n.up = "h.{L}.mlp.c_fc";
    n.down = "h.{L}.mlp.c_proj";
    n.finalNorm = "ln_f";
    n.output = {"lm_head"};
    n.storedAsApplied = true;
    n.block = BlockForm::PreNorm;
    n.norm = Norm::Layer;
    n.causal = true;
    return n;
}

FamilyNames gptNeox() {
    FamilyNames n{};
    n.family = "gpt_neox";
    n.prefixes = {"gpt_neox.", ""};
    n.token = "embed_in";
    n.otherPosition = Position::Rope;
    n.packing = QkvPacking::PerHead;
    n.q = "layers.{L}.attention.query_key_value";
    n.o = "layers.{L}.attention.dense";
    n.norm1 = "layers.{L}.input_layernorm";
    n.norm2 = "layers.{L}.post_attention_layernorm";
    n.up = "layers.{L}.mlp.dense_h_to_4h";
    n.down = "layers.{L}.mlp.dense_4h_to_h";
    n.finalNorm = "final_layer_norm";
    n.output = {"embed_out"};
    n.block = BlockForm::Parallel;
    n.norm = Norm::Layer;
    n.causal = true;
    return n;
}

// Llama, Mistral, Qwen2 and SmolLM keep the same names; what differs is in the config.
FamilyNames llamaLike(std::string_view family) {
    FamilyNames n{};
    n.family = family;
    n.prefixes = {"model.", ""};
    n.token = "embed_tokens";
    n.otherPosition = Position::Rope;
    n.q = "layers.{L}.self_attn.q_proj";
    n.k = "layers.{L}.self_attn.k_proj";
    n.v = "layers.{L}.self_attn.v_proj";
    n.o = "layers.{L}.self_attn.o_proj";
    n.norm1 = "layers.{L}.input_layernorm";
    n.norm2 = "layers.{L}.post_attention_layernorm";
    n.up = "layers.{L}.mlp.up_proj";
    n.gate = "layers.{L}.mlp.gate_proj";
    n.down = "layers.{L}.mlp.down_proj";
    n.finalNorm = "norm";
    n.output = {"lm_head"};
    n.block = BlockForm::PreNorm;
    n.norm = Norm::Rms;
    n.causal = true;
    return n;
}

FamilyNames ggufBase(std::string_view family) {
    FamilyNames n{};
    n.family = family;
    n.gguf = true;
    n.prefixes = {""};
    n.token = "token_embd";
    n.position = "position_embd";
    n.q = "blk.{L}.attn_q";
    n.k = "blk.{L}.attn_k";
    n.v = "blk.{L}.attn_v";
    n.o = "blk.{L}.attn_output";
    n.up = "blk.{L}.ffn_up";
    n.down = "blk.{L}.ffn_down";
    return n;
}

FamilyNames ggufBert() {
    FamilyNames n = ggufBase("bert");
    n.segment = "token_types";
    n.embeddingNorm = "token_embd_norm";
    n.norm1 = "blk.{L}.attn_output_norm";
    n.norm2 = "blk.{L}.layer_output_norm";
    n.block = BlockForm::PostNorm;
    n.norm = Norm::Layer;
    return n;
}

FamilyNames ggufDecoder(std::string_view family) {
    FamilyNames n = ggufBase(family);
    n.norm1 = "blk.{L}.attn_norm";
    n.norm2 = "blk.{L}.ffn_norm";
    n.finalNorm = "output_norm";
    n.output = {"output"};
    n.block = BlockForm::PreNorm;
    n.causal = true;
    if (family == "gpt2") {
        n.packing = QkvPacking::SideBySide;
        n.q = "blk.{L}.attn_qkv";
        n.norm = Norm::Layer;
        return n;
    }
    n.gate = "blk.{L}.ffn_gate";
    n.norm = Norm::Rms;
    n.otherPosition = Position::Rope;
    n.ropeInterleaved = family == "llama"; // the converter permutes q and k rows of this architecture only
    return n;
}

// BART and Marian share names; Marian computes its positions.
EncoderDecoderNames bartLike(std::string_view family) {
    FamilyNames e{};
    e.family = family;
    e.prefixes = {"model.", ""};
    e.token = "shared";
    e.block = BlockForm::PostNorm;
    e.norm = Norm::Layer;
    FamilyNames d = e;
    e.tokenElsewhere = {"encoder.embed_tokens", "decoder.embed_tokens"};
    d.tokenElsewhere = {"decoder.embed_tokens", "encoder.embed_tokens"};
    e.position = "encoder.embed_positions";
    d.position = "decoder.embed_positions";
    if (family == "marian") {
        e.otherPosition = d.otherPosition = Position::Sinusoidal;
        d.token = "decoder.embed_tokens"; // two vocabularies, or one
        d.tokenElsewhere = {"shared", "encoder.embed_tokens"};
        e.token = "encoder.embed_tokens";
        e.tokenElsewhere = {"shared", "decoder.embed_tokens"};
    } else {
        e.positionOffset = d.positionOffset = 2;
        e.embeddingNorm = "encoder.layernorm_embedding";
        d.embeddingNorm = "decoder.layernorm_embedding";
    }
    e.q = "encoder.layers.{L}.self_attn.q_proj";
    e.k = "encoder.layers.{L}.self_attn.k_proj";
    e.v = "encoder.layers.{L}.self_attn.v_proj";
    e.o = "encoder.layers.{L}.self_attn.out_proj";
    e.norm1 = "encoder.layers.{L}.self_attn_layer_norm";
    e.up = "encoder.layers.{L}.fc1";
    e.down = "encoder.layers.{L}.fc2";
    e.norm2 = "encoder.layers.{L}.final_layer_norm";
    d.output = {"lm_head"};
    d.outputBias = "final_logits_bias";
    FamilyNames cross = d;
    d.causal = true;
    d.q = "decoder.layers.{L}.self_attn.q_proj";
    d.k = "decoder.layers.{L}.self_attn.k_proj";
    d.v = "decoder.layers.{L}.self_attn.v_proj";
    d.o = "decoder.layers.{L}.self_attn.out_proj";
    d.norm1 = "decoder.layers.{L}.self_attn_layer_norm";
    cross.q = "decoder.layers.{L}.encoder_attn.q_proj";
    cross.k = "decoder.layers.{L}.encoder_attn.k_proj";
    cross.v = "decoder.layers.{L}.encoder_attn.v_proj";
    cross.o = "decoder.layers.{L}.encoder_attn.out_proj";
    cross.norm1 = "decoder.layers.{L}.encoder_attn_layer_norm";
    cross.up = "decoder.layers.{L}.fc1";
    cross.down = "decoder.layers.{L}.fc2";
    cross.norm2 = "decoder.layers.{L}.final_layer_norm";
    return {e, d, cross};
}

EncoderDecoderNames t5(std::string_view family, bool gated) {
    FamilyNames e{};
    e.family = family;
    e.prefixes = {""};
    e.token = "shared";
    e.tokenElsewhere = {"encoder.embed_tokens", "decoder.embed_tokens"};
    e.block = BlockForm::PreNorm;
    e.norm = Norm::Rms;
    e.scaledByDk = false;
    FamilyNames d = e;
    e.otherPosition = Position::Relative;
    e.relativeBias = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias";
    e.q = "encoder.block.{L}.layer.0.SelfAttention.q";
    e.k = "encoder.block.{L}.layer.0.SelfAttention.k";
    e.v = "encoder.block.{L}.layer.0.SelfAttention.v";
    e.o = "encoder.block.{L}.layer.0.SelfAttention.o";
    e.norm1 = "encoder.block.{L}.layer.0.layer_norm";
    e.up = gated ? "encoder.block.{L}.layer.1.DenseReluDense.wi_1" : "encoder.block.{L}.layer.1.DenseReluDense.wi";
    e.gate = gated ? "encoder.block.{L}.layer.1.DenseReluDense.wi_0" : "";
    e.down = "encoder.block.{L}.layer.1.DenseReluDense.wo";
    e.norm2 = "encoder.block.{L}.layer.1.layer_norm";
    e.finalNorm = "encoder.final_layer_norm";
    d.output = {"lm_head"};
    d.scaledWhenTied = family == "t5"; // mT5 never does
    FamilyNames cross = d;
    d.causal = true;
    d.otherPosition = Position::Relative;
    d.relativeBias = "decoder.block.0.layer.0.SelfAttention.relative_attention_bias";
    d.q = "decoder.block.{L}.layer.0.SelfAttention.q";
    d.k = "decoder.block.{L}.layer.0.SelfAttention.k";
    d.v = "decoder.block.{L}.layer.0.SelfAttention.v";
    d.o = "decoder.block.{L}.layer.0.SelfAttention.o";
    d.norm1 = "decoder.block.{L}.layer.0.layer_norm";
    cross.q = "decoder.block.{L}.layer.1.EncDecAttention.q";
    cross.k = "decoder.block.{L}.layer.1.EncDecAttention.k";
    cross.v = "decoder.block.{L}.layer.1.EncDecAttention.v";
    cross.o = "decoder.block.{L}.layer.1.EncDecAttention.o";
    cross.norm1 = "decoder.block.{L}.layer.1.layer_norm";
    cross.up = gated ? "decoder.block.{L}.layer.2.DenseReluDense.wi_1" : "decoder.block.{L}.layer.2.DenseReluDense.wi";
    cross.gate = gated ? "decoder.block.{L}.layer.2.DenseReluDense.wi_0" : "";
    cross.down = "decoder.block.{L}.layer.2.DenseReluDense.wo";
    cross.norm2 = "decoder.block.{L}.layer.2.layer_norm";
    cross.finalNorm = "decoder.final_layer_norm";
    return {e, d, cross};
}

} // namespace

std::optional<EncoderDecoderNames> encoderDecoderNames(std::string_view modelType, bool gated) {
    if (modelType == "bart" || modelType == "marian")
        return bartLike(modelType);
    if (modelType == "t5" || modelType == "mt5")
        return t5(modelType, gated);
    return std::nullopt;
}

std::span<const FamilyNames> familyTable() {
    static const std::vector<FamilyNames> table{bert(),
                                                roberta("roberta"),
                                                roberta("xlm-roberta"),
                                                roberta("camembert"),
                                                distilbert(),
                                                electra(),
                                                gpt2(),
                                                gptNeox(),
                                                llamaLike("llama"),
                                                llamaLike("mistral"),
                                                llamaLike("qwen2"),
                                                ggufBert(),
                                                ggufDecoder("llama"),
                                                ggufDecoder("qwen2"),
                                                ggufDecoder("gpt2")};
    return table;
}

const FamilyNames* familyOf(std::string_view modelType, bool gguf) {
    for (const FamilyNames& n : familyTable())
        if (n.family == modelType && n.gguf == gguf)
            return &n;
    return nullptr;
}

std::string familyList() {
    std::vector<std::string_view> names;
    for (const FamilyNames& n : familyTable())
        if (std::ranges::find(names, n.family) == names.end())
            names.push_back(n.family);
    std::string list;
    for (const std::string_view name : names)
        list += (list.empty() ? "" : ", ") + std::string(name);
    return list + ", bart, marian, t5, mt5";
}

} // namespace headscope
