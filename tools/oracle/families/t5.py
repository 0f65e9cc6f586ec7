"""T5 with its decoder: models that attend to a source.

They lie in tests/fixtures/sources, and `make_sources.py` asks llama.cpp about them, so `MODELS` is empty.
"""

from __future__ import annotations

from collections.abc import Iterator

from gguf import GGMLQuantizationType as Type

from families.embedders import linear, t5_layer
from random_model import Model, Tensor, matrix, norm, output_norm, token_matrix
from tiny_vocabulary import Vocabulary, unigram

MODELS: list[Model] = []


def t5(name: str, ty: Type, hidden: int, heads: int, head_dim: int, ffn: int, buckets: int, layers: tuple[int, int],
       gated: bool, tied: bool, start: int | None) -> Model:
    """`layers` of encoder and decoder. The decoder attends to the source more than to itself, so that the source
    matters."""
    def tensors(vocabulary: Vocabulary) -> Iterator[Tensor]:
        yield token_matrix("token_embd.weight", len(vocabulary.tokens), hidden, 0.5)
        for group, count in (("enc", layers[0]), ("dec", layers[1])):
            for layer in range(count):
                at = f"{group}.blk.{layer}."
                if layer == 0:
                    table = Type.F16 if ty == Type.F16 else Type.F32
                    yield matrix(at + "attn_rel_b.weight", buckets, heads, 1.5, table)
                yield from t5_layer(at, hidden, heads, head_dim, ffn, gated)
                if group == "dec":
                    yield norm(at + "cross_attn_norm.weight", hidden)
                    for role, gain in (("q", 1.0), ("k", 1.0), ("v", 2.0)):
                        yield from linear(at + f"cross_attn_{role}", heads * head_dim, hidden, gain, with_bias=False)
                    yield from linear(at + "cross_attn_o", hidden, heads * head_dim, 1.5, with_bias=False)
        yield norm("enc.output_norm.weight", hidden)
        yield output_norm(hidden, 3.6 / hidden**0.5 / (0.5 if tied else 1.5 / hidden**0.5), "dec.output_norm.weight")
        if not tied:
            yield token_matrix("output.weight", len(vocabulary.tokens), hidden, 1.5 / hidden**0.5)

    keys = {"embedding_length": hidden, "block_count": layers[0], "feed_forward_length": ffn,
            "attention.head_count": heads, "attention.key_length": head_dim, "attention.value_length": head_dim,
            "attention.layer_norm_epsilon": 1e-6, "attention.layer_norm_rms_epsilon": 1e-6,
            "attention.relative_buckets_count": buckets, "tokenizer.ggml.padding_token_id": 0,
            "tokenizer.ggml.unknown_token_id": 2, "tokenizer.ggml.remove_extra_whitespaces": True}
    if layers[0] != layers[1]:
        keys["decoder_block_count"] = layers[1]
    if start is not None:
        keys["decoder_start_token_id"] = start
    return Model(name, "t5", ty, keys, tensors, lambda: unigram(141))


SOURCES = [
    t5("t5-f16", Type.F16, 36, 3, 20, 52, 32, (2, 2), True, False, 0),
    t5("t5-q8_0", Type.Q8_0, 64, 2, 32, 96, 12, (2, 1), False, True, 5),
]
