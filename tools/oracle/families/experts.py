"""Mixtures of experts: Llama with experts (Mixtral), Qwen 3 MoE, Granite MoE, gpt-oss.

Routers have large weights, so that few choices of an expert hang on a near tie.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from gguf import GGMLQuantizationType as Type

from families import gemma4
from families.recurrent import Shape, block
from families.recurrent import metadata as recurrent_metadata
from random_model import (Model, Tensor, bias, bpe, drawn, matrix, norm, output_norm, spm, stack, token_matrix)
from tiny_vocabulary import Vocabulary

LOGIT_STD = 3.6


@dataclass
class Spec:
    """One model: shape, and what is special about it."""
    name: str
    architecture: str
    type: Type
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    """Of an expert."""
    experts: int
    used: int
    layers: int = 2
    shared_ffn: int = 0
    head_norms: bool = False
    whole_norms: bool = False
    """Of q and k, all heads together."""
    biases: bool = False
    """Of q, k, v, the attention's output, the router and the experts."""
    sinks: bool = False
    shared_gate: bool = False
    qkv_biases: bool = False
    ffn_norm: str = "ffn_norm"
    keys: dict[str, object] = field(default_factory=dict)
    types: dict[str, Type] = field(default_factory=dict)
    embedding_std: float = 0.05
    update: float = 1.0
    """Updates of the residual stream are larger by this."""
    pre: str = "qwen2"
    dense: int = 0
    """Layers before the first with experts."""
    choice_bias: bool = False
    norm_biases: bool = False
    """Of the RMS norms; and of the head and the attention's output."""
    fused_qkv: bool = False
    newest: bool = False
    has_head: bool = False
    """A head that is not the embedding table."""


SPECS = [
    Spec("mixtral-f32", "llama", Type.F32, 36, 2, 1, 18, 28, experts=5, used=2),
    Spec("qwen3moe-q8_0", "qwen3moe", Type.Q8_0, 64, 2, 1, 48, 32, experts=10, used=3, head_norms=True,
         keys={"rope.freq_base": 1e6, "expert_feed_forward_length": 32, "feed_forward_length": 192},
         types={"*.ffn_up_exps.weight": Type.Q4_0}),
    Spec("mellum-f16", "mellum", Type.F16, 40, 4, 2, 18, 20, experts=5, used=2, head_norms=True, has_head=True,
         keys={"rope.freq_base": 5e5, "rope.freq_base_swa": 1e4, "expert_feed_forward_length": 20,
               "rope.dimension_count": 18, "attention.sliding_window": 37,
               "attention.sliding_window_pattern": [True, False], "rope.scaling.type": "yarn",
               "rope.scaling.factor": 8.0, "rope.scaling.original_context_length": 64}, newest=True),
    Spec("gpt-oss-mxfp4", "gpt-oss", Type.Q8_0, 64, 4, 2, 32, 32, experts=7, used=3, biases=True, sinks=True,
         ffn_norm="post_attention_norm", pre="gpt-4o", types={"*_exps.weight": Type.MXFP4},
         keys={"rope.freq_base": 150000.0, "rope.scaling.type": "yarn", "rope.scaling.factor": 8.0,
               "rope.scaling.original_context_length": 64, "expert_feed_forward_length": 32,
               "attention.sliding_window": 40}),
    Spec("qwen2moe-q8_0", "qwen2moe", Type.Q8_0, 64, 2, 1, 32, 32, experts=7, used=2, layers=1, shared_ffn=64,
         shared_gate=True, qkv_biases=True, keys={"expert_feed_forward_length": 32, "feed_forward_length": 64,
                                                  "expert_shared_feed_forward_length": 64}),
    Spec("olmoe-f16", "olmoe", Type.F16, 36, 2, 2, 18, 28, experts=6, used=2, layers=1, whole_norms=True, pre="gpt-2"),
    Spec("granitemoe-f16", "granitemoe", Type.F16, 40, 2, 1, 20, 28, experts=6, used=2, shared_ffn=36,
         keys={"expert_shared_feed_forward_length": 36, "embedding_scale": 6.0, "residual_scale": 0.4,
               "attention.scale": 0.15, "logit_scale": 2.0}, update=2.5 * 6.0, embedding_std=0.05, pre="gpt-2"),
    Spec("smallthinker-f16", "smallthinker", Type.F16, 36, 2, 1, 18, 28, experts=6, used=2, pre="qwen2",
         embedding_std=0.4, keys={"expert_feed_forward_length": 28, "expert_gating_func": 2,
                                  "attention.sliding_window": 37}),
    Spec("ernie4_5-moe-f16", "ernie4_5-moe", Type.F16, 36, 3, 1, 16, 28, experts=6, used=2, shared_ffn=20, dense=1,
         choice_bias=True, keys={"expert_feed_forward_length": 28, "expert_shared_feed_forward_length": 20,
                                 "feed_forward_length": 44, "leading_dense_block_count": 1,
                                 "interleave_moe_layer_step": 1, "rope.freq_base": 5e5}),
    # Pairs 7 and 8 of 9 are in no section.
    Spec("qwen3vlmoe-f16", "qwen3vlmoe", Type.F16, 40, 2, 1, 18, 28, experts=6, used=2, layers=1, head_norms=True,
         keys={"rope.freq_base": 1e4, "expert_feed_forward_length": 28, "feed_forward_length": 64,
               "rope.dimension_sections": [3, 2, 2, 0]}),
    Spec("phimoe-f16", "phimoe", Type.F16, 36, 3, 1, 12, 28, experts=5, used=2, layers=1, pre="gpt-2", qkv_biases=True,
         norm_biases=True, has_head=True, keys={"attention.sliding_window": 40}),
    Spec("bailingmoe-f16", "bailingmoe", Type.F16, 36, 2, 1, 18, 28, experts=6, used=2, layers=1, shared_ffn=56,
         has_head=True, pre="gpt-2",
         keys={"expert_feed_forward_length": 28, "expert_shared_count": 2, "feed_forward_length": 44,
               "rope.dimension_count": 18, "expert_weights_norm": True, "leading_dense_block_count": 0}),
    Spec("bailingmoe2-f16", "bailingmoe2", Type.F16, 36, 3, 1, 12, 20, experts=6, used=2, shared_ffn=40, dense=1,
         has_head=True, pre="gpt-2", fused_qkv=True, head_norms=True, choice_bias=True,
         keys={"expert_feed_forward_length": 20, "expert_shared_feed_forward_length": 20, "expert_shared_count": 2,
               "feed_forward_length": 44, "rope.dimension_count": 6, "leading_dense_block_count": 1,
               "expert_weights_norm": True, "expert_weights_scale": 1.5, "expert_gating_func": 2,
               "expert_group_count": 3, "expert_group_used_count": 2}),
    Spec("deepseek-f16", "deepseek", Type.F16, 24, 2, 1, 12, 20, experts=5, used=2, shared_ffn=40, dense=1,
         keys={"expert_feed_forward_length": 20, "expert_shared_count": 2, "feed_forward_length": 36,
               "leading_dense_block_count": 1, "expert_weights_scale": 1.5}, pre="gpt-2"),
    Spec("deepseek2-ocr-f16", "deepseek2-ocr", Type.F16, 30, 3, 3, 10, 20, experts=5, used=2, shared_ffn=40, dense=1,
         keys={"expert_feed_forward_length": 20, "expert_shared_count": 2, "feed_forward_length": 36,
               "leading_dense_block_count": 1, "rope.dimension_count": 10}, pre="gpt-2", newest=True),
]


def metadata(spec: Spec) -> dict[str, object]:
    keys: dict[str, object] = {
        "embedding_length": spec.hidden, "block_count": spec.layers, "feed_forward_length": spec.ffn,
        "attention.head_count": spec.heads, "attention.head_count_kv": spec.kv_heads,
        "attention.layer_norm_rms_epsilon": 1e-5, "expert_count": spec.experts, "expert_used_count": spec.used}
    if spec.head_dim * spec.heads != spec.hidden:
        keys |= {"attention.key_length": spec.head_dim, "attention.value_length": spec.head_dim}
    return keys | spec.keys


def tensors(spec: Spec, vocabulary: Vocabulary) -> Iterator[Tensor]:
    tokens = len(vocabulary.tokens)
    yield token_matrix("token_embd.weight", tokens, spec.hidden, spec.embedding_std)
    for layer in range(spec.layers):
        yield from attention(spec, layer)
        yield from feed_forward(spec, layer)
    logits = LOGIT_STD * spec.keys.get("logit_scale", 1.0)
    yield output_norm(spec.hidden, logits / spec.hidden**0.5 / spec.embedding_std)
    if spec.norm_biases:
        yield bias("output_norm.bias", spec.hidden, 0.2)
        yield Tensor("output.bias", (tokens,), 0.3, of_tokens=True)
    if spec.has_head or spec.architecture in ("gpt-oss", "qwen2moe", "olmoe"):
        yield token_matrix("output.weight", tokens, spec.hidden, spec.embedding_std)


def attention(spec: Spec, layer: int) -> Iterator[Tensor]:
    q, kv = spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim
    # With an f16 cache, larger scores would turn near ties of the router around.
    score = (0.6 if spec.sinks else 1.0 if spec.head_norms else 1.5) / spec.hidden**0.5
    start = f"blk.{layer}."
    yield norm(f"{start}attn_norm.weight", spec.hidden)
    if spec.norm_biases:
        yield bias(f"{start}attn_norm.bias", spec.hidden, 0.15)
        yield bias(f"{start}attn_output.bias", spec.hidden, 0.2 * spec.embedding_std)
    parts = [("attn_q", q, spec.hidden, score), ("attn_k", kv, spec.hidden, score),
             ("attn_v", kv, spec.hidden, spec.hidden**-0.5)]
    if spec.fused_qkv:
        parts = [("attn_qkv", q + 2 * kv, spec.hidden, score)]
    parts.append(("attn_output", spec.hidden, q, 1.5 * spec.update * spec.embedding_std / q**0.5))
    for role, rows, cols, std in parts:
        yield matrix(f"{start}{role}.weight", rows, cols, std)
        if spec.biases or spec.qkv_biases and role != "attn_output":
            size = spec.embedding_std if role == "attn_output" else 1.0
            yield bias(f"{start}{role}.bias", rows, 0.4 * size)
    if spec.whole_norms:
        yield norm(f"{start}attn_q_norm.weight", q, 1.5)
        yield norm(f"{start}attn_k_norm.weight", kv, 1.5)
    if spec.head_norms:
        yield norm(f"{start}attn_q_norm.weight", spec.head_dim, 1.5)
        yield norm(f"{start}attn_k_norm.weight", spec.head_dim, 1.5)
    if spec.sinks:
        yield bias(f"{start}attn_sinks.weight", spec.heads, 1.5, mean=1.0)


def feed_forward(spec: Spec, layer: int) -> Iterator[Tensor]:
    start, n, ffn, hidden = f"blk.{layer}.", spec.experts, spec.ffn, spec.hidden
    into, out = 1.5 / hidden**0.5, 2.0 * spec.update * spec.embedding_std / ffn**0.5
    yield norm(f"{start}{spec.ffn_norm}.weight", hidden)
    if spec.norm_biases:
        yield bias(f"{start}ffn_norm.bias", hidden, 0.15)
    if layer < spec.dense:
        ffn = spec.keys["feed_forward_length"]
        yield matrix(f"{start}ffn_gate.weight", ffn, hidden, into)
        yield matrix(f"{start}ffn_up.weight", ffn, hidden, into)
        yield matrix(f"{start}ffn_down.weight", hidden, ffn, out)
        return
    yield matrix(f"{start}ffn_gate_inp.weight", n, hidden, 4.0 / hidden**0.5, Type.F32)
    yield stack(f"{start}ffn_gate_exps.weight", n, ffn, hidden, into)
    yield stack(f"{start}ffn_up_exps.weight", n, ffn, hidden, into)
    yield stack(f"{start}ffn_down_exps.weight", n, hidden, ffn, out)
    if spec.biases:
        yield bias(f"{start}ffn_gate_inp.bias", n, 0.5)
        yield rows_of(f"{start}ffn_gate_exps.bias", n, ffn, 0.5)
        yield rows_of(f"{start}ffn_up_exps.bias", n, ffn, 0.5)
        yield rows_of(f"{start}ffn_down_exps.bias", n, hidden, 0.5 * spec.embedding_std)
    if spec.choice_bias:
        yield bias(f"{start}exp_probs_b.bias", n, 0.2)
    if spec.shared_gate:
        yield drawn(f"{start}ffn_gate_inp_shexp.weight", lambda rng: rng.standard_normal(hidden) * 1.5 / hidden**0.5)
    if spec.shared_ffn:
        yield matrix(f"{start}ffn_gate_shexp.weight", spec.shared_ffn, hidden, into)
        yield matrix(f"{start}ffn_up_shexp.weight", spec.shared_ffn, hidden, into)
        yield matrix(f"{start}ffn_down_shexp.weight", hidden, spec.shared_ffn, out)


def rows_of(name: str, count: int, size: int, std: float) -> Tensor:
    """A bias for each expert."""
    return drawn(name, lambda rng: std * rng.standard_normal((count, size), dtype=np.float32))


def model(spec: Spec) -> Model:
    vocabulary = spm(307) if spec.architecture in ("llama", "ernie4_5-moe") else bpe(307, spec.pre)
    return Model(spec.name, spec.architecture, spec.type, metadata(spec), lambda tokens: tensors(spec, tokens),
                 vocabulary, types=spec.types, newest=spec.newest)


LFM2 = Shape(64, [0, 1, 0], heads=2, head_dim=32, ffn=96, conv_kernel=3, output_norm="token_embd_norm.weight")
LFM2_EXPERTS = Spec("lfm2moe-q4_0", "lfm2moe", Type.Q4_0, 64, 2, 1, 32, 32, experts=9, used=3)


def lfm2moe(vocabulary: Vocabulary) -> Iterator[Tensor]:
    """LFM2 with experts in all layers but the first."""
    tokens = len(vocabulary.tokens)
    yield token_matrix("token_embd.weight", tokens, LFM2.hidden, LFM2_EXPERTS.embedding_std)
    for layer, kv_heads in enumerate(LFM2.kv_heads):
        for tensor in block(LFM2 if layer == 0 else replace(LFM2, ffn=0), kv_heads):
            tensor.name = f"blk.{layer}.{tensor.name}"
            yield tensor
        if layer > 0:
            yield from feed_forward(LFM2_EXPERTS, layer)
            yield bias(f"blk.{layer}.exp_probs_b.bias", LFM2_EXPERTS.experts, 0.2)
    yield output_norm(LFM2.hidden, LOGIT_STD / LFM2.hidden**0.5 / LFM2_EXPERTS.embedding_std, LFM2.output_norm)


GEMMA4 = gemma4.Spec("gemma4-moe-q4_0", Type.Q4_0, 64, 2, [1, 1], 64, 32, [True, False], [64] * 2, window=40)


def gemma4_moe(vocabulary: Vocabulary) -> Iterator[Tensor]:
    """Gemma 4 as 26B-A4B: experts beside each feed-forward, gate and up in one tensor, a factor for each expert."""
    yield from gemma4.tensors(GEMMA4, vocabulary)
    hidden, n, ffn = GEMMA4.hidden, 7, 32
    for layer in range(GEMMA4.layers):
        start = f"blk.{layer}."
        yield matrix(f"{start}ffn_gate_inp.weight", n, hidden, 4.0, Type.F32)
        yield norm(f"{start}ffn_gate_inp.scale", hidden)
        for role in ("pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2"):
            yield norm(f"{start}{role}.weight", hidden)
        yield stack(f"{start}ffn_gate_up_exps.weight", n, 2 * ffn, hidden, 1.5 / hidden**0.5)
        yield stack(f"{start}ffn_down_exps.weight", n, hidden, ffn, 1.0 / ffn**0.5)
        yield norm(f"{start}ffn_down_exps.scale", n, 1.0, 0.4)


MODELS = [model(spec) for spec in SPECS]
MODELS.append(Model(GEMMA4.name, "gemma4", GEMMA4.type, gemma4.metadata(GEMMA4) | {
    "expert_count": 7, "expert_used_count": 2, "expert_feed_forward_length": 32}, gemma4_moe, GEMMA4.vocabulary))
MODELS.append(Model(LFM2_EXPERTS.name, "lfm2moe", Type.Q4_0, recurrent_metadata(LFM2) | {
    "expert_count": 9, "expert_used_count": 3, "expert_feed_forward_length": 32, "expert_gating_func": 2,
    "leading_dense_block_count": 1}, lfm2moe, bpe(307, "lfm2")))
