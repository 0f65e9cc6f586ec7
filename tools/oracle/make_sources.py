"""Write the small random models of tests/fixtures/sources, whose decoder attends to a source, and what llama.cpp says.

    python tools/oracle/make_sources.py            # writes NAME.gguf and NAME.json

llama.cpp computes with the F32 twin of each file (see f32_twin.py), by llama_encode and llama_decode. For each source:
`forced` are token ids of the decoder with the logits after the last of some of them, `greedy` the most likely tokens
behind the start token, none of which ends the text.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
from llama_cpp import GGML_TYPE_F32, Llama, llama_cpp

from f32_twin import write_twin
from families.t5 import SOURCES
from make_embeddings import dump
from random_model import Model, write_model

FIXTURES = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "sources"
LENGTHS = (1, 7, 33, 70, 150)
FORCED, GREEDY = 150, 70
SHOWN = (1, 2, 3, 8, 33, 130, FORCED)
TEXTS = ["the river runs under the old stone bridge", "translate:  A grey cat, nobody knows why?", "bread"]


class Oracle:
    def __init__(self, path: Path):
        self.llama = Llama(str(path), n_ctx=512, n_batch=512, n_ubatch=512, n_threads=2, n_threads_batch=2,
                           n_gpu_layers=0, flash_attn=False, type_k=GGML_TYPE_F32, type_v=GGML_TYPE_F32,
                           logits_all=True, verbose=False)
        self.vocab = self.llama.n_vocab()

    def encode(self, ids: list[int]) -> None:
        tokens = (llama_cpp.llama_token * len(ids))(*ids)
        self.llama._ctx.kv_cache_clear()
        if llama_cpp.llama_encode(self.llama._ctx.ctx, llama_cpp.llama_batch_get_one(tokens, len(ids))) != 0:
            raise SystemExit("llama_encode failed")

    def logits(self, ids: list[int], position: int) -> np.ndarray:
        """`[ids, vocab]`"""
        batch = self.llama._batch
        batch.reset()
        batch.add_sequence(ids, 0, True)
        for i in range(len(ids)):
            batch.batch.pos[i] = position + i
        self.llama._ctx.decode(batch)
        found = llama_cpp.llama_get_logits(self.llama._ctx.ctx)
        return np.ctypeslib.as_array(found, (len(ids), self.vocab)).astype(np.float32)


def expectations(model: Model, path: Path, scratch: Path) -> dict:
    twin = scratch / path.name
    write_twin([path], twin)
    ask = Oracle(twin)
    rng = np.random.default_rng(zlib.crc32(f"sources of {model.name}".encode()))
    ordinary = model.vocabulary().ordinary_ids()
    start = model.metadata.get("decoder_start_token_id", 0)
    forced = [start] + [int(token) for token in rng.choice(ordinary, FORCED - 1)]
    found = []
    for length in LENGTHS:
        source = [int(token) for token in rng.choice(ordinary, length)]
        ask.encode(source)
        rows = ask.logits(forced, 0)[[count - 1 for count in SHOWN]]
        ask.encode(source)
        greedy, row = [], ask.logits([start], 0)[-1]
        for at in range(GREEDY):
            row[1] = -np.inf
            greedy.append(int(row.argmax()))
            row = ask.logits([greedy[-1]], at + 1)[-1]
        found.append({"source": source, "greedy": greedy,
                      "logits": [[float(f"{value:.7g}") for value in row] for row in rows]})
        print(model.name, length, len(set(greedy)), "different tokens", round(float(rows.std()), 2))
    texts = [[text, ask.llama.tokenize(text.encode(), add_bos=True, special=True)] for text in TEXTS]
    return {"start": start, "forced": forced, "shown": list(SHOWN), "sources": found, "texts": texts}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", default="", help="a part of the names to make")
    options = arguments.parse_args()
    FIXTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for model in SOURCES:
            if options.only in model.name:
                [path] = write_model(model, FIXTURES)
                dump(expectations(model, path, Path(scratch)), path.with_suffix(".json"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
