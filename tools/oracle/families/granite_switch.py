"""Granite Switch: stacked adapters, to which tokens switch. Here these are tokens of ordinary text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from gguf import GGMLQuantizationType as Type

from random_model import Model, Rng, Tensor, bpe, drawn, matrix, norm, output_norm, token_matrix
from tiny_vocabulary import Vocabulary


@dataclass
class Spec:
    """One model."""
    name: str
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    layers: int
    rank: int
    switch: list[int]
    """The tokens that switch ..."""
    embedded: list[int]
    """... and those whose embeddings they have."""
    tied: bool = True
    rotated: bool = True
    type: Type = Type.F16

    def metadata(self) -> dict[str, object]:
        return {
            "embedding_length": self.hidden, "block_count": self.layers, "feed_forward_length": self.ffn,
            "attention.head_count": self.heads, "attention.head_count_kv": self.kv_heads,
            "attention.key_length": self.head_dim, "attention.value_length": self.head_dim,
            "attention.layer_norm_rms_epsilon": 1e-5, "rope.freq_base": 1e4, "rope.dimension_count": self.head_dim,
            "rope.scaling.finetuned": self.rotated, "embedding_scale": 3.0, "residual_scale": 0.6, "logit_scale": 2.0,
            "attention.scale": 0.4, "adapters.count": len(self.switch), "adapters.lora_rank": self.rank,
            "adapters.router_gain": 12.0, "adapters.token_ids_activate": self.switch,
            "adapters.token_ids_substitute": self.embedded}

    def tensors(self, vocabulary: Vocabulary) -> Iterator[Tensor]:
        tokens = len(vocabulary.tokens)
        yield token_matrix("token_embd.weight", tokens, self.hidden, 0.4)
        for layer in range(self.layers):
            for tensor in self.block():
                tensor.name = f"blk.{layer}.{tensor.name}"
                yield tensor
        yield output_norm(self.hidden, 3.6 / self.hidden**0.5 / 0.4 * 2 if self.tied else 2.0)
        if not self.tied:
            yield token_matrix("output.weight", tokens, self.hidden, 3.6 / self.hidden**0.5)

    def block(self) -> Iterator[Tensor]:
        q, kv, into = self.heads * self.head_dim, self.kv_heads * self.head_dim, 1.5 / self.hidden**0.5
        yield norm("attn_norm.weight", self.hidden)
        yield matrix("attn_qkv.weight", q + 2 * kv, self.hidden, into)
        yield matrix("attn_output.weight", self.hidden, q, 2 / q**0.5)
        yield norm("ffn_norm.weight", self.hidden)
        yield matrix("ffn_gate.weight", self.ffn, self.hidden, into)
        yield matrix("ffn_up.weight", self.ffn, self.hidden, into)
        yield matrix("ffn_down.weight", self.hidden, self.ffn, 1 / self.ffn**0.5)
        sizes = {"attn_q": (q, self.hidden), "attn_k": (kv, self.hidden), "attn_v": (kv, self.hidden),
                 "attn_output": (self.hidden, q), "ffn_gate": (self.ffn, self.hidden),
                 "ffn_up": (self.ffn, self.hidden), "ffn_down": (self.hidden, self.ffn)}
        for role, (rows, cols) in sizes.items():
            yield self.slots(f"{role}.lora_a", self.rank, cols, 1 / cols**0.5)
            yield self.slots(f"{role}.lora_b", rows, self.rank, 1 / self.rank**0.5)

    def slots(self, name: str, rows: int, cols: int, std: float) -> Tensor:
        """A matrix for each adapter behind one of zeros, for no adapter."""
        def values(rng: Rng) -> np.ndarray:
            found = std * rng.standard_normal((len(self.switch) + 1, rows, cols), dtype=np.float32)
            found[0] = 0
            return found
        return drawn(name, values, None)

    def model(self) -> Model:
        return Model(self.name, "graniteswitch", self.type, self.metadata(), self.tensors, bpe(307, "gpt-2"),
                     newest=True)


MODELS = [Spec("graniteswitch-f16", 22, 3, 1, 10, 34, layers=2, rank=3, switch=[65, 240, 212], embedded=[7, 65, 301])
          .model()]
