"""Experts between two products with matrices that all of them share: Nemotron-H with experts, and Maion Coder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gguf import GGMLQuantizationType as Type

from families.recurrent import EMBEDDING_STD, LOGIT_STD, Shape, Ssm, after_norm, block, metadata, update
from random_model import Model, Tensor, bias, bpe, matrix, norm, output_norm, stack, token_matrix
from tiny_vocabulary import Vocabulary

STREAM = EMBEDDING_STD * 40**0.5


@dataclass
class Nemotron:
    """Each layer is one thing: Mamba-2, attention, or experts without gates beside one that all tokens share."""
    name: str
    shape: Shape
    """Layers without kv heads have Mamba-2, but those in `experts`."""
    experts: dict[int, tuple[int, int, int]]
    """By layer: the number of experts, those of a token, and the width inside one."""
    shared: int
    latent: int = 0
    type: Type = Type.F16
    biases: bool = False
    by_ffn: bool = False
    """Whether the width inside an expert follows from that of the feed-forward."""
    keys: dict[str, object] = field(default_factory=dict)

    def metadata(self) -> dict[str, object]:
        layers = range(len(self.shape.kv_heads))
        of = [self.experts.get(layer, (0, 0, 0)) for layer in layers]
        used, ffn = [used for _, used, _ in of], [ffn for _, _, ffn in of]
        keys = {**metadata(self.shape), "feed_forward_length": [ffn * used for _, used, ffn in of],
                "attention.layer_norm_epsilon": 1e-5, "expert_count": max(count for count, _, _ in of),
                "expert_used_count": max(used) if len(set(used) - {0}) == 1 else used,
                "expert_shared_feed_forward_length": self.shared}
        if not self.by_ffn:
            keys["expert_feed_forward_length"] = max(ffn) if len(set(ffn) - {0}) == 1 else ffn
        if self.latent:
            keys["moe_latent_size"] = self.latent
        return keys | self.keys

    def tensors(self, vocabulary: Vocabulary) -> Iterator[Tensor]:
        shape, tokens = self.shape, len(vocabulary.tokens)
        yield token_matrix("token_embd.weight", tokens, shape.hidden, EMBEDDING_STD)
        for layer, kv_heads in enumerate(shape.kv_heads):
            for tensor in self.mixture(layer) if layer in self.experts else self.other(kv_heads):
                tensor.name = f"blk.{layer}.{tensor.name}"
                yield tensor
        head_std = EMBEDDING_STD if shape.tied else LOGIT_STD / shape.hidden**0.5
        yield output_norm(shape.hidden, LOGIT_STD / shape.hidden**0.5 / head_std)
        if not shape.tied:
            yield token_matrix("output.weight", tokens, shape.hidden, head_std)

    def other(self, kv_heads: int) -> Iterator[Tensor]:
        yield from block(self.shape, kv_heads)
        if kv_heads and self.biases:
            q, kv = self.shape.heads * self.shape.head_dim, kv_heads * self.shape.head_dim
            for role, size in (("q", q), ("k", kv), ("v", kv), ("output", self.shape.hidden)):
                yield bias(f"attn_{role}.bias", size, 0.05 if role == "output" else 0.3)

    def mixture(self, layer: int) -> Iterator[Tensor]:
        shape, (count, _, ffn) = self.shape, self.experts[layer]
        hidden, inner = shape.hidden, self.latent or shape.hidden
        yield norm("attn_norm.weight", hidden)
        yield matrix("ffn_gate_inp.weight", count, hidden, 3 / hidden**0.5, Type.F32)
        yield bias("exp_probs_b.bias", count, 0.2)
        if self.latent:
            yield after_norm(shape, "ffn_latent_down.weight", inner)
            yield update(shape, "ffn_latent_up.weight", inner, 1.0)
        yield stack("ffn_up_exps.weight", count, ffn, inner, 1.2 / inner**0.5)
        out = 0.5 if self.latent else 0.5 * EMBEDDING_STD
        yield stack("ffn_down_exps.weight", count, inner, ffn, out / ffn**0.5)
        yield after_norm(shape, "ffn_up_shexp.weight", self.shared)
        yield update(shape, "ffn_down_shexp.weight", self.shared, 0.5)

    def model(self) -> Model:
        return Model(self.name, "nemotron_h_moe", self.type, self.metadata(), self.tensors, bpe(307, "gpt-2"),
                     newest=True)


@dataclass
class Maion:
    """Windows with rotation, layers without either, norms of updates; every `step`th layer has experts."""
    name: str
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    slides: list[bool]
    experts: int
    used: int | list[int]
    expert_ffn: int | list[int]
    latent: int
    step: int = 2
    window: int = 37
    fused: bool = False
    biases: bool = False
    type: Type = Type.F16
    keys: dict[str, object] = field(default_factory=dict)

    def metadata(self) -> dict[str, object]:
        return {
            "embedding_length": self.hidden, "block_count": len(self.slides), "feed_forward_length": self.ffn,
            "attention.head_count": self.heads, "attention.head_count_kv": self.kv_heads,
            "attention.key_length": self.head_dim, "attention.value_length": self.head_dim,
            "attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": 1e4, "rope.dimension_count": self.head_dim,
            "attention.sliding_window": self.window, "attention.sliding_window_pattern": self.slides,
            "expert_count": self.experts, "expert_used_count": self.used,
            "expert_feed_forward_length": self.expert_ffn, "interleave_moe_layer_step": self.step,
            "moe_latent_size": self.latent} | self.keys

    def tensors(self, vocabulary: Vocabulary) -> Iterator[Tensor]:
        yield token_matrix("token_embd.weight", len(vocabulary.tokens), self.hidden, EMBEDDING_STD)
        for layer in range(len(self.slides)):
            for tensor in self.block(layer):
                tensor.name = f"blk.{layer}.{tensor.name}"
                yield tensor
        yield output_norm(self.hidden, 1.0)
        yield token_matrix("output.weight", len(vocabulary.tokens), self.hidden, LOGIT_STD / self.hidden**0.5)

    def into(self, name: str, rows: int, gain: float = 1.5) -> Tensor:
        return matrix(name, rows, self.hidden, gain / self.hidden**0.5)

    def block(self, layer: int) -> Iterator[Tensor]:
        q, kv = self.heads * self.head_dim, self.kv_heads * self.head_dim
        yield norm("attn_norm.weight", self.hidden)
        parts = [("attn_qkv", q + 2 * kv)] if self.fused else [("attn_q", q), ("attn_k", kv), ("attn_v", kv)]
        for role, rows in parts:
            yield self.into(f"{role}.weight", rows)
            if self.biases:
                yield bias(f"{role}.bias", rows, 0.3)
        yield norm("attn_q_norm.weight", self.head_dim, 1.5)
        yield norm("attn_k_norm.weight", self.head_dim, 1.5)
        yield matrix("attn_output.weight", self.hidden, q, 2 / q**0.5)
        yield norm("post_attention_norm.weight", self.hidden, 0.6 * STREAM)
        yield norm("ffn_norm.weight", self.hidden)
        yield norm("post_ffw_norm.weight", self.hidden, 0.6 * STREAM)
        if (layer + 1) % self.step:
            yield self.into("ffn_gate.weight", self.ffn)
            yield self.into("ffn_up.weight", self.ffn)
            yield matrix("ffn_down.weight", self.hidden, self.ffn, 1 / self.ffn**0.5)
            return
        ffn, low = self.expert_ffn, self.latent
        ffn = ffn[layer] if isinstance(ffn, list) else ffn
        yield matrix("ffn_gate_inp.weight", self.experts, self.hidden, 4 / self.hidden**0.5, Type.F32)
        yield self.into("ffn_latent_down.weight", low)
        for role in ("ffn_gate_exps", "ffn_up_exps"):
            yield stack(f"{role}.weight", self.experts, ffn, low, 1.5 / low**0.5)
        yield stack("ffn_down_exps.weight", self.experts, low, ffn, 1 / ffn**0.5)
        yield matrix("ffn_latent_up.weight", self.hidden, low, 1 / low**0.5)

    def model(self) -> Model:
        return Model(self.name, "maion-coder", self.type, self.metadata(), self.tensors, bpe(301, "gpt-2"),
                     newest=True)


MODELS = [spec.model() for spec in (
    Nemotron("nemotron_h_moe-f16",
             Shape(26, [0, 1, 0, 0], heads=3, head_dim=10, ssm=Ssm(3, 6, 8, kernel=3)),
             {2: (5, 2, 14), 3: (4, 3, 10)}, shared=18, latent=20),
    Maion("maion-coder-f16", 24, 3, 1, 10, 26, [True, False], experts=4, used=2, expert_ffn=12, latent=14),
)]
