"""Qwen 2.5 with the time mixing of RWKV in the place of attention: ARWKV 7 and QRWKV6."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from gguf import GGMLQuantizationType as Type

from families.rwkv import EMBEDDING_STD, LAYERS, LOGIT_STD, Spec, metadata
from random_model import Model, Tensor, bias, bpe, matrix, norm, output_norm, token_matrix
from tiny_vocabulary import Vocabulary


def time_mix(spec: Spec, layer: int, start: str, kv_width: int) -> Iterator[Tensor]:
    hidden, mix, is_6 = spec.hidden, f"{start}time_mix_", spec.architecture == "rwkv6qwen2"
    for tensor in LAYERS["rwkv6" if is_6 else "rwkv7"](spec, layer, start):
        # The feed-forward is Qwen's, and a gated linear attention has no bonus.
        if not is_6 or not ("channel_mix" in tensor.name or "time_mix_first" in tensor.name):
            yield tensor
    for name, width in (("receptance", hidden), ("key", kv_width), ("value", kv_width)):
        if is_6:
            yield bias(f"{mix}{name}.bias", width, 0.3)
        yield matrix(f"{mix}{name}.weight", width, hidden, 1.5 / hidden**0.5)
    yield matrix(f"{mix}output.weight", hidden, hidden, 0.1 / hidden**0.5)


def tensors(spec: Spec, kv_heads: int, vocabulary: Vocabulary) -> Iterator[Tensor]:
    tokens, hidden = len(vocabulary.tokens), spec.hidden
    yield token_matrix("token_embd.weight", tokens, hidden, EMBEDDING_STD)
    for layer in range(spec.layers):
        start = f"blk.{layer}."
        yield norm(f"{start}attn_norm.weight", hidden)
        yield from time_mix(spec, layer, start, kv_heads * spec.head)
        yield norm(f"{start}ffn_norm.weight", hidden)
        yield matrix(f"{start}ffn_gate.weight", spec.ffn, hidden, 1.5 / hidden**0.5)
        yield matrix(f"{start}ffn_up.weight", spec.ffn, hidden, 1.5 / hidden**0.5)
        yield matrix(f"{start}ffn_down.weight", hidden, spec.ffn, 0.08 / spec.ffn**0.5)
    yield output_norm(hidden, LOGIT_STD / hidden**0.5 / EMBEDDING_STD)
    yield token_matrix("output.weight", tokens, hidden, EMBEDDING_STD)


def model(spec: Spec, kv_heads: int) -> Model:
    base = "rwkv6" if spec.architecture == "rwkv6qwen2" else "rwkv7"
    keys = metadata(replace(spec, architecture=base))
    del keys["attention.layer_norm_epsilon"]
    keys |= {"attention.layer_norm_rms_epsilon": 1e-6, "token_shift_count": 1}
    if base == "rwkv6":
        keys["attention.head_count_kv"] = kv_heads
    return Model(spec.name, spec.architecture, spec.type, keys, partial(tensors, spec, kv_heads), bpe(307, "gpt-2"))


MODELS = [
    model(Spec("arwkv7-q8_0", "arwkv7", 64, 2, 96, {"decay": 12, "iclr": 9, "value_residual_mix": 6, "gate": 4},
               type=Type.Q8_0), 1),
    model(Spec("rwkv6qwen2-q4_0", "rwkv6qwen2", 128, 1, 96, {"mix": 8, "decay": 12}), 1),
]
