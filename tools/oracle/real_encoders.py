"""Write an encoder of random weights in the shape of a published one, and a small text model that takes its rows, for
measurements of speed and memory.

    python tools/oracle/real_encoders.py --list
    python tools/oracle/real_encoders.py gemma3 VOCABULARY.gguf FOLDER

writes FOLDER/gemma3.gguf and FOLDER/gemma3-text.gguf, whose tokens are those of VOCABULARY.gguf: any small model. A
million numbers of each tensor are drawn and then repeated.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import gguf
import numpy as np

DRAWN = 1 << 20
RANDOM = np.random.default_rng(0)
IMAGES = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3, "attention.layer_norm_epsilon": 1e-6}


def draw(shape: tuple[int, ...], half: bool) -> np.ndarray:
    count = math.prod(shape)
    deviation = 1 / math.sqrt(math.prod(shape[1:])) if len(shape) > 1 else 0.1
    values = RANDOM.standard_normal(min(count, DRAWN), dtype=np.float32) * deviation
    return np.resize(values, shape).astype(np.float16 if half and len(shape) > 1 else np.float32)


class File:
    """A GGUF file in the making. Matrices are F16, as published encoders have them."""

    def __init__(self, path: Path, architecture: str):
        self.writer = gguf.GGUFWriter(path, architecture)

    def number(self, key: str, value: float | list):
        writer = self.writer
        add = {bool: writer.add_bool, float: writer.add_float32, list: writer.add_array, str: writer.add_string}
        add.get(type(value), writer.add_uint32)(key, value)

    def tensor(self, name: str, *shape: int, half=True):
        self.writer.add_tensor(name, draw(shape, half))

    def linear(self, name: str, out: int, of: int):
        self.tensor(f"{name}.weight", out, of)
        self.tensor(f"{name}.bias", out)

    def norm(self, name: str, width: int, bias=True):
        self.writer.add_tensor(f"{name}.weight", np.ones(width, np.float32))
        if bias:
            self.tensor(f"{name}.bias", width)

    def end(self):
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


class Encoder(File):
    """One of images, or of sounds."""

    def __init__(self, path: Path, projector: str, sizes: tuple[int, int, int, int], width: int, **numbers):
        super().__init__(path, "clip")
        self.d, self.ffn, self.layers, heads = sizes
        self.hears = "num_mel_bins" in numbers
        kind = "audio" if self.hears else "vision"
        self.writer.add_type("mmproj")
        self.number(f"clip.has_{kind}_encoder", True)
        self.number("clip.projector_type", projector)
        numbers |= {"embedding_length": self.d, "feed_forward_length": self.ffn, "block_count": self.layers,
                    "attention.head_count": heads, "projection_dim": width}
        numbers |= {"attention.layer_norm_epsilon": 1e-5} if self.hears else IMAGES
        for key, value in numbers.items():
            self.number(f"clip.{kind}.{key}", value)

    def start(self, patch: int, places: int, second=False):
        self.number("clip.use_gelu", True)
        for suffix in ["weight", "weight.1"] if second else ["weight"]:
            self.tensor(f"v.patch_embd.{suffix}", self.d, 3, patch, patch)
        self.tensor("v.patch_embd.bias", self.d)
        self.tensor("v.position_embd.weight", places, self.d, half=False)

    def blocks(self, fused=False):
        d, group = self.d, "a" if self.hears else "v"
        for layer in range(self.layers):
            at = f"{group}.blk.{layer}."
            self.norm(at + "ln1", d)
            self.norm(at + "ln2", d)
            for part in ["qkv"] if fused else "qkv":
                self.linear(at + f"attn_{part}", 3 * d if fused else d, d)
            self.linear(at + "attn_out", d, d)
            self.linear(at + "ffn_up", self.ffn, d)
            self.linear(at + "ffn_down", d, self.ffn)
        self.norm(f"{group}.post_ln", d)


def gemma3(path: Path) -> tuple[str, int, dict]:
    """SigLIP 400M at 896², as Gemma 3 4B has it: 4,096 patches."""
    e = Encoder(path, "gemma3", (1152, 4304, 27, 16), 2560, image_size=896, patch_size=14,
                **{"projector.scale_factor": 4})
    e.start(14, 4096)
    e.blocks()
    e.norm("mm.soft_emb_norm", 1152, bias=False)
    e.tensor("mm.input_projection.weight", 1152, 2560)
    e.end()
    return "llama", 2560, {}


def lfm2(path: Path) -> tuple[str, int, dict]:
    """SigLIP 2 of 86M, as LFM2.5-VL 450M has it."""
    e = Encoder(path, "lfm2", (768, 3072, 12, 12), 1024, image_size=256, patch_size=16,
                **{"projector.scale_factor": 2})
    e.start(16, 256)
    e.blocks()
    e.norm("mm.input_norm", 3072)
    e.linear("mm.1", 2560, 3072)
    e.linear("mm.2", 1024, 2560)
    e.end()
    return "llama", 1024, {}


def qwen3vl(path: Path) -> tuple[str, int, dict]:
    """That of Qwen3-VL 2B."""
    e = Encoder(path, "qwen3vl_merger", (1024, 4096, 24, 16), 2048, image_size=768, patch_size=16,
                spatial_merge_size=2)
    e.start(16, 2304, second=True)
    e.blocks(fused=True)
    e.linear("mm.0", 4096, 4096)
    e.linear("mm.2", 2048, 4096)
    for layer in [5, 11, 17]:
        e.norm(f"v.deepstack.{layer}.norm", 4096)
        e.linear(f"v.deepstack.{layer}.fc1", 4096, 4096)
        e.linear(f"v.deepstack.{layer}.fc2", 2048, 4096)
    e.end()
    return "qwen3vl", 2048, {"rope.dimension_sections": [12, 10, 10, 0], "n_deepstack_layers": 3}


def qwen3a(path: Path) -> tuple[str, int, dict]:
    """That of Qwen3-ASR 0.6B."""
    e = Encoder(path, "qwen3a", (896, 3584, 18, 14), 1024, num_mel_bins=128)
    for number, of in enumerate([1, 480, 480], 1):
        e.tensor(f"a.conv2d.{number}.weight", 480, of, 3, 3)
        e.tensor(f"a.conv2d.{number}.bias", 480, 1, 1, half=False)
    e.tensor("a.conv_out.weight", 896, 480 * 16)
    e.tensor("a.position_embd.weight", 1500, 896)
    e.blocks()
    e.linear("mm.a.mlp.1", 896, 896)
    e.linear("mm.a.mlp.2", 1024, 896)
    e.end()
    return "qwen3vl", 1024, {"rope.dimension_sections": [12, 10, 10, 0], "n_deepstack_layers": 0}


def text_model(path: Path, vocabulary: Path, architecture: str, width: int, numbers: dict):
    """Four small layers of this width."""
    head_dim, heads, kv_heads, ffn = 64, 4, 2, 256
    keys = {"block_count": 4, "context_length": 8192, "embedding_length": width, "feed_forward_length": ffn,
            "attention.head_count": heads, "attention.head_count_kv": kv_heads, "attention.key_length": head_dim,
            "attention.value_length": head_dim, "rope.dimension_count": head_dim, "rope.freq_base": 1e4,
            "attention.layer_norm_rms_epsilon": 1e-5} | numbers
    f = File(path, architecture)
    for key, value in keys.items():
        f.number(f"{architecture}.{key}", value)
    reader = gguf.GGUFReader(vocabulary)
    for key, field in reader.fields.items():
        if key.startswith("tokenizer."):
            f.number(key, field.contents())
    f.tensor("token_embd.weight", len(reader.fields["tokenizer.ggml.tokens"].data), width)
    f.norm("output_norm", width, bias=False)
    for layer in range(4):
        at = f"blk.{layer}."
        shapes = {"attn_q": (heads * head_dim, width), "attn_k": (kv_heads * head_dim, width),
                  "attn_v": (kv_heads * head_dim, width), "attn_output": (width, heads * head_dim),
                  "ffn_gate": (ffn, width), "ffn_up": (ffn, width), "ffn_down": (width, ffn)}
        for name, shape in shapes.items():
            f.tensor(f"{at}{name}.weight", *shape)
        norms = {"attn_norm": width, "ffn_norm": width}
        norms |= {"attn_q_norm": head_dim, "attn_k_norm": head_dim} if architecture == "qwen3vl" else {}
        for name, count in norms.items():
            f.norm(at + name, count, bias=False)
    f.end()


ENCODERS = {make.__name__: make for make in [gemma3, lfm2, qwen3vl, qwen3a]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("encoder", nargs="?", choices=ENCODERS)
    parser.add_argument("vocabulary", nargs="?", type=Path)
    parser.add_argument("folder", nargs="?", type=Path)
    given = parser.parse_args()
    if given.list:
        for name, make in ENCODERS.items():
            print(f"{name}: {make.__doc__}")
        return
    if not given.folder:
        parser.error("name an encoder, a vocabulary and a folder, or give --list")
    name, folder = given.encoder, given.folder
    architecture, width, numbers = ENCODERS[name](folder / f"{name}.gguf")
    text_model(folder / f"{name}-text.gguf", given.vocabulary, architecture, width, numbers)


main()
