"""Writes tests/fixtures/trainable.json: losses of two of the models in tests/fixtures/models with low-rank adapters on
all products of their layers, and gradients of the adapters' matrices, by PyTorch.

    python tools/make_trainable_fixtures.py    # torch 2.15, gguf 0.19, CPU, double precision

tests/page/trainable.test.mjs computes the same on the quantised files with `webgguf/training`. Of each gradient the
fixture has the norm and some of the values.
"""

import json
import math
import pathlib

import torch
import torch.nn.functional as F
from gguf import GGUFReader, dequantize

ROOT = pathlib.Path(__file__).parent.parent
OUT = ROOT / "tests" / "fixtures" / "trainable.json"
RANK, SCALE, TOKENS, SAMPLES = 2, 1.5, 48, 12
KINDS = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]


def some_ids(count):
    return [3 + (at * 37 + 101) % 89 for at in range(count)]


def numbers(count, seed):
    """What tests/js/trainable.mjs has, too."""
    return torch.tensor([0.1 * math.sin(1.7 * at + seed) for at in range(count)], dtype=torch.float64)


class Model:
    def __init__(self, name):
        reader = GGUFReader(ROOT / "tests" / "fixtures" / "models" / f"{name}.gguf")
        self.fields = {key: field.contents() for key, field in reader.fields.items()}
        self.arch = self.fields["general.architecture"]
        self.weights = {
            tensor.name: torch.tensor(dequantize(tensor.data, tensor.tensor_type), dtype=torch.float64)
            for tensor in reader.tensors
        }
        self.layers = self.key("block_count")
        self.pairs = {}
        for layer in range(self.layers):
            for kind in KINDS:
                weight = f"blk.{layer}.{kind}.weight"
                rows, cols = self.weights[weight].shape
                seed = len(self.pairs)
                a = numbers(RANK * cols, seed).view(RANK, cols).requires_grad_()
                b = numbers(rows * RANK, seed + 0.5).view(rows, RANK).requires_grad_()
                self.pairs[weight] = (a, b)

    def key(self, name, default=None):
        value = self.fields.get(f"{self.arch}.{name}", default)
        assert value is not None, name
        return value

    def product(self, weight, x):
        a, b = self.pairs[weight]
        return x @ self.weights[weight].T + SCALE * (x @ a.T) @ b.T

    def norm(self, weight, x):
        w = self.weights[weight]
        return F.rms_norm(x, (w.shape[0],), w, eps=self.key("attention.layer_norm_rms_epsilon"))


def rotate(x, theta, scale, is_half_split):
    """Pairs of [position, head, dim], by scale * position * theta^(-2i/dim)."""
    half = x.shape[-1] // 2
    positions = scale * torch.arange(x.shape[0], dtype=torch.float64)[:, None, None]
    angles = positions * theta ** (-torch.arange(half, dtype=torch.float64) / half)
    if is_half_split:
        first, second = x[..., :half], x[..., half:]
    else:
        first, second = x[..., 0::2], x[..., 1::2]
    turned = [first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos()]
    return torch.cat(turned, dim=-1) if is_half_split else torch.stack(turned, dim=-1).flatten(-2)


def attend(q, k, v, window):
    """Softmax attention of [position, head, dim], causal, within a window."""
    tokens, heads, dim = q.shape
    k, v = (x.repeat_interleave(heads // k.shape[1], dim=1) for x in (k, v))
    scores = torch.einsum("qhd,khd->hqk", q, k) / math.sqrt(dim)
    places = torch.arange(tokens)
    distance = places[:, None] - places[None]
    hidden = (distance < 0) | (distance >= (window or tokens))
    weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
    return torch.einsum("hqk,khd->qhd", weights, v).flatten(1)


def heads_of(m, layer, h, kind):
    head_dim = m.key("attention.key_length", m.key("embedding_length") // m.key("attention.head_count"))
    return m.product(f"blk.{layer}.attn_{kind}.weight", h).view(h.shape[0], -1, head_dim)


def feed_forward(m, layer, h, activation):
    gate, up = (m.product(f"blk.{layer}.ffn_{kind}.weight", h) for kind in ("gate", "up"))
    return m.product(f"blk.{layer}.ffn_down.weight", activation(gate) * up)


def llama_logits(m, ids):
    x = m.weights["token_embd.weight"][ids]
    theta, scale = m.key("rope.freq_base", 10000.0), 1 / m.key("rope.scaling.factor", 1.0)
    for layer in range(m.layers):
        h = m.norm(f"blk.{layer}.attn_norm.weight", x)
        q, k, v = (heads_of(m, layer, h, kind) for kind in "qkv")
        y = attend(*(rotate(of, theta, scale, False) for of in (q, k)), v, None)
        x = x + m.product(f"blk.{layer}.attn_output.weight", y)
        h = m.norm(f"blk.{layer}.ffn_norm.weight", x)
        x = x + feed_forward(m, layer, h, F.silu)
    return m.norm("output_norm.weight", x) @ m.weights["output.weight"].T


def gemma3_logits(m, ids):
    x = m.weights["token_embd.weight"][ids] * math.sqrt(m.key("embedding_length"))
    is_local = m.key("attention.sliding_window_pattern")
    cap = m.key("final_logit_softcapping")
    for layer in range(m.layers):
        window = m.key("attention.sliding_window") if is_local[layer] else None
        theta = m.key("rope.freq_base_swa", 10000.0) if window else m.key("rope.freq_base")
        scale = 1.0 if window else 1 / m.key("rope.scaling.factor", 1.0)
        h = m.norm(f"blk.{layer}.attn_norm.weight", x)
        q, k, v = (heads_of(m, layer, h, kind) for kind in "qkv")
        q, k = (m.norm(f"blk.{layer}.attn_{kind}_norm.weight", of) for kind, of in (("q", q), ("k", k)))
        y = attend(*(rotate(of, theta, scale, True) for of in (q, k)), v, window)
        y = m.product(f"blk.{layer}.attn_output.weight", y)
        x = x + m.norm(f"blk.{layer}.post_attention_norm.weight", y)
        h = m.norm(f"blk.{layer}.ffn_norm.weight", x)
        y = feed_forward(m, layer, h, lambda gate: F.gelu(gate, approximate="tanh"))
        x = x + m.norm(f"blk.{layer}.post_ffw_norm.weight", y)
    logits = m.norm("output_norm.weight", x) @ m.weights["output.weight"].T
    return cap * torch.tanh(logits / cap)


def summary(gradient):
    """Its norm, and values at even distances."""
    flat = gradient.flatten()
    step = max(len(flat) // SAMPLES, 1)
    return {"norm": float(f"{flat.norm():.7g}"), "values": [float(f"{x:.7g}") for x in flat[::step]]}


def main():
    made = {"torch": torch.__version__.split("+")[0], "rank": RANK, "scale": SCALE, "samples": SAMPLES, "models": {}}
    for name, logits_of in {"llama-q4_1": llama_logits, "gemma3-q5_1": gemma3_logits}.items():
        model = Model(name)
        ids = some_ids(TOKENS)
        # Some targets do not count.
        targets = torch.tensor([-100 if at % 5 == 2 else id for at, id in enumerate(ids[1:] + [7])])
        loss = F.cross_entropy(logits_of(model, ids), targets)
        loss.backward()
        gradients = {
            weight: {"a": summary(a.grad), "b": summary(b.grad)} for weight, (a, b) in model.pairs.items()
        }
        made["models"][name] = {
            "ids": ids,
            "targets": [max(target, -1) for target in targets.tolist()],
            "loss": loss.item(),
            "gradients": gradients,
        }
    OUT.write_text(json.dumps(made) + "\n")


if __name__ == "__main__":
    main()
