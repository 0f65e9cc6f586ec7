"""What models with M-RoPE say of a text with an image in it: tests/fixtures/axes.json.

    python tools/oracle/make_axes.py

The formulas of llama.cpp (`ggml_mrope_cache_init`, `models/qwen2vl.cpp`, `models/qwen3vl.cpp`) in numpy, in f64. In
plain text they are compared with llama.cpp's own committed answers first.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from gguf import GGUFReader, dequantize

FIXTURES = Path(__file__).parents[2] / "tests" / "fixtures"
BEFORE, ROWS, COLUMNS, BEHIND = 5, 3, 4, 8
NAMES = ["qwen2vl-f16", "qwen3vl-f16"]


class Model:
    """A dense Qwen with rotations by sections."""

    def __init__(self, name: str):
        reader = GGUFReader(FIXTURES / "models" / f"{name}.gguf")
        self.tensors = {t.name: dequantize(t.data, t.tensor_type).astype(np.float64) for t in reader.tensors}
        self.architecture = name.split("-")[0]
        self.fields = reader.fields
        self.layers, self.heads = self.key("block_count"), self.key("attention.head_count")
        self.kv_heads = self.key("attention.head_count_kv")
        self.eps, self.theta = self.key("attention.layer_norm_rms_epsilon"), self.key("rope.freq_base")
        self.sections = self.key("rope.dimension_sections")
        self.by_turns = self.architecture == "qwen3vl"

    def key(self, name: str):
        return self.fields[f"{self.architecture}.{name}"].contents()

    def axis(self, pair: int) -> int:
        """ggml's `ggml_mrope_cache_init`."""
        t, h, w, _ = self.sections
        sector = pair % sum(self.sections)
        if self.by_turns:
            if sector % 3 == 1 and sector < 3 * h:
                return 1
            if sector % 3 == 2 and sector < 3 * w:
                return 2
            return 0 if sector % 3 == 0 and sector < 3 * t else 3
        return 0 if sector < t else 1 if sector < t + h else 2 if sector < t + h + w else 3

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + self.eps) * self.tensors[f"{name}.weight"]

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.tensors[f"{name}.weight"].T + self.tensors.get(f"{name}.bias", 0.0)

    def rotated(self, x: np.ndarray, places: np.ndarray) -> np.ndarray:
        """x (positions, heads, dims), halves of a head are pairs; places (positions, 4)."""
        pairs = x.shape[-1] // 2
        axes = [self.axis(pair) for pair in range(pairs)]
        angles = (places[:, axes] * self.theta ** (-np.arange(pairs) / pairs))[:, None, :]
        a, b = x[..., :pairs], x[..., pairs:]
        return np.concatenate([a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)], -1)

    def attention(self, x: np.ndarray, layer: str, places: np.ndarray) -> np.ndarray:
        n = len(x)
        q, k, v = (self.linear(x, f"{layer}.attn_{of}") for of in "qkv")
        q, k, v = q.reshape(n, self.heads, -1), k.reshape(n, self.kv_heads, -1), v.reshape(n, self.kv_heads, -1)
        if f"{layer}.attn_q_norm.weight" in self.tensors:
            q, k = self.norm(q, f"{layer}.attn_q_norm"), self.norm(k, f"{layer}.attn_k_norm")
        q, k = self.rotated(q, places), self.rotated(k, places)
        k, v = (np.repeat(of, self.heads // self.kv_heads, axis=1) for of in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(q.shape[-1])
        scores[:, np.triu(np.ones((n, n), bool), 1)] = -np.inf
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        return self.linear(np.einsum("hqk,khd->qhd", weights, v).reshape(n, -1), f"{layer}.attn_output")

    def logits(self, ids: list[int], places: np.ndarray) -> np.ndarray:
        x = self.tensors["token_embd.weight"][ids]
        for number in range(self.layers):
            layer = f"blk.{number}"
            x = x + self.attention(self.norm(x, f"{layer}.attn_norm"), layer, places)
            h = self.norm(x, f"{layer}.ffn_norm")
            gate = self.linear(h, f"{layer}.ffn_gate")
            x = x + self.linear(gate / (1 + np.exp(-gate)) * self.linear(h, f"{layer}.ffn_up"), f"{layer}.ffn_down")
        head = "output" if "output.weight" in self.tensors else "token_embd"
        return self.linear(self.norm(x, "output_norm"), head)


def log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def text_places(count: int) -> np.ndarray:
    return np.array([[p, p, p, 0] for p in range(count)], np.float64)


def image_places() -> np.ndarray:
    """Text, an image, text behind its longer side."""
    cells = [[BEFORE, BEFORE + i // COLUMNS, BEFORE + i % COLUMNS, 0] for i in range(ROWS * COLUMNS)]
    behind = BEFORE + max(ROWS, COLUMNS) + np.arange(BEHIND)
    text = np.stack([behind, behind, behind, 0 * behind], -1)
    return np.concatenate([text_places(BEFORE), np.array(cells, np.float64), text])


def check(name: str, model: Model) -> list[int]:
    """llama.cpp's own answers to a text; returns its ids."""
    answers = json.loads((FIXTURES / "models" / f"{name}.json").read_text())
    ids, exact = answers["forced"], answers["exact"]
    logprobs = log_softmax(model.logits(ids, text_places(len(ids))))
    found = logprobs[np.arange(len(ids) - 1), ids[1:]]
    worst = np.abs(found - np.array(exact["logprobs"])).max()
    print(f"{name}: at most {worst:.1e} from llama.cpp in text")
    assert worst < 1e-3, "other formulas than llama.cpp's"
    return ids


def main() -> None:
    answers = {}
    for name in NAMES:
        model = Model(name)
        places = image_places()
        ids = check(name, model)[:len(places)]
        logprobs = log_softmax(model.logits(ids, places))
        plain = log_softmax(model.logits(ids, text_places(len(ids))))
        assert np.abs(logprobs - plain)[BEFORE + 1:].max(axis=-1).min() > 1e-3, "positions that change nothing"
        answers[name] = {
            "ids": ids, "before": BEFORE, "rows": ROWS, "columns": COLUMNS,
            "top1": logprobs.argmax(axis=-1).tolist(),
            "logprobs": [round(float(logprobs[i, token]), 5) for i, token in enumerate(ids[1:])],
        }
    lines = ",\n".join(f'"{name}": {json.dumps(answer)}' for name, answer in answers.items())
    (FIXTURES / "axes.json").write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
