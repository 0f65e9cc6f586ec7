"""Pocket TTS in numpy, in float64: states, latents and samples from the rows of a voice, ids and noise.

Formulas: CALM (https://arxiv.org/abs/2509.06926) and Mimi (https://arxiv.org/abs/2410.00037), as pockettts-gen.cpp and
pockettts-seanet.cpp of llama.cpp have them. `is_half` rounds keys and values to f16, as webgguf's cache does.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from gguf import GGUFReader, dequantize

WINDOW = 250
STRIDES = [6, 5, 4]
Rows = np.ndarray


class Tensors(dict[str, Rows]):
    """The tensors of a file as doubles."""

    def __init__(self, path: Path):
        for tensor in GGUFReader(path).tensors:
            shape = tuple(int(size) for size in reversed(tensor.shape))
            self[tensor.name] = dequantize(tensor.data, tensor.tensor_type).astype(np.float64).reshape(shape)

    def linear(self, x: Rows, name: str) -> Rows:
        """A product, with a bias where the file has it; kernels of one tap, too."""
        weight = self[f"{name}.weight"]
        y = x @ weight.reshape(len(weight), -1).T
        return y + self[f"{name}.bias"] if f"{name}.bias" in self else y

    def norm(self, x: Rows, name: str | None, eps: float) -> Rows:
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
        return x if name is None else x * self[f"{name}.weight"] + self[f"{name}.bias"]

    def count(self, pattern: str) -> int:
        """How many layers there are: a name with `{}` for their number."""
        return next(number for number in range(1000) if pattern.format(number) not in self)


def silu(x: Rows) -> Rows:
    return x / (1 + np.exp(-x))


def gelu(x: Rows) -> Rows:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def elu(x: Rows) -> Rows:
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def half(x: Rows) -> Rows:
    return x.astype(np.float32).astype(np.float16).astype(np.float64)


def turned(x: Rows, first: int) -> Rows:
    """Neighbours of heads [rows, heads, values] rotated by their position."""
    rows, _, size = x.shape
    angles = np.arange(first, first + rows)[:, None] * 10_000.0 ** (-np.arange(size // 2) / (size // 2))
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    y = np.empty_like(x)
    y[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    y[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return y


def attend(q: Rows, k: Rows, v: Rows, window: int) -> Rows:
    """Causal attention of the last rows, [rows, heads, values]."""
    scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(q.shape[-1])
    behind = np.arange(len(k) - len(q), len(k))[:, None] - np.arange(len(k))
    scores = np.where((behind >= 0) & (behind < window), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("hqk,khd->qhd", weights, v)


class TextModel:
    """Reads rows one after the other and gives states."""

    def __init__(self, tensors: Tensors, heads: int, eps: float, is_half: bool):
        self.tensors, self.heads, self.eps = tensors, heads, eps
        self.round = half if is_half else lambda x: x
        self.layers = tensors.count("blk.{}.attn_q.weight")
        self.cache: list[list[Rows]] = [[] for _ in range(self.layers)]

    def read(self, x: Rows) -> Rows:
        t = self.tensors
        for layer, cache in enumerate(self.cache):
            at = f"blk.{layer}."
            h = t.norm(x, f"{at}attn_norm", self.eps)
            first = len(cache[0]) if cache else 0
            q, k, v = (t.linear(h, f"{at}attn_{name}").reshape(len(x), self.heads, -1) for name in "qkv")
            new = [self.round(turned(k, first)), self.round(v)]
            cache[:] = [np.concatenate(pair) for pair in zip(cache, new)] if cache else new
            y = attend(turned(q, first), *cache, 1 << 30)
            x = x + t.linear(y.reshape(len(x), -1), f"{at}attn_output")
            h = t.norm(x, f"{at}ffn_norm", self.eps)
            x = x + t.linear(gelu(t.linear(h, f"{at}ffn_up")), f"{at}ffn_down")
        return t.norm(x, "output_norm", self.eps)


def embed_time(t: Tensors, number: int, time: float) -> Rows:
    at = f"a.gen.flow.time.{number}."
    angles = t[f"{at}freqs.weight" if f"{at}freqs.weight" in t else f"{at}freqs"].reshape(-1) * time
    x = t.linear(silu(t.linear(np.concatenate([np.cos(angles), np.sin(angles)]), f"{at}up")), f"{at}down")
    x = x / np.sqrt(x.var(ddof=1) + 1e-5)
    return x * t[f"{at}norm.weight" if f"{at}norm.weight" in t else f"{at}norm"].reshape(-1)


def flow(t: Tensors, state: Rows, noise: Rows) -> Rows:
    """One step from noise to a latent."""
    at = "a.gen.flow."
    times = (embed_time(t, 0, 0.0) + embed_time(t, 1, 1.0)) / 2
    condition = silu(times + t.linear(state, f"{at}cond_embd"))
    x = t.linear(noise, f"{at}input_proj")
    for block in range(t.count("a.gen.flow.blk.{}.up.weight")):
        own = f"{at}blk.{block}."
        shift, scale, gate = np.split(t.linear(condition, f"{own}ada"), 3)
        h = t.norm(x, f"{own}norm", 1e-6) * (1 + scale) + shift
        x = x + gate * t.linear(silu(t.linear(h, f"{own}up")), f"{own}down")
    shift, scale = np.split(t.linear(condition, f"{at}final.ada"), 2)
    return noise + t.linear(t.norm(x, None, 1e-6) * (1 + scale) + shift, f"{at}final.proj")


def conv(t: Tensors, x: Rows, name: str) -> Rows:
    """A causal convolution of rows with a kernel [outputs, inputs, taps]."""
    kernel = t[f"{name}.weight"]
    taps = kernel.shape[-1]
    x = np.concatenate([np.zeros((taps - 1, x.shape[1])), x])
    rows = np.stack([x[tap:len(x) - taps + 1 + tap] for tap in range(taps)], -1)
    return np.einsum("rit,oit->ro", rows, kernel) + t[f"{name}.bias"]


def spread(t: Tensors, x: Rows, name: str, stride: int) -> Rows:
    """A transposed convolution with a kernel [inputs, outputs, 2 · stride], what comes after the last row left out."""
    parts = np.einsum("ri,iot->rto", x, t[f"{name}.weight"])
    parts[1:, :stride] += parts[:-1, stride:].copy()
    return parts[:, :stride].reshape(len(x) * stride, -1) + t[f"{name}.bias"]


def samples(t: Tensors, latents: Rows, heads: int, eps: float) -> Rows:
    at = "a.gen.wav."
    x = t.linear(latents * t["a.gen.emb_std"] + t["a.gen.emb_mean"], f"{at}quant_out")
    kernel = t[f"{at}upsample.weight"].reshape(x.shape[1], -1)
    stride = kernel.shape[1] // 2
    parts = x[:, None] * kernel.T
    parts[1:, :stride] += parts[:-1, stride:].copy()
    x = parts[:, :stride].reshape(-1, x.shape[1])
    for layer in range(t.count("a.gen.wav.tfm.blk.{}.attn_q.weight")):
        own = f"{at}tfm.blk.{layer}."
        h = t.norm(x, f"{own}ln1", eps)
        q, k, v = (t.linear(h, f"{own}attn_{name}").reshape(len(x), heads, -1) for name in "qkv")
        y = attend(turned(q, 0), turned(k, 0), v, WINDOW)
        x = x + t.linear(y.reshape(len(x), -1), f"{own}attn_out") * t[f"{own}ls1.weight"]
        h = t.norm(x, f"{own}ln2", eps)
        x = x + t.linear(gelu(t.linear(h, f"{own}ffn_up")), f"{own}ffn_down") * t[f"{own}ls2.weight"]
    x = conv(t, x, f"{at}seanet.conv_in")
    for stage, stride in enumerate(STRIDES):
        own = f"{at}seanet.blk.{stage}."
        x = spread(t, elu(x), f"{own}scale_conv", stride)
        x = x + conv(t, elu(conv(t, elu(x), f"{own}res_conv1")), f"{own}res_conv2")
    return np.clip(conv(t, elu(x), f"{at}seanet.conv_out"), -1, 1)[:, 0]


def speak(text: Tensors, codec: Tensors, asked: dict, sizes: dict, is_half: bool) -> tuple[Rows, Rows]:
    """The latents of each step, and the samples of all but the last: asked with rows, ids, begin and noise."""
    model = TextModel(text, sizes["heads"], sizes["eps"], is_half)
    embedded = text["token_embd.weight"]
    ids = [embedded[[id]] for id in [*asked["ids"], asked["begin"]]]
    before = [embedded[[asked["before"]]], np.array(asked["rows"], np.float64)]
    state = model.read(np.concatenate([*before, *ids]))[-1]
    latents = []
    for noise in asked["noise"]:
        latents.append(flow(codec, state, np.array(noise, np.float64)))
        state = model.read((codec["a.gen.input_linear.weight"] @ latents[-1])[None])[-1]
    made = np.array(latents)
    return made, samples(codec, made[:-1], sizes["codec_heads"], sizes["eps"])
