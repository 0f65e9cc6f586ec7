"""Random weights in GGUF block formats.

The `gguf` package quantises F16, BF16, Q8_0, MXFP4 and the Q4, Q5 and TQ types from floats, so those go through it. It
only dequantises NVFP4, the K and the IQ types, so for them this file writes blocks bit by bit: the quants are uniformly
random, which reaches every bit pattern, and the scales are chosen so that a tensor has mean about 0 and the standard
deviation that was asked for. The package's dequantiser is the judge of what a block means.
"""

from __future__ import annotations

import numpy as np
from gguf import GGML_QUANT_SIZES
from gguf import GGMLQuantizationType as Type
from gguf import dequantize, quantize
from gguf.quants import NVFP4

K_TYPES = (Type.Q2_K, Type.Q3_K, Type.Q4_K, Type.Q5_K, Type.Q6_K)
SUPER_BLOCK = 256

# Any bits are blocks, so only the offset of their f16 scale matters. That of IQ1_M lies in quarters.
IQ_TYPES = {Type.IQ4_NL: 0, Type.IQ4_XS: 0, Type.IQ3_XXS: 0, Type.IQ3_S: 0, Type.IQ2_XXS: 0, Type.IQ2_XS: 0,
            Type.IQ2_S: 0, Type.IQ1_S: 0, Type.IQ1_M: 48}


def random_tensor(rng: np.random.Generator, ty: Type, shape: tuple[int, ...], std: float,
                  row_gain: np.ndarray | None = None) -> np.ndarray:
    """Return random weights of `shape` (rows, cols) in format `ty`, ready for `GGUFWriter.add_tensor`.

    `row_gain` multiplies row r by row_gain[r]. F32 and F16 come back as floats, other formats as bytes (rows, bytes).
    """
    if ty in K_TYPES or ty in IQ_TYPES:
        return _k_tensor(rng, ty, shape, std, row_gain)
    if ty == Type.NVFP4:
        return _nvfp4_tensor(rng, shape, std, row_gain)
    values = rng.standard_normal(shape, dtype=np.float32) * np.float32(std)
    if row_gain is not None:
        values *= row_gain.astype(np.float32)[:, None]
    if ty == Type.F32:
        return values
    if ty == Type.F16:
        return values.astype(np.float16)
    return quantize(values, ty)


def _k_tensor(rng: np.random.Generator, ty: Type, shape: tuple[int, ...], std: float,
              row_gain: np.ndarray | None) -> np.ndarray:
    rows, cols = shape
    per_row = cols // GGML_QUANT_SIZES[ty][0]
    count = rows * per_row
    # Measure what a scale of 1/64 gives, then choose the scale that gives `std`.
    parts, unit = _k_parts(rng, ty, count), np.full(count, 1 / 64, dtype=np.float32)
    spread = dequantize(_pack(ty, parts, unit), ty).std()
    scale = rng.uniform(0.7, 1.3, count).astype(np.float32) * np.float32(std / 64 / spread)
    if row_gain is not None:
        scale *= np.repeat(row_gain.astype(np.float32), per_row)
    return _pack(ty, parts, scale).reshape(rows, -1)


def _nvfp4_tensor(rng: np.random.Generator, shape: tuple[int, ...], std: float,
                  row_gain: np.ndarray | None) -> np.ndarray:
    rows, cols = shape
    per_row = cols // GGML_QUANT_SIZES[Type.NVFP4][0]
    # A scale stands for half of itself.
    scale = rng.uniform(0.7, 1.3, (rows * per_row, 4)) * 2 * std / np.std(NVFP4.kvalues)
    if row_gain is not None:
        scale *= np.repeat(row_gain, per_row)[:, None]
    quants = rng.integers(0, 256, (rows * per_row, 32), dtype=np.uint8)
    return np.concatenate([NVFP4.fp32_to_ue4m3(scale.astype(np.float32)), quants], axis=1).reshape(rows, -1)


def _k_parts(rng: np.random.Generator, ty: Type, count: int) -> dict[str, np.ndarray]:
    """Everything in `count` blocks except the f16 scales."""
    def raw(size: int) -> np.ndarray:
        return rng.integers(0, 256, (count, size), dtype=np.uint8)

    if ty in IQ_TYPES:
        return {"block": raw(GGML_QUANT_SIZES[ty][1])}
    if ty == Type.Q2_K:
        # A sub-block's minimum follows its scale (give or take one), so that its mean stays near 0.
        scale = rng.integers(3, 16, (count, 16))
        minimum = np.clip(scale + rng.integers(-1, 2, scale.shape), 0, 15)
        return {"scales": (scale | minimum << 4).astype(np.uint8), "quants": raw(64)}
    if ty == Type.Q3_K:
        # Any of the 64 scales, negative ones included: they stand for scale - 32.
        return {"high": raw(32), "quants": raw(64), "scales": raw(12)}
    if ty in (Type.Q4_K, Type.Q5_K):
        scale = rng.integers(10, 64, (count, 8))
        minimum = np.clip(scale + rng.integers(-4, 5, scale.shape), 0, 63)
        high = {"high": raw(32)} if ty == Type.Q5_K else {}
        return {"scales": _pack_six_bits(scale, minimum), **high, "quants": raw(128)}
    return {"low": raw(128), "high": raw(64),
            "scales": rng.integers(-128, 128, (count, 16)).astype(np.int8).view(np.uint8)}


def _pack_six_bits(scale: np.ndarray, minimum: np.ndarray) -> np.ndarray:
    """Eight 6-bit scales and eight 6-bit minima of a Q4_K or Q5_K block in 12 bytes."""
    first = scale[:, :4] | (scale[:, 4:] >> 4) << 6
    second = minimum[:, :4] | (minimum[:, 4:] >> 4) << 6
    third = (scale[:, 4:] & 15) | (minimum[:, 4:] & 15) << 4
    return np.concatenate([first, second, third], axis=1).astype(np.uint8)


def _pack(ty: Type, parts: dict[str, np.ndarray], scale: np.ndarray) -> np.ndarray:
    if ty in IQ_TYPES:
        return _with_scale(ty, parts["block"].copy(), scale)
    # The middle of the quants' range: what the minimum has to take off for a mean of 0.
    middle = {Type.Q2_K: 1.5, Type.Q4_K: 7.5, Type.Q5_K: 15.5}.get(ty)
    columns = list(parts.values())
    halves = [_half(scale)] + ([_half(scale * middle)] if middle else [])
    scales_first = ty in (Type.Q4_K, Type.Q5_K)
    return np.concatenate(halves + columns if scales_first else columns + halves, axis=1)


def _with_scale(ty: Type, blocks: np.ndarray, scale: np.ndarray) -> np.ndarray:
    at = IQ_TYPES[ty]
    if ty == Type.IQ1_M:
        bits = _half(scale).view(np.uint16)
        upper = slice(at + 1, at + 8, 2)
        quarters = (bits >> np.array([0, 4, 8, 12], dtype=np.uint16) & 15).astype(np.uint8)
        blocks[:, upper] = blocks[:, upper] & 15 | quarters << 4
    else:
        blocks[:, at : at + 2] = _half(scale)
    return blocks


def _half(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float16).reshape(-1, 1).view(np.uint8)
