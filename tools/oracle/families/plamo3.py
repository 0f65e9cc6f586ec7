"""PLaMo 3: attention in all layers, in most with a window, and norms before and after each part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gguf import GGMLQuantizationType as Type

from random_model import Model, Tensor, matrix, norm, output_norm, token_matrix
from tiny_vocabulary import Vocabulary, plamo

LOGIT_STD, EMBEDDING_STD = 3.6, 0.05


@dataclass
class Spec:
    """One model."""
    name: str
    hidden: int
    heads: list[int] | int
    kv_heads: list[int]
    head_dim: int
    ffn: list[int] | int
    slides: list[bool] | int | None = None
    window: int = 37
    tokens: int = 303
    tied: bool = True
    type: Type = Type.F16
    keys: dict[str, object] = field(default_factory=dict)

    def metadata(self) -> dict[str, object]:
        keys: dict[str, object] = {
            "embedding_length": self.hidden, "block_count": len(self.kv_heads), "feed_forward_length": self.ffn,
            "attention.head_count": self.heads, "attention.head_count_kv": self.kv_heads,
            "attention.key_length": self.head_dim, "attention.value_length": self.head_dim,
            "attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 1e6}
        if self.window:
            keys["attention.sliding_window"] = self.window
        if self.slides is not None:
            keys["attention.sliding_window_pattern"] = self.slides
        return keys | self.keys

    def tensors(self, vocabulary: Vocabulary) -> Iterator[Tensor]:
        tokens, hidden, width = len(vocabulary.tokens), self.hidden, self.head_dim
        yield token_matrix("token_embd.weight", tokens, hidden, EMBEDDING_STD)
        for layer, kv_heads in enumerate(self.kv_heads):
            heads = self.heads if isinstance(self.heads, int) else self.heads[layer]
            ffn = self.ffn if isinstance(self.ffn, int) else self.ffn[layer]
            start = f"blk.{layer}."
            yield norm(f"{start}attn_norm.weight", hidden)
            yield matrix(f"{start}attn_qkv.weight", (heads + 2 * kv_heads) * width, hidden, 1.5 / hidden**0.5)
            yield norm(f"{start}attn_q_norm.weight", width, 1.5)
            yield norm(f"{start}attn_k_norm.weight", width, 1.5)
            yield matrix(f"{start}attn_output.weight", hidden, heads * width, 1.5 / (heads * width)**0.5)
            yield norm(f"{start}post_attention_norm", hidden, EMBEDDING_STD)
            yield norm(f"{start}ffn_norm.weight", hidden)
            yield matrix(f"{start}ffn_up.weight", 2 * ffn, hidden, 1.5 / hidden**0.5)
            yield matrix(f"{start}ffn_down.weight", hidden, ffn, 1.5 / ffn**0.5)
            yield norm(f"{start}post_ffw_norm", hidden, EMBEDDING_STD)
        yield output_norm(hidden, LOGIT_STD / hidden**0.5 / EMBEDDING_STD)
        if not self.tied:
            yield token_matrix("output.weight", tokens, hidden, EMBEDDING_STD)

    def model(self) -> Model:
        return Model(self.name, "plamo3", self.type, self.metadata(), self.tensors,
                     lambda: plamo(self.tokens, "plamo3"), newest=True)


MODELS = [Spec("plamo3-f16", 28, [3, 2], [1, 2], head_dim=10, ffn=34, slides=[True, False]).model()]
