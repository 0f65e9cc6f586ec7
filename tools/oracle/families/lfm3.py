"""LFM3: short convolutions, attention with a gate for each head, windows with a rotation of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from gguf import GGMLQuantizationType as Type

from random_model import Model, Tensor, bpe, constant, drawn, matrix, norm, output_norm, token_matrix
from tiny_vocabulary import Vocabulary

EMBEDDING_STD = 0.05
CONV, WINDOW, FULL = "convolution", "window", "full"


@dataclass
class Spec:
    """One model: the kind of each layer, and its KV heads where it has attention."""
    name: str
    type: Type
    hidden: int
    heads: int
    head_dim: int
    ffn: int
    layers: list[tuple[str, int]]
    kernel: int
    window: int = 40
    rotated: float = 0.5
    """The part of a full layer's head that rotates."""
    fused: bool = False
    """q, k and v in one tensor."""
    post_norms: bool = True
    tied: bool = True
    vocabulary: Callable[[], Vocabulary] = bpe(307, "lfm2")

    @property
    def stream_std(self) -> float:
        return EMBEDDING_STD

    def head_std(self) -> float:
        return EMBEDDING_STD if self.tied else 3.6 / self.hidden**0.5


def metadata(spec: Spec) -> dict[str, object]:
    return {
        "embedding_length": spec.hidden, "block_count": len(spec.layers), "feed_forward_length": spec.ffn,
        "attention.head_count": spec.heads, "attention.head_count_kv": [kv for _, kv in spec.layers],
        "attention.key_length": spec.head_dim, "attention.value_length": spec.head_dim,
        "attention.layer_norm_rms_epsilon": 1e-5, "attention.sliding_window": spec.window,
        "attention.sliding_window_pattern": [kind == WINDOW for kind, _ in spec.layers],
        "rope.dimension_count": spec.head_dim, "rope.dimension_count_swa": spec.head_dim,
        "rope.freq_base": 1e6, "rope.freq_base_swa": 1e4, "shortconv.l_cache": spec.kernel}


def tensors(spec: Spec, vocabulary: Vocabulary) -> Iterator[Tensor]:
    tokens, hidden = len(vocabulary.tokens), spec.hidden
    yield token_matrix("token_embd.weight", tokens, hidden, EMBEDDING_STD)
    yield output_norm(hidden, 3.6 / hidden**0.5 / spec.head_std())
    if not spec.tied:
        yield token_matrix("output.weight", tokens, hidden, spec.head_std())
    if any(kind == FULL for kind, _ in spec.layers):
        pairs = spec.head_dim // 2
        # Pairs with a number so large do not rotate.
        turns = np.arange(pairs) < spec.rotated * pairs
        yield constant("rope_freqs.weight", np.where(turns, 1 + 0.5 * np.arange(pairs) / pairs, 1e30))
    for layer, (kind, kv_heads) in enumerate(spec.layers):
        for tensor in block(spec, kind, kv_heads):
            tensor.name = f"blk.{layer}.{tensor.name}"
            yield tensor


def block(spec: Spec, kind: str, kv_heads: int) -> Iterator[Tensor]:
    hidden, after_norm = spec.hidden, 1.5 / spec.hidden**0.5
    yield norm("attn_norm.weight", hidden)
    yield from short_conv(spec) if kind == CONV else attention(spec, kv_heads)
    if spec.post_norms:
        yield norm("post_attention_norm.weight", hidden, 0.8 * spec.stream_std)
        yield norm("post_ffw_norm.weight", hidden, 0.8 * spec.stream_std)
    yield norm("ffn_norm.weight", hidden)
    yield matrix("ffn_gate.weight", spec.ffn, hidden, after_norm)
    yield matrix("ffn_up.weight", spec.ffn, hidden, after_norm)
    yield update(spec, "ffn_down.weight", spec.ffn, 1.0)


def update(spec: Spec, name: str, cols: int, gain: float) -> Tensor:
    """Back to the residual stream."""
    return matrix(name, spec.hidden, cols, gain * (1.0 if spec.post_norms else spec.stream_std) / cols**0.5)


def attention(spec: Spec, kv_heads: int) -> Iterator[Tensor]:
    q, kv, after_norm = spec.heads * spec.head_dim, kv_heads * spec.head_dim, 1.5 / spec.hidden**0.5
    rows = [("attn_qkv", q + 2 * kv)] if spec.fused else [("attn_q", q), ("attn_k", kv), ("attn_v", kv)]
    for role, count in rows:
        yield matrix(f"{role}.weight", count, spec.hidden, after_norm)
    yield norm("attn_q_norm.weight", spec.head_dim, 1.5)
    yield norm("attn_k_norm.weight", spec.head_dim, 1.5)
    yield matrix("attn_gate.weight", spec.heads, spec.hidden, 2 * after_norm)
    yield update(spec, "attn_output.weight", q, 2.0)


def short_conv(spec: Spec) -> Iterator[Tensor]:
    shape = (spec.hidden, spec.kernel)
    yield matrix("shortconv.in_proj.weight", 3 * spec.hidden, spec.hidden, 1.5 / spec.hidden**0.5)
    yield drawn("shortconv.conv.weight", lambda rng: rng.standard_normal(shape, dtype=np.float32) / shape[1]**0.5)
    yield update(spec, "shortconv.out_proj.weight", spec.hidden, 0.4)


def model(spec: Spec) -> Model:
    return Model(spec.name, "lfm3", spec.type, metadata(spec), lambda tokens: tensors(spec, tokens), spec.vocabulary,
                 newest=True)


MODELS = [model(spec) for spec in [
    Spec("lfm3-bf16", Type.BF16, 52, 3, 20, 68, [(CONV, 0), (WINDOW, 1), (FULL, 3)], kernel=4, window=33,
         rotated=0.3, post_norms=False, tied=False),
    Spec("lfm3-q8_0", Type.Q8_0, 64, 4, 32, 96, [(CONV, 0), (WINDOW, 2), (CONV, 0), (FULL, 1)], kernel=7, fused=True),
]]
