"""Write the small random-weight GGUFs of tests/fixtures/models.

    python tools/oracle/make_models.py            # writes them
    python tools/oracle/make_models.py --check    # makes them again and compares with the committed bytes
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from families import MODELS
from random_model import FIXTURES, write_model

SIZE_LIMIT = 19_500_000


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--check", action="store_true", help="compare with the committed files instead of writing")
    arguments.add_argument("--only", default="", help="a part of the names to make")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if options.check else FIXTURES
        paths = [path for model in MODELS if options.only in model.name for path in write_model(model, folder)]
        for path in paths:
            print(f"{path.stat().st_size:>9}  {path.name}")
        differing = [path.name for path in paths if path.read_bytes() != (FIXTURES / path.name).read_bytes()]
    total = sum(path.stat().st_size for path in FIXTURES.glob("*.gguf"))
    print(f"{total:>9}  in all, of {SIZE_LIMIT} allowed")
    if differing:
        print("differ from the committed files:", ", ".join(differing))
    return 1 if differing or total > SIZE_LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
