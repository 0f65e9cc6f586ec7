#!/usr/bin/env python3
"""Writes tests/fixtures/blocks/TYPE.bin: random raw blocks of each tensor type and what the gguf package makes of
them; of the types that it does not read, what oracle/new_types.py makes of them.

    pip install gguf==0.19.0 numpy==2.4.6
    python3 tools/make_block_fixtures.py

A file is the number of blocks (u32), the raw blocks, and their weights (f32), all little-endian.
"""

import struct
import sys
from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

sys.path.append(str(Path(__file__).resolve().parent / "oracle"))
import new_types  # noqa: E402, F401: the types that the package does not read

OUT = Path(__file__).resolve().parent.parent / "tests" / "fixtures" / "blocks"
SEED = 20_240_817

# Type → (number of blocks, offsets of its f16 scales in a block).
TYPES = {
    "F32": (512, []),
    "F16": (2048, []),
    "BF16": (2048, []),
    "Q4_0": (48, [0]),
    "Q4_1": (48, [0, 2]),
    "Q5_0": (48, [0]),
    "Q5_1": (48, [0, 2]),
    "Q8_0": (48, [0]),
    "Q2_K": (24, [80, 82]),
    "Q3_K": (24, [108]),
    "Q4_K": (24, [0, 2]),
    "Q5_K": (24, [0, 2]),
    "Q6_K": (24, [208]),
    "IQ4_NL": (48, [0]),
    "MXFP4": (48, []),
    "IQ3_XXS": (24, [0]),
    "IQ3_S": (24, [0]),
    "IQ2_XXS": (24, [0]),
    "IQ2_XS": (24, [0]),
    "IQ2_S": (24, [0]),
    "IQ1_S": (24, [0]),
    "IQ1_M": (24, [48]),
    "IQ4_XS": (24, [0]),
    "TQ2_0": (24, [64]),
    "TQ1_0": (24, [52]),
    "NVFP4": (48, []),
    "Q1_0": (48, [0]),
    "Q2_0": (48, [0]),
    "F8_E4M3": (512, []),
}

# Offsets of scales of one byte.
BYTE_SCALES = {"MXFP4": [0], "NVFP4": [0, 1, 2, 3]}

# So many types are seeded by their place in the table, those after them by their id: they may come in any order.
SEEDED_BY_PLACE = 14

# Zeros, the ends of the subnormal and the normal range, and ones, of both signs.
EXTREME_SCALES = np.array(
    [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x83FF, 0x0400, 0x8400, 0x7BFF, 0xFBFF, 0x3C00, 0xBC00], dtype="<u2"
)


def scales(rng: np.random.Generator, count: int) -> np.ndarray:
    """Half extreme, a quarter of any finite f16, a quarter as models have them; in mixed order."""
    extreme = rng.choice(EXTREME_SCALES, count - count // 2)
    extreme[: min(len(extreme), len(EXTREME_SCALES))] = EXTREME_SCALES[: len(extreme)]
    anything = rng.integers(0, 1 << 16, count // 4, dtype=np.uint16)
    anything[(anything & 0x7C00) == 0x7C00] &= 0x83FF
    usual = (rng.standard_normal(count // 2 - count // 4) * 0.01).astype("<f2").view("<u2")
    return rng.permutation(np.concatenate([extreme, anything, usual]).astype("<u2"))


def byte_scales(rng: np.random.Generator, count: int) -> np.ndarray:
    """The first and the last bytes, and any."""
    ends = np.array([0, 1, 2, 3, 7, 8, 126, 127, 128, 253, 254, 255], dtype=np.uint8)
    return rng.permutation(np.resize(np.concatenate([ends, rng.integers(0, 256, count, dtype=np.uint8)]), count))


def numbers(rng: np.random.Generator, name: str, count: int) -> np.ndarray:
    """Random bits of a plain number type, with infinities and subnormals, but without NaN: its payload may differ."""
    bits, exponent = {"F32": ("<u4", 0x7F80_0000), "F16": ("<u2", 0x7C00), "BF16": ("<u2", 0x7F80)}[name]
    width = 8 * np.dtype(bits).itemsize
    values = rng.integers(0, 1 << width, count, dtype=np.uint64).astype(bits)
    sign = 1 << (width - 1)
    values[(values & exponent) == exponent] &= sign | exponent
    values[::8] &= np.array(((1 << width) - 1) ^ exponent, dtype=bits)
    return values


def raw_blocks(rng: np.random.Generator, name: str, count: int, scale_offsets: list[int]) -> np.ndarray:
    if name == "F8_E4M3":
        return np.resize(np.arange(256, dtype=np.uint8), count)
    _, block_bytes = GGML_QUANT_SIZES[GGMLQuantizationType[name]]
    if name in ("F32", "F16", "BF16"):
        return numbers(rng, name, count).view(np.uint8)
    blocks = rng.integers(0, 256, (count, block_bytes), dtype=np.uint8)
    if name == "IQ1_M":
        # A quarter of the scale in the upper nibble of each of four words.
        quarters = scales(rng, count)[:, None] >> np.array([0, 4, 8, 12], dtype=np.uint16) & 15
        odd = slice(scale_offsets[0] + 1, scale_offsets[0] + 8, 2)
        blocks[:, odd] = blocks[:, odd] & 15 | quarters.astype(np.uint8) << 4
        return blocks.reshape(-1)
    for offset in scale_offsets:
        blocks[:, offset : offset + 2] = scales(rng, count).view(np.uint8).reshape(count, 2)
    for offset in BYTE_SCALES.get(name, []):
        blocks[:, offset] = byte_scales(rng, count)
    return blocks.reshape(-1)


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    for index, (name, (count, scale_offsets)) in enumerate(TYPES.items()):
        rng = np.random.default_rng([SEED, index if index < SEEDED_BY_PLACE else int(GGMLQuantizationType[name])])
        raw = raw_blocks(rng, name, count, scale_offsets)
        if name == "F32":
            weights = raw.view("<f4")
        else:
            weights = dequantize(raw, GGMLQuantizationType[name]).reshape(-1).astype("<f4")
        assert name == "F8_E4M3" or not np.isnan(weights).any(), name
        (OUT / f"{name}.bin").write_bytes(struct.pack("<I", count) + raw.tobytes() + weights.tobytes())
        print(f"{name}: {count} blocks, {raw.size} bytes, {weights.size} weights")


if __name__ == "__main__":
    main()
