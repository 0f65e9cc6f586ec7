"""Small random encoders of images and sounds and what llama.cpp makes of them: tests/fixtures/encoders/.

    python tools/oracle/make_encoders.py

llama.cpp must be built without its tables of GELU in f16: see README.md. It asks `mtmd`: rows of each tile, positions
behind the prompt, and what a text model writes greedily after it, each with its log-probability. Of a sound, whose
rows are many, some rows.
"""

from __future__ import annotations

import ctypes
import json
import math
import sys
import tempfile
import wave
from pathlib import Path

import gguf
import numpy as np
from f32_twin import write_twin
from PIL import Image

try:
    import llama_cpp
    import llama_cpp.mtmd_cpp as mtmd
except (ModuleNotFoundError, FileNotFoundError):  # Encoders that only the newest version knows do without it.
    llama_cpp = mtmd = None

MODELS = Path(__file__).parents[2] / "tests" / "fixtures" / "models"
TARGET = Path(__file__).parents[2] / "tests" / "fixtures" / "encoders"
PREDICT = 8
GELU, SILU = {"clip.use_gelu": True}, {"clip.use_silu": True}
# Tokens that Qwen3-ASR has, in place of the last but three of a vocabulary: control tokens, and one that is written.
ASR = {"<|audio_start|>": 3, "<|audio_end|>": 3, "<asr_text>": 4}


class Encoder:
    """A file of an encoder in the making. Widths are odd on purpose, and types differ from tensor to tensor."""

    only_some = False  # whether some rows of an image are expected, not all
    newest = False  # whether the newest llama.cpp is asked, which has mended the encoder: by make_pictures.py

    def __init__(self, name: str, projector: str, text: str, sizes: list[tuple[int, int]], **numbers):
        self.name, self.text, self.sizes = name, text, sizes
        self.random = np.random.default_rng(sum(name.encode()))
        self.path = TARGET / f"{name}.gguf"
        self.tensors: list[tuple[str, np.ndarray, bool]] = []
        self.keys: dict[str, object] = {"clip.projector_type": projector}
        base = {"image_size": 24, "patch_size": 4, "embedding_length": 36, "feed_forward_length": 50, "block_count": 2,
                "attention__head_count": 3, "attention__layer_norm_epsilon": 1e-6, "image_mean": [0.5, 0.4, 0.45],
                "image_std": [0.5, 0.3, 0.25]} | numbers
        self.numbers = base
        self.width = base["embedding_length"]
        self.keys |= {f"clip.vision.{key.replace('__', '.')}": value for key, value in base.items()}

    def tensor(self, name: str, *shape: int, mean=0.0, deviation=None, half=False):
        deviation = deviation or (1 / math.sqrt(math.prod(shape[1:])) if len(shape) > 1 else 0.1)
        values = (mean + deviation * self.random.standard_normal(shape)).astype(np.float32)
        self.tensors.append((name, values, half))

    def norm(self, name: str, width: int, bias=True):
        self.tensor(f"{name}.weight", width, mean=1.0, deviation=0.2)
        if bias:
            self.tensor(f"{name}.bias", width)

    def linear(self, name: str, out: int, of: int, bias=True, half=False):
        self.tensor(f"{name}.weight", out, of, half=half)
        if bias:
            self.tensor(f"{name}.bias", out)

    def start(self, places: tuple[int, ...] = (), bias=True, second=False):
        d, patch = self.width, self.numbers["patch_size"]
        for suffix in ["weight"] + ["weight.1"] * second:
            self.tensor(f"v.patch_embd.{suffix}", d, 3, patch, patch, deviation=0.15)
        if bias:
            self.tensor("v.patch_embd.bias", d)
        if places:
            self.tensor("v.position_embd.weight", *places, d, deviation=0.5)

    def blocks(self, *, bias=True, norm_bias=None, fused=False, gate=False, sandwich=False, half=False):
        d, ff = self.width, self.numbers["feed_forward_length"]
        heads = self.numbers["attention__head_count"]
        norm_bias = bias if norm_bias is None else norm_bias
        for layer in range(self.numbers["block_count"]):
            at = f"v.blk.{layer}."
            self.norm(at + "ln1", d, norm_bias)
            self.norm(at + "ln2", d, norm_bias)
            for part in ["qkv"] if fused else "qkv":
                self.linear(at + f"attn_{part}", 3 * d if fused else d, d, bias, half)
            self.linear(at + "attn_out", d, d, bias, half)
            self.linear(at + "ffn_up", ff, d, bias, half)
            self.linear(at + "ffn_down", d, ff, bias, half)
            if gate:
                self.linear(at + "ffn_gate", ff, d, bias, half)
            if sandwich:
                for name, width in [("attn_post_norm", d), ("ffn_post_norm", d), ("attn_q_norm", d // heads),
                                    ("attn_k_norm", d // heads)]:
                    self.norm(at + name, width, False)
                self.tensor(at + "out_scale.weight", 1, mean=0.8)

    def write(self, path: Path, half: bool):
        """With matrices in F16 where they were asked for, or with the same values in F32."""
        writer = gguf.GGUFWriter(path, "clip")
        writer.add_type("mmproj")
        writer.add_bool(f"clip.has_{'audio' if isinstance(self, Listener) else 'vision'}_encoder", True)
        for key, value in self.keys.items():
            add = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, str: writer.add_string,
                   np.int32: writer.add_int32}
            add.get(type(value), writer.add_array)(key, value)
        for name, values, is_half in self.tensors:
            is_behind = self.keys["clip.projector_type"] != "deepseekocr"
            if not half and is_behind and "v.class_embd" in [tensor[0] for tensor in self.tensors] and name.startswith("v.position"):
                values = np.concatenate([values[1:], values[:1]])
            values = values.astype(np.float16) if is_half else values
            writer.add_tensor(name, values if half else values.astype(np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


class Listener(Encoder):
    """An encoder of sounds."""

    def __init__(self, name: str, text: str, sounds: list[int], **numbers):
        super().__init__(name, name, text, [])
        self.sounds, self.width = sounds, numbers["embedding_length"]
        self.numbers = {"feed_forward_length": 44, "block_count": 2, "attention__head_count": 4, "num_mel_bins": 40,
                        "attention__layer_norm_epsilon": 1e-5} | numbers
        self.keys = {"clip.projector_type": name}
        self.keys |= {f"clip.audio.{key.replace('__', '.')}": value for key, value in self.numbers.items()}

    def layers(self, k_bias: bool):
        d, ff = self.width, self.numbers["feed_forward_length"]
        for layer in range(self.numbers["block_count"]):
            at = f"a.blk.{layer}."
            self.norm(at + "ln1", d)
            self.norm(at + "ln2", d)
            for part in "qkv":
                self.linear(at + f"attn_{part}", d, d, part != "k" or k_bias, half=True)
            self.linear(at + "attn_out", d, d)
            self.linear(at + "ffn_up", ff, d)
            self.linear(at + "ffn_down", d, ff)
        self.norm("a.post_ln", d)


class Whisper(Listener):
    """Of Whisper's kind. llama.cpp rounds what the second convolution reads to f16: its kernel is small, so that rows
    can be compared closely."""

    second = 0.3  # how large that kernel is

    def __init__(self, name: str, text: str, sounds: list[int], **numbers):
        super().__init__(name, text, sounds, **numbers)
        d = self.width
        self.tensor("a.conv1d.1.weight", d, self.numbers["num_mel_bins"], 3, half=True)
        self.tensor("a.conv1d.1.bias", d, 1)
        self.tensor("a.conv1d.2.weight", d, d, 3, deviation=self.second / math.sqrt(3 * d), half=True)
        self.tensor("a.conv1d.2.bias", d, 1)
        self.tensor("a.position_embd.weight", 1500, d, deviation=0.3, half=True)
        self.layers(False)


def sound(count: int) -> np.ndarray:
    """Waves with noise, 16 bits."""
    at = np.arange(count, dtype=np.int64)
    noise = ((at * 2654435761 + 12345) % 4294967296 >> 16) - 32768
    return (noise // 8 + (at % 50 - 25) * 500 + (at * 3 % 331 - 165) * 20).astype(np.int16)


def save_sound(path: Path, samples: np.ndarray) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16000)
        file.writeframes(samples.astype("<i2").tobytes())


class Voxtral(Whisper):
    """llama.cpp takes the mean of pairs of rows before Voxtral's projector, which the model's own code does not. What it
    is asked about is an encoder of GLM-ASR with the same weights, which differs in the names of the last norm and in two
    rows around the others."""

    begins, is_framed, second = "[BEGIN_AUDIO]", True, 0.08

    def write(self, path: Path, half: bool):
        if half:
            return super().write(path, half)
        kept = self.keys, self.tensors
        renamed = [(name.replace("a.post_ln", "mm.a.norm_pre"), *rest) for name, *rest in self.tensors]
        rows = self.numbers["projection_dim"]
        zeros = {"mm.a.mlp.1.bias": len(dict((name, values) for name, values, _ in renamed)["mm.a.mlp.1.weight"]),
                 "mm.a.mlp.2.bias": rows, "v.boi": rows, "v.eoi": rows}
        self.keys = self.keys | {"clip.projector_type": "glma"}
        self.tensors = renamed + [(name, np.zeros(count, np.float32), False) for name, count in zeros.items()]
        super().write(path, half)
        self.keys, self.tensors = kept


def conformer() -> Listener:
    """That of Gemma 4. Some products keep what goes in and comes out between two numbers. With so many bins the first
    convolution has more rows, for 30 seconds, than a grid of WebGPU."""
    e = Listener("gemma4a", "gemma4-bf16", [8219, 30011, 500123], embedding_length=32, projection_dim=56,
                 num_mel_bins=125, attention__head_count=2)
    d, ff, channels = 32, e.numbers["feed_forward_length"], [8, 6]

    def product(name: str, out: int, of: int, bounds: float = 0, bias=False):
        e.linear(name, out, of, bias, half="ffn" in name)
        for part in ["input", "output"] if bounds else []:
            e.tensor(f"{name}.{part}_min", 1, mean=-bounds)
            e.tensor(f"{name}.{part}_max", 1, mean=bounds)

    for number, (of, out) in enumerate(zip([1, *channels], channels)):
        e.tensor(f"a.conv1d.{number}.weight", out, of, 3, 3)
        e.tensor(f"a.conv1d.{number}.norm.weight", out, mean=1.0, deviation=0.2)
    # llama.cpp rounds what the second convolution reads to f16: the bias is most of what follows, so that rows can be
    # compared closely.
    e.tensor("a.input_projection.weight", d, channels[1] * 32, deviation=0.014)
    e.tensor("a.input_projection.bias", d, deviation=1.0)
    for layer in range(e.numbers["block_count"]):
        at = f"a.blk.{layer}."
        for name in ["ffn_norm", "ffn_post_norm", "ffn_norm_1", "ffn_post_norm_1", "attn_pre_norm", "attn_post_norm",
                     "conv_norm", "norm_conv", "ln2"]:
            e.norm(at + name, d, False)
        for half in ["", "_1"]:
            product(f"{at}ffn_up{half}", ff, d, 1.5)
            product(f"{at}ffn_down{half}", d, ff)
        for part in "qkv":
            product(f"{at}attn_{part}", d, d, 0.9 if layer == 0 else 0)
        product(f"{at}attn_out", d, d, 0.6)
        e.tensor(f"{at}attn_k_rel.weight", d, d)
        e.tensor(f"{at}per_dim_scale.weight", d // 2, mean=2.0, deviation=0.4)
        if layer == 0:
            e.tensor(f"{at}per_dim_k_scale.weight", d // 2, mean=0.7, deviation=0.2)
        product(f"{at}conv_pw1", 2 * d, d, 1.1 if layer == 1 else 0)
        e.tensor(f"{at}conv_dw.weight", d, 5)
        product(f"{at}conv_pw2", d, d)
    product("a.pre_encode.out", 40, d, bias=True)
    product("mm.a.input_projection", 56, 40, 1.8)
    return e


def bounded() -> Encoder:
    """That of Gemma 4 E2B and E4B, whose products keep what goes in and comes out between two numbers, of each product
    others."""
    e = Encoder("gemma4v-bounded", "gemma4v", "gemma4-bf16", [(60, 40), (20, 22)], image_size=24, patch_size=2,
                embedding_length=24, feed_forward_length=20, projection_dim=56, image_mean=[0.0, 0.0, 0.0],
                image_std=[1.0, 1.0, 1.0])
    e.only_some = e.newest = True
    e.start((2, 36), False)
    e.blocks(bias=False, gate=True, sandwich=True)
    e.tensor("mm.input_projection.weight", 56, 24)
    names = [name for name, values, _ in e.tensors if values.ndim == 2 and name != "v.patch_embd.weight"]
    for number, name in enumerate(name.removesuffix("weight") for name in names):
        # One product is bounded only before it, another only behind it.
        for at, part in enumerate(["input", "output"]):
            if number in (3, 5) and at == (number == 3):
                continue
            e.tensor(f"{name}{part}_min", 1, mean=-0.5 - 0.1 * (number % 3) - at / 5)
            e.tensor(f"{name}{part}_max", 1, mean=0.6 + 0.1 * (number % 4) + at / 5)
    return e


def encoders():
    e = Whisper("ultravox", "llama-f32", [8219, 30011, 500123], embedding_length=32, projection_dim=64,
                 projector__stack_factor=4)
    e.norm("mm.a.norm_pre", 128, False)
    e.tensor("mm.a.mlp.1.weight", 56, 128)
    e.norm("mm.a.norm_mid", 28, False)
    e.tensor("mm.a.mlp.2.weight", 64, 28)
    yield e
    deeper(MODELS / "qwen2vl-f16.gguf", TARGET / "qwen2a-text.gguf", 1, {"qwen2vl.context_length": 1024})
    e = Whisper("qwen2a", "../encoders/qwen2a-text", [8219, 30011], embedding_length=24, projection_dim=40)
    e.linear("mm.a.fc", 40, 24)
    yield e
    # The vocabulary of the text model has the tokens of Qwen3-ASR.
    deeper(MODELS / "qwen3vl-f16.gguf", TARGET / "qwen3a-text.gguf", 1, {"qwen3vl.n_deepstack_layers": 0}, ASR)
    e = Listener("qwen3a", "../encoders/qwen3a-text", [8219, 30011, 140123], embedding_length=36, projection_dim=44,
                 attention__head_count=3, num_mel_bins=27)
    channels = 7
    # llama.cpp rounds what all convolutions read to f16: see `Whisper`.
    for number, (of, scale) in enumerate([(1, 1.0), (channels, 0.5), (channels, 0.5)], 1):
        e.tensor(f"a.conv2d.{number}.weight", channels, of, 3, 3, deviation=scale / math.sqrt(9 * of), half=True)
        e.tensor(f"a.conv2d.{number}.bias", channels, 1, 1)
    e.tensor("a.conv_out.weight", 36, 4 * channels, half=True)
    e.tensor("a.position_embd.weight", 20, 36, deviation=0.5, half=True)
    e.layers(True)
    e.linear("mm.a.mlp.1", 36, 36)
    e.linear("mm.a.mlp.2", 44, 36)
    yield e
    yield conformer()
    e = Voxtral("voxtral", "llama-f32", [8219, 30011], embedding_length=24, projection_dim=64,
                projector__stack_factor=4)
    e.tensor("mm.a.mlp.1.weight", 50, 96)
    e.tensor("mm.a.mlp.2.weight", 64, 50)
    yield e
    sizes = [(60, 40), (200, 121)]
    e = Encoder("gemma3", "gemma3", "gemma3-f16", sizes, projection_dim=64, projector__scale_factor=2)
    e.keys |= GELU
    e.start((36,))
    e.blocks()
    e.norm("v.post_ln", 36)
    e.norm("mm.soft_emb_norm", 36, False)
    e.tensor("mm.input_projection.weight", 36, 64)
    yield e
    e = Encoder("idefics3", "idefics3", "llama-f32", sizes, projection_dim=64, projector__scale_factor=2,
                preproc_image_size=48)
    e.keys |= GELU
    e.start((36,))
    e.blocks(half=True)
    e.norm("v.post_ln", 36)
    e.tensor("mm.model.fc.weight", 64, 36 * 4)
    yield e
    e = Encoder("lfm2", "lfm2", "lfm2-bf16", sizes, image_size=32, projection_dim=60, projector__scale_factor=2)
    e.keys |= GELU
    e.start((64,))
    e.blocks()
    e.norm("v.post_ln", 36)
    e.norm("mm.input_norm", 36 * 4)
    e.linear("mm.1", 41, 36 * 4)
    e.linear("mm.2", 60, 41)
    yield e
    e = Encoder("qwen25vl", "qwen2.5vl_merger", "qwen2vl-f16", [(60, 40), (160, 170)], image_size=32,
                projection_dim=40, n_wa_pattern=2, block_count=3)
    e.keys |= SILU
    e.start((), False, second=True)
    e.blocks(gate=True, norm_bias=False)
    e.norm("v.post_ln", 36, False)
    e.linear("mm.0", 144, 144)
    e.linear("mm.2", 40, 144)
    yield e
    for name, projector, text, width in [("qwen2vl", "qwen2vl_merger", "qwen2vl-f16", 40),
                                         ("qwen3vl", "qwen3vl_merger", "qwen3vl-f16", 44)]:
        e = Encoder(name, projector, text, [(60, 40), (150, 90)], image_size=32, projection_dim=width)
        e.start((64,) if name == "qwen3vl" else (), name == "qwen3vl", second=True)
        e.keys |= GELU if name == "qwen3vl" else {}
        e.blocks(fused=name == "qwen3vl")
        e.norm("v.post_ln", 36)
        e.linear("mm.0", 144, 144)
        e.linear("mm.2", width, 144)
        yield e
    deeper(MODELS / "qwen3vl-f16.gguf", TARGET / "qwen3vl-deep-text.gguf", 3, {"qwen3vl.n_deepstack_layers": 2})
    e = Encoder("qwen3vl-deep", "qwen3vl_merger", "../encoders/qwen3vl-deep-text", [(60, 40), (150, 90)], image_size=32,
                projection_dim=44)
    e.start((64,), second=True)
    e.keys |= GELU
    e.blocks(fused=True)
    e.norm("v.post_ln", 36)
    e.linear("mm.0", 144, 144)
    e.linear("mm.2", 44, 144)
    for layer in range(2):
        e.norm(f"v.deepstack.{layer}.norm", 144)
        e.linear(f"v.deepstack.{layer}.fc1", 144, 144)
        e.linear(f"v.deepstack.{layer}.fc2", 44, 144)
    yield e
    # llama.cpp rounds what the merger reads to f16: its bias is most of what follows, so that rows can be compared
    # closely.
    e = Encoder("glm4v", "glm4v", "glm4-axes-f16", [(60, 40), (150, 90)], image_size=32, projection_dim=40)
    e.keys |= SILU
    e.only_some = True
    e.start((64,), second=True)
    e.norm("v.norm_embd", 36, False)
    e.blocks(bias=False, gate=True, fused=True, half=True)
    e.norm("v.post_ln", 36, False)
    e.tensor("mm.patch_merger.weight", 28, 36, 2, 2, deviation=0.008, half=True)
    e.tensor("mm.patch_merger.bias", 28, deviation=1.0)
    e.tensor("mm.model.fc.weight", 30, 28)
    e.norm("mm.post_norm", 30)
    e.tensor("mm.gate.weight", 22, 30)
    e.tensor("mm.up.weight", 22, 30)
    e.tensor("mm.down.weight", 40, 22)
    yield e
    for name, merges in [("pixtral", True), ("pixtral-single", False)]:
        e = Encoder(name, "pixtral", "mistral3-q8_0", [(60, 40), (70, 90)], image_size=64, projection_dim=64,
                    embedding_length=48, attention__layer_norm_epsilon=1e-5, **({"spatial_merge_size": 2} if merges else {}))
        e.keys |= SILU
        e.start((), False)
        e.norm("v.pre_ln", 48, False)
        e.blocks(bias=False, gate=True)
        if merges:
            e.norm("mm.input_norm", 48, False)
            e.tensor("mm.patch_merger.weight", 48, 48 * 4)
        e.linear("mm.1", 64, 48)
        e.linear("mm.2", 64, 64)
        e.tensor("v.token_embd.img_break", 64)
        yield e
    # llama.cpp gives the class token the last position, the model's own code the first: the expected rows are of a
    # table in whose last row the first one is.
    e = Encoder("internvl", "internvl", "llama-f32", [(60, 40), (20, 22)], projection_dim=64, projector__scale_factor=2,
                image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225])
    e.keys |= GELU
    e.start((37,))
    e.tensor("v.class_embd", 36)
    e.blocks()
    for layer in range(2):
        for name in ["ls1", "ls2"]:
            e.tensor(f"v.blk.{layer}.{name}.weight", 36, mean=0.8)
    e.norm("mm.model.mlp.0", 144)
    e.linear("mm.model.mlp.1", 64, 144)
    e.linear("mm.model.mlp.3", 64, 64)
    yield e
    e = Encoder("gemma4v", "gemma4v", "gemma4-bf16", [(144, 96), (170, 110)], image_size=224, projection_dim=56,
                image_mean=[0.0, 0.0, 0.0], image_std=[1.0, 1.0, 1.0])
    e.newest = True
    e.start((2, 128), False)
    e.blocks(bias=False, gate=True, sandwich=True)
    e.tensor("v.std_bias", 36)
    e.tensor("v.std_scale", 36, mean=1.0, deviation=0.2)
    e.tensor("mm.input_projection.weight", 56, 36)
    yield e
    yield bounded()
    e = Encoder("gemma4uv", "gemma4uv", "gemma4-bf16", [(60, 40), (20, 22)], image_size=24, patch_size=2,
                embedding_length=20, block_count=0, feed_forward_length=0, attention__head_count=0, projection_dim=56)
    e.only_some = e.newest = True
    for number, width in [(1, 108), (2, 20), (3, 20)]:
        e.norm(f"v.patch_norm.{number}", width)
    e.linear("v.patch_embd", 20, 108, half=True)
    e.tensor("v.position_embd.weight", 2, 12, 20, deviation=0.5)
    e.tensor("mm.input_projection.weight", 56, 20)
    yield e
    # What a file says of bins, does not count.
    e = Listener("gemma4ua", "gemma4-bf16", [8219, 30011, 500123], embedding_length=640, block_count=0,
                 feed_forward_length=0, attention__head_count=0, num_mel_bins=128, projection_dim=56)
    e.tensor("mm.a.input_projection.weight", 56, 640, half=True)
    yield e


def deeper(source: Path, target: Path, layers: int, keys: dict[str, int | str | list[int]], tokens: dict[str, int] | None = None) -> None:
    """A copy of a model of one layer with so many of the same, of several with 0, with more keys, and with tokens of these
    types in place of its last ones."""
    reader = gguf.GGUFReader(source)
    architecture = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(target, architecture)
    for name, field in reader.fields.items():
        if not name.startswith(("GGUF.", "general.architecture", f"{architecture}.block_count", *keys)):
            inner = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            value = field.contents()
            if tokens and name in ("tokenizer.ggml.tokens", "tokenizer.ggml.token_type"):
                found = list(tokens if name.endswith("tokens") else tokens.values())
                value[-3 - len(found):-3] = found
            if tokens and name == "tokenizer.ggml.merges":
                value = value[:-len(tokens)]
            writer.add_key_value(name, value, field.types[0], inner)
    writer.add_block_count(layers or reader.fields[f"{architecture}.block_count"].contents())
    for key, value in keys.items():
        add = {list: writer.add_array, str: writer.add_string}.get(type(value), writer.add_uint32)
        add(key, value)
    for tensor in reader.tensors:
        names = [tensor.name.replace("blk.0.", f"blk.{layer}.") for layer in range(max(layers, 1))]
        for name in sorted(set(names)):
            writer.add_tensor(name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def picture(width: int, height: int) -> np.ndarray:
    """[height, width, 3]: waves with noise."""
    random = np.random.default_rng(width)
    y, x = np.mgrid[0:height, 0:width]
    waves = [127 + 90 * np.sin(x / 7 + k) + 30 * np.cos(y / (5 + k)) for k in range(3)]
    return np.clip(np.stack(waves, -1) + random.normal(0, 8, (height, width, 3)), 0, 255).astype(np.uint8)


def load_text(path: Path):
    params = llama_cpp.llama_model_default_params()
    params.n_gpu_layers = 0
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), params)
    assert model, path
    context = llama_cpp.llama_context_default_params()
    context.n_ctx, context.n_batch, context.n_ubatch, context.n_threads, context.n_threads_batch = 1024, 1024, 1024, 1, 1
    context.type_k = context.type_v = 0
    context.flash_attn_type = 0
    return model, llama_cpp.llama_init_from_model(model, context)


class Mtmd:
    """llama.cpp with an encoder and a text model."""

    def __init__(self, encoder: Path, text: Path):
        self.model, self.context = load_text(text)
        params = mtmd.mtmd_context_params_default()
        params.use_gpu, params.warmup, params.n_threads, params.print_timings = False, False, 1, False
        params.flash_attn_type = 0
        self.mtmd = mtmd.mtmd_init_from_file(str(encoder).encode(), self.model, params)
        assert self.mtmd, encoder
        self.vocab = llama_cpp.llama_model_get_vocab(self.model)

    def ask(self, pixels: np.ndarray, prompt: bytes) -> dict:
        height, width, _ = pixels.shape
        pixels = np.ascontiguousarray(pixels)
        return self.answer(mtmd.mtmd_bitmap_init(width, height, pixels.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))), prompt)

    def hear(self, samples: np.ndarray, prompt: bytes) -> dict:
        samples = np.ascontiguousarray(samples / 32768, np.float32)
        floats = samples.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        return some(self.answer(mtmd.mtmd_bitmap_init_from_audio(len(samples), floats), prompt))

    def hear_framed(self, samples: np.ndarray, before: list[str], behind: str) -> dict:
        """The same where the first and the last row are left out, with texts before and behind the others."""
        samples = np.ascontiguousarray(samples / 32768, np.float32)
        floats = samples.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        bitmap = mtmd.mtmd_bitmap_init_from_audio(len(samples), floats)
        chunks = self.chunks(bitmap, b"<__media__>a")
        rows = [row for piece in self.rows(chunks) for row in piece[1:-1]]
        at = [*range(0, len(rows), 17), len(rows) - 1]
        ids = [self.tokens(text, number == 0) for number, text in enumerate(before)]
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)
        past = self.decode([id for part in ids for id in part], 0)
        past = self.decode(self.tokens(behind, False), self.decode(rows, past))
        generated, logprobs = self.greedy(past)
        return {"count": len(rows), "at": at, "rows": [rows[i] for i in at], "positions": past, "generated": generated,
                "logprobs": logprobs}

    def tokens(self, text: str, is_first: bool) -> list[int]:
        found = (llama_cpp.llama_token * 64)()
        count = llama_cpp.llama_tokenize(self.vocab, text.encode(), len(text.encode()), found, 64, is_first, True)
        return list(found[:count])

    def decode(self, items: list, past: int) -> int:
        """Ids, or rows of a prompt; gives the position behind them."""
        is_rows = isinstance(items[0], list)
        batch = llama_cpp.llama_batch_init(len(items), len(items[0]) if is_rows else 0, 1)
        batch.n_tokens = len(items)
        for i, item in enumerate(items):
            if is_rows:
                for j, value in enumerate(item):
                    batch.embd[i * len(item) + j] = value
            else:
                batch.token[i] = item
            batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0] = past + i, 1, 0
            batch.logits[i] = i + 1 == len(items)
        assert llama_cpp.llama_decode(self.context, batch) == 0
        llama_cpp.llama_batch_free(batch)
        return past + len(items)

    def chunks(self, bitmap, prompt: bytes):
        chunks = mtmd.mtmd_input_chunks_init()
        text = mtmd.mtmd_input_text(prompt, len(prompt), True, True)
        assert mtmd.mtmd_tokenize(self.mtmd, chunks, ctypes.byref(text), (mtmd.mtmd_bitmap_p_ctypes * 1)(bitmap), 1) == 0
        return chunks

    def answer(self, bitmap, prompt: bytes) -> dict:
        chunks = self.chunks(bitmap, prompt)
        rows = self.rows(chunks)
        # A vocabulary without the tokens between tiles: llama.cpp cannot read what it has made.
        if any(-1 in ids for ids in self.texts(chunks)):
            return {"rows": rows}
        if sum(len(tile) for tile in rows) > llama_cpp.llama_model_n_ctx_train(self.model) - 32:
            return {"rows": rows}
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)
        past = llama_cpp.llama_pos(0)
        code = mtmd.mtmd_helper_eval_chunks(self.mtmd, self.context, chunks, 0, 0, 1024, True, ctypes.byref(past))
        assert code == 0, code
        ids, logprobs = self.greedy(past.value)
        return {"rows": rows, "positions": past.value, "generated": ids, "logprobs": logprobs}

    @staticmethod
    def texts(chunks):
        for at in range(mtmd.mtmd_input_chunks_size(chunks)):
            chunk, count = mtmd.mtmd_input_chunks_get(chunks, at), ctypes.c_size_t()
            if mtmd.mtmd_input_chunk_get_type(chunk) == 0:
                ids = mtmd.mtmd_input_chunk_get_tokens_text(chunk, ctypes.byref(count))
                yield [ids[i] for i in range(count.value)]

    def rows(self, chunks) -> list[list[list[float]]]:
        width = llama_cpp.llama_model_n_embd_inp(self.model)
        tiles = []
        for at in range(mtmd.mtmd_input_chunks_size(chunks)):
            chunk = mtmd.mtmd_input_chunks_get(chunks, at)
            if mtmd.mtmd_input_chunk_get_type(chunk) == 0:
                continue
            count = mtmd.mtmd_input_chunk_get_n_tokens(chunk)
            assert mtmd.mtmd_encode_chunk(self.mtmd, chunk) == 0
            values = np.ctypeslib.as_array(mtmd.mtmd_get_output_embd(self.mtmd), (count * width,))
            tiles.append([[round(float(x), 6) for x in row] for row in values.reshape(count, width)])
        return tiles

    def greedy(self, past: int):
        size = llama_cpp.llama_vocab_n_tokens(self.vocab)
        ids, logprobs = [], []
        for step in range(PREDICT):
            logits = np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(self.context, -1), (size,)).astype(np.float64)
            best = int(logits.argmax())
            ids.append(best)
            logprobs.append(round(float(logits[best] - np.log(np.exp(logits - logits.max()).sum()) - logits.max()), 6))
            batch = llama_cpp.llama_batch_init(1, 0, 1)
            batch.n_tokens, batch.token[0], batch.pos[0] = 1, best, past + step
            batch.n_seq_id[0], batch.seq_id[0][0], batch.logits[0] = 1, 0, 1
            assert llama_cpp.llama_decode(self.context, batch) == 0
            llama_cpp.llama_batch_free(batch)
        return ids, logprobs


def some(found: dict) -> dict:
    """The same with some of all rows."""
    rows = [row for piece in found.pop("rows") for row in piece]
    at = [*range(0, len(rows), 17), len(rows) - 1]
    return {"count": len(rows), "at": at, "rows": [rows[i] for i in at], **found}


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    only = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for encoder in encoders():
            if encoder.newest or (only and encoder.name not in only):
                continue
            encoder.write(encoder.path, half=True)
            twin, text = Path(folder) / "encoder.gguf", Path(folder) / "text.gguf"
            encoder.write(twin, half=False)
            write_twin([MODELS / f"{encoder.text}.gguf"], text)
            asked = Mtmd(twin, text)
            cases = []
            for count in getattr(encoder, "sounds", []):
                samples = sound(count)
                if count < 100_000:
                    save_sound(TARGET / f"sound-{count}.wav", samples)
                if getattr(encoder, "is_framed", False):
                    cases.append({"samples": count, **asked.hear_framed(samples, ["ab ", encoder.begins], " cd")})
                    continue
                cases.append({"samples": count, **asked.hear(samples, b"ab <__media__> cd")})
            for width, height in encoder.sizes:
                pixels = picture(width, height)
                name = f"picture-{width}x{height}.png"
                Image.fromarray(pixels).save(TARGET / name, optimize=True)
                found = asked.ask(pixels, b"ab <__media__> cd")
                cases.append({"image": name, **(some(found) if encoder.only_some else found)})
            expected = {"encoder": encoder.path.name, "text": f"{encoder.text}.gguf", "cases": cases}
            (TARGET / f"{encoder.name}.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")
            print(encoder.name, [(len(case["rows"]), len(case["rows"][0]), case.get("generated")) for case in cases], flush=True)


if __name__ == "__main__":
    main()
