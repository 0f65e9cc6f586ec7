"""Write the small random embedders of tests/fixtures/embedders, and what llama.cpp says of some inputs.

    python tools/oracle/make_embeddings.py            # writes NAME.gguf and NAME.json
    python tools/oracle/make_embeddings.py --only bert

llama.cpp computes with the F32 twin of each file (see f32_twin.py). `pooled` is what it gives for each row of `inputs`,
not normalised; for a reranker the scores of all labels. `texts` are tokenized as an embedder wants them, special tokens
of the text parsed, and those of the model added.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
from llama_cpp import GGML_TYPE_F32, LLAMA_POOLING_TYPE_RANK, Llama, llama_cpp

from f32_twin import write_twin
from families.embedders import EMBEDDERS
from llamas import Newest, Oracle
from random_model import Model, write_model

FIXTURES = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "embedders"
LENGTHS = (1, 7, 33, 64, 2, 150, 16)
TEXTS = ["the river runs under the old stone bridge", "A grey cat, nobody knows why?", "bread"]


class Stable(Oracle):
    """llama-cpp-python's version, asked for embeddings, or for the scores of labels."""

    def __init__(self, path: Path, width: int, labels: int):
        self.llama = Llama(str(path), embedding=True, n_ctx=512, n_batch=512, n_ubatch=512, n_threads=2,
                           n_threads_batch=2, n_gpu_layers=0, flash_attn=False, type_k=GGML_TYPE_F32,
                           type_v=GGML_TYPE_F32, verbose=False)
        self.width = labels if self.llama.pooling_type() == LLAMA_POOLING_TYPE_RANK else width

    def embedding(self, ids: list[int]) -> np.ndarray:
        batch, context = self.llama._batch, self.llama._ctx
        batch.reset()
        batch.add_sequence(ids, 0, True)
        context.kv_cache_clear()
        context.decode(batch)
        found = llama_cpp.llama_get_embeddings_seq(context.ctx, 0)[:self.width]
        return self.checked(np.array(found, dtype=np.float32))


def expectations(model: Model, path: Path, scratch: Path) -> dict:
    twin = scratch / path.name
    write_twin([path], twin)
    labels = model.metadata.get("classifier.output_labels", [])
    ask = Newest(twin, context=512) if model.newest else Stable(twin, model.metadata["embedding_length"], len(labels))
    rng = np.random.default_rng(zlib.crc32(f"inputs of {model.name}".encode()))
    ordinary = model.vocabulary().ordinary_ids()
    inputs = [[int(token) for token in rng.choice(ordinary, length)] for length in LENGTHS]
    rows = [[float(f"{value:.8g}") for value in ask.embedding(ids)] for ids in inputs]
    if np.ptp(np.array(rows), axis=0).max() < 0.01:
        raise SystemExit(f"{model.name}: all inputs get the same")
    texts = [[text, ask.tokenized(text, special=True)] for text in TEXTS]
    return {"kind": "scores" if labels else "embeddings", "inputs": inputs, "pooled": rows, "texts": texts}


def dump(entry: dict, path: Path) -> None:
    def rows(values: list) -> str:
        return "[\n" + ",\n".join("  " + json.dumps(row, separators=(",", ":")) for row in values) + "]"

    lines = [f' "{key}": {rows(value) if isinstance(value, list) else json.dumps(value)}'
             for key, value in entry.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", default="", help="a part of the names to make")
    options = arguments.parse_args()
    FIXTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for model in EMBEDDERS:
            if options.only in model.name:
                [path] = write_model(model, FIXTURES)
                entry = expectations(model, path, Path(scratch))
                dump(entry, path.with_suffix(".json"))
                print(f"{path.stat().st_size:>9}  {path.name}  {np.linalg.norm(entry['pooled'], axis=1).round(3)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
