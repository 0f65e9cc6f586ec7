"""Q1_0, Q2_0 and F8_E4M3 for the `gguf` package, which has no names, sizes or quantisers for all of them."""

from __future__ import annotations

import gguf.quants
import numpy as np
from gguf import GGML_QUANT_SIZES
from gguf import GGMLQuantizationType as Type


def type_of(name: str, number: int, sizes: tuple[int, int]) -> Type:
    """The member of this name, added where the package has none."""
    if name not in Type.__members__:
        member = int.__new__(Type, number)
        member._name_, member._value_ = name, number
        Type._member_map_[name] = Type._value2member_map_[number] = member
        Type._member_names_.append(name)
    GGML_QUANT_SIZES[Type[name]] = sizes
    return Type[name]


Q1_0 = type_of("Q1_0", 41, (128, 18))
Q2_0 = type_of("Q2_0", 42, (64, 18))
F8_E4M3 = type_of("F8_E4M3", 43, (1, 1))
Blocks = vars(gguf.quants)["__Quant"]


def with_scale(d: np.ndarray, bits: np.ndarray) -> np.ndarray:
    return np.concatenate([d.astype("<f2").view(np.uint8), np.packbits(bits, axis=1, bitorder="little")], axis=1)


def scale_and_bits(blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return blocks[:, :2].copy().view("<f2").astype("<f4"), np.unpackbits(blocks[:, 2:], axis=1, bitorder="little")


class OfOneBit(Blocks, qtype=Q1_0):
    @classmethod
    def quantize_blocks(cls, blocks: np.ndarray) -> np.ndarray:
        return with_scale(np.abs(blocks).mean(axis=1, keepdims=True), blocks >= 0)

    @classmethod
    def dequantize_blocks(cls, blocks: np.ndarray) -> np.ndarray:
        d, bits = scale_and_bits(blocks)
        return np.where(bits == 1, d, -d)


class OfTwoBits(Blocks, qtype=Q2_0):
    """With all four codes: a scale of the mean leaves values of twice that."""
    @classmethod
    def quantize_blocks(cls, blocks: np.ndarray) -> np.ndarray:
        d = np.abs(blocks).mean(axis=1, keepdims=True)
        codes = (np.rint(blocks / np.maximum(d, 1e-30)) + 1).clip(0, 3).astype(np.uint8)
        return with_scale(d, np.stack([codes & 1, codes >> 1], axis=2).reshape(len(codes), -1))

    @classmethod
    def dequantize_blocks(cls, blocks: np.ndarray) -> np.ndarray:
        d, bits = scale_and_bits(blocks)
        return d * (bits[:, 0::2].astype("<f4") + 2 * bits[:, 1::2] - 1)


def f8_values() -> np.ndarray:
    """The value of each byte."""
    code = np.arange(256)
    exponent, fraction = code >> 3 & 15, (code & 7) / 8
    size = np.where(exponent == 0, np.ldexp(fraction, -6), np.ldexp(1 + fraction, exponent - 7))
    size[(code & 127) == 127] = np.nan
    return np.where(code < 128, size, -size).astype("<f4")


class OfEightBits(Blocks, qtype=F8_E4M3):
    @classmethod
    def quantize_blocks(cls, blocks: np.ndarray) -> np.ndarray:
        sizes = f8_values()[:127]
        above = np.searchsorted(sizes, np.abs(blocks)).clip(1, 126)
        nearest = np.where(np.abs(blocks) - sizes[above - 1] < sizes[above] - np.abs(blocks), above - 1, above)
        return (nearest | np.where(blocks < 0, 128, 0)).astype(np.uint8)

    @classmethod
    def dequantize_blocks(cls, blocks: np.ndarray) -> np.ndarray:
        return f8_values()[blocks]
