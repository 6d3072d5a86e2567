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

FamilyNames roberta() {
    FamilyNames n = bertLike("roberta", "roberta.");
    n.output = {"lm_head.decoder"};
    n.outputDense = "lm_head.dense";
    n.outputNorm = "lm_head.layer_norm";
    n.outputBias = "lm_head.bias";
    n.positionOffset = 2;
    return n;
}

FamilyNames electra() {
    FamilyNames n = bertLike("electra", "electra.");
    n.embeddingProjection = "embeddings_project";
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
    n.ropeInterleaved = family == "llama"; // the converter permutes q and k rows of this architecture only
    return n;
}

} // namespace

std::span<const FamilyNames> familyTable() {
    static const std::vector<FamilyNames> table{bert(),
                                                roberta(),
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
    return list;
}

} // namespace headscope
