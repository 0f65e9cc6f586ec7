"""What llama.cpp's newest version makes of pictures and sounds: it is asked by the program that
`newest/build_picture.sh` builds (`LLAMA_PICTURE` names another).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from f32_twin import write_twin
from make_encoders import MODELS, TARGET, Encoder

DRIVER = Path(os.environ.get("LLAMA_PICTURE", ".oracle/newest/picture"))
CONTEXT = 1024
PROMPT = "ab <__media__> cd"


class Asked:
    """llama.cpp with an encoder and a text model."""

    def __init__(self, encoder: Path, text: Path):
        command = [str(DRIVER), str(text), str(encoder), str(CONTEXT)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, pixels, folder: Path) -> dict:
        file = folder / "picture.rgb"
        file.write_bytes(pixels.tobytes())
        height, width, _ = pixels.shape
        return self.asked({"width": width, "height": height, "image": str(file)})

    def hear(self, samples, folder: Path) -> dict:
        """Samples of 16 bits at 16 kHz."""
        file = folder / "sound.f32"
        file.write_bytes((samples / 32768).astype("<f4").tobytes())
        return self.asked({"sound": str(file)})

    def asked(self, medium: dict) -> dict:
        question = medium | {"prompt": PROMPT, "predict": 8}
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        found = json.loads(self.process.stdout.readline())
        rows = [[[round(value, 6) for value in row] for row in piece] for piece in found.pop("rows")]
        found.pop("texts")
        if "logprobs" in found:
            found["logprobs"] = [round(value, 6) for value in found["logprobs"]]
        return {"rows": rows, **found}


def some(found: dict, least_step: int) -> dict:
    """The same with some of all rows, where there are many."""
    rows = [row for piece in found.pop("rows") for row in piece]
    at = sorted({*range(0, len(rows), max(least_step, len(rows) // 16)), len(rows) - 1})
    return {"count": len(rows), "at": at, "rows": [rows[i] for i in at], **found}


def expect(encoders: Iterable[Encoder], cases: Callable[[Encoder, Asked, Path], list[dict]]) -> None:
    """Writes each encoder, or those that the command line names, and what llama.cpp says of its `cases`."""
    only = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for encoder in encoders:
            if only and encoder.name not in only:
                continue
            encoder.write(encoder.path, half=True)
            twin, text = folder / "encoder.gguf", folder / "text.gguf"
            encoder.write(twin, half=False)
            write_twin([MODELS / f"{encoder.text}.gguf"], text)
            found = cases(encoder, Asked(twin, text), folder)
            expected = {"encoder": encoder.path.name, "text": f"{encoder.text}.gguf", "cases": found}
            (TARGET / f"{encoder.name}.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")
            print(encoder.name, [(case["count"], case.get("generated")) for case in found], flush=True)
