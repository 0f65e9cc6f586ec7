"""Gemma 4, text: heads of two sizes, values that are keys, shared keys and values, embeddings per layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from gguf import GGMLQuantizationType as Type

from random_model import Model, Tensor, constant, gemma, matrix, norm, output_norm, token_matrix
from tiny_vocabulary import Vocabulary


@dataclass
class Spec:
    """One model. Lists have a value per layer."""
    name: str
    type: Type
    hidden: int
    heads: int
    kv_heads: list[int]
    head_dim: int
    head_dim_sliding: int
    slides: list[bool]
    ffn: list[int]
    window: int
    rotated: float = 0.25
    """The part of a full layer's head that rotates."""
    shared: int = 0
    per_layer: int = 0
    own_values: bool = True
    """Whether full layers project values."""
    final_cap: float | None = None
    vocabulary: Callable[[], Vocabulary] = gemma(335)

    @property
    def layers(self) -> int:
        return len(self.slides)

    @property
    def stream_std(self) -> float:
        return 0.05 * self.hidden**0.5


SPECS = [
    # As E2B: embeddings per layer, the last layers without keys and values of their own.
    Spec("gemma4-e-q8_0", Type.Q8_0, 64, 2, [2, 1, 2, 1, 2, 1], 64, 32, [True, False] * 3, [64, 64, 64, 64, 96, 96],
         window=40, shared=2, per_layer=32, final_cap=12.0),
    # As 12B: full layers whose values are their keys, with fewer of them.
    Spec("gemma4-bf16", Type.BF16, 56, 3, [3, 3, 1], 80, 40, [True, True, False], [72] * 3, window=33, rotated=0.5,
         own_values=False, vocabulary=gemma(333)),
    Spec("gemma4-q8_0", Type.Q8_0, 64, 2, [1, 1], 512, 256, [True, False], [64] * 2, window=100,
         vocabulary=gemma(337, chat=True)),
]


def metadata(spec: Spec) -> dict[str, object]:
    keys: dict[str, object] = {
        "block_count": spec.layers, "embedding_length": spec.hidden, "feed_forward_length": spec.ffn,
        "attention.head_count": spec.heads, "attention.head_count_kv": spec.kv_heads,
        "attention.key_length": spec.head_dim, "attention.value_length": spec.head_dim,
        "attention.key_length_swa": spec.head_dim_sliding, "attention.value_length_swa": spec.head_dim_sliding,
        "attention.layer_norm_rms_epsilon": 1e-6, "attention.sliding_window": spec.window,
        "attention.sliding_window_pattern": spec.slides, "attention.shared_kv_layers": spec.shared,
        "embedding_length_per_layer_input": spec.per_layer, "rope.freq_base": 1e6, "rope.freq_base_swa": 1e4,
        "rope.dimension_count": spec.head_dim, "rope.dimension_count_swa": spec.head_dim_sliding}
    if spec.final_cap is not None:
        keys["final_logit_softcapping"] = spec.final_cap
    return keys


def factors(spec: Spec) -> np.ndarray:
    """1 for pairs that rotate, a number so large that the others do not."""
    pairs = spec.head_dim // 2
    return np.where(np.arange(pairs) < spec.rotated * pairs, 1.0, 1e30)


def tensors(spec: Spec, vocabulary: Vocabulary) -> Iterator[Tensor]:
    tokens, all_layers = len(vocabulary.tokens), spec.per_layer * spec.layers
    yield token_matrix("token_embd.weight", tokens, spec.hidden, 0.05)
    yield output_norm(spec.hidden, 3.6 / spec.hidden**0.5 / 0.05)
    yield constant("rope_freqs.weight", factors(spec))
    if spec.per_layer:
        yield matrix("per_layer_token_embd.weight", tokens, all_layers, 1 / spec.per_layer**0.5)
        yield matrix("per_layer_model_proj.weight", all_layers, spec.hidden, 1.0)
        yield norm("per_layer_proj_norm.weight", spec.per_layer)
    for layer in range(spec.layers):
        yield from layer_tensors(spec, layer)


def layer_tensors(spec: Spec, layer: int) -> Iterator[Tensor]:
    def weight(role: str, rows: int, cols: int, std: float) -> Tensor:
        return matrix(f"blk.{layer}.{role}.weight", rows, cols, std)

    def gain(role: str, size: int, level: float = 1.0) -> Tensor:
        return norm(f"blk.{layer}.{role}.weight", size, level)

    slides, ffn = spec.slides[layer], spec.ffn[layer]
    head_dim = spec.head_dim_sliding if slides else spec.head_dim
    q, kv = spec.heads * head_dim, spec.kv_heads[layer] * head_dim
    after_norm = 1 / spec.hidden**0.5
    yield gain("attn_norm", spec.hidden)
    yield weight("attn_q", q, spec.hidden, after_norm)
    # Scores are not scaled: norms of the heads bring them to a size.
    yield gain("attn_q_norm", head_dim, 1.5 / head_dim**0.25)
    if layer < spec.layers - spec.shared:
        yield weight("attn_k", kv, spec.hidden, after_norm)
        yield gain("attn_k_norm", head_dim, 1.5 / head_dim**0.25)
        if slides or spec.own_values:
            yield weight("attn_v", kv, spec.hidden, after_norm)
    yield weight("attn_output", spec.hidden, q, 1 / q**0.5)
    yield gain("post_attention_norm", spec.hidden, 0.6 * spec.stream_std)
    yield gain("ffn_norm", spec.hidden)
    yield weight("ffn_gate", ffn, spec.hidden, 1.5 * after_norm)
    yield weight("ffn_up", ffn, spec.hidden, 1.5 * after_norm)
    yield weight("ffn_down", spec.hidden, ffn, 1 / ffn**0.5)
    yield gain("post_ffw_norm", spec.hidden, 0.4 * spec.stream_std)
    if spec.per_layer:
        yield weight("inp_gate", spec.per_layer, spec.hidden, after_norm / spec.stream_std)
        yield weight("proj", spec.hidden, spec.per_layer, 1 / spec.per_layer**0.5)
        yield gain("post_norm", spec.hidden, 0.4 * spec.stream_std)
    yield constant(f"blk.{layer}.layer_output_scale.weight", [0.8 + 0.1 * layer])


def model(spec: Spec) -> Model:
    return Model(spec.name, "gemma4", spec.type, metadata(spec), lambda tokens: tensors(spec, tokens), spec.vocabulary)


MODELS = [model(spec) for spec in SPECS]
