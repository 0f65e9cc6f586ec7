"""Writes media/tests/fixtures/mel.bin and mel_gemma.bin: spectrograms of Whisper's kind and of Gemma 4's. Needs numpy.

    python tools/make_sound_fixtures.py

The formulas are those of the paper's code, in float64. Of each sound: bins as u16 little endian, samples and frames as
u32, then the value of silence and `[frames, bins]` as f32. The sounds both sides make themselves, see `samples` here and
in media/tests/mel.rs.
"""

import math
import pathlib
import struct

import numpy as np

CASES = [(40, 1234), (80, 3217), (128, 2017), (80, 77)]
CASES_OF_GEMMA = [(27, 2017), (128, 1234), (40, 77)]
WINDOW, HOP, RATE = 400, 160, 16000


def samples(count):
    """A wave with noise, which is a hundred thousandth as loud after two thirds."""
    at = np.arange(count, dtype=np.uint64)
    noise = ((at * 2654435761 + 12345) % 4294967296 >> 16) / 65536 - 0.5
    wave = (at % 50) / 50 - 0.5
    return ((noise / 8 + wave / 2) * np.where(at * 3 < count * 2, 1, 1e-5)).astype(np.float32)


def filters(bins):
    step = math.log(6.4) / 27
    pitch = lambda f: f * 0.015 if f < 1000 else 15 + math.log(f / 1000) / step
    frequency = lambda p: p / 0.015 if p < 15 else 1000 * math.exp((p - 15) * step)
    edges = [frequency(pitch(RATE / 2) * i / (bins + 1)) for i in range(bins + 2)]
    at = np.arange(WINDOW // 2 + 1) * RATE / WINDOW
    rows = []
    for left, middle, right in zip(edges, edges[1:], edges[2:]):
        slopes = np.minimum((at - left) / (middle - left), (right - at) / (right - middle))
        rows.append(np.maximum(slopes, 0) * 2 / (right - left))
    return np.stack(rows)


def mel(x, bins):
    half = WINDOW // 2
    x = np.pad(x.astype(np.float64), (0, max(0, half + 1 - len(x))))
    frames = -(-(len(x) + half) // HOP)
    x = np.concatenate([x[1 : half + 1][::-1], x, np.zeros(RATE)])
    hann = 0.5 * (1 - np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW))
    windows = np.stack([x[i * HOP : i * HOP + WINDOW] * hann for i in range(frames)])
    power = np.abs(np.fft.rfft(windows, axis=1)) ** 2
    floor = 2.0**-24
    log = np.log10(np.maximum(power @ filters(bins).T, floor))
    least = log.max() - 8
    scaled = lambda value: (np.maximum(value, least) + 4) / 4
    return scaled(log), float(scaled(math.log10(floor)))


def filters_of_gemma(bins):
    pitch = 2595 * math.log10(1 + RATE / 2 / 700)
    edges = [700 * (10 ** (pitch * i / (bins + 1) / 2595) - 1) for i in range(bins + 2)]
    at = np.arange(512 // 2 + 1) * RATE / 512
    rows = []
    for left, middle, right in zip(edges, edges[1:], edges[2:]):
        rows.append(np.maximum(np.minimum((at - left) / (middle - left), (right - at) / (right - middle)), 0))
    return np.stack(rows)


def mel_of_gemma(x, bins):
    """Windows of 320 samples in 512, the first of which begins half a window before the sound."""
    frames = max(len(x) - 161, 0) // HOP + 1
    x = np.concatenate([np.zeros(160), x.astype(np.float64), np.zeros(1024)])
    hann = 0.5 * (1 - np.cos(2 * np.pi * np.arange(320) / 320))
    windows = np.stack([x[i * HOP : i * HOP + 320] * hann for i in range(frames)])
    magnitudes = np.abs(np.fft.rfft(windows, 512, axis=1))
    return np.log(np.maximum(magnitudes @ filters_of_gemma(bins).T, 1e-3)), math.log(1e-3)


def main():
    write("mel.bin", CASES, mel)
    write("mel_gemma.bin", CASES_OF_GEMMA, mel_of_gemma)


def write(name, cases, spectrogram):
    parts = []
    for bins, count in cases:
        values, silence = spectrogram(samples(count), bins)
        parts.append(struct.pack("<HIIf", bins, count, len(values), silence))
        parts.append(values.astype("<f4").tobytes())
    target = pathlib.Path(__file__).parents[1] / "media" / "tests" / "fixtures" / name
    target.write_bytes(b"".join(parts))
    print(target, target.stat().st_size)


if __name__ == "__main__":
    main()
