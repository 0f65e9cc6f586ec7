"""Writes media/tests/fixtures/resized.bin: images as Pillow resizes them. Needs pillow and numpy.

    python3 -m venv .images && .images/bin/pip install pillow numpy
    .images/bin/python tools/make_image_fixtures.py

Columns are resized before rows: Pillow 13 chooses an order by itself, those before it and llama.cpp do not. Of each image: filter (0 bilinear, 1 bicubic, 2 Lanczos), width and height before and after as u16 little endian, then
the bytes of the result. What is resized both sides make themselves, see `pixels` here and in media/tests/resample.rs.
"""
import pathlib
import struct

import numpy as np
from PIL import Image

FILTERS = [Image.BILINEAR, Image.BICUBIC, Image.LANCZOS]
SIZES = [
    (60, 40, 24, 16),
    (17, 31, 40, 24),
    (200, 121, 64, 40),
    (64, 48, 64, 20),
    (33, 21, 90, 21),
    (1, 7, 5, 3),
    (97, 3, 2, 50),
]


def pixels(width, height):
    """[height, width, 3]: noise on a slope, so that neighbours differ and sums clip."""
    count = width * height * 3
    at = np.arange(count, dtype=np.uint64)
    noise = (at * 2654435761 + 12345) % 4294967296 >> 24
    slope = at * 255 // count
    return ((noise + slope) % 256).astype(np.uint8).reshape(height, width, 3)


def main():
    parts = []
    for number, kind in enumerate(FILTERS):
        for width, height, to_width, to_height in SIZES:
            wide = Image.fromarray(pixels(width, height)).resize((to_width, height), kind)
            made = wide.resize((to_width, to_height), kind)
            parts.append(struct.pack('<5H', number, width, height, to_width, to_height) + np.asarray(made).tobytes())
    target = pathlib.Path(__file__).parent.parent / 'media' / 'tests' / 'fixtures' / 'resized.bin'
    target.write_bytes(b''.join(parts))


if __name__ == '__main__':
    main()
