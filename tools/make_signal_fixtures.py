"""What SciPy says of `welch`, `find_peaks` and `peak_prominences`: tests/fixtures/signal.json.

    python tools/make_signal_fixtures.py      (needs numpy and scipy)

Signals are integers, 64 of which are 1, so that every language reads the same numbers.
"""

import json
import pathlib

import numpy as np
from scipy import signal

ROOT = pathlib.Path(__file__).resolve().parent.parent
UNIT = 64
RANDOM = np.random.default_rng(7)


def whole(values):
    """Signals as integers."""
    return np.rint(np.asarray(values) * UNIT).astype(int)


def tones(length, offset=0.0):
    """Two tones in noise that drifts."""
    t = np.arange(length)
    drift = offset + 0.002 * t
    return np.sin(0.31 * t) + 0.4 * np.sin(1.7 * t + 1) + 0.2 * RANDOM.standard_normal(length) + drift


# Our options, and SciPy's for the same.
WELCH = [
    (tones(1000), {}, {}),
    (tones(83), {"sampleRate": 10}, {"fs": 10}),
    (
        np.stack([tones(301), tones(301, -3), tones(301, 50)]),
        {"sampleRate": 8000, "segmentLength": 64, "overlap": 50, "detrend": "linear"},
        {"fs": 8000, "nperseg": 64, "noverlap": 50, "detrend": "linear"},
    ),
    (
        np.stack([tones(240), tones(240, 900)]),
        {"segmentLength": 45, "overlap": 0, "fftLength": 71, "window": "hamming"},
        {"nperseg": 45, "noverlap": 0, "nfft": 71, "window": "hamming"},
    ),
    (
        tones(515),
        {"segmentLength": 128, "fftLength": 256, "window": "blackman", "detrend": "none", "scaling": "spectrum"},
        {"nperseg": 128, "nfft": 256, "window": "blackman", "detrend": False, "scaling": "spectrum"},
    ),
    (
        tones(700),
        {"segmentLength": 8, "overlap": 7, "window": "boxcar", "scaling": "spectrum"},
        {"nperseg": 8, "noverlap": 7, "window": "boxcar", "scaling": "spectrum"},
    ),
]


def welch(x, ours, theirs):
    x = whole(x)
    frequencies, power = signal.welch(x / UNIT, **{"nperseg": min(256, x.shape[-1]), **theirs})
    floats = lambda values: [float(f"{value:.9g}") for value in values.ravel()]
    return {"x": x.tolist(), "options": ours, "frequencies": floats(frequencies), "power": floats(power)}


# Signals for `find_peaks` with options; names and meanings are the same.
STEPS = RANDOM.integers(-2, 3, (3, 137)) / 4
PLATEAUS = np.repeat([0, 2, 1, 3, 3, 1, 2, 0, 5, 1, 1, 4, 2, 6], [1, 4, 3, 1, 2, 2, 300, 1, 1, 1, 270, 2, 1, 9])
PEAKS = [
    (tones(600), {}),
    (STEPS, {}),
    (STEPS, {"height": 0.25, "prominence": 0.75}),
    (PLATEAUS, {}),
    # No two are equal: which of two equally high ones goes depends on how NumPy happens to sort.
    (np.stack([RANDOM.permutation(701) for _ in range(2)]) / 16, {"distance": 7.5}),
    (RANDOM.permutation(530) / 16, {"height": 5, "distance": 20, "prominence": 18}),
    (tones(1000), {"prominence": 0.9}),
    (np.arange(10), {}),
    (np.zeros((2, 2)), {}),
]


def peaks(x, options):
    x = whole(x)
    rows = []
    for row in np.atleast_2d(x) / UNIT:
        found = signal.find_peaks(row, **{"height": -np.inf, "prominence": 0, **options})
        indices, heights = found[0], found[1]["peak_heights"]
        rows.append([indices.tolist(), heights.tolist(), found[1]["prominences"].tolist()])
    return {"x": x.tolist(), "options": options, "rows": rows}


def main():
    fixture = {"unit": UNIT, "welch": [welch(*case) for case in WELCH], "peaks": [peaks(*case) for case in PEAKS]}
    path = ROOT / "tests" / "fixtures" / "signal.json"
    path.write_text(json.dumps(fixture, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
