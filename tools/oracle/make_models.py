"""Write the small random-weight GGUFs of tests/fixtures/models.

    python tools/oracle/make_models.py            # writes them
    python tools/oracle/make_models.py --check    # makes them again and compares with the committed bytes

The weights are seeded by the file's name. Their sizes are set so that the models behave like models: attention looks
at few positions, the layers matter as much as the embedding, the best token has a probability of some 0.2 to 0.9 and
greedy text does not fall into a loop at once.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFWriter, LlamaFileType, RopeScalingType

from random_blocks import random_tensor
from tiny_vocabulary import Vocabulary, byte_level_bpe, gemma_pieces, sentence_piece

FIXTURES = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "models"
CONTEXT = 512
SIZE_LIMIT = 6_000_000


@dataclass
class Spec:
    """One model: shape, formats and what is special about it."""
    name: str
    type: Type
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    layers: int = 1
    architecture: str = "llama"
    vocabulary: Callable[[], Vocabulary] = lambda: byte_level_bpe(307, "llama-bpe", with_bos=True)
    tied: bool = True
    rope_theta: float | None = 10000.0
    rope_factors: bool = False
    linear_rope: float | None = None
    rope_theta_sliding: float | None = None
    window: int | None = None
    window_pattern: int | list[bool] | None = None
    attention_cap: float | None = None
    final_cap: float | None = None
    rms_eps: float = 1e-5
    alignment: int | None = None
    version: int = 3
    split_at: int = 0
    embedding_std: float = 0.05
    small_weights: float = 1.0
    """Weights after a norm are divided by this and the norm multiplied by it: block scales become f16 subnormals."""
    logit_std: float = 3.6
    type_of: Callable[[str, int | None], Type | None] = lambda role, layer: None
    seed_name: str = field(default="")

    def type_for(self, role: str, layer: int | None) -> Type:
        return self.type_of(role, layer) or self.type

    @property
    def is_gemma(self) -> bool:
        return self.architecture.startswith("gemma")

    @property
    def has_post_norms(self) -> bool:
        return self.architecture in ("gemma2", "gemma3")

    @property
    def has_head_norms(self) -> bool:
        return self.architecture in ("qwen3", "gemma3")

    @property
    def stream_std(self) -> float:
        """The size of the hidden state where the first layer reads it: Gemma multiplies embeddings by √hidden."""
        return self.embedding_std * (self.hidden**0.5 if self.is_gemma else 1.0)


def like_q4_k_m(role: str, layer: int | None) -> Type | None:
    """The mixture of a Q4_K_M file: some attn_v and ffn_down and the head are Q6_K, the rest is Q4_K."""
    if role == "output" or (role in ("attn_v", "ffn_down") and layer == 0):
        return Type.Q6_K
    return None


def like_gemma_q4_k_m(role: str, layer: int | None) -> Type | None:
    """The mixture of Gemma 3 270M's Q4_K_M file: K types where rows are whole super-blocks, others elsewhere."""
    named = {"attn_v": Type.Q8_0, "token_embd": Type.Q8_0, "attn_output": Type.Q4_K}
    if role == "ffn_down":
        return Type.Q6_K if layer in (0, 6) else Type.Q4_K
    return named.get(role)


def bpe(size: int, pre: str, with_bos: bool = False) -> Callable[[], Vocabulary]:
    return lambda: byte_level_bpe(size, pre, with_bos)


def spm(size: int) -> Callable[[], Vocabulary]:
    return lambda: sentence_piece(size)


def gemma(size: int, chat: bool = False) -> Callable[[], Vocabulary]:
    return lambda: gemma_pieces(size, chat)


BF16 = dict(type=Type.BF16, hidden=64, heads=1, kv_heads=1, head_dim=64, ffn=72, vocabulary=spm(307))
Q4_1 = dict(type=Type.Q4_1, hidden=128, heads=4, kv_heads=1, head_dim=32, ffn=160, layers=2, tied=False,
            linear_rope=2.0, vocabulary=bpe(313, "gpt-2"))

# The converter writes no theta for Gemma 1 and 2.
GEMMA = dict(rope_theta=None, rms_eps=1e-6)

MODELS = [
    # name, type, hidden, heads, kv_heads, head_dim, ffn, layers
    Spec("llama-f32", Type.F32, 64, 2, 2, 32, 100, rope_theta=None),
    Spec("llama-f16", Type.F16, 96, 3, 1, 32, 96, vocabulary=bpe(311, "gpt-2"), alignment=64),
    Spec("llama-bf16", **BF16),
    Spec("llama-bf16-v2", **BF16, version=2, seed_name="llama-bf16"),
    Spec("llama-q8_0", Type.Q8_0, 160, 2, 2, 80, 96, vocabulary=spm(309)),
    Spec("llama-q4_0", Type.Q4_0, 192, 3, 1, 64, 224, layers=2, embedding_std=0.02),
    Spec("llama-q4_1", **Q4_1),
    Spec("llama-q4_1-split", **Q4_1, split_at=11, seed_name="llama-q4_1"),
    Spec("llama-q5_0", Type.Q5_0, 128, 4, 4, 32, 96, layers=2, vocabulary=spm(307)),
    Spec("llama-q5_1", Type.Q5_1, 128, 2, 1, 64, 160, layers=2, rope_theta=500000.0, rope_factors=True),
    Spec("llama-q2_k", Type.Q2_K, 256, 4, 2, 64, 256, vocabulary=bpe(301, "gpt-2")),
    Spec("llama-q3_k", Type.Q3_K, 256, 4, 1, 64, 256),
    Spec("llama-q5_k", Type.Q5_K, 256, 2, 1, 128, 256, embedding_std=0.02),
    Spec("llama-q6_k", Type.Q6_K, 256, 8, 2, 32, 256, vocabulary=spm(303)),
    Spec("llama-q4_k_m", Type.Q4_K, 256, 8, 1, 32, 256, layers=2, tied=False, embedding_std=0.01, small_weights=12.0,
         rope_theta=500000.0, type_of=like_q4_k_m),
    Spec("qwen2-q8_0", Type.Q8_0, 96, 3, 1, 32, 160, layers=2, architecture="qwen2", rope_theta=1e6, rms_eps=1e-6,
         vocabulary=bpe(307, "qwen2")),
    Spec("qwen3-q4_0", Type.Q4_0, 96, 4, 1, 64, 96, layers=2, architecture="qwen3", rope_theta=1e6, rms_eps=1e-6,
         vocabulary=bpe(319, "qwen2")),
    Spec("gemma-q8_0", Type.Q8_0, 96, 2, 1, 64, 160, layers=2, architecture="gemma", vocabulary=gemma(331), **GEMMA),
    Spec("gemma2-bf16", Type.BF16, 64, 2, 1, 48, 72, layers=2, architecture="gemma2", vocabulary=gemma(331), **GEMMA),
    Spec("gemma2-q4_0", Type.Q4_0, 96, 4, 2, 48, 160, layers=4, architecture="gemma2", vocabulary=gemma(333),
         window=50, attention_cap=3.0, final_cap=12.0, **GEMMA),
    Spec("gemma3-f16", Type.F16, 64, 1, 1, 256, 96, layers=2, architecture="gemma3", vocabulary=gemma(335),
         **{**GEMMA, "rope_theta": 1e6}),
    Spec("gemma3-q5_1", Type.Q5_1, 96, 3, 1, 64, 128, layers=4, architecture="gemma3", vocabulary=gemma(331),
         tied=False, linear_rope=8.0, rope_theta_sliding=5000.0, window=33, window_pattern=[True, False, True, False],
         final_cap=12.0, **{**GEMMA, "rope_theta": 1e6}),
    Spec("gemma3-q4_k_m", Type.Q5_0, 64, 2, 1, 128, 256, layers=7, architecture="gemma3",
         vocabulary=gemma(337, chat=True), linear_rope=8.0, window=100, type_of=like_gemma_q4_k_m,
         **{**GEMMA, "rope_theta": 1e6}),
]


class Tensors:
    """Draws the tensors of one model in the order of a llama.cpp file."""

    def __init__(self, spec: Spec, vocabulary: Vocabulary):
        self.spec = spec
        self.rng = np.random.default_rng(zlib.crc32((spec.seed_name or spec.name).encode()))
        # Tokens that are not text get rows of almost nothing: their logit is near 0 and no greedy text has them.
        ordinary = vocabulary.ordinary_ids()
        self.row_gain = np.full(len(vocabulary.tokens), 1 / 64)
        self.row_gain[ordinary] = 1.0

    def all(self) -> Iterator[tuple[str, np.ndarray, Type]]:
        spec = self.spec
        yield self.matrix("token_embd", None, len(self.row_gain), spec.hidden, spec.embedding_std, self.row_gain)
        if spec.rope_factors:
            yield "rope_freqs.weight", llama3_factors(spec.head_dim, spec.rope_theta), Type.F32
        for layer in range(spec.layers):
            yield from self.layer(layer)
        head_std = spec.embedding_std if spec.tied else spec.logit_std / spec.hidden**0.5
        yield self.output_norm(spec.logit_std / spec.hidden**0.5 / head_std)
        if not spec.tied:
            yield self.matrix("output", None, len(self.row_gain), spec.hidden, head_std, self.row_gain)

    def layer(self, layer: int) -> Iterator[tuple[str, np.ndarray, Type]]:
        spec = self.spec
        q, kv = spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim
        after_norm = 1 / spec.small_weights / spec.hidden**0.5
        score = 1.0 if spec.has_head_norms else 1.5
        yield self.norm("attn_norm", layer, spec.hidden, spec.small_weights)
        yield self.matrix("attn_q", layer, q, spec.hidden, score * after_norm)
        yield self.matrix("attn_k", layer, kv, spec.hidden, score * after_norm)
        yield self.matrix("attn_v", layer, kv, spec.hidden, after_norm)
        if spec.architecture == "qwen2":
            yield from self.biases(layer, q, kv)
        if spec.has_head_norms:
            yield self.norm("attn_q_norm", layer, spec.head_dim, 1.5)
            yield self.norm("attn_k_norm", layer, spec.head_dim, 1.5)
        yield self.matrix("attn_output", layer, spec.hidden, q, 1.5 * spec.stream_std / q**0.5)
        if spec.has_post_norms:
            yield self.norm("post_attention_norm", layer, spec.hidden, 0.6 * spec.stream_std)
        yield self.norm("ffn_norm", layer, spec.hidden, spec.small_weights)
        yield self.matrix("ffn_gate", layer, spec.ffn, spec.hidden, 1.5 * after_norm)
        yield self.matrix("ffn_up", layer, spec.ffn, spec.hidden, 1.5 * after_norm)
        yield self.matrix("ffn_down", layer, spec.hidden, spec.ffn, spec.stream_std / spec.ffn**0.5)
        if spec.has_post_norms:
            yield self.norm("post_ffw_norm", layer, spec.hidden, 0.4 * spec.stream_std)

    def matrix(self, role: str, layer: int | None, rows: int, cols: int, std: float,
               row_gain: np.ndarray | None = None) -> tuple[str, np.ndarray, Type]:
        ty = self.spec.type_for(role, layer)
        return name_of(role, layer, "weight"), random_tensor(self.rng, ty, (rows, cols), std, row_gain), ty

    def norm(self, role: str, layer: int, size: int, level: float) -> tuple[str, np.ndarray, Type]:
        weight = level * (1 + 0.2 * self.rng.standard_normal(size, dtype=np.float32))
        return name_of(role, layer, "weight"), weight.astype(np.float32), Type.F32

    def output_norm(self, level: float) -> tuple[str, np.ndarray, Type]:
        # Random signs: with all of one sign, a tied head would make every token its own best successor.
        sign = self.rng.choice(np.array([-1.0, 1.0]), self.spec.hidden)
        weight = level * sign * self.rng.uniform(0.7, 1.3, self.spec.hidden)
        return "output_norm.weight", weight.astype(np.float32), Type.F32

    def biases(self, layer: int, q: int, kv: int) -> Iterator[tuple[str, np.ndarray, Type]]:
        for role, size, std in (("attn_q", q, 0.5), ("attn_k", kv, 0.5), ("attn_v", kv, 0.3)):
            bias = std * self.rng.standard_normal(size, dtype=np.float32)
            if role == "attn_k":
                bias[:2] *= 8  # Real Qwen2 files have a few very large key biases.
            yield name_of(role, layer, "bias"), bias.astype(np.float32), Type.F32


def name_of(role: str, layer: int | None, kind: str) -> str:
    return f"{role}.{kind}" if layer is None else f"blk.{layer}.{role}.{kind}"


def llama3_factors(head_dim: int, theta: float) -> np.ndarray:
    """The frequency divisors of Llama 3.1 (factor 8, low 1, high 4), for an original context of 64 positions."""
    factor, low, high, context = 8.0, 1.0, 4.0, 64.0
    wavelength = 2 * np.pi * theta ** (np.arange(0, head_dim, 2) / head_dim)
    smooth = np.clip((context / wavelength - low) / (high - low), 0, 1)
    return (1 / ((1 - smooth) / factor + smooth)).astype(np.float32)


def file_type(spec: Spec) -> LlamaFileType:
    if spec.name.endswith("q4_k_m"):
        return LlamaFileType.MOSTLY_Q4_K_M
    names = {Type.F32: "ALL_F32", Type.Q3_K: "MOSTLY_Q3_K_M", Type.Q5_K: "MOSTLY_Q5_K_M"}
    return LlamaFileType[names.get(spec.type, f"MOSTLY_{spec.type.name}")]


def write_keys(writer: GGUFWriter, spec: Spec) -> None:
    writer.add_name(spec.seed_name or spec.name)
    writer.add_file_type(file_type(spec))
    writer.add_quantization_version(2)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(spec.hidden)
    writer.add_block_count(spec.layers)
    writer.add_feed_forward_length(spec.ffn)
    writer.add_head_count(spec.heads)
    if spec.kv_heads != spec.heads:
        writer.add_head_count_kv(spec.kv_heads)
    if spec.head_dim * spec.heads != spec.hidden:
        writer.add_key_length(spec.head_dim)
        writer.add_value_length(spec.head_dim)
    elif spec.architecture == "llama":
        writer.add_rope_dimension_count(spec.head_dim)
    writer.add_layer_norm_rms_eps(spec.rms_eps)
    if spec.rope_theta is not None:
        writer.add_rope_freq_base(spec.rope_theta)
    if spec.linear_rope is not None:
        writer.add_rope_scaling_type(RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(spec.linear_rope)
    optional = [(spec.rope_theta_sliding, writer.add_rope_freq_base_swa), (spec.window, writer.add_sliding_window),
                (spec.window_pattern, writer.add_sliding_window_pattern),
                (spec.attention_cap, writer.add_attn_logit_softcapping),
                (spec.final_cap, writer.add_final_logit_softcapping)]
    for value, add in optional:
        if value is not None:
            add(value)


def write_model(spec: Spec, folder: Path) -> list[Path]:
    """Write the file, or the parts of a split file, into `folder` and return their paths in order."""
    path = folder / f"{spec.name}.gguf"
    vocabulary = spec.vocabulary()
    writer = GGUFWriter(path, spec.architecture, split_max_tensors=spec.split_at)
    if spec.alignment:
        writer.add_custom_alignment(spec.alignment)
    write_keys(writer, spec)
    vocabulary.write(writer)
    for name, data, ty in Tensors(spec, vocabulary).all():
        writer.add_tensor(name, data, raw_dtype=ty)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    paths = sorted(folder.glob(f"{spec.name}-*-of-*.gguf")) if spec.split_at else [path]
    if spec.version != 3:
        # Versions 2 and 3 differ in nothing but this number (3 added big-endian files).
        content = bytearray(path.read_bytes())
        content[4:8] = spec.version.to_bytes(4, "little")
        path.write_bytes(content)
    return paths


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true", help="compare with the committed files instead of writing")
    arguments.add_argument("--only", default="", help="a part of the names to make")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if options.check else FIXTURES
        paths = [path for spec in MODELS if options.only in spec.name for path in write_model(spec, folder)]
        for path in paths:
            print(f"{path.stat().st_size:>9}  {path.name}")
        total = sum(path.stat().st_size for path in paths)
        print(f"{total:>9}  in all, of {SIZE_LIMIT} allowed")
        differing = [path.name for path in paths if path.read_bytes() != (FIXTURES / path.name).read_bytes()]
    if differing:
        print("differ from the committed files:", ", ".join(differing))
    return 1 if differing or total > SIZE_LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
