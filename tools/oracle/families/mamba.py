"""Mamba's first form, Falcon Mamba's norms, and Jamba's layers of attention and of experts between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from gguf import GGMLQuantizationType as Type

from families.recurrent import dt_bias, taps
from random_model import Model, Tensor, bias, bpe, drawn, matrix, norm, output_norm, stack, token_matrix
from tiny_vocabulary import Vocabulary

LOGIT_STD, EMBEDDING_STD = 3.6, 0.05


@dataclass
class Spec:
    """One model. llama.cpp wants twice the hidden size as channels."""
    name: str
    architecture: str
    hidden: int
    rank: int
    """Values that time steps are made of."""
    state: int
    kv_heads: list[int]
    """Of each layer, 0 for one of Mamba."""
    kernel: int = 4
    heads: int = 0
    ffn: int = 0
    experts: int = 0
    """Of every other layer."""
    bare_norms: bool = False
    tied: bool = True
    type: Type = Type.F16
    keys: dict[str, object] = field(default_factory=dict)


SPECS = [
    Spec("mamba-f16", "mamba", 36, rank=6, state=10, kv_heads=[0, 0], bare_norms=True),
    Spec("jamba-f16", "jamba", 24, rank=5, state=7, kv_heads=[0, 1, 0], kernel=3, heads=2, ffn=28, experts=4),
]


def metadata(spec: Spec) -> dict[str, object]:
    keys: dict[str, object] = {
        "embedding_length": spec.hidden, "block_count": len(spec.kv_heads), "feed_forward_length": spec.ffn,
        "attention.head_count": spec.heads, "attention.layer_norm_rms_epsilon": 1e-5,
        "ssm.conv_kernel": spec.kernel, "ssm.inner_size": 2 * spec.hidden, "ssm.state_size": spec.state,
        "ssm.time_step_rank": spec.rank}
    if spec.architecture == "mamba":
        keys["ssm.dt_b_c_rms"] = spec.bare_norms
    else:
        keys["attention.head_count_kv"] = spec.kv_heads
    if spec.experts:
        keys |= {"expert_count": spec.experts, "expert_used_count": 2}
    return keys | spec.keys


def tensors(spec: Spec, vocabulary: Vocabulary) -> Iterator[Tensor]:
    tokens, hidden = len(vocabulary.tokens), spec.hidden
    yield token_matrix("token_embd.weight", tokens, hidden, EMBEDDING_STD)
    for layer, kv_heads in enumerate(spec.kv_heads):
        start = f"blk.{layer}."
        yield norm(f"{start}attn_norm.weight", hidden)
        yield from attention(spec, start, kv_heads) if kv_heads else mamba(spec, start)
        if spec.ffn:
            yield from feed_forward(spec, start, spec.experts if layer % 2 else 0)
    yield output_norm(hidden, LOGIT_STD / hidden**0.5 / EMBEDDING_STD)
    if not spec.tied:
        yield token_matrix("output.weight", tokens, hidden, EMBEDDING_STD)


def mamba(spec: Spec, start: str) -> Iterator[Tensor]:
    inner, hidden, rank, state = 2 * spec.hidden, spec.hidden, spec.rank, spec.state

    yield matrix(f"{start}ssm_in.weight", 2 * inner, hidden, 1.5 / hidden**0.5)
    yield taps(f"{start}ssm_conv1d.weight", inner, spec.kernel)
    yield bias(f"{start}ssm_conv1d.bias", inner, 0.3)
    yield matrix(f"{start}ssm_x.weight", rank + 2 * state, inner, 1.5 / inner**0.5)
    yield matrix(f"{start}ssm_dt.weight", inner, rank, 0.7 / rank**0.5)
    yield dt_bias(f"{start}ssm_dt.bias", inner)
    if spec.architecture == "jamba":
        yield norm(f"{start}ssm_dt_norm.weight", rank)
        yield norm(f"{start}ssm_b_norm.weight", state)
        yield norm(f"{start}ssm_c_norm.weight", state)
    yield drawn(f"{start}ssm_a", lambda rng: -np.exp(rng.uniform(np.log(0.02), np.log(8), (inner, state))))
    yield drawn(f"{start}ssm_d", lambda rng: rng.uniform(0.5, 1.5, inner))
    yield matrix(f"{start}ssm_out.weight", hidden, inner, 2.0 * EMBEDDING_STD / inner**0.5)


def attention(spec: Spec, start: str, kv_heads: int) -> Iterator[Tensor]:
    hidden, kv = spec.hidden, kv_heads * spec.hidden // spec.heads
    for role, rows in (("attn_q", hidden), ("attn_k", kv), ("attn_v", kv)):
        yield matrix(f"{start}{role}.weight", rows, hidden, 1.5 / hidden**0.5)
    yield matrix(f"{start}attn_output.weight", hidden, hidden, 1.5 * EMBEDDING_STD / hidden**0.5)


def feed_forward(spec: Spec, start: str, experts: int) -> Iterator[Tensor]:
    hidden, ffn = spec.hidden, spec.ffn
    into, out = 1.5 / hidden**0.5, 1.5 * EMBEDDING_STD / ffn**0.5
    yield norm(f"{start}ffn_norm.weight", hidden)
    if experts:
        yield matrix(f"{start}ffn_gate_inp.weight", experts, hidden, 4 / hidden**0.5, Type.F32)
        yield stack(f"{start}ffn_gate_exps.weight", experts, ffn, hidden, into)
        yield stack(f"{start}ffn_up_exps.weight", experts, ffn, hidden, into)
        yield stack(f"{start}ffn_down_exps.weight", experts, hidden, ffn, out)
        return
    yield matrix(f"{start}ffn_gate.weight", ffn, hidden, into)
    yield matrix(f"{start}ffn_up.weight", ffn, hidden, into)
    yield matrix(f"{start}ffn_down.weight", hidden, ffn, out)


def model(spec: Spec) -> Model:
    return Model(spec.name, spec.architecture, spec.type, metadata(spec), lambda tokens: tensors(spec, tokens),
                 bpe(307, "gpt-2"))


MODELS = [model(spec) for spec in SPECS]
