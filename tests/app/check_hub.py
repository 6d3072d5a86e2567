#!/usr/bin/env python3
"""Every model family against Hugging Face transformers, where it is installed: small models of random weights are saved
as hub folders, and the attention weights, hidden states and logits that Headscope dumps are compared with those of
transformers' own forward pass (eager attention).

    tests/app/check_hub.py build/release/headscope [NAME ...]     NAME: the beginning of a case's name

Not part of tests/run, which needs no Python packages but numpy. Exit 1 when a number is farther off than 2e-5 (weights:
absolute, others: of the largest), or a model is refused without being listed as one.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np
import torch
import transformers as hf

IDS = [5, 8, 13, 21, 34, 55, 60, 3, 3, 17, 44, 70]
TARGET_IDS = [2, 7, 9, 11, 30, 7]
TOLERANCE = 2e-5

SIZES = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
ENCODER = {**SIZES, "max_position_embeddings": 40}
DISTIL = {"vocab_size": 99, "dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": 40}
GPT2 = {"vocab_size": 99, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 40}
DECODER = {**SIZES, "max_position_embeddings": 64}
GROUPED = {**DECODER, "num_key_value_heads": 2}
BART = {"vocab_size": 99, "d_model": 32, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 48, "decoder_ffn_dim": 40, "max_position_embeddings": 40}
MARIAN = {**BART, "pad_token_id": 58, "decoder_start_token_id": 58, "eos_token_id": 0}
T5 = {"vocab_size": 99, "d_model": 32, "d_kv": 6, "d_ff": 48, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4,
      "decoder_start_token_id": 0}


def rope(kind, **more):
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 10000.0, **more}}


# name, class, sizes, what the config has beside them
CASES = [
    ("bert", "BertModel", ENCODER, {}),
    ("bert-relu", "BertForMaskedLM", ENCODER, {"hidden_act": "relu"}),
    ("bert-gelu_new", "BertForMaskedLM", ENCODER, {"hidden_act": "gelu_new", "type_vocab_size": 1}),
    ("bert-untied", "BertForMaskedLM", ENCODER, {"hidden_act": "silu", "tie_word_embeddings": False}),
    ("bert-classifier", "BertForSequenceClassification", ENCODER, {"layer_norm_eps": 1e-5}),
    ("roberta", "RobertaForMaskedLM", ENCODER, {"hidden_act": "relu"}),
    ("roberta-pad0", "RobertaModel", ENCODER, {"pad_token_id": 0}),
    ("xlm-roberta", "XLMRobertaForMaskedLM", ENCODER, {}),
    ("camembert", "CamembertForMaskedLM", ENCODER, {}),
    ("distilbert", "DistilBertForMaskedLM", DISTIL, {}),
    ("distilbert-sines", "DistilBertModel", DISTIL, {"sinusoidal_pos_embds": True}),
    ("electra", "ElectraForMaskedLM", ENCODER, {"embedding_size": 16, "hidden_act": "relu"}),
    ("electra-wide", "ElectraModel", ENCODER, {"embedding_size": 32}),
    ("gpt2", "GPT2LMHeadModel", GPT2, {}),
    ("gpt2-inner", "GPT2LMHeadModel", GPT2, {"n_inner": 40, "activation_function": "relu"}),
    ("gpt2-untied", "GPT2LMHeadModel", GPT2, {"tie_word_embeddings": False}),
    ("neox", "GPTNeoXForCausalLM", DECODER, {}),
    ("neox-serial", "GPTNeoXForCausalLM", DECODER, {"use_parallel_residual": False}),
    ("neox-whole", "GPTNeoXForCausalLM", DECODER, {"rotary_pct": 1.0, "rotary_emb_base": 500}),
    ("neox-no-bias", "GPTNeoXForCausalLM", DECODER, {"attention_bias": False}),
    ("neox-tied", "GPTNeoXForCausalLM", DECODER, {"tie_word_embeddings": True, "hidden_act": "gelu_fast"}),
    ("llama", "LlamaForCausalLM", DECODER, {}),
    ("llama-grouped", "LlamaForCausalLM", GROUPED, {}),
    ("llama-one-kv", "LlamaForCausalLM", DECODER, {"num_key_value_heads": 1, "tie_word_embeddings": True}),
    ("llama-head-dim", "LlamaForCausalLM", DECODER, {"head_dim": 12}),
    ("llama-bias", "LlamaForCausalLM", DECODER, {"attention_bias": True, "mlp_bias": True}),
    ("llama-theta", "LlamaForCausalLM", DECODER, rope("default", rope_theta=500000.0)),
    ("llama-linear", "LlamaForCausalLM", DECODER, rope("linear", factor=2.5)),
    ("llama-dynamic", "LlamaForCausalLM", DECODER, rope("dynamic", factor=2.0)),
    ("llama-llama3", "LlamaForCausalLM", DECODER,
     rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)),
    ("llama-yarn", "LlamaForCausalLM", DECODER, rope("yarn", factor=4.0, original_max_position_embeddings=16)),
    ("mistral", "MistralForCausalLM", GROUPED, {"sliding_window": 5}),
    ("mistral-whole", "MistralForCausalLM", GROUPED, {"sliding_window": None, "head_dim": 16}),
    ("qwen2", "Qwen2ForCausalLM", GROUPED, {}),
    ("qwen2-window", "Qwen2ForCausalLM", GROUPED,
     {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 0}),
    ("qwen2-no-layer", "Qwen2ForCausalLM", GROUPED,
     {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 9}),
    ("bart", "BartForConditionalGeneration", BART, {}),
    ("bart-scaled", "BartForConditionalGeneration", BART, {"scale_embedding": True, "activation_function": "relu"}),
    ("bart-model", "BartModel", BART, {}),
    ("marian", "MarianMTModel", MARIAN, {"scale_embedding": True, "activation_function": "swish"}),
    ("marian-two", "MarianMTModel", MARIAN,
     {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 77, "tie_word_embeddings": False}),
    ("t5", "T5ForConditionalGeneration", T5, {}),
    ("t5-gated", "T5ForConditionalGeneration", T5, {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
    ("t5-buckets", "T5ForConditionalGeneration", T5,
     {"feed_forward_proj": "gated-silu", "relative_attention_num_buckets": 8, "relative_attention_max_distance": 20}),
    ("mt5", "MT5ForConditionalGeneration", T5, {}),
]
# Refused by name, until somebody computes them.
REFUSED = [
    ("qwen2-mixed", "Qwen2ForCausalLM", GROUPED,
     {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}, "sliding window in 2 of them"),
    ("gpt2-by-layer", "GPT2Model", GPT2, {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx"),
    ("bert-quick", "BertModel", ENCODER, {"hidden_act": "quick_gelu"}, "quick_gelu"),
    ("albert", "AlbertModel", ENCODER, {"embedding_size": 16}, "albert"),
    ("gemma2", "Gemma2ForCausalLM", DECODER, {}, "attn_logit_softcapping"),
]


def saved_model(name, folder):
    """A model of random weights, large enough that every part of it is felt; saved in folder."""
    kind, sizes, more = name
    cls = getattr(hf, kind)
    model = cls(cls.config_class(**sizes, **more))
    generator = torch.Generator().manual_seed(3)
    noise = lambda p, scale: scale * torch.randn(p.shape, generator=generator)
    with torch.no_grad():
        for parameter_name, p in model.named_parameters():
            if not p.requires_grad:
                continue  # positions that are computed
            is_gain = p.dim() == 1 and "norm" in parameter_name.replace("ln_", "norm").lower()
            is_table = any(part in parameter_name for part in ("embed", "shared", "wte", "wpe", "lm_head"))
            p.copy_(1 + noise(p, 0.2) if is_gain and parameter_name.endswith("weight")
                    else noise(p, 0.2) if p.dim() == 1
                    else noise(p, 0.7 if is_table else p.shape[-1] ** -0.5))
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.copy_(noise(model.final_logits_bias, 0.3))
    model.tie_weights()
    model.eval().save_pretrained(folder)
    model.set_attn_implementation("eager")
    return model


def expected_arrays(model, target):
    """What transformers computes, under the names of a dump."""
    wanted = {"output_attentions": True, "return_dict": True}
    vocabulary = (model.config.vocab_size, getattr(model.config, "decoder_vocab_size", None))
    with torch.no_grad():
        if target:
            out = model(input_ids=torch.tensor([IDS]), decoder_input_ids=torch.tensor([target]), **wanted)
            groups = {"encoder.layers.{}.self": out.encoder_attentions, "decoder.layers.{}.self": out.decoder_attentions,
                      "decoder.layers.{}.cross": out.cross_attentions}
        else:
            out = model(input_ids=torch.tensor([IDS]), **wanted)
            groups = {"layers.{}.self": out.attentions}
    arrays = {name.format(layer) + ".weights": a[0] for name, layers in groups.items() for layer, a in enumerate(layers)}
    if getattr(out, "logits", None) is not None and out.logits.dim() == 3 and out.logits.shape[-1] in vocabulary:
        arrays["logits"] = out.logits[0]
    elif hasattr(out, "last_hidden_state"):
        arrays["hidden"] = out.last_hidden_state[0]
    return {name: a.numpy() for name, a in arrays.items()}


def dumped(program, folder, target, also):
    out = folder / "dump.npz"
    options = ["--target-ids", ",".join(map(str, target))] if target else []
    options += [f"--{name}" for name in ("logits", "hidden") if name in also]
    return out, subprocess.run([program, "dump", "--model", folder, "--ids", ",".join(map(str, IDS)), *options,
                                "--stage", "weights", "--out", out], capture_output=True, text=True)


def main():
    hf.utils.logging.set_verbosity_error()
    hf.utils.logging.disable_progress_bar()
    program, chosen = sys.argv[1], tuple(sys.argv[2:]) or ("",)
    failed = 0
    for name, kind, sizes, more, *refusal in CASES + REFUSED:
        if not name.startswith(chosen):
            continue
        with tempfile.TemporaryDirectory() as folder:
            model = saved_model((kind, sizes, more), folder)
            target = TARGET_IDS if model.config.is_encoder_decoder else []
            expected = expected_arrays(model, target) if not refusal else {}
            out, run = dumped(program, Path(folder), target, expected)
            if refusal or run.returncode:
                good = bool(refusal) and run.returncode == 2 and refusal[0] in run.stderr
                verdict = ("refused: " if good else "NOT AS EXPECTED: ") + run.stderr.strip()
            else:
                found = np.load(out)
                errors = {key: np.abs(found[key] - a).max() / (1 if key.endswith("weights") else np.abs(a).max())
                          if found[key].shape == a.shape else np.inf for key, a in expected.items()}
                worst = max(errors, key=errors.get)
                good = errors[worst] <= TOLERANCE
                verdict = f"{'equal' if good else 'DIFFERS'}: at most {errors[worst]:.1e} ({worst})"
        failed += not good
        print(f"{name:18s} {verdict}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
