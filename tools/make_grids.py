#!/usr/bin/env python3
"""Writes src/formats/grids/TYPE.bin: the tables of the codebook formats, as the gguf package has them.

    pip install gguf==0.19.0 numpy==2.4.6
    python3 tools/make_grids.py

An entry takes two bytes: four codes of four bits, or eight of two, the lowest bits first. What a code stands for is in
src/formats.
"""

from pathlib import Path

from gguf import quants

OUT = Path(__file__).resolve().parent.parent / "src" / "formats" / "grids"
TYPES = ["IQ3_XXS", "IQ3_S", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ1_S"]


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    for name in TYPES:
        table = getattr(quants, name)
        entries, width = table.grid_shape
        codes = bytes.fromhex(table.grid_hex.decode())
        assert len(codes) == 2 * entries, name
        path = OUT / f"{name.lower()}.bin"
        path.write_bytes(codes)
        print(f"{path.name}: {entries} entries of {width} of {table.grid_map}")


if __name__ == "__main__":
    main()
