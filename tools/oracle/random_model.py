"""A small random model as a GGUF: a table of metadata and a list of tensors, whatever the architecture.

The weights are seeded by the model's name, so models do not depend on each other. Their sizes are up to the list: good
ones make a model that behaves like a model (see `families`), and `make_expectations.py` refuses the others.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFValueType, GGUFWriter, LlamaFileType, quantize

from random_blocks import random_tensor
from tiny_vocabulary import Vocabulary, byte_level_bpe, gemma_pieces, sentence_piece

FIXTURES = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "models"
CONTEXT = 512
"""`context_length` of all models but those that say otherwise."""

Rng = np.random.Generator


@dataclass
class Tensor:
    """One tensor: `shape` in numpy's order, so (rows, columns), and experts in front."""
    name: str
    shape: tuple[int, ...]
    std: float = 1.0
    type: Type | None = None
    """The model's where it is None; F32 for vectors."""
    values: Callable[[Rng], np.ndarray] | None = None
    """Draws the tensor in place of a normal distribution of `std`."""
    of_tokens: bool = False
    """A row per token: those of tokens that are not text become almost nothing, so that none of them is a best one."""


def matrix(name: str, rows: int, cols: int, std: float, ty: Type | None = None) -> Tensor:
    return Tensor(name, (rows, cols), std, ty)


def token_matrix(name: str, rows: int, cols: int, std: float, ty: Type | None = None) -> Tensor:
    """The embedding table or the head."""
    return Tensor(name, (rows, cols), std, ty, of_tokens=True)


def stack(name: str, count: int, rows: int, cols: int, std: float, ty: Type | None = None) -> Tensor:
    """`count` matrices in one tensor, as those of experts."""
    return Tensor(name, (count, rows, cols), std, ty)


def drawn(name: str, values: Callable[[Rng], np.ndarray], ty: Type | None = Type.F32) -> Tensor:
    """Whatever `values` gives; F32 unless `ty` says otherwise (None: the model's type)."""
    return Tensor(name, (), type=ty, values=values)


def constant(name: str, values: np.ndarray | list[float]) -> Tensor:
    return drawn(name, lambda _: np.array(values, dtype=np.float32))


def bias(name: str, size: int, std: float, mean: float = 0.0) -> Tensor:
    return drawn(name, lambda rng: mean + std * rng.standard_normal(size, dtype=np.float32))


def norm(name: str, size: int, level: float = 1.0, spread: float = 0.2) -> Tensor:
    """The weight of a norm: positive as a rule, `spread` around `level`."""
    return drawn(name, lambda rng: level * (1 + spread * rng.standard_normal(size, dtype=np.float32)))


def output_norm(size: int, level: float, name: str = "output_norm.weight") -> Tensor:
    """The norm before the head, with random signs: with all of one sign, a tied head would make every token its own
    best successor."""
    def values(rng: Rng) -> np.ndarray:
        sign = rng.choice(np.array([-1.0, 1.0]), size)
        return level * sign * rng.uniform(0.7, 1.3, size)
    return drawn(name, values)


@dataclass
class Model:
    """One model."""
    name: str
    architecture: str
    type: Type
    metadata: dict[str, object]
    """Keys of the architecture without its name in front (`rope.freq_base`), in the order of the file; keys that begin
    with `general.`, `tokenizer.`, `xielu.` or `prism.` as they are. bool, int (u32), float (f32), str and lists of these are written as
    such; `Typed` says another type."""
    tensors: Callable[[Vocabulary], Iterable[Tensor]]
    """The list in the order of the file."""
    vocabulary: Callable[[], Vocabulary]
    types: dict[str, Type] = field(default_factory=dict)
    """Types of single tensors: the first pattern (`*.attn_v.weight`) that fits a name counts."""
    file_type: LlamaFileType | None = None
    alignment: int | None = None
    version: int = 3
    split_at: int = 0
    seed_name: str = ""
    """This model is the one of that name in another wrapping."""
    forced_ids: int = 320
    context: int = 1024
    """llama.cpp's context for the expectations."""
    newest: bool = False
    """Whether only the newest llama.cpp knows the architecture."""
    title: str = ""
    """`general.name` where it is not the file's: llama.cpp looks for some families' names in it."""


@dataclass
class Typed:
    """A value of metadata in a type that its Python value does not tell."""
    value: object
    type: GGUFValueType
    of: GGUFValueType | None = None
    """The elements' type, where `type` is ARRAY."""


def bpe(size: int, pre: str, with_bos: bool = False, control: tuple[str, ...] = ()) -> Callable[[], Vocabulary]:
    """`control`: further control tokens."""
    return lambda: byte_level_bpe(size, pre, with_bos, control)


def spm(size: int) -> Callable[[], Vocabulary]:
    return lambda: sentence_piece(size)


def gemma(size: int, chat: bool = False) -> Callable[[], Vocabulary]:
    return lambda: gemma_pieces(size, chat)


def file_type(model: Model) -> LlamaFileType:
    names = {Type.F32: "ALL_F32", Type.Q3_K: "MOSTLY_Q3_K_M", Type.Q5_K: "MOSTLY_Q5_K_M"}
    return model.file_type or LlamaFileType[names.get(model.type, f"MOSTLY_{model.type.name}")]


def write_keys(writer: GGUFWriter, model: Model) -> None:
    writer.add_name(model.title or model.seed_name or model.name)
    writer.add_file_type(file_type(model))
    writer.add_quantization_version(2)
    for key, value in {"context_length": CONTEXT, **model.metadata}.items():
        name = key if key.startswith(("general.", "tokenizer.", "xielu.", "prism.")) else f"{model.architecture}.{key}"
        if isinstance(value, Typed):
            writer.add_key_value(name, value.value, value.type, value.of)
        elif isinstance(value, list):
            writer.add_array(name, value)
        else:
            writer.add_key_value(name, value, value_type(value))


def value_type(value: object) -> GGUFValueType:
    kinds = {bool: GGUFValueType.BOOL, int: GGUFValueType.UINT32, float: GGUFValueType.FLOAT32,
             str: GGUFValueType.STRING}
    return kinds[type(value)]


def type_of(tensor: Tensor, model: Model) -> Type:
    named = next((ty for pattern, ty in model.types.items() if fnmatch(tensor.name, pattern)), tensor.type)
    if named is not None:
        return named
    return Type.F32 if len(tensor.shape) == 1 else model.type


def draw(tensor: Tensor, model: Model, rng: Rng, row_gain: np.ndarray) -> tuple[np.ndarray, Type]:
    """The tensor's data as `GGUFWriter.add_tensor` wants it, and its type."""
    ty = type_of(tensor, model)
    gain = row_gain if tensor.of_tokens else None
    if tensor.values is not None:
        values = np.asarray(tensor.values(rng), dtype=np.float32)
        return (values if ty == Type.F32 else converted(values, ty)), ty
    rows = int(np.prod(tensor.shape[:-1]))
    if len(tensor.shape) == 1:
        values = tensor.std * rng.standard_normal(tensor.shape, dtype=np.float32)
        return (values if gain is None else values * gain).astype(np.float32), ty
    data = random_tensor(rng, ty, (rows, tensor.shape[-1]), tensor.std, gain)
    return data.reshape(*tensor.shape[:-1], -1), ty


def converted(values: np.ndarray, ty: Type) -> np.ndarray:
    return values.astype(np.float16) if ty == Type.F16 else quantize(values, ty)


def write_model(model: Model, folder: Path) -> list[Path]:
    """Write the file, or the parts of a split file, into `folder` and return their paths in order."""
    path = folder / f"{model.name}.gguf"
    vocabulary = model.vocabulary()
    writer = GGUFWriter(path, model.architecture, split_max_tensors=model.split_at)
    if model.alignment:
        writer.add_custom_alignment(model.alignment)
    write_keys(writer, model)
    vocabulary.write(writer)
    rng = np.random.default_rng(zlib.crc32((model.seed_name or model.name).encode()))
    row_gain = np.full(len(vocabulary.tokens), 1 / 64)
    row_gain[vocabulary.ordinary_ids()] = 1.0
    for tensor in model.tensors(vocabulary):
        data, ty = draw(tensor, model, rng, row_gain)
        writer.add_tensor(tensor.name, data, raw_dtype=ty)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    paths = sorted(folder.glob(f"{model.name}-*-of-*.gguf")) if model.split_at else [path]
    if model.version != 3:
        # Versions 2 and 3 differ in nothing but this number (3 added big-endian files).
        content = bytearray(path.read_bytes())
        content[4:8] = model.version.to_bytes(4, "little")
        path.write_bytes(content)
    return paths
