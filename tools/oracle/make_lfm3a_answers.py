"""Answers of text and speech that llama.cpp makes with the small LFM3 of `make_lfm3a.py`:
tests/fixtures/encoders/lfm3a-gen-answers.json.

    python tools/oracle/make_lfm3a_answers.py

`newest/build_voice.sh` builds the program that is asked (`LLAMA_LFM3A` names another). Random weights seldom switch
between text and speech; biases on the tokens that switch and that end make up for that.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from gguf import GGUFReader, GGUFWriter

import f32_twin
from llamas import NEWEST
from make_lfm3a import CONTEXT, DRIVER, EVERY, TARGET

BEGUN, BEHIND = "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"
SWITCHES = ["<|text_end|>", "<|mixed_start|>", "<|audio_start|>", "<|im_end|>"]
CASES = [
    ("mixed", "say more words then", 3537, 34, [5, 0, -5, 4]),
    ("mixed", "say you on you", 2118, 60, [7, 0, 0, 4]),
    ("mixed", "hello you and", 2850, 60, [7, 0, 0, 0]),
    ("auto", "is on go more", 3721, 16, [0, 5, -9, 0]),
    ("audio", "hello", 9, 60, [5, 0, -5, 5]),
    ("text", "say more words then", 5, 12, [0, 9, 9, 0]),
]
"""How the answer begins, what is said to the model, seed, slots at most, and the biases of `SWITCHES`."""
LEAST = 0.2
"""How far the likeliest token is from the next one, at least."""


class OfLikeliestCodes(GGUFWriter):
    """Writes a generator that takes the likeliest code each time."""

    def write_header_to_file(self) -> None:
        if self.arch == "clip":
            self.add_float32("clip.gen.audio.sampling.temp", 0.0)
        super().write_header_to_file()


def main() -> None:
    f32_twin.GGUFWriter = OfLikeliestCodes
    tokens = GGUFReader(TARGET / "lfm3a-gen-text.gguf").fields["tokenizer.ggml.tokens"].contents()
    asked = [{"answer": mode, "begun": BEGUN, "prompt": text + BEHIND, "seed": seed, "most": most,
              "biases": {str(tokens.index(name)): bias for name, bias in zip(SWITCHES, biases) if bias}}
             for mode, text, seed, most, biases in CASES]
    with tempfile.TemporaryDirectory() as scratch:
        twins = [Path(scratch) / name for name in ("text.gguf", "codec.gguf")]
        for twin, name in zip(twins, ("lfm3a-gen-text.gguf", "lfm3a-gen.gguf")):
            f32_twin.write_twin([TARGET / name], twin)
        run = subprocess.run([DRIVER, *twins, str(CONTEXT)], input="\n".join(map(json.dumps, asked)),
                             capture_output=True, text=True, check=True)
    cases = []
    for (mode, text, _, most, _), ask, line in zip(CASES, asked, run.stdout.splitlines()):
        found = json.loads(line)
        samples = found["samples"]
        print(mode, f"{found['margin']:.2f}", len(samples), "".join("s" if slot < 0 else "t" if slot < tokens.index(
            "<|endoftext|>") else tokens[slot] for slot in found["slots"]))
        if found["margin"] < LEAST:
            raise SystemExit(f"{text}: two tokens are {found['margin']:.2f} apart, expected {LEAST}")
        cases.append({"output": "sound" if mode == "audio" else mode, "text": text, "most": most,
                      "biases": ask["biases"], "ids": found["ids"], "slots": found["slots"],
                      "orders": found["orders"], "count": len(samples),
                      "peak": round(max(map(abs, samples), default=0.0), 6),
                      "samples": [round(sample, 6) for sample in samples[::EVERY]]})
    known = {"made_by": NEWEST, "every": EVERY, "cases": cases}
    (TARGET / "lfm3a-gen-answers.json").write_text(json.dumps(known, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
