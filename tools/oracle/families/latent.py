"""Attention over latent vectors: DeepSeek-V2 and those with its layers, MiniCPM 3.

llama.cpp takes queries without a latent vector only from files with 26, 27 or 48 layers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gguf import GGMLQuantizationType as Type

from random_model import Model, Tensor, bias, bpe, constant, matrix, norm, output_norm, spm, stack, token_matrix
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
    rank: int
    """Values of the latent vector of keys and values."""
    nope: int
    """Values of a key that are not rotated ..."""
    rope: int
    """... and that are."""
    value: int
    ffn: int
    layers: int = 2
    query_rank: int = 0
    split: bool = True
    """Matrices of keys and values in tensors of their own, as files have them since April 2025."""
    experts: int = 0
    used: int = 2
    expert_ffn: int = 20
    shared: int = 1
    dense: int = 1
    choice_bias: bool = False
    embedding_std: float = 0.05
    embedding_scale: float = 1.0
    logit_scale: float = 1.0
    factors: tuple[list[float], list[float]] | None = None
    """Long and short ones of the frequencies."""
    keys: dict[str, object] = field(default_factory=dict)
    types: dict[str, Type] = field(default_factory=dict)


SPECS = [
    Spec("deepseek2-f16", "deepseek2", Type.F16, 24, 3, rank=18, nope=10, rope=6, value=14, ffn=36, query_rank=20,
         experts=6, expert_ffn=12, shared=2, choice_bias=True,
         keys={"expert_gating_func": 2, "expert_weights_norm": True, "expert_weights_scale": 1.5,
               "expert_group_count": 3, "expert_group_used_count": 2, "rope.scaling.type": "yarn",
               "rope.scaling.factor": 4.0, "rope.scaling.original_context_length": 64,
               "rope.scaling.yarn_log_multiplier": 0.0707}),
    Spec("plm-f16", "plm", Type.F16, 36, 3, rank=14, nope=10, rope=6, value=8, ffn=52, split=False),
    Spec("minicpm3-f16", "minicpm3", Type.F16, 28, 3, rank=18, nope=8, rope=6, value=10, ffn=36, query_rank=22,
         split=False, embedding_std=0.02, embedding_scale=12.0, logit_scale=256 / 28,
         factors=([1.0, 2.0, 4.0], [1.0, 1.1, 1.3]), keys={"rope.scaling.original_context_length": 64}),
]


def metadata(spec: Spec) -> dict[str, object]:
    key = spec.nope + spec.rope
    keys: dict[str, object] = {
        "embedding_length": spec.hidden, "block_count": spec.layers, "feed_forward_length": spec.ffn,
        "attention.head_count": spec.heads, "attention.head_count_kv": 1 if spec.split else spec.heads,
        "attention.layer_norm_rms_epsilon": 1e-5, "attention.kv_lora_rank": spec.rank,
        "rope.dimension_count": spec.rope, "rope.freq_base": 1e4}
    if spec.query_rank:
        keys["attention.q_lora_rank"] = spec.query_rank
    if spec.split:
        keys |= {"attention.key_length": spec.rank + spec.rope, "attention.value_length": spec.rank,
                 "attention.key_length_mla": key, "attention.value_length_mla": spec.value}
    else:
        keys |= {"attention.key_length": key, "attention.value_length": spec.value}
    if spec.experts:
        keys |= {"expert_count": spec.experts, "expert_used_count": spec.used,
                 "expert_feed_forward_length": spec.expert_ffn, "expert_shared_count": spec.shared,
                 "leading_dense_block_count": spec.dense}
    return keys | spec.keys


def tensors(spec: Spec, vocabulary: Vocabulary) -> Iterator[Tensor]:
    tokens = len(vocabulary.tokens)
    yield token_matrix("token_embd.weight", tokens, spec.hidden, spec.embedding_std)
    if spec.factors:
        yield constant("rope_factors_long.weight", spec.factors[0])
        yield constant("rope_factors_short.weight", spec.factors[1])
    for layer in range(spec.layers):
        yield from attention(spec, layer)
        yield from feed_forward(spec, layer)
    yield output_norm(spec.hidden, LOGIT_STD / spec.hidden**0.5 / spec.embedding_std / spec.logit_scale)


def update_std(spec: Spec) -> float:
    """Of an update of the residual stream; many layers share it."""
    return spec.embedding_std * spec.embedding_scale * (2 / spec.layers)**0.5


def attention(spec: Spec, layer: int) -> Iterator[Tensor]:
    start, key = f"blk.{layer}.", spec.nope + spec.rope
    score = 1.3 / spec.hidden**0.5
    yield norm(f"{start}attn_norm.weight", spec.hidden)
    if spec.query_rank:
        yield matrix(f"{start}attn_q_a.weight", spec.query_rank, spec.hidden, score)
        yield norm(f"{start}attn_q_a_norm.weight", spec.query_rank)
        yield matrix(f"{start}attn_q_b.weight", spec.heads * key, spec.query_rank, 1.3 / spec.query_rank**0.5)
    else:
        yield matrix(f"{start}attn_q.weight", spec.heads * key, spec.hidden, score)
    yield matrix(f"{start}attn_kv_a_mqa.weight", spec.rank + spec.rope, spec.hidden, score)
    yield norm(f"{start}attn_kv_a_norm.weight", spec.rank)
    of_latent = 1.3 / spec.rank**0.5
    if spec.split:
        yield stack(f"{start}attn_k_b.weight", spec.heads, spec.rank, spec.nope, of_latent)
        yield stack(f"{start}attn_v_b.weight", spec.heads, spec.value, spec.rank, of_latent)
    else:
        yield matrix(f"{start}attn_kv_b.weight", spec.heads * (spec.nope + spec.value), spec.rank, of_latent)
    out = spec.heads * spec.value
    yield matrix(f"{start}attn_output.weight", spec.hidden, out, 1.5 * update_std(spec) / out**0.5)


def feed_forward(spec: Spec, layer: int) -> Iterator[Tensor]:
    start, hidden = f"blk.{layer}.", spec.hidden
    into = 1.5 / hidden**0.5
    out = 2.0 * update_std(spec)
    yield norm(f"{start}ffn_norm.weight", hidden)
    if not spec.experts or layer < spec.dense:
        if spec.architecture != "plm":
            yield matrix(f"{start}ffn_gate.weight", spec.ffn, hidden, into)
        yield matrix(f"{start}ffn_up.weight", spec.ffn, hidden, into)
        yield matrix(f"{start}ffn_down.weight", hidden, spec.ffn, out / spec.ffn**0.5)
        return
    count, ffn, shared = spec.experts, spec.expert_ffn, spec.shared * spec.expert_ffn
    yield matrix(f"{start}ffn_gate_inp.weight", count, hidden, 4.0 / hidden**0.5, Type.F32)
    if spec.choice_bias:
        yield bias(f"{start}exp_probs_b.bias", count, 0.2)
    yield stack(f"{start}ffn_gate_exps.weight", count, ffn, hidden, into)
    yield stack(f"{start}ffn_up_exps.weight", count, ffn, hidden, into)
    yield stack(f"{start}ffn_down_exps.weight", count, hidden, ffn, out / ffn**0.5)
    if shared:
        yield matrix(f"{start}ffn_gate_shexp.weight", shared, hidden, into)
        yield matrix(f"{start}ffn_up_shexp.weight", shared, hidden, into)
        yield matrix(f"{start}ffn_down_shexp.weight", hidden, shared, out / shared**0.5)


def model(spec: Spec) -> Model:
    vocabulary = spm(307) if spec.architecture == "minicpm3" else bpe(307, "deepseek-llm")
    return Model(spec.name, spec.architecture, spec.type, metadata(spec), lambda tokens: tensors(spec, tokens),
                 vocabulary, types=spec.types, newest=spec.architecture == "plm")


MODELS = [model(spec) for spec in SPECS]
