"""Values of tensors that follow from their names, so that tests make them again in memory."""

from __future__ import annotations

import numpy as np


def fnv1a(data: bytes) -> int:
    state = 2166136261
    for byte in data:
        state = (state ^ byte) * 16777619 % 2**32
    return state


def values_of(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The tensor's values: numbers of a linear congruential generator, seeded by the name, in memory order."""
    state, high = fnv1a(name.encode()), []
    for _ in range(int(np.prod(shape))):
        state = (state * 1664525 + 1013904223) % 2**32
        high.append(state >> 8)
    u = (np.array(high, np.float32) / np.float32(2**24) - np.float32(0.5)).reshape(shape)
    return np.float32(1) + u if len(shape) == 1 else u * np.float32(4 / np.sqrt(np.float64(shape[-1])))
