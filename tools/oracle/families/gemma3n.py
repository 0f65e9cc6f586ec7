"""Gemma 3n, text: four residual streams, embeddings per layer, sparse gates, shared keys and values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from gguf import GGMLQuantizationType as Type

from random_model import Model, Tensor, drawn, gemma, matrix, norm, output_norm, stack, token_matrix
from tiny_vocabulary import Vocabulary

STREAMS, PER_LAYER, RANK = 4, 256, 64
"""llama.cpp takes these for granted, and that keys and values are shared from layer 20 on."""


@dataclass
class Spec:
    """One model."""
    name: str
    type: Type
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    layers: int
    ffn: int
    window: int
    period: int = 5
    """One layer of each group of this size has no window."""
    sliding_base: float | None = 1e4
    types: dict[str, Type] = field(default_factory=dict)
    vocabulary: Callable[[], Vocabulary] = gemma(335)

    @property
    def stream_std(self) -> float:
        return 0.05 * self.hidden**0.5


SPECS = [Spec("gemma3n-q2_k", Type.F16, 22, 3, 1, 16, layers=2, ffn=44, window=33, period=2, vocabulary=gemma(303),
              types={"per_layer_token_embd.weight": Type.Q2_K, "*.proj.weight": Type.Q4_K})]


def metadata(spec: Spec) -> dict[str, object]:
    keys: dict[str, object] = {
        "block_count": spec.layers, "embedding_length": spec.hidden, "feed_forward_length": [spec.ffn] * spec.layers,
        "attention.head_count": spec.heads, "attention.head_count_kv": spec.kv_heads,
        "attention.key_length": spec.head_dim, "attention.value_length": spec.head_dim,
        "attention.layer_norm_rms_epsilon": 1e-6, "attention.sliding_window": spec.window,
        "attention.sliding_window_pattern": [layer % spec.period < spec.period - 1 for layer in range(spec.layers)],
        "attention.shared_kv_layers": max(spec.layers - 20, 0), "rope.freq_base": 1e6,
        "embedding_length_per_layer_input": PER_LAYER, "altup.num_inputs": STREAMS, "altup.active_idx": 0,
        "activation_sparsity_scale": [1.6448534 if layer < 10 else 0.0 for layer in range(spec.layers)]}
    if spec.sliding_base is not None:
        keys["rope.freq_base_swa"] = spec.sliding_base
    return keys


def tensors(spec: Spec, vocabulary: Vocabulary) -> Iterator[Tensor]:
    tokens, all_layers, hidden = len(vocabulary.tokens), PER_LAYER * spec.layers, spec.hidden
    yield token_matrix("token_embd.weight", tokens, hidden, 0.05)
    yield output_norm(hidden, 3.6 / hidden**0.5 / 0.05)
    yield stack("altup_proj.weight", STREAMS - 1, hidden, hidden, 1 / hidden**0.5)
    yield stack("altup_unembd_proj.weight", STREAMS - 1, hidden, hidden, 1 / hidden**0.5)
    yield matrix("per_layer_token_embd.weight", tokens, all_layers, 1 / PER_LAYER**0.5)
    yield matrix("per_layer_model_proj.weight", all_layers, hidden, 1.0)
    yield norm("per_layer_proj_norm.weight", PER_LAYER)
    for layer in range(spec.layers):
        yield from layer_tensors(spec, layer)


def layer_tensors(spec: Spec, layer: int) -> Iterator[Tensor]:
    def weight(role: str, rows: int, cols: int, std: float) -> Tensor:
        return matrix(f"blk.{layer}.{role}.weight", rows, cols, std)

    def gain(role: str, size: int, level: float = 1.0) -> Tensor:
        return norm(f"blk.{layer}.{role}.weight", size, level)

    def small(role: str, rows: int, cols: int, std: float) -> Tensor:
        return drawn(f"blk.{layer}.{role}.weight", lambda rng: std * rng.standard_normal((rows, cols)))

    hidden, ffn, head_dim = spec.hidden, spec.ffn, spec.head_dim
    q, kv, after_norm = spec.heads * head_dim, spec.kv_heads * head_dim, 1 / hidden**0.5
    yield gain("attn_norm", hidden)
    yield weight("attn_q", q, hidden, after_norm)
    # Scores are not scaled: norms of the heads bring them to a size.
    yield gain("attn_q_norm", head_dim, 1.5 / head_dim**0.25)
    yield weight("attn_k", kv, hidden, after_norm)
    yield gain("attn_k_norm", head_dim, 1.5 / head_dim**0.25)
    yield weight("attn_v", kv, hidden, after_norm)
    yield weight("attn_output", hidden, q, 1 / q**0.5)
    yield gain("post_attention_norm", hidden, 0.6 * spec.stream_std)
    yield gain("ffn_norm", hidden)
    yield weight("ffn_gate", ffn, hidden, 1.5 * after_norm)
    yield weight("ffn_up", ffn, hidden, 1.5 * after_norm)
    yield weight("ffn_down", hidden, ffn, 1 / ffn**0.5)
    yield gain("post_ffw_norm", hidden, 0.4 * spec.stream_std)
    yield weight("inp_gate", PER_LAYER, hidden, after_norm / spec.stream_std)
    yield weight("proj", hidden, PER_LAYER, 1 / PER_LAYER**0.5)
    yield gain("post_norm", hidden, 0.4 * spec.stream_std)
    yield small("altup_correct_coef", STREAMS, STREAMS, 0.3)
    yield gain("altup_correct_scale", hidden)
    yield small("altup_predict_coef", STREAMS**2, STREAMS, 0.2)
    # The router's input is divided by the width.
    yield weight("altup_router", STREAMS, hidden, 1.0 * hidden**0.5)
    yield gain("altup_router_norm", hidden)
    yield weight("laurel_l", RANK, hidden, after_norm)
    yield weight("laurel_r", hidden, RANK, 1 / RANK**0.5)
    yield gain("laurel_post_norm", hidden, 0.4 * spec.stream_std)


def model(spec: Spec) -> Model:
    return Model(spec.name, "gemma3n", spec.type, metadata(spec), lambda tokens: tensors(spec, tokens),
                 spec.vocabulary, types=spec.types)


MODELS = [model(spec) for spec in SPECS]
