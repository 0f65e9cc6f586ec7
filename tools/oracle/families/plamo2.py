"""PLaMo 2: layers of Mamba and of attention, norms before and after each part."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from gguf import GGMLQuantizationType as Type

from families.recurrent import dt_bias, taps
from random_model import Model, Rng, Tensor, drawn, matrix, norm, output_norm, token_matrix
from tiny_vocabulary import Vocabulary, plamo

LOGIT_STD, EMBEDDING_STD = 3.6, 0.05


@dataclass
class Spec:
    """One model. llama.cpp rotates q and k only where the first layer has heads, or all have as many."""
    name: str
    hidden: int
    heads: list[int] | int
    """Of each layer, 0 for one of Mamba; or of all, where `kv_heads` says which these are."""
    kv_heads: list[int]
    head_dim: int
    ssm_heads: int
    ssm_head_dim: int
    state: int
    ffn: int
    kernel: int = 4
    tokens: int = 307
    tied: bool = True
    type: Type = Type.F16
    keys: dict[str, object] = field(default_factory=dict)

    @property
    def inner(self) -> int:
        return self.ssm_heads * self.ssm_head_dim

    def heads_of(self, layer: int) -> int:
        return self.heads if isinstance(self.heads, int) else self.heads[layer]


SPECS = [
    Spec("plamo2-f16", 20, heads=[4, 0, 0], kv_heads=[2, 0, 0], head_dim=10, ssm_heads=3, ssm_head_dim=8, state=7,
         ffn=24, kernel=3, tokens=303),
]


def metadata(spec: Spec) -> dict[str, object]:
    return {
        "embedding_length": spec.hidden, "block_count": len(spec.kv_heads), "feed_forward_length": spec.ffn,
        "attention.head_count": spec.heads, "attention.head_count_kv": spec.kv_heads,
        "attention.key_length": spec.head_dim, "attention.value_length": spec.head_dim,
        "attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 1e4,
        "ssm.conv_kernel": spec.kernel, "ssm.inner_size": spec.inner, "ssm.state_size": spec.state,
        "ssm.time_step_rank": spec.ssm_heads, "ssm.group_count": 0} | spec.keys


def tensors(spec: Spec, vocabulary: Vocabulary) -> Iterator[Tensor]:
    tokens, hidden = len(vocabulary.tokens), spec.hidden
    yield token_matrix("token_embd.weight", tokens, hidden, EMBEDDING_STD)
    for layer, kv_heads in enumerate(spec.kv_heads):
        start = f"blk.{layer}."
        yield norm(f"{start}attn_norm.weight", hidden)
        yield from attention(spec, start, spec.heads_of(layer), kv_heads) if kv_heads else mamba(spec, start)
        yield norm(f"{start}post_attention_norm", hidden, EMBEDDING_STD)
        yield norm(f"{start}ffn_norm.weight", hidden)
        yield matrix(f"{start}ffn_up.weight", 2 * spec.ffn, hidden, 1.5 / hidden**0.5)
        yield matrix(f"{start}ffn_down.weight", hidden, spec.ffn, 1.5 / spec.ffn**0.5)
        yield norm(f"{start}post_ffw_norm", hidden, EMBEDDING_STD)
    yield output_norm(hidden, LOGIT_STD / hidden**0.5 / EMBEDDING_STD)
    if not spec.tied:
        yield token_matrix("output.weight", tokens, hidden, EMBEDDING_STD)


def attention(spec: Spec, start: str, heads: int, kv_heads: int) -> Iterator[Tensor]:
    hidden, width = spec.hidden, spec.head_dim
    yield matrix(f"{start}attn_qkv.weight", (heads + 2 * kv_heads) * width, hidden, 1.5 / hidden**0.5)
    for role, count in (("q", heads), ("k", kv_heads)):
        yield drawn(f"{start}attn_{role}_norm.weight", head_weights(count, width))
    yield matrix(f"{start}attn_output.weight", hidden, heads * width, 1.5 / (heads * width)**0.5)


def head_weights(heads: int, width: int) -> Callable[[Rng], np.ndarray]:
    return lambda rng: 1.0 + 0.4 * rng.standard_normal((heads, width))


def mamba(spec: Spec, start: str) -> Iterator[Tensor]:
    hidden, inner, heads, state = spec.hidden, spec.inner, spec.ssm_heads, spec.state
    rank = max(64, hidden // 16)
    yield matrix(f"{start}ssm_in.weight", 2 * inner, hidden, 1.5 / hidden**0.5)
    yield taps(f"{start}ssm_conv1d.weight", inner, spec.kernel)
    yield matrix(f"{start}ssm_x.weight", 2 * state + rank, inner, 1.5 / inner**0.5)
    yield norm(f"{start}ssm_b_norm", state)
    yield norm(f"{start}ssm_c_norm", state)
    yield norm(f"{start}ssm_dt_norm", rank)
    yield matrix(f"{start}ssm_dt.weight", heads, rank, 0.7 / rank**0.5)
    yield dt_bias(f"{start}ssm_dt.bias", heads)
    yield drawn(f"{start}ssm_a", lambda rng: -np.exp(rng.uniform(np.log(0.02), np.log(8), heads)))
    yield drawn(f"{start}ssm_d", lambda rng: rng.uniform(0.5, 1.5, heads))
    yield matrix(f"{start}ssm_out.weight", hidden, inner, 1.5 / inner**0.5)


def model(spec: Spec) -> Model:
    return Model(spec.name, "plamo2", spec.type, metadata(spec), lambda tokens: tensors(spec, tokens),
                 lambda: plamo(spec.tokens))


MODELS = [model(spec) for spec in SPECS]
