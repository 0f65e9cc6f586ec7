"""Llama, Qwen 2 and 3, Gemma 1 to 3: decoders of one shape, in every weight format.

Their sizes are set so that the models behave like models: attention looks at few positions, the layers matter as much
as the embedding, the best token has a probability of some 0.2 to 0.9 and greedy text does not fall into a loop at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import LlamaFileType

from random_model import (Model, Rng, Tensor, bpe, constant, drawn, gemma, matrix, norm, output_norm, spm,
                          token_matrix)
from tiny_vocabulary import Vocabulary


@dataclass
class Spec:
    """One model: shape, formats and what is special about it."""
    name: str
    type: Type
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    layers: int = 1
    architecture: str = "llama"
    vocabulary: Callable[[], Vocabulary] = bpe(307, "llama-bpe", with_bos=True)
    tied: bool = True
    rope_theta: float | None = 10000.0
    rope_factors: bool = False
    linear_rope: float | None = None
    rope_theta_sliding: float | None = None
    window: int | None = None
    window_pattern: int | list[bool] | None = None
    attention_cap: float | None = None
    final_cap: float | None = None
    rms_eps: float = 1e-5
    alignment: int | None = None
    version: int = 3
    split_at: int = 0
    embedding_std: float = 0.05
    small_weights: float = 1.0
    """Weights after a norm are divided by this and the norm multiplied by it: block scales become f16 subnormals."""
    logit_std: float = 3.6
    type_of: Callable[[str, int | None], Type | None] = lambda role, layer: None
    seed_name: str = field(default="")

    @property
    def is_gemma(self) -> bool:
        return self.architecture.startswith("gemma")

    @property
    def has_post_norms(self) -> bool:
        return self.architecture in ("gemma2", "gemma3")

    @property
    def has_head_norms(self) -> bool:
        return self.architecture in ("qwen3", "gemma3")

    @property
    def stream_std(self) -> float:
        """The size of the hidden state where the first layer reads it: Gemma multiplies embeddings by √hidden."""
        return self.embedding_std * (self.hidden**0.5 if self.is_gemma else 1.0)


def like_q4_k_m(role: str, layer: int | None) -> Type | None:
    """The mixture of a Q4_K_M file: some attn_v and ffn_down and the head are Q6_K, the rest is Q4_K."""
    if role == "output" or (role in ("attn_v", "ffn_down") and layer == 0):
        return Type.Q6_K
    return None


def iq2_and_iq3(role: str, layer: int | None) -> Type | None:
    """Every type by grid of two and three bits; IQ3_S elsewhere."""
    named = {"attn_q": Type.IQ2_XS, "attn_k": Type.IQ2_XS, "attn_v": Type.IQ3_XXS, "attn_output": Type.IQ2_S,
             "ffn_gate": Type.IQ2_XXS, "ffn_up": Type.IQ2_XXS}
    return named.get(role)


def iq1(role: str, layer: int | None) -> Type | None:
    """The types by grid of one bit, and an embedding as such files have it; IQ1_M elsewhere."""
    return {"token_embd": Type.IQ2_S, "ffn_gate": Type.IQ1_S, "ffn_up": Type.IQ1_S, "attn_v": Type.IQ1_S}.get(role)


def four_bits(role: str, layer: int | None) -> Type | None:
    """Every type by table of four bits; IQ4_XS elsewhere."""
    named = {"attn_k": Type.IQ4_NL, "attn_v": Type.IQ4_NL, "attn_output": Type.NVFP4, "ffn_gate": Type.MXFP4,
             "ffn_up": Type.MXFP4, "ffn_down": Type.NVFP4}
    return named.get(role)


def ternary(role: str, layer: int | None) -> Type | None:
    """Both ternary types, and an embedding as such files have it; TQ2_0 elsewhere."""
    return {"token_embd": Type.Q6_K, "attn_k": Type.TQ1_0, "attn_v": Type.TQ1_0, "ffn_down": Type.TQ1_0}.get(role)


def like_gemma_q4_k_m(role: str, layer: int | None) -> Type | None:
    """The mixture of Gemma 3 270M's Q4_K_M file: K types where rows are whole super-blocks, others elsewhere."""
    named = {"attn_v": Type.Q8_0, "token_embd": Type.Q8_0, "attn_output": Type.Q4_K}
    if role == "ffn_down":
        return Type.Q6_K if layer in (0, 6) else Type.Q4_K
    return named.get(role)


BF16 = dict(type=Type.BF16, hidden=64, heads=1, kv_heads=1, head_dim=64, ffn=72, vocabulary=spm(307))
Q4_1 = dict(type=Type.Q4_1, hidden=128, heads=4, kv_heads=1, head_dim=32, ffn=160, layers=2, tied=False,
            linear_rope=2.0, vocabulary=bpe(313, "gpt-2"))

# The converter writes no theta for Gemma 1 and 2.
GEMMA = dict(rope_theta=None, rms_eps=1e-6)

SPECS = [
    # name, type, hidden, heads, kv_heads, head_dim, ffn, layers
    Spec("llama-f32", Type.F32, 64, 2, 2, 32, 100, rope_theta=None),
    Spec("llama-f16", Type.F16, 96, 3, 1, 32, 96, vocabulary=bpe(311, "gpt-2"), alignment=64),
    Spec("llama-bf16", **BF16),
    Spec("llama-bf16-v2", **BF16, version=2, seed_name="llama-bf16"),
    Spec("llama-q8_0", Type.Q8_0, 160, 2, 2, 80, 96, vocabulary=spm(309)),
    Spec("llama-q4_0", Type.Q4_0, 192, 3, 1, 64, 224, layers=2, embedding_std=0.02),
    Spec("llama-q4_1", **Q4_1),
    Spec("llama-q4_1-split", **Q4_1, split_at=11, seed_name="llama-q4_1"),
    Spec("llama-q5_0", Type.Q5_0, 128, 4, 4, 32, 96, layers=2, vocabulary=spm(307)),
    Spec("llama-q5_1", Type.Q5_1, 128, 2, 1, 64, 160, layers=2, rope_theta=500000.0, rope_factors=True),
    Spec("llama-q2_k", Type.Q2_K, 256, 4, 2, 64, 256, vocabulary=bpe(301, "gpt-2")),
    Spec("llama-q3_k", Type.Q3_K, 256, 4, 1, 64, 256),
    Spec("llama-q5_k", Type.Q5_K, 256, 2, 1, 128, 256, embedding_std=0.02),
    Spec("llama-q6_k", Type.Q6_K, 256, 8, 2, 32, 256, vocabulary=spm(303)),
    Spec("llama-q4_k_m", Type.Q4_K, 256, 8, 1, 32, 256, layers=2, tied=False, embedding_std=0.01, small_weights=12.0,
         rope_theta=500000.0, type_of=like_q4_k_m),
    Spec("llama-iq3_s", Type.IQ3_S, 256, 4, 2, 64, 256, type_of=iq2_and_iq3),
    Spec("llama-iq1_m", Type.IQ1_M, 256, 4, 1, 64, 512, vocabulary=bpe(303, "gpt-2"), type_of=iq1),
    Spec("llama-iq4_xs", Type.IQ4_XS, 256, 4, 2, 64, 256, vocabulary=bpe(303, "gpt-2"), type_of=four_bits),
    Spec("llama-tq2_0", Type.TQ2_0, 256, 4, 1, 64, 256, vocabulary=bpe(301, "gpt-2"), type_of=ternary),
    Spec("qwen2-q8_0", Type.Q8_0, 96, 3, 1, 32, 160, layers=2, architecture="qwen2", rope_theta=1e6, rms_eps=1e-6,
         vocabulary=bpe(307, "qwen2")),
    Spec("qwen3-q4_0", Type.Q4_0, 96, 4, 1, 64, 96, layers=2, architecture="qwen3", rope_theta=1e6, rms_eps=1e-6,
         vocabulary=bpe(319, "qwen2")),
    Spec("gemma-q8_0", Type.Q8_0, 96, 2, 1, 64, 160, layers=2, architecture="gemma", vocabulary=gemma(331), **GEMMA),
    Spec("gemma2-bf16", Type.BF16, 64, 2, 1, 48, 72, layers=2, architecture="gemma2", vocabulary=gemma(331), **GEMMA),
    Spec("gemma2-q4_0", Type.Q4_0, 96, 4, 2, 48, 160, layers=4, architecture="gemma2", vocabulary=gemma(333),
         window=50, attention_cap=3.0, final_cap=12.0, **GEMMA),
    Spec("gemma3-f16", Type.F16, 64, 1, 1, 256, 96, layers=2, architecture="gemma3", vocabulary=gemma(335),
         **{**GEMMA, "rope_theta": 1e6}),
    Spec("gemma3-q5_1", Type.Q5_1, 96, 3, 1, 64, 128, layers=4, architecture="gemma3", vocabulary=gemma(331),
         tied=False, linear_rope=8.0, rope_theta_sliding=5000.0, window=33, window_pattern=[True, False, True, False],
         final_cap=12.0, **{**GEMMA, "rope_theta": 1e6}),
    Spec("gemma3-q4_k_m", Type.Q5_0, 64, 2, 1, 128, 256, layers=7, architecture="gemma3",
         vocabulary=gemma(337, chat=True), linear_rope=8.0, window=100, type_of=like_gemma_q4_k_m,
         **{**GEMMA, "rope_theta": 1e6}),
]


def metadata(spec: Spec) -> dict[str, object]:
    keys: dict[str, object] = {
        "embedding_length": spec.hidden, "block_count": spec.layers, "feed_forward_length": spec.ffn,
        "attention.head_count": spec.heads}
    if spec.kv_heads != spec.heads:
        keys["attention.head_count_kv"] = spec.kv_heads
    if spec.head_dim * spec.heads != spec.hidden:
        keys |= {"attention.key_length": spec.head_dim, "attention.value_length": spec.head_dim}
    elif spec.architecture == "llama":
        keys["rope.dimension_count"] = spec.head_dim
    keys["attention.layer_norm_rms_epsilon"] = spec.rms_eps
    linear = None if spec.linear_rope is None else "linear"
    optional = {
        "rope.freq_base": spec.rope_theta, "rope.scaling.type": linear, "rope.scaling.factor": spec.linear_rope,
        "rope.freq_base_swa": spec.rope_theta_sliding, "attention.sliding_window": spec.window,
        "attention.sliding_window_pattern": spec.window_pattern, "attn_logit_softcapping": spec.attention_cap,
        "final_logit_softcapping": spec.final_cap}
    return keys | {key: value for key, value in optional.items() if value is not None}


def tensors(spec: Spec, vocabulary: Vocabulary) -> Iterator[Tensor]:
    tokens = len(vocabulary.tokens)
    yield token_matrix("token_embd.weight", tokens, spec.hidden, spec.embedding_std, spec.type_of("token_embd", None))
    if spec.rope_factors:
        yield constant("rope_freqs.weight", llama3_factors(spec.head_dim, spec.rope_theta))
    for layer in range(spec.layers):
        yield from layer_tensors(spec, layer)
    head_std = spec.embedding_std if spec.tied else spec.logit_std / spec.hidden**0.5
    yield output_norm(spec.hidden, spec.logit_std / spec.hidden**0.5 / head_std)
    if not spec.tied:
        yield token_matrix("output.weight", tokens, spec.hidden, head_std, spec.type_of("output", None))


def layer_tensors(spec: Spec, layer: int) -> Iterator[Tensor]:
    def weight(role: str, rows: int, cols: int, std: float) -> Tensor:
        return matrix(f"blk.{layer}.{role}.weight", rows, cols, std, spec.type_of(role, layer))

    def gain(role: str, size: int, level: float) -> Tensor:
        return norm(f"blk.{layer}.{role}.weight", size, level)

    q, kv = spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim
    after_norm = 1 / spec.small_weights / spec.hidden**0.5
    score = 1.0 if spec.has_head_norms else 1.5
    yield gain("attn_norm", spec.hidden, spec.small_weights)
    yield weight("attn_q", q, spec.hidden, score * after_norm)
    yield weight("attn_k", kv, spec.hidden, score * after_norm)
    yield weight("attn_v", kv, spec.hidden, after_norm)
    if spec.architecture == "qwen2":
        yield from qwen2_biases(layer, q, kv)
    if spec.has_head_norms:
        yield gain("attn_q_norm", spec.head_dim, 1.5)
        yield gain("attn_k_norm", spec.head_dim, 1.5)
    yield weight("attn_output", spec.hidden, q, 1.5 * spec.stream_std / q**0.5)
    if spec.has_post_norms:
        yield gain("post_attention_norm", spec.hidden, 0.6 * spec.stream_std)
    yield gain("ffn_norm", spec.hidden, spec.small_weights)
    yield weight("ffn_gate", spec.ffn, spec.hidden, 1.5 * after_norm)
    yield weight("ffn_up", spec.ffn, spec.hidden, 1.5 * after_norm)
    yield weight("ffn_down", spec.hidden, spec.ffn, spec.stream_std / spec.ffn**0.5)
    if spec.has_post_norms:
        yield gain("post_ffw_norm", spec.hidden, 0.4 * spec.stream_std)


def qwen2_biases(layer: int, q: int, kv: int) -> Iterator[Tensor]:
    def values(size: int, std: float, large: int) -> Callable[[Rng], np.ndarray]:
        def draw(rng: Rng) -> np.ndarray:
            found = std * rng.standard_normal(size, dtype=np.float32)
            found[:large] *= 8
            return found
        return draw

    # Real Qwen2 files have a few very large key biases.
    for role, size, std, large in (("attn_q", q, 0.5, 0), ("attn_k", kv, 0.5, 2), ("attn_v", kv, 0.3, 0)):
        yield drawn(f"blk.{layer}.{role}.bias", values(size, std, large))


def llama3_factors(head_dim: int, theta: float) -> np.ndarray:
    """The frequency divisors of Llama 3.1 (factor 8, low 1, high 4), for an original context of 64 positions."""
    factor, low, high, context = 8.0, 1.0, 4.0, 64.0
    wavelength = 2 * np.pi * theta ** (np.arange(0, head_dim, 2) / head_dim)
    smooth = np.clip((context / wavelength - low) / (high - low), 0, 1)
    return (1 / ((1 - smooth) / factor + smooth)).astype(np.float32)


def model(spec: Spec) -> Model:
    named = LlamaFileType.MOSTLY_Q4_K_M if spec.name.endswith("q4_k_m") else None
    return Model(spec.name, spec.architecture, spec.type, metadata(spec), lambda tokens: tensors(spec, tokens),
                 spec.vocabulary, file_type=named, alignment=spec.alignment, version=spec.version,
                 split_at=spec.split_at, seed_name=spec.seed_name)


MODELS = [model(spec) for spec in SPECS]
