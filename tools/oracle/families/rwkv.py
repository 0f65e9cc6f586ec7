"""RWKV-7 and RWKV-6: time mixing with low-rank parts, channel mixing, and the vocabulary "World"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from gguf import GGMLQuantizationType as Type

from random_model import Model, Tensor, bias, drawn, matrix, norm, output_norm, stack, token_matrix
from tiny_vocabulary import Vocabulary, world

LOGIT_STD, EMBEDDING_STD = 3.6, 0.05


@dataclass
class Spec:
    """One model."""
    name: str
    architecture: str
    hidden: int
    layers: int
    ffn: int
    ranks: dict[str, int]
    """Of the low-rank parts, by the end of their key."""
    head: int = 64
    type: Type = Type.Q4_0
    rank_type: Type = Type.F16
    """Of the low-rank parts, whose columns may be too few for a block."""
    tokens: int = 307
    fused: bool = True
    """Whether the shares of the token before are one tensor."""
    keys: dict[str, object] = field(default_factory=dict)


SPECS = [
    Spec("rwkv7-q4_0", "rwkv7", 128, 2, 160, {"decay": 20, "iclr": 12, "value_residual_mix": 9, "gate": 28}),
    Spec("rwkv6-q4_1", "rwkv6", 128, 2, 96, {"mix": 7, "decay": 12}, type=Type.Q4_1, tokens=301,
         keys={"rescale_every_n_layers": 2}),
]


def metadata(spec: Spec) -> dict[str, object]:
    keys: dict[str, object] = {
        "embedding_length": spec.hidden, "block_count": spec.layers, "feed_forward_length": spec.ffn,
        "attention.head_count": 0, "attention.layer_norm_epsilon": 1e-5, "wkv.head_size": spec.head}
    if spec.architecture == "rwkv7":
        keys |= {f"attention.{name}_lora_rank": rank for name, rank in spec.ranks.items()}
    else:
        keys |= {f"time_{name}_extra_dim": rank for name, rank in spec.ranks.items()}
    return keys | spec.keys


def uniform(name: str, shape: int | tuple[int, ...], low: float, high: float) -> Tensor:
    return drawn(name, lambda rng: rng.uniform(low, high, shape))


def layer_norm(name: str, size: int) -> Iterator[Tensor]:
    yield norm(f"{name}.weight", size)
    yield bias(f"{name}.bias", size, 0.2)


Layer = Callable[[Spec, int, str], Iterator[Tensor]]


def tensors(spec: Spec, layer: Layer, vocabulary: Vocabulary) -> Iterator[Tensor]:
    tokens, hidden = len(vocabulary.tokens), spec.hidden
    yield token_matrix("token_embd.weight", tokens, hidden, EMBEDDING_STD)
    yield from layer_norm("token_embd_norm", hidden)
    for at in range(spec.layers):
        start = f"blk.{at}."
        yield from layer_norm(f"{start}attn_norm", hidden)
        yield from layer_norm(f"{start}attn_norm_2", hidden)
        yield from layer(spec, at, start)
        yield from layer_norm(f"{start}time_mix_ln", hidden)
        for name in ("receptance", "key", "value"):
            yield matrix(f"{start}time_mix_{name}.weight", hidden, hidden, 1.5 / hidden**0.5)
        yield matrix(f"{start}time_mix_output.weight", hidden, hidden, 1.5 / hidden**0.5)
        yield uniform(f"{start}channel_mix_lerp_k.weight", hidden, 0, 1)
        yield matrix(f"{start}channel_mix_key.weight", spec.ffn, hidden, 1.5 / hidden**0.5)
        yield matrix(f"{start}channel_mix_value.weight", hidden, spec.ffn, 0.5 / spec.ffn**0.5)
    yield output_norm(hidden, LOGIT_STD / hidden**0.5 / EMBEDDING_STD)
    yield bias("output_norm.bias", hidden, 0.2)
    yield token_matrix("output.weight", tokens, hidden, EMBEDDING_STD)


def low_rank(spec: Spec, names: tuple[str, str], rank: int, level: float) -> Iterator[Tensor]:
    yield matrix(f"{names[0]}.weight", rank, spec.hidden, 1.5 / spec.hidden**0.5, spec.rank_type)
    if names[1]:
        yield matrix(f"{names[1]}.weight", spec.hidden, rank, level / rank**0.5, spec.rank_type)


def rwkv7(spec: Spec, layer: int, start: str) -> Iterator[Tensor]:
    hidden, ranks, mix = spec.hidden, spec.ranks, f"{start}time_mix_"
    yield uniform(f"{mix}lerp_fused.weight", (6, 1, 1, hidden), 0, 1)
    yield uniform(f"{mix}w0.weight", hidden, -4, 1)
    yield from low_rank(spec, (f"{mix}w1", f"{mix}w2"), ranks["decay"], 1.0)
    yield bias(f"{mix}a0.weight", hidden, 1.0)
    yield from low_rank(spec, (f"{mix}a1", f"{mix}a2"), ranks["iclr"], 0.7)
    # Those of the first layer are there and not used.
    rank = ranks["value_residual_mix"] if layer else ranks["iclr"]
    yield bias(f"{mix}v0.weight", hidden, 1.0)
    yield from low_rank(spec, (f"{mix}v1", f"{mix}v2"), rank, 0.7)
    yield from low_rank(spec, (f"{mix}g1", f"{mix}g2"), ranks["gate"], 2.0)
    yield norm(f"{mix}k_k.weight", hidden, 0.8, 0.3)
    yield norm(f"{mix}k_a.weight", hidden, 1.0, 0.3)
    yield bias(f"{mix}r_k.weight", hidden, 0.3)


def rwkv6(spec: Spec, _: int, start: str) -> Iterator[Tensor]:
    hidden, mix = spec.hidden, f"{start}time_mix_"
    yield from low_rank(spec, (f"{mix}w1", ""), 5 * spec.ranks["mix"], 1.0)
    yield stack(f"{mix}w2.weight", 5, hidden, spec.ranks["mix"], 0.4 / spec.ranks["mix"]**0.5, spec.rank_type)
    yield uniform(f"{mix}lerp_x.weight", hidden, 0, 1)
    if spec.fused:
        yield uniform(f"{mix}lerp_fused.weight", (5, 1, 1, hidden), 0, 1)
    else:
        for name in "wkvrg":
            yield uniform(f"{mix}lerp_{name}.weight", hidden, 0, 1)
    heads = (hidden // spec.head, spec.head)
    yield drawn(f"{mix}first.weight", lambda rng: 0.5 * rng.standard_normal(heads))
    yield uniform(f"{mix}decay.weight", hidden, -4, 1)
    yield from low_rank(spec, (f"{mix}decay_w1", f"{mix}decay_w2"), spec.ranks["decay"], 0.7)
    yield matrix(f"{mix}gate.weight", hidden, hidden, 1.5 / hidden**0.5)
    yield uniform(f"{start}channel_mix_lerp_r.weight", hidden, 0, 1)
    yield matrix(f"{start}channel_mix_receptance.weight", hidden, hidden, 1.5 / hidden**0.5)


LAYERS = {"rwkv7": rwkv7, "rwkv6": rwkv6}


def model(spec: Spec) -> Model:
    return Model(spec.name, spec.architecture, spec.type, metadata(spec),
                 partial(tensors, spec, LAYERS[spec.architecture]), lambda: world(spec.tokens))


MODELS = [model(spec) for spec in SPECS]
