"""HRM-Text: two stacks of layers that run in turns, with norms without weights and gated values of heads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gguf import GGMLQuantizationType as Type

from random_model import Model, Tensor, bias, bpe, matrix, token_matrix
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
    """Of a stack."""
    high: int
    low: int
    """Runs of the high stack, and of the low one before each."""
    fused: bool = False
    biases: bool = False
    tied: bool = True
    embedding_scale: float = 0.0
    type: Type = Type.F16
    keys: dict[str, object] = field(default_factory=dict)

    def metadata(self) -> dict[str, object]:
        keys: dict[str, object] = {
            "embedding_length": self.hidden, "block_count": self.layers * self.high * (self.low + 1),
            "feed_forward_length": self.ffn, "attention.head_count": self.heads,
            "attention.head_count_kv": self.kv_heads, "attention.key_length": self.head_dim,
            "attention.value_length": self.head_dim, "attention.layer_norm_rms_epsilon": 1e-6,
            "rope.freq_base": 1e4, "rope.dimension_count": self.head_dim, "hrm.layers_per_stack": self.layers,
            "hrm.h_cycles": self.high, "hrm.l_cycles": self.low, "hrm.prefix_lm": False}
        if self.embedding_scale:
            keys["embedding_scale"] = self.embedding_scale
        return keys | self.keys

    def tensors(self, vocabulary: Vocabulary) -> Iterator[Tensor]:
        tokens, std = len(vocabulary.tokens), 3.6 / self.hidden**0.5
        yield token_matrix("token_embd.weight", tokens, self.hidden, std if self.tied else 1.0)
        yield bias("hrm.z_l_init", self.hidden, 1.0)
        for layer in range(2 * self.layers):
            for tensor in self.block():
                tensor.name = f"blk.{layer}.{tensor.name}"
                yield tensor
        if not self.tied:
            yield token_matrix("output.weight", tokens, self.hidden, std)

    def block(self) -> Iterator[Tensor]:
        q, kv, into = self.heads * self.head_dim, self.kv_heads * self.head_dim, 1.5 / self.hidden**0.5
        parts = [("attn_qkv", q + 2 * kv)] if self.fused else [("attn_q", q), ("attn_k", kv), ("attn_v", kv)]
        for role, rows in parts:
            yield matrix(f"{role}.weight", rows, self.hidden, into)
            if self.biases:
                yield bias(f"{role}.bias", rows, 0.3)
        yield matrix("attn_gate.weight", q, self.hidden, into)
        yield matrix("attn_output.weight", self.hidden, q, 2 / q**0.5)
        yield matrix("ffn_gate.weight", self.ffn, self.hidden, into)
        yield matrix("ffn_up.weight", self.ffn, self.hidden, into)
        yield matrix("ffn_down.weight", self.hidden, self.ffn, 1 / self.ffn**0.5)

    def model(self) -> Model:
        return Model(self.name, "hrm_text", self.type, self.metadata(), self.tensors, bpe(307, "gpt-2"), newest=True)


MODELS = [Spec("hrm_text-f16", 22, 3, 1, 10, 34, layers=1, high=2, low=2, tied=False, embedding_scale=1.5).model()]
