"""Decoders with a recurrent state: LFM2's short convolutions, Mamba-2, and hybrids of it with attention."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from gguf import GGMLQuantizationType as Type

from random_model import Model, Rng, Tensor, bias, bpe, drawn, matrix, norm, output_norm, stack, token_matrix
from tiny_vocabulary import Vocabulary

EMBEDDING_STD = 0.05
LOGIT_STD = 3.6


@dataclass
class Ssm:
    """The sizes of Mamba-2 layers."""
    heads: int
    head_dim: int
    state: int
    groups: int = 1
    kernel: int = 4
    has_norm: bool = True

    @property
    def inner(self) -> int:
        return self.heads * self.head_dim

    @property
    def channels(self) -> int:
        return self.inner + 2 * self.groups * self.state

    def metadata(self) -> dict[str, object]:
        return {"ssm.conv_kernel": self.kernel, "ssm.inner_size": self.inner, "ssm.state_size": self.state,
                "ssm.time_step_rank": self.heads, "ssm.group_count": self.groups}


@dataclass
class Shape:
    """The sizes of a model: `kv_heads` of each layer, 0 for one without attention."""
    hidden: int
    kv_heads: list[int]
    heads: int = 0
    head_dim: int = 0
    ffn: int = 0
    experts: int = 0
    """Of each layer, with `ffn` values each, beside a feed-forward of as many that all tokens share."""
    conv_kernel: int = 0
    ssm: Ssm | None = None
    parallel: bool = False
    """Attention and Mamba-2 in each layer, of one norm."""
    tied: bool = True
    output_norm: str = "output_norm.weight"
    ffn_norm: str = "ffn_norm.weight"
    update_gain: float = 1.0
    """What comes before the residual stream is larger by this, where something divides it again."""
    embedding_scale: float = 1.0
    logit_scale: float = 1.0

    @property
    def stream_std(self) -> float:
        return EMBEDDING_STD * self.embedding_scale


def tensors(shape: Shape, vocabulary: Vocabulary) -> Iterator[Tensor]:
    tokens, hidden = len(vocabulary.tokens), shape.hidden
    yield token_matrix("token_embd.weight", tokens, hidden, EMBEDDING_STD)
    for layer, kv_heads in enumerate(shape.kv_heads):
        for tensor in block(shape, kv_heads):
            tensor.name = f"blk.{layer}.{tensor.name}"
            yield tensor
    head_std = EMBEDDING_STD if shape.tied else LOGIT_STD / hidden**0.5
    level = shape.logit_scale * LOGIT_STD / hidden**0.5 / head_std
    yield output_norm(hidden, level, shape.output_norm)
    if not shape.tied:
        yield token_matrix("output.weight", tokens, hidden, head_std)


def block(shape: Shape, kv_heads: int) -> Iterator[Tensor]:
    yield norm("attn_norm.weight", shape.hidden)
    if kv_heads:
        yield from attention(shape, kv_heads)
    if shape.conv_kernel and not kv_heads:
        yield from short_conv(shape)
    if shape.ssm and (shape.parallel or not kv_heads):
        yield from mamba2(shape, shape.ssm)
    if shape.ffn:
        yield norm(shape.ffn_norm, shape.hidden)
    if shape.experts:
        yield from experts(shape)
    elif shape.ffn:
        yield after_norm(shape, "ffn_gate.weight", shape.ffn)
        yield after_norm(shape, "ffn_up.weight", shape.ffn)
        yield update(shape, "ffn_down.weight", shape.ffn, 1.0)


def experts(shape: Shape) -> Iterator[Tensor]:
    count, ffn, hidden = shape.experts, shape.ffn, shape.hidden
    # A large router: few choices of an expert hang on a near tie.
    yield matrix("ffn_gate_inp.weight", count, hidden, 4 / hidden**0.5, Type.F32)
    for role in ("ffn_gate_exps", "ffn_up_exps"):
        yield stack(f"{role}.weight", count, ffn, hidden, 1.5 / hidden**0.5)
    yield stack("ffn_down_exps.weight", count, hidden, ffn, shape.update_gain * shape.stream_std / ffn**0.5)
    for role in ("ffn_gate_shexp", "ffn_up_shexp"):
        yield after_norm(shape, f"{role}.weight", ffn)
    yield update(shape, "ffn_down_shexp.weight", ffn, 1.0)


def after_norm(shape: Shape, name: str, rows: int) -> Tensor:
    return matrix(name, rows, shape.hidden, 1.5 / shape.hidden**0.5)


def update(shape: Shape, name: str, cols: int, gain: float) -> Tensor:
    """Back to the residual stream: `gain` is 1 / the size of the input's values."""
    return matrix(name, shape.hidden, cols, gain * shape.update_gain * shape.stream_std / cols**0.5)


def attention(shape: Shape, kv_heads: int) -> Iterator[Tensor]:
    q, kv = shape.heads * shape.head_dim, kv_heads * shape.head_dim
    for role, rows in (("attn_q", q), ("attn_k", kv), ("attn_v", kv)):
        yield after_norm(shape, f"{role}.weight", rows)
    if shape.conv_kernel:
        yield norm("attn_q_norm.weight", shape.head_dim, 1.5)
        yield norm("attn_k_norm.weight", shape.head_dim, 1.5)
    yield update(shape, "attn_output.weight", q, 1.5)


def short_conv(shape: Shape) -> Iterator[Tensor]:
    yield after_norm(shape, "shortconv.in_proj.weight", 3 * shape.hidden)
    yield taps("shortconv.conv.weight", shape.hidden, shape.conv_kernel)
    yield update(shape, "shortconv.out_proj.weight", shape.hidden, 0.4)


def taps(name: str, channels: int, kernel: int) -> Tensor:
    return drawn(name, lambda rng: rng.standard_normal((channels, kernel), dtype=np.float32) / kernel**0.5)


def dt_bias(name: str, size: int) -> Tensor:
    """softplus of it is a time step between 0.01 and 0.5."""
    def values(rng: Rng) -> np.ndarray:
        steps = np.exp(rng.uniform(np.log(0.01), np.log(0.5), size))
        return steps + np.log(-np.expm1(-steps))
    return drawn(name, values)


def mamba2(shape: Shape, ssm: Ssm) -> Iterator[Tensor]:
    yield matrix("ssm_in.weight", ssm.inner + ssm.channels + ssm.heads, shape.hidden, 1.2 / shape.hidden**0.5)
    yield taps("ssm_conv1d.weight", ssm.channels, ssm.kernel)
    yield bias("ssm_conv1d.bias", ssm.channels, 0.3)
    yield dt_bias("ssm_dt.bias", ssm.heads)
    yield drawn("ssm_a", lambda rng: -np.exp(rng.uniform(np.log(0.02), np.log(8), (ssm.heads, 1))))
    yield drawn("ssm_d", lambda rng: rng.uniform(0.5, 1.5, (ssm.heads, 1)))
    if ssm.has_norm:
        width = ssm.inner // ssm.groups
        yield drawn("ssm_norm.weight", lambda rng: 1 + 0.2 * rng.standard_normal((ssm.groups, width)))
    yield update(shape, "ssm_out.weight", ssm.inner, 1.0 if ssm.has_norm else 0.7)


def metadata(shape: Shape) -> dict[str, object]:
    keys: dict[str, object] = {
        "embedding_length": shape.hidden, "block_count": len(shape.kv_heads), "feed_forward_length": shape.ffn,
        "attention.head_count": shape.heads, "attention.layer_norm_rms_epsilon": 1e-5}
    if shape.heads:
        same = len(set(shape.kv_heads)) == 1
        keys |= {"attention.head_count_kv": shape.kv_heads[0] if same else shape.kv_heads,
                 "rope.dimension_count": shape.head_dim, "rope.freq_base": 1e4}
        if shape.heads * shape.head_dim != shape.hidden:
            keys |= {"attention.key_length": shape.head_dim, "attention.value_length": shape.head_dim}
    if shape.conv_kernel:
        keys["shortconv.l_cache"] = shape.conv_kernel
    if shape.ssm:
        keys |= shape.ssm.metadata()
    return keys


def model(name: str, architecture: str, ty: Type, vocabulary: object, shape: Shape, **extra: object) -> Model:
    keys = {**metadata(shape), **extra.pop("keys", {})}
    return Model(name, architecture, ty, keys, lambda tokens: tensors(shape, tokens), vocabulary, **extra)


LFM2 = dict(output_norm="token_embd_norm.weight")

NEMOTRON_H = Shape(40, [0, 1, 0, 0], heads=3, head_dim=16, ssm=Ssm(4, 12, 20, groups=2), tied=False)
NEMOTRON_H_FFN = [0, 0, 68, 0]


def ungated(shape: Shape, ffn: int) -> Iterator[Tensor]:
    yield norm("attn_norm.weight", shape.hidden)
    yield after_norm(shape, "ffn_up.weight", ffn)
    yield bias("ffn_up.bias", ffn, 0.3)
    yield update(shape, "ffn_down.weight", ffn, 0.5)


def nemotron_h(vocabulary: Vocabulary) -> Iterator[Tensor]:
    """Each layer is one thing: Mamba-2, attention, or a feed-forward without a gate."""
    shape, tokens = NEMOTRON_H, len(vocabulary.tokens)
    yield token_matrix("token_embd.weight", tokens, shape.hidden, EMBEDDING_STD)
    for layer, (kv_heads, ffn) in enumerate(zip(shape.kv_heads, NEMOTRON_H_FFN)):
        for tensor in ungated(shape, ffn) if ffn else block(shape, kv_heads):
            tensor.name = f"blk.{layer}.{tensor.name}"
            yield tensor
    yield output_norm(shape.hidden, 1.0)
    yield token_matrix("output.weight", tokens, shape.hidden, LOGIT_STD / shape.hidden**0.5)


MODELS = [
    Model("nemotron_h-f16", "nemotron_h", Type.F16,
          {**metadata(NEMOTRON_H), "feed_forward_length": NEMOTRON_H_FFN, "attention.layer_norm_epsilon": 1e-5},
          nemotron_h, bpe(307, "gpt-2")),
    model("lfm2-bf16", "lfm2", Type.BF16, bpe(307, "lfm2"),
          Shape(60, [0, 1, 0], heads=3, head_dim=20, ffn=72, conv_kernel=4, **LFM2)),
    model("lfm2-q8_0", "lfm2", Type.Q8_0, bpe(311, "lfm2"),
          Shape(64, [0, 0, 1, 0], heads=2, head_dim=32, ffn=96, conv_kernel=3, **LFM2)),
    model("mamba2-f32", "mamba2", Type.F32, bpe(301, "gpt-2"),
          Shape(44, [0, 0], ssm=Ssm(3, 20, 24, kernel=3), tied=False)),
    model("mamba2-q8_0", "mamba2", Type.Q8_0, bpe(309, "gpt-2"),
          Shape(64, [0, 0], ssm=Ssm(6, 32, 40, groups=3))),
    model("falcon-h1-bf16", "falcon-h1", Type.BF16, bpe(307, "falcon-h1"),
          Shape(56, [1, 1], heads=2, head_dim=28, ffn=68, ssm=Ssm(5, 12, 20, has_norm=False), parallel=True,
                tied=False, ffn_norm="ffn_norm")),
    model("falcon-h1-q8_0", "falcon-h1", Type.Q8_0, bpe(309, "falcon-h1"),
          Shape(64, [1, 1], heads=3, head_dim=32, ffn=96, ssm=Ssm(4, 16, 32, groups=2), parallel=True,
                ffn_norm="ffn_norm")),
    model("granitehybrid-bf16", "granitehybrid", Type.BF16, bpe(307, "gpt-2"),
          Shape(32, [0, 1, 0], heads=2, head_dim=16, ffn=68, ssm=Ssm(4, 16, 24), update_gain=1 / 0.22,
                embedding_scale=6.0, logit_scale=4.0),
          keys={"embedding_scale": 6.0, "residual_scale": 0.22, "attention.scale": 0.1, "logit_scale": 4.0,
                "rope.scaling.finetuned": False}),
    model("granitehybrid-q8_0", "granitehybrid", Type.Q8_0, bpe(311, "gpt-2"),
          Shape(64, [0, 0, 1], heads=4, head_dim=16, ffn=64, ssm=Ssm(8, 16, 32, groups=2), tied=False,
                logit_scale=3.0),
          keys={"logit_scale": 3.0}),
    model("granitehybrid-moe-q8_0", "granitehybrid", Type.Q8_0, bpe(307, "gpt-2"),
          Shape(32, [0, 1], heads=2, head_dim=16, ffn=32, experts=7, ssm=Ssm(4, 16, 24), update_gain=1 / 0.4,
                embedding_scale=6.0),
          keys={"embedding_scale": 6.0, "residual_scale": 0.4, "expert_count": 7, "expert_used_count": 2,
                "expert_shared_feed_forward_length": 32, "rope.scaling.finetuned": False}),
]
